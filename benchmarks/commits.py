"""Commits: how many while answers stream, how long they take beside other writers, what they leave.

In this process, through the library, because what is counted is inside.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from benchmarks.report import Row, at_most, median, percentile
from polyvox.app import Polyvox
from polyvox.ids import new_id
from polyvox.settings import ModelSettings, Provider, Settings
from polyvox.store import search, usage
from polyvox.store.database import Database, Dialect, Tx
from polyvox.values import Scope, Usage

T = TypeVar("T")
ME = Scope()
CONVERSATIONS, ADVISORS = 4, 4
STEADY = 40
"""Writes a second of the background, each of 20 usage rows and one passage of 2 kB."""
WORDS = "the quick and the slow walk over the same hill in the evening of another day " * 26


class Timed:
    """A database whose writes are timed; everything else is the database's own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.ended: list[float] = []
        self.took: list[float] = []

    @property
    def dialect(self) -> Dialect:
        """Which database it is."""
        return self._database.dialect

    @property
    def commits(self) -> int:
        """Transactions so far."""
        return self._database.commits

    async def write(self, work: Callable[[Tx], T], scope: Scope | None = None) -> T:
        """Write, and note how long it took."""
        began = time.perf_counter()
        result = await self._database.write(work, scope)
        self.ended.append(time.perf_counter())
        self.took.append((self.ended[-1] - began) * 1000)
        return result

    async def read(self, work: Callable[[Tx], T], scope: Scope | None = None) -> T:
        """Read."""
        return await self._database.read(work, scope)

    async def close(self) -> None:
        """Close."""
        await self._database.close()


def settings(place: Path, upstream: int, model: str) -> Settings:
    """The provider as `lab`, and a model of it as the default."""
    lab = Provider(base_url=f"http://127.0.0.1:{upstream}/v1")
    return Settings(
        home=place, models=ModelSettings(default=f"lab:{model}"), providers={"lab": lab}
    )


async def commits(place: Path, upstream: int) -> list[Row]:
    """Several conversations at a person's pace, first alone, then beside a busy writer."""
    async with Polyvox(settings(place, upstream, "tokens=250;pace=0.02"), env={}) as polyvox:
        ids = [one.id for one in await polyvox.advisors.list(ME)][:ADVISORS]
        alone = Timed(polyvox.database)
        polyvox.journal.database = alone
        await _turn(polyvox, ids)
        beside = polyvox.journal.database = Timed(polyvox.database)
        background = asyncio.create_task(_background(polyvox))
        await asyncio.gather(*(_turn(polyvox, ids) for _ in range(CONVERSATIONS)))
        background.cancel()
    detail = f"p50 {median(beside.took):.1f} ms, {len(beside.took)} commits"
    return [
        at_most("commits in any second, one conversation", _most(alone.ended), 20),
        at_most("commit p99 beside background work", percentile(beside.took, 0.99), 25, " ms",
                detail),
    ]  # fmt: skip


def _most(times: list[float]) -> int:
    """The most that fell into one second."""
    return max(bisect_left(times, at + 1) - number for number, at in enumerate(times))


async def _turn(polyvox: Polyvox, ids: list[str]) -> None:
    made = await polyvox.conversations.create(ME, advisors=ids)
    begun = await polyvox.turns.send(ME, made.id, "Go on, at your own pace.")
    async for _ in polyvox.events(made.id, until=begun.turn.id):
        pass


async def _background(polyvox: Polyvox) -> None:
    made = await polyvox.conversations.create(ME)

    def work(tx: Tx) -> None:
        now = polyvox.clock()
        for _ in range(20):
            usage.record(
                tx, usage=Usage(10, 10), model="lab:x", advisor_id="bench", at=now, purpose="x"
            )
        search.index(tx, made.id, "message", new_id(), WORDS)

    while True:
        await asyncio.gather(polyvox.database.write(work, ME), asyncio.sleep(1 / STEADY))


async def growth(place: Path, upstream: int, far: int) -> list[Row]:
    """Bytes that a turn leaves in the database, early and late in a conversation."""
    wide = far // 5  # wide enough that the search index's merges, now and then, even out
    marks = (20, 20 + wide, far - wide, far)
    at: dict[int, int] = {}
    async with Polyvox(settings(place, upstream, "tokens=60"), env={}) as polyvox:
        ids = [one.id for one in await polyvox.advisors.list(ME)][:2]
        made = await polyvox.conversations.create(ME, advisors=ids)
        for number in range(1, far + 1):
            seen = (await polyvox.conversations.get(ME, made.id)).last_number
            begun = await polyvox.turns.send(ME, made.id, f"And then, the {number}th time?")
            async for _ in polyvox.events(made.id, after=seen, until=begun.turn.id):
                pass
            if number in marks:
                at[number] = _bytes(place / "polyvox.db")
    early, late = (at[20 + wide] - at[20]) / wide, (at[far] - at[far - wide]) / wide
    detail = f"{early:,.0f} → {late:,.0f} bytes a turn of 2 answers"
    what = f"stored bytes of turns {far - wide}–{far}, times turns 20–{20 + wide}"
    return [at_most(what, late / early, 1.1, "", detail)]


def _bytes(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        pages, free, size = (
            int(connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_count", "freelist_count", "page_size")
        )
    finally:
        connection.close()
    return (pages - free) * size
