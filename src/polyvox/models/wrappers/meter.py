"""Puts the price on what a reply used."""

from __future__ import annotations

from polyvox.models.base import AttemptLog, Request
from polyvox.models.prices import cost_of
from polyvox.models.reply import OpenReply
from polyvox.models.wrappers import OpenModel, Wrapper
from polyvox.values import Usage


class Meter(Wrapper):
    """The usage of its replies, reported or estimated, has its cost; None where it is unknown."""

    def __init__(self, inner: OpenModel, base_url: str = "") -> None:
        super().__init__(inner)
        self._base_url = base_url

    async def stream(self, request: Request, log: AttemptLog | None = None) -> OpenReply:
        """The same reply, priced."""
        reply = await self._inner.stream(request, log)
        reply.priced(self._price)
        return reply

    def _price(self, usage: Usage, cache_write: int, dollars: float | None) -> int | None:
        return cost_of(
            self.id, usage, base_url=self._base_url, cache_write=cache_write, dollars=dollars
        )
