"""No more at once, and no faster, than a provider (and a model) can take. First come, first served.

A place is taken before the call and given back when the reply is over, however it ends.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from polyvox.models.base import AttemptLog, Request, Sleep
from polyvox.models.reply import OpenReply
from polyvox.models.wrappers import OpenModel, Wrapper


class Gate:
    """The capacity of one provider or one model. Shared by all that go through it."""

    def __init__(
        self,
        *,
        concurrency: int | None = None,
        requests_per_minute: float | None = None,
        min_delay: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._places = asyncio.Semaphore(concurrency) if concurrency else None
        self._queue = asyncio.Lock()  # its waiters are served in order
        self._min_delay = min_delay
        self._span = 0.0
        """So long a time holds no more starts than `_starts` does."""
        self._starts: deque[float] = deque(maxlen=1)
        if requests_per_minute is not None:
            count = max(1, int(requests_per_minute))
            self._span = 60.0 * count / requests_per_minute
            self._starts = deque(maxlen=count)
        self._clock = clock
        self._sleep = sleep

    async def enter(self) -> None:
        """Wait for a place and for the moment. Being cancelled meanwhile takes nothing."""
        async with self._queue:
            if self._places is not None:
                await self._places.acquire()
            try:
                while (wait := self._due() - self._clock()) > 0:
                    await self._sleep(wait)
            except BaseException:
                self.leave()
                raise
            self._starts.append(self._clock())

    def leave(self) -> None:
        """Give the place back."""
        if self._places is not None:
            self._places.release()

    def _due(self) -> float:
        """When the next request may start."""
        if not self._starts:
            return float("-inf")
        due = self._starts[-1] + self._min_delay
        if len(self._starts) == self._starts.maxlen:
            due = max(due, self._starts[0] + self._span)
        return due


class Limit(Wrapper):
    """Passes all its gates, the narrowest first, before it asks."""

    def __init__(self, inner: OpenModel, gates: tuple[Gate, ...]) -> None:
        super().__init__(inner)
        self._gates = gates

    async def stream(self, request: Request, log: AttemptLog | None = None) -> OpenReply:
        """Ask when it may be asked."""
        entered: list[Gate] = []
        try:
            for gate in self._gates:
                await gate.enter()
                entered.append(gate)
            reply = await self._inner.stream(request, log)
        except BaseException:
            _leave(entered)
            raise
        reply.at_end(lambda: _leave(entered))
        return reply


def _leave(gates: list[Gate]) -> None:
    while gates:
        gates.pop().leave()
