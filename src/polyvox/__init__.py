"""Polyvox: ask several AI advisors at once, each in its own thread, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Polyvox", "__version__"]

if TYPE_CHECKING:
    from polyvox.app import Polyvox


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the protocol of module attributes
    """Load the app when it is first asked for: importing polyvox itself stays instant."""
    if name == "Polyvox":
        from polyvox.app import Polyvox

        return Polyvox
    raise AttributeError(f"module 'polyvox' has no attribute {name!r}")
