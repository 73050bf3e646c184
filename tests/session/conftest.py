"""A room for each test, and one for each kind of database where it matters."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.session.room import Room, open_room


@pytest.fixture(autouse=True)
def nothing_broke(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever happens on the road, no error of the program's own is in the log."""
    yield
    records = [*caplog.get_records("setup"), *caplog.get_records("call")]
    broken = [one.getMessage() for one in records if one.levelno >= logging.ERROR]
    assert broken == []


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
