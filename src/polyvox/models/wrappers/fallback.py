"""When a model fails before its first word, ask the next one of a chain.

Every failure of the chain stands in the attempt log; if all fail, the first one's cause is told,
because that is the model the person chose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from polyvox.errors import ModelError
from polyvox.ids import Clock, system_clock
from polyvox.models.base import AttemptLog, Request
from polyvox.models.reply import OpenReply
from polyvox.models.wire import estimated_tokens
from polyvox.models.wrappers import OpenModel, Wrapper
from polyvox.values import Attempt

Window = Callable[[str], int | None]
"""Tokens that fit a model's window, by its full name; None: unknown."""


class Fallback(Wrapper):
    """The first model of the chain that answers. A model the request cannot fit is passed over."""

    def __init__(
        self,
        chain: Sequence[OpenModel],
        window: Window,
        clock: Clock = system_clock,
        most: Window = lambda _: None,
    ) -> None:
        super().__init__(chain[0])
        self._most = most
        self._chain = tuple(chain)
        self._window = window
        self._clock = clock

    async def stream(self, request: Request, log: AttemptLog | None = None) -> OpenReply:
        """Ask one after another. The reply names the model that gave it."""
        log = AttemptLog() if log is None else log
        errors: list[tuple[str, ModelError]] = []
        for model in self._chain:
            # The first model was measured by whoever built the request for it.
            asked = self._for(model, request) if errors else request
            if errors and (why := self._too_long(model, asked)):
                log.attempts.append(
                    Attempt(model.id, self._clock(), category="context_too_long", message=why)
                )
                continue
            log.params = asked.params
            try:
                return await model.stream(asked, log)
            except ModelError as error:
                errors.append((model.id, error))
        raise _told(errors)

    def _for(self, model: OpenModel, request: Request) -> Request:
        """The same request with no longer an answer than this model may give."""
        most, wanted = self._most(model.id), request.params.max_tokens
        if most is None or (wanted is not None and wanted <= most):
            return request
        return replace(request, params=replace(request.params, max_tokens=most))

    def _too_long(self, model: OpenModel, request: Request) -> str:
        window = self._window(model.id)
        needed = estimated_tokens(request) + (request.params.max_tokens or 0)
        if window is None or needed <= window:
            return ""
        return f"Not asked: about {needed} tokens do not fit its window of {window}."


def _told(errors: list[tuple[str, ModelError]]) -> ModelError:
    (_, first), *others = errors
    if not others:
        return first
    also = ", ".join(f"{name} ({error.category})" for name, error in others)
    return type(first)(
        first.message,
        f"{first.hint} Also tried: {also}.".strip(),
        http_status=first.http_status,
        retry_after=first.retry_after,
    )
