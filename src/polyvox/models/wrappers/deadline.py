"""The time one answer may take in all: waiting, retries, fallback and every word of it."""

from __future__ import annotations

import asyncio

from polyvox.errors import ModelTimeout
from polyvox.models.base import AttemptLog, Request
from polyvox.models.reply import OpenReply
from polyvox.models.wrappers import OpenModel, Wrapper


class Deadline(Wrapper):
    """Ends the reply when its time is up: one timer, and nothing per piece."""

    def __init__(self, inner: OpenModel, seconds: float) -> None:
        super().__init__(inner)
        self._seconds = seconds

    async def stream(self, request: Request, log: AttemptLog | None = None) -> OpenReply:
        """A reply that raises ModelTimeout once the deadline has passed."""
        loop = asyncio.get_running_loop()
        due = loop.time() + self._seconds
        try:
            async with asyncio.timeout_at(due):
                reply = await self._inner.stream(request, log)
        except TimeoutError:
            raise self._late() from None
        timer = loop.call_at(due, lambda: reply.abort(self._late()))
        reply.at_end(timer.cancel)
        return reply

    def _late(self) -> ModelTimeout:
        return ModelTimeout(
            f"The answer took longer than {self._seconds:g} seconds.",
            "Ask for a shorter answer, or raise limits.deadline.",
        )
