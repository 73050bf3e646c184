"""Model calls of a run: a few at once, each afforded before and noted after, however it ends.

Whoever cancels a run cancels the tasks that wait here; each closes its reply as it goes, so nothing
is spent any more. What a call used is stored in one commit with whatever the run keeps count of.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from polyvox.ids import Clock
from polyvox.models.base import AttemptLog, Request
from polyvox.models.registry import Models
from polyvox.models.wire import estimated_tokens
from polyvox.store import usage
from polyvox.store.database import Database, Tx
from polyvox.values import Scope, Usage

T = TypeVar("T")
R = TypeVar("R")
Afford = Callable[[str, Request], Awaitable[None]]
"""Raises `CapReached` where this call may not be made."""
Note = Callable[[Tx, Usage], None]
"""Keeps a run's own count, inside the commit that stores what a call used."""


async def _free(model: str, request: Request) -> None:
    del model, request


def _uncounted(tx: Tx, used: Usage) -> None:
    del tx, used


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole reply."""

    text: str
    model: str
    """provider:name."""
    cut: bool
    """Whether it ended only because it had become too long."""
    usage: Usage


@dataclass(slots=True)
class Calls:
    """Asks models on behalf of one run."""

    scope: Scope
    models: Models
    database: Database
    clock: Clock
    purpose: str = "evaluation"
    """Under this name its usage is summed, among the advisors too."""
    afford: Afford = _free
    note: Note = _uncounted
    at_once: int = 4
    made: int = 0
    _room: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._room = asyncio.Semaphore(self.at_once)

    async def ask(self, model: str, request: Request) -> Reply:
        """The whole reply of exactly this model: another one in its place would be measured in its
        name. Raises `ModelError` where none comes, `CapReached` before a call that may not be."""
        async with self._room:
            await self.afford(model, request)
            self.made += 1
            return await self._ask(model, request)

    async def _ask(self, model: str, request: Request) -> Reply:
        tried = AttemptLog()
        used: Usage | None = None
        finish = None
        pieces: list[str] = []
        try:
            reply = await self.models.get(model).stream(request, tried)
            try:
                async for piece in reply:
                    pieces.append(piece.text)
                    finish = piece.finish or finish
            finally:
                await reply.aclose()
                used = reply.usage
        except asyncio.CancelledError:
            if used is None and tried.attempts:
                used = self._in_vain(model, request)
            raise
        finally:
            if used is not None:
                await asyncio.shield(self._record(model, used))
        return Reply("".join(pieces), reply.model, finish == "length", used)

    def _in_vain(self, model: str, request: Request) -> Usage:
        """What was sent and then cancelled before the first word: read by the provider all the
        same."""
        sent = Usage(estimated_tokens(request), 0, estimated=True)
        return Usage(sent.input_tokens, 0, cost=self.models.cost(model, sent), estimated=True)

    async def _record(self, model: str, used: Usage) -> None:
        now = self.clock()

        def write(tx: Tx) -> None:
            usage.record(
                tx, usage=used, model=model, advisor_id=self.purpose, at=now, purpose=self.purpose
            )
            self.note(tx, used)

        await self.database.write(write, self.scope)


async def together(act: Callable[[T], Coroutine[Any, Any, R]], items: Sequence[T]) -> list[R]:
    """What `act` gives for each item, in their order, all at once. The first failure ends the
    others, and so does a cancel."""
    tasks = [asyncio.create_task(act(one)) for one in items]
    if not tasks:
        return []
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
        return [task.result() for task in tasks]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
