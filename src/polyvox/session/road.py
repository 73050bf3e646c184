"""The parts a turn is made with, in one hand. Built by the app, borrowed by every step."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from polyvox.context.recipe import Recipe
from polyvox.resources import Resources
from polyvox.session.remembering import MemoryService, NoMemory
from polyvox.store.database import Tx
from polyvox.values import Advisor, Answer, AnswerState, Failure, Scope, Turn

INTERNAL = Failure(
    "unavailable",
    "Polyvox itself failed while this answer was being written.",
    "Retry it; `polyvox doctor` and the log tell more.",
)


class Badges(Protocol):
    """Has new answers checked against what their advisors should do."""

    def want_badges(self, tx: Tx, answer_id: str) -> None:
        """In the commit that ends an answer."""
        ...

    def ring(self) -> None:
        """After that commit."""
        ...


async def _nothing(_: Scope, __: bool) -> None:
    """There is nothing to catch up with."""


@dataclass(slots=True, eq=False)
class Road(Resources):
    """What the road is built of. Nothing of it changes but the settings, as a whole and between two
    steps: whoever needs them asks the road anew."""

    memory: MemoryService = field(default_factory=NoMemory)
    badges: Badges | None = None
    ring: Callable[[], None] = lambda: None
    """There is something to do in the background."""
    catch_up: Callable[[Scope, bool], Awaitable[None]] = _nothing
    """Have remembered what has ended; with True, even where somebody works in the background."""


@dataclass(slots=True, eq=False)
class Job:
    """One answer under way: who answers what, and how it may be told to end early."""

    scope: Scope
    turn: Turn
    answer_id: str
    advisor: Advisor
    recipe: Recipe
    halt: AnswerState | None = None
    """Why it is ending early: `stopped` by the user, `interrupted` by the end of the program."""
    task: asyncio.Task[None] | None = None
    calling: bool = False
    """Whether its model is being asked: only then is there anything to break off."""
    halted: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once it was told to end early."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    received: list[str] = field(default_factory=list)
    """Text so far, to estimate what a stopped answer consumed."""
    memory: tuple[tuple[str, str], ...] = ()
    """What its advisor is told beside its own texts in this turn: (block, text)."""

    def end_early(self, state: AnswerState) -> None:
        """Ask the answer to end now; it still stores what it has. One that has not begun sees
        `halt` when it does (a task cancelled before its first step would never run at all), and
        one that is being stored is left to it."""
        if self.halt is None:
            self.halt = state
            self.halted.set()
            if self.task is not None and self.calling:
                self.task.cancel()


def jobs_for(
    scope: Scope,
    turn: Turn,
    answers: Sequence[Answer],
    asked: Sequence[Advisor],
    recipe: Recipe,
) -> list[Job]:
    """A job for each pending answer of a turn."""
    return [
        Job(scope, turn, answer.id, advisor, recipe)
        for answer, advisor in zip(answers, asked, strict=True)
    ]
