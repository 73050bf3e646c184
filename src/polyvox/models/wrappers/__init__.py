"""Models that wrap models. Each acts before the first piece arrives and then hands the same reply
on, so that nothing stands between the wire and the reader once text flows.
"""

from __future__ import annotations

from typing import Protocol

from polyvox.models.base import AttemptLog, Encoded, Request
from polyvox.models.reply import OpenReply


class OpenModel(Protocol):
    """A model whose replies take notes from wrappers."""

    @property
    def id(self) -> str:
        """provider:name."""
        ...

    def encode(self, request: Request) -> Encoded:
        """The bytes that `stream` would send."""
        ...

    async def stream(self, request: Request, log: AttemptLog | None = None) -> OpenReply:
        """Start a reply, or raise a `ModelError`."""
        ...


class Wrapper:
    """A model that is another one, but for how it is asked."""

    def __init__(self, inner: OpenModel) -> None:
        self._inner = inner

    @property
    def id(self) -> str:
        """provider:name."""
        return self._inner.id

    def encode(self, request: Request) -> Encoded:
        """The bytes that `stream` would send."""
        return self._inner.encode(request)
