"""Models that wrap models. Each acts before the first piece arrives and then hands the same reply
on, so that nothing stands between the wire and the reader once text flows.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from polyvox.errors import ModelError, ModelTimeout
from polyvox.ids import Clock, system_clock
from polyvox.models.base import AttemptLog, Encoded, Request, Sleep
from polyvox.models.prices import cost_of
from polyvox.models.reply import OpenReply
from polyvox.models.wire import estimated_tokens
from polyvox.values import Attempt, Usage


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


# -- deadline: the time one answer may take in all, waiting, retries and fallback included ---------


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


# -- retry: try again after a failure that passes --------------------------------------------------

FIRST_WAIT = 0.5
LONGEST_WAIT = 8.0


class Retry(Wrapper):
    """Up to `retries` further tries, each after a longer pause or the one the provider wants."""

    def __init__(
        self,
        inner: OpenModel,
        retries: int,
        retry_wait: float,
        sleep: Sleep = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(inner)
        self._retries = retries
        self._retry_wait = retry_wait
        self._sleep = sleep
        self._chance = chance

    async def stream(self, request: Request, log: AttemptLog | None = None) -> OpenReply:
        """The first try that succeeds."""
        log = AttemptLog() if log is None else log
        for tries in itertools.count():
            try:
                return await self._inner.stream(request, log)
            except ModelError as error:
                pause = self._pause(tries, error)
                if pause is None:
                    raise self._patient(error) from None
            await self._sleep(pause)
        raise AssertionError("a count has no end")

    def _patient(self, error: ModelError) -> ModelError:
        """The same error; one whose provider wants a longer pause than is waited for says so."""
        wait = error.retry_after
        if wait is None or wait <= self._retry_wait:
            return error
        again = f"The provider asks to wait {_duration(wait)}; retry the answer then."
        return type(error)(
            error.message, again, http_status=error.http_status, retry_after=error.retry_after
        )

    def _pause(self, tries: int, error: ModelError) -> float | None:
        """Seconds until the next try; None: there is none."""
        ours = isinstance(error, ModelTimeout) and error.http_status is None
        if tries >= self._retries or not error.transient or ours:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self._retry_wait else None
        # Half of it by chance: advisors that failed together do not come back together.
        full: float = min(LONGEST_WAIT, FIRST_WAIT * 2**tries)
        return full * (0.5 + self._chance() / 2)


def _duration(seconds: float) -> str:
    """A time to wait, in words."""
    for name, size in (("hour", 3600), ("minute", 60)):
        if seconds >= 2 * size:
            return f"about {round(seconds / size)} {name}s"
    return f"{math.ceil(seconds)} seconds"


# -- fallback: ask the next model of a chain when one fails before its first word ------------------

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


# -- limit: no more at once, and no faster, than a provider or a model can take --------------------


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


# -- meter: put the price on what a reply used -----------------------------------------------------


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
