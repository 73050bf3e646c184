"""A store that took a commit but could not say so: nothing is stored twice, nobody misses it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from tests.stream.desk import Desk, clock, lay

from polyvox.errors import StoreError
from polyvox.store.database import Tx
from polyvox.store.migrate import shipped
from polyvox.store.open import _prepare
from polyvox.store.sqlite import SqliteDatabase
from polyvox.stream.hub import Listener
from polyvox.values import Scope

T = TypeVar("T")


class Forgetful(SqliteDatabase):
    """Stores, and then says, once when asked to, that the connection broke."""

    broken = False

    async def write(self, work: Callable[[Tx], T], scope: Scope | None = None) -> T:
        result = await super().write(work, scope)
        if self.broken:
            self.broken = False
            raise StoreError("The connection was lost.")
        return result


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Forgetful]:
    path = tmp_path / "polyvox.db"
    _prepare(path, shipped(), clock, 1.0)
    made = Forgetful(path)
    yield made
    await made.close()


async def ready(database: Forgetful) -> tuple[Desk, Listener]:
    desk = await lay(database, 2)
    desk.journal.patience = 0.001
    database.broken = True
    return desk, desk.hub.listen(desk.conversation)


async def told(listener: Listener) -> None:
    """Until the listener is told to read the store."""
    while (await asyncio.wait_for(listener.take(), 60)) is not None:
        pass
    assert not listener.ended


async def test_words_are_stored_once(database: Forgetful) -> None:
    desk, listener = await ready(database)
    desk.add(0, "once ")
    await told(listener)
    assert not database.broken
    desk.add(0, "more")
    await desk.end(0)
    assert (await desk.stored())[desk.answers[0]] == "once more"
    await desk.journal.close()


async def test_an_end_is_stored_once(database: Forgetful) -> None:
    desk, listener = await ready(database)
    desk.add(0, "whole")
    await desk.end(0)
    await told(listener)
    assert (await desk.stored())[desk.answers[0]] == "whole"
    page = await desk.page()
    kinds = [stretch.event.kind for stretch in page.stretches]
    assert kinds.count("answer.delta") == 1
    assert kinds.count("answer.completed") == 1
    await desk.journal.close()
