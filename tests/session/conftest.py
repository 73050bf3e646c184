"""A room for each test, and one for each kind of database where it matters."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.session.room import Room, open_room


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    """The whole road on SQLite."""
    async with open_room(tmp_path) as found:
        yield found


@pytest.fixture
async def both(tmp_path: Path, database_url: str) -> AsyncIterator[Room]:
    """The whole road, once on each kind of database."""
    async with open_room(tmp_path, database=database_url) as found:
        yield found
