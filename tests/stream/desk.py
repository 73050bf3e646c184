"""A journal on a desk: a conversation with pending answers, and whoever listens. No models.

`Instant` is a database whose writes take as long as it is told, on a loop whose time is told too:
an hour of journalling takes a moment, and every commit has an exact time.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tests.store.begin import begin_turn
from tests.store.logs import take

from polyvox.events import Numbered, TextDelta, ThinkingDelta, TurnCompleted
from polyvox.ids import new_id
from polyvox.store import endings, events, turns
from polyvox.store.conversations import Conversations
from polyvox.store.database import Database, Dialect, Tx
from polyvox.store.endings import Ending
from polyvox.store.sqlite import SqliteTx, connect
from polyvox.store.turns import NewTurn
from polyvox.stream.hub import Hub
from polyvox.stream.journal import Journal
from polyvox.values import Advisor, Scope

ME = Scope()
T = TypeVar("T")


def clock() -> int:
    return 1_761_825_600_000_000


@dataclass
class Desk:
    """The journal and what it writes to."""

    database: Database
    hub: Hub
    journal: Journal
    conversation: str
    answers: list[str]

    def add(self, number: int, text: str, thinking: str = "") -> asyncio.Event | None:
        """A piece of an answer."""
        return self.journal.add(ME, self.conversation, self.answers[number], text, thinking)

    async def end(self, number: int) -> None:
        """The end of an answer."""
        answer_id = self.answers[number]
        await self.journal.do(
            ME,
            self.conversation,
            lambda tx: endings.end(tx, Ending(answer_id, "completed"), clock()),
            ends=answer_id,
        )

    async def note(self) -> None:
        """Something that somebody waits for."""
        await self.journal.do(
            ME, self.conversation, lambda tx: (None, [TurnCompleted("t")]), now=True
        )

    async def stored(self) -> dict[str, str]:
        """The text of every answer as the store has it now."""

        def read(tx: Tx) -> dict[str, str]:
            return {one: turns.live_answer(tx, one).text for one in self.answers}

        return await self.database.read(read, ME)

    async def page(self, after: int = 0) -> events.LogPage:
        """The stored events after a number."""
        return await self.database.read(lambda tx: events.since(tx, self.conversation, after), ME)


async def lay(database: Database, answers: int = 3) -> Desk:
    """A desk with so many pending answers."""
    talk = await Conversations(database, clock).create(ME)
    asked = tuple(Advisor(new_id(), f"a{n}", f"A{n}", "") for n in range(answers))

    def begin(tx: Tx) -> list[str]:
        new = NewTurn("Well?", asked, clock())
        begun = begin_turn(tx, talk.id, new, new_id(), "runner", 8, clock())
        events.append(tx, talk.id, begun.opening, clock())
        return [answer.id for answer in begun.answers]

    hub = Hub()
    made = await database.write(begin, ME)
    return Desk(database, hub, Journal(database, hub, clock), talk.id, made)


def shown(items: list[Numbered]) -> dict[str, str]:
    """The texts that these events make, in the order of their offsets."""
    texts: dict[str, str] = {}
    for item in items:
        event = item.event
        if isinstance(event, TextDelta | ThinkingDelta):
            take(texts, event)
    return texts


class _Skipping(selectors.DefaultSelector):
    """Does not wait: moves the time instead."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("everybody waits for nothing")
        if not ready and timeout and timeout > 0:
            self.now += timeout
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.skipping = _Skipping()
        super().__init__(self.skipping)

    def time(self) -> float:
        return self.skipping.now


def in_told_time(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run on a loop whose time passes as fast as it can."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(main())


class Instant:
    """SQLite in the loop's own thread. Notes when each commit was made."""

    dialect: Dialect = "sqlite"

    def __init__(self, path: Path, seconds: float = 0.0) -> None:
        self._connection = connect(path)
        self._seconds = seconds
        self.at: list[float] = []

    @property
    def commits(self) -> int:
        return len(self.at)

    async def write(self, work: Callable[[Tx], T], scope: Scope | None = None) -> T:
        if self._seconds:
            await asyncio.sleep(self._seconds)
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            result = work(SqliteTx(self._connection, scope))
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        self.at.append(asyncio.get_running_loop().time())
        return result

    async def read(self, work: Callable[[Tx], T], scope: Scope | None = None) -> T:
        return work(SqliteTx(self._connection, scope))

    async def close(self) -> None:
        self._connection.close()
