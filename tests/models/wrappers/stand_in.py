"""A model without a wire for wrapper tests: each call takes the next outcome of a list."""

from __future__ import annotations

from collections.abc import Sequence

from polyvox.errors import ModelError
from polyvox.models.base import AttemptLog, Encoded, Request
from polyvox.models.reply import OpenReply
from polyvox.models.scripted import Script, ScriptedReply
from polyvox.models.wire import encode
from polyvox.values import Attempt


class Sleeper:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


async def no_sleep(seconds: float) -> None:
    """Returns at once."""


class StandIn:
    """Gives a reply for None in `outcomes`, else raises the error; the last one is repeated."""

    def __init__(
        self,
        outcomes: Sequence[ModelError | None] = (None,),
        name: str = "scripted:stand-in",
        script: Script | None = None,
    ) -> None:
        self._outcomes = list(outcomes)
        self._script = script or Script(say="one two three")
        self._name = name
        self.calls = 0

    @property
    def id(self) -> str:
        return self._name

    def encode(self, request: Request) -> Encoded:
        return encode("scripted", self._name, request)

    async def stream(self, request: Request, log: AttemptLog | None = None) -> OpenReply:
        log = AttemptLog() if log is None else log
        self.calls += 1
        log.encoded, log.model = self.encode(request), self._name
        error = self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0]
        category = error.category if error else None
        log.attempts.append(Attempt(self._name, self.calls, category=category))
        if error is not None:
            raise error
        reply = ScriptedReply(
            self._name, log.encoded, request, log.attempts, self._script, no_sleep
        )
        return await reply.begin()
