"""Try again after a failure that passes: too many requests, a server's fault, a lost connection.

Silence is not among them: who has waited once for a first byte does not want to wait three times.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable

from polyvox.errors import ModelError, ModelTimeout
from polyvox.models.base import AttemptLog, Request, Sleep
from polyvox.models.reply import OpenReply
from polyvox.models.wrappers import OpenModel, Wrapper

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
                    raise
            await self._sleep(pause)
        raise AssertionError("a count has no end")

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
