"""Replies under way. Wrappers do not stand in the way of the text: they leave a note with the reply
(run this at the end, price the usage so, end at this time) and hand the same object on.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Self

from polyvox.errors import ModelError
from polyvox.models.base import Encoded, Piece, Request
from polyvox.models.parse import Parser
from polyvox.models.wire import estimated_tokens
from polyvox.transport import Response
from polyvox.values import Attempt, Usage

MOST_TOKENS = 10**9
Price = Callable[[Usage, int, float | None], int | None]
"""The cost in nano-dollars of a usage, of which so many tokens were written to a cache, where the
provider named so many dollars; None: unknown."""
Why = Callable[[ModelError], Awaitable[ModelError | None]]
"""The true cause of a failed connection; None: nothing better than what is known."""


class OpenReply(ABC):
    """A reply that can be priced, ended early, and told whom to tell when it is over."""

    def __init__(
        self, model: str, encoded: Encoded, request: Request, attempts: list[Attempt]
    ) -> None:
        self.model = model
        self.encoded = encoded
        self.attempts = attempts
        self.over = False
        """True if nothing more will come, for whatever reason."""
        self._request = request
        self._held: Piece | None = None
        self._price: Price | None = None
        self._at_end: list[Callable[[], None]] = []

    def __aiter__(self) -> AsyncIterator[Piece]:
        return self

    @abstractmethod
    async def __anext__(self) -> Piece:
        """The next piece."""

    @abstractmethod
    def abort(self, error: ModelError) -> None:
        """End it now; whoever waits for the next piece gets `error`."""

    @abstractmethod
    def _reported(self) -> tuple[Usage | None, int, float | None]:
        """The provider's usage so far, the tokens it wrote to a cache, and its own price in USD."""

    @abstractmethod
    def _characters(self) -> int:
        """Characters of text and thinking that came so far."""

    @abstractmethod
    def _complete(self) -> bool:
        """True if the provider said that the answer is whole, so that its counts are final."""

    @abstractmethod
    def _release(self) -> None:
        """Let go of what is held open."""

    async def aclose(self) -> None:
        """End it, wherever it is: the connection is closed before this returns."""
        self._end()

    def at_end(self, call: Callable[[], None]) -> None:
        """Run this once when the reply is over: exhausted, failed or closed. At once if it is."""
        if self.over:
            call()
        else:
            self._at_end.append(call)

    def priced(self, price: Price) -> None:
        """Price the usage so."""
        self._price = price
        if self._held is not None and self._held.usage is not None:
            self._held.usage = self.usage

    @property
    def usage(self) -> Usage:
        """The usage of this reply up to now: reported, or else estimated. Also after a stop."""
        usage, cache_write, dollars = self._reported()
        if usage is None or not self._complete():
            spoken = math.ceil(self._characters() / 4)
            usage = usage or Usage(estimated_tokens(self._request), spoken)
            spoken = max(spoken, usage.output_tokens)
            usage = replace(usage, output_tokens=spoken, estimated=True)
        if max(usage.input_tokens, usage.output_tokens) > MOST_TOKENS:  # a report of nonsense
            usage = Usage(
                estimated_tokens(self._request), math.ceil(self._characters() / 4), estimated=True
            )
        if self._price is None:
            return usage
        return replace(usage, cost=self._price(usage, cache_write, dollars))

    async def begin(self) -> Self:
        """Wait for the first piece and hold it until it is asked for."""
        self._held = await self.__anext__()
        return self

    def _hold(self) -> Piece | None:
        piece, self._held = self._held, None
        return piece

    def _end(self) -> None:
        if not self.over:
            self.over = True
            self._release()
            calls, self._at_end = self._at_end, []
            for call in calls:
                call()


class WireReply(OpenReply):
    """A reply that is read from a connection: one read, one piece."""

    def __init__(
        self,
        model: str,
        encoded: Encoded,
        request: Request,
        attempts: list[Attempt],
        response: Response,
        parser: Parser,
    ) -> None:
        super().__init__(model, encoded, request, attempts)
        self._response = response
        self._parser = parser
        self._why: Why | None = None

    def cut_off(self, why: Why) -> None:
        """Ask this for the cause when the connection fails in the middle of the answer."""
        self._why = why

    async def __anext__(self) -> Piece:
        if self._held is not None and (held := self._hold()) is not None:
            return held
        if self.over:
            raise StopAsyncIteration
        parser, read = self._parser, self._response.read
        while parser.error is None:
            try:
                data = await read()
            except ModelError as error:
                if parser.finish is None:
                    self._end()
                    if self._why is not None and (cause := await self._why(error)) is not None:
                        raise cause from error
                    raise
                del error  # the answer was whole; only its end mark is missing
                data = b""
            piece = parser.feed(data) if data else parser.end()
            if parser.done and parser.error is None:
                return self._last(piece)
            if piece is not None:
                return piece
        self._end()
        raise parser.error

    def abort(self, error: ModelError) -> None:
        """Close the connection; the reader gets `error`."""
        if not self.over:
            self._parser.finish = None
            self._response.close(error)

    def _last(self, piece: Piece | None) -> Piece:
        piece = piece or Piece()
        piece.usage = self.usage
        piece.finish = self._parser.finish or "stop"
        self._end()
        return piece

    def _reported(self) -> tuple[Usage | None, int, float | None]:
        parser = self._parser
        return parser.usage, parser.cache_write, parser.reported_cost

    def _characters(self) -> int:
        return self._parser.characters

    def _complete(self) -> bool:
        return self._parser.finish is not None

    def _release(self) -> None:
        if self._parser.done and self._parser.error is None:
            self._response.finish()
        else:
            self._response.close()
