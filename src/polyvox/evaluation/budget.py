"""Model calls of a run and what they may cost: a few at once, each affordable before it is made
and counted after, however it ends.

Whoever cancels a run cancels the tasks that wait here; each closes its reply as it goes, so nothing
is spent any more. What a call used is stored in one commit with whatever the run keeps count of.

A run's own budget is a hard cap, also with several calls under way. Before a call, the most that it
can cost is set aside; a call that does not fit waits until those under way have ended and have
counted what they really cost, and is refused if it still does not fit. So what is spent stays
within the budget (an input estimated too low is all that can exceed it). During the search of an
optimisation the cost of its confirmation is kept back: a search that leaves nothing to confirm its
winner with would be wasted.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from polyvox.errors import CapReached
from polyvox.events import NANO
from polyvox.models.base import AttemptLog, Request
from polyvox.models.wire import estimated_tokens
from polyvox.resources import Resources
from polyvox.store import usage
from polyvox.store.database import Tx
from polyvox.store.usage import check_caps
from polyvox.values import Scope, Usage

T = TypeVar("T")
R = TypeVar("R")
Note = Callable[[Tx, Usage], None]
"""Keeps a run's own count, inside the commit that stores what a call used."""
MARGIN = 1.25
"""Factor by which an input may be larger than estimated."""
MAX_TOKENS = 4_096


@dataclass(slots=True, eq=False)
class RunBudget:
    """The sum that a run may spend, and what it has spent."""

    most: int | None = None
    """Nano-dollars; None: no limit."""
    spent: int = 0
    kept_back: int = 0
    """For the confirmation."""
    _aside: int = 0
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def set_aside(self, cost: int) -> None:
        """Set aside what a call may cost at most; raises `CapReached` where it is not there."""
        if self.most is None:
            return
        async with self._changed:
            while self.spent + self._aside + cost > self.most - self.kept_back:
                if not self._aside:
                    raise self._used_up(self.most)
                await self._changed.wait()
            self._aside += cost

    async def put_back(self, cost: int) -> None:
        """End a call: what it really cost is among `spent` by now."""
        if self.most is None:
            return
        async with self._changed:
            self._aside -= cost
            self._changed.notify_all()

    def _used_up(self, most: int) -> CapReached:
        kept = f", {_usd(self.kept_back)} are kept for the confirmation" if self.kept_back else ""
        return CapReached(
            f"The budget of {_usd(most)} is used up: {_usd(self.spent)} spent{kept}.",
            "Resume the run with a larger budget, or choose fewer assertions.",
        )


def _usd(nano: int) -> str:
    dollars = nano / NANO
    return f"{dollars:.2f} USD" if dollars >= 0.1 or not nano else f"{dollars:.4f} USD"


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A whole reply."""

    text: str
    model: str
    """provider:name."""
    cut: bool
    """True if it ended only because it had become too long."""
    usage: Usage


@dataclass(slots=True)
class Calls:
    """Asks models on behalf of one run."""

    resources: Resources
    scope: Scope
    purpose: str = "evaluation"
    """Under this name its usage is summed, among the advisors too."""
    note: Note | None = None
    budget: RunBudget = field(default_factory=RunBudget)
    _room: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._room = asyncio.Semaphore(self.resources.settings.evaluation.concurrency)

    async def ask(
        self,
        model: str,
        request: Request,
        keep: Callable[[ModelReply], Awaitable[object]] | None = None,
    ) -> ModelReply:
        """Ask exactly this model for a whole reply: another one in its place would be measured in
        its name. `keep` stores the reply before the next call begins, so that a killed run pays
        again only for what was in flight. Raises `ModelError` where none comes, `CapReached` before
        a call that may not be made."""
        async with self._room:
            await self._check_caps()
            most = self._most(model, request)
            await self.budget.set_aside(most)
            try:
                reply = await self._ask(model, request)
                if keep is not None:
                    await keep(reply)
                return reply
            finally:
                await self.budget.put_back(most)

    async def _check_caps(self) -> None:
        """Refuse a call beyond the caps of the settings."""
        limits, clock = self.resources.settings.limits, self.resources.clock
        if limits.capped:
            await self.resources.database.read(
                lambda tx: check_caps(tx, limits, "", None, clock()), self.scope
            )

    def _most(self, model: str, request: Request) -> int:
        models = self.resources.models
        longest = request.params.max_tokens or models.facts(model).max_tokens or MAX_TOKENS
        used = Usage(math.ceil(estimated_tokens(request) * MARGIN), longest)
        return models.cost(model, used) or 0

    async def _ask(self, model: str, request: Request) -> ModelReply:
        tried = AttemptLog()
        used: Usage | None = None
        finish = None
        pieces: list[str] = []
        try:
            reply = await self.resources.models.get(model).stream(request, tried)
            try:
                async for piece in reply:
                    pieces.append(piece.text)
                    finish = piece.finish or finish
            finally:
                await reply.aclose()
                used = reply.usage
        except asyncio.CancelledError:
            if used is None and tried.attempts:
                used = self._unanswered(model, request)
            raise
        finally:
            if used is not None:
                await asyncio.shield(self._record(model, used))
        return ModelReply("".join(pieces), reply.model, finish == "length", used)

    def _unanswered(self, model: str, request: Request) -> Usage:
        """Usage of a request that was cancelled before the first word: the provider read it all the
        same."""
        sent = Usage(estimated_tokens(request), 0, estimated=True)
        cost = self.resources.models.cost(model, sent)
        return Usage(sent.input_tokens, 0, cost=cost, estimated=True)

    async def _record(self, model: str, used: Usage) -> None:
        now = self.resources.clock()

        def write(tx: Tx) -> None:
            usage.record(
                tx, usage=used, model=model, advisor_id=self.purpose, at=now, purpose=self.purpose
            )
            if self.note is not None:
                self.note(tx, used)

        await self.resources.database.write(write, self.scope)
        self.budget.spent += used.cost or 0


async def together(act: Callable[[T], Coroutine[Any, Any, R]], items: Sequence[T]) -> list[R]:
    """Run `act` on all items at once; answers the results in their order. The first failure ends
    the others, and so does a cancel."""
    tasks = [asyncio.create_task(act(item)) for item in items]
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
