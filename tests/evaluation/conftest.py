"""The road's fixtures: evaluation is a client of it."""

from tests.session.conftest import both, nothing_broke, room

__all__ = ["both", "nothing_broke", "room"]
