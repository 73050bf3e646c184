"""The command line, a door like the others: it turns words into calls of the app.

Nothing is imported here before it is needed: `polyvox --help` answers at once.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyvox.cli.root import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command that the program was called with, and end the process with its code."""
    from polyvox.cli.start import start

    sys.exit(start(sys.argv[1:]))


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the protocol of module attributes
    """`app`, all commands as one Typer object, is put together when somebody asks for it."""
    if name == "app":
        from polyvox.cli.root import app

        return app
    raise AttributeError(f"module 'polyvox.cli' has no attribute {name!r}")
