"""The purse of an optimisation: its budget is a hard cap, also with several calls under way.

Before a call, the most that it can cost is set aside; a call that does not fit waits until those
under way have ended and told what they really cost, and is refused if it still does not fit. So
what is spent stays within the budget (an input estimated too low is all that can exceed it). During
the search the cost of the confirmation is kept back: a search that leaves nothing to confirm its
winner with would be wasted.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field

from polyvox.errors import CapReached
from polyvox.evaluation.calls import Calls, Reply
from polyvox.events import NANO
from polyvox.models.base import Request
from polyvox.models.wire import estimated_tokens
from polyvox.store.database import Tx
from polyvox.values import Usage

MARGIN = 1.25
"""By so much an input may be larger than estimated."""
MAX_TOKENS = 4_096


@dataclass(slots=True, eq=False)
class Purse:
    """What may be spent, and what is."""

    budget: int | None
    """Nano-dollars; None: no limit."""
    spent: int = 0
    held: int = 0
    """Kept back for the confirmation."""
    _aside: int = 0
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def take(self, most: int) -> None:
        """Set aside what a call may cost at most; raises `CapReached` where it is not there."""
        if self.budget is None:
            return
        async with self._changed:
            while self.spent + self._aside + most > self.budget - self.held:
                if not self._aside:
                    raise self._empty(self.budget)
                await self._changed.wait()
            self._aside += most

    async def put_back(self, most: int) -> None:
        """A call has ended; what it really cost is among `spent` by now."""
        if self.budget is None:
            return
        async with self._changed:
            self._aside -= most
            self._changed.notify_all()

    def release(self) -> None:
        """The search is over: the confirmation may have what was kept back."""
        self.held = 0

    def _empty(self, budget: int) -> CapReached:
        kept = f", {_usd(self.held)} are kept for the confirmation" if self.held else ""
        return CapReached(
            f"The budget of {_usd(budget)} is used up: {_usd(self.spent)} spent{kept}.",
            "Resume the run with a larger budget, or choose fewer assertions.",
        )


def _usd(nano: int) -> str:
    dollars = nano / NANO
    return f"{dollars:.2f} USD" if dollars >= 0.1 or not nano else f"{dollars:.4f} USD"


@dataclass(slots=True)
class PursedCalls(Calls):
    """Calls that are paid from a purse."""

    purse: Purse = field(default_factory=lambda: Purse(None))

    async def _ask(self, model: str, request: Request) -> Reply:
        most = self._most(model, request)
        await self.purse.take(most)
        try:
            return await Calls._ask(self, model, request)  # noqa: SLF001 - of our own base
        finally:
            await self.purse.put_back(most)

    def _most(self, model: str, request: Request) -> int:
        longest = request.params.max_tokens or self.models.facts(model).max_tokens or MAX_TOKENS
        used = Usage(math.ceil(estimated_tokens(request) * MARGIN), longest)
        return self.models.cost(model, used) or 0


def counted(purse: Purse, tx: Tx, used: Usage) -> None:
    """A call was made."""
    del tx
    purse.spent += used.cost or 0
