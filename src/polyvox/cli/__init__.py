"""The command line, a door like the others: it turns words into calls of the app."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command that the program was called with, and end the process with its code."""
    from polyvox.cli.main import start

    sys.exit(start(sys.argv[1:]))
