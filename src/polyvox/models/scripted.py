"""A model that says what it is told to: for tests, demos and trying things without any model.

    scripted:echo                        repeats the last message
    scripted:say=Yes,_but.;pace=0.05     says this (underscores are spaces), a word each 50 ms
    scripted:fail=rate_limit;after=3     fails so, here after three words
    scripted:advice                      a script given in code: Models(…, scripts={"advice": …})

It is deterministic, and is encoded like any other model, so that its receipts are real.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields

from polyvox.errors import MODEL_ERRORS, EmptyAnswer, ModelError, Refused
from polyvox.ids import Clock, system_clock
from polyvox.models.base import AttemptLog, Encoded, Piece, Request, Sleep
from polyvox.models.reply import OpenReply
from polyvox.models.wire import encode, estimated_tokens
from polyvox.values import Attempt, Usage


@dataclass(frozen=True, slots=True)
class Script:
    """The text to say and its pace. `{last}` in a text is the last user message."""

    say: str = "{last}"
    think: str = ""
    delay: float = 0.0
    """Seconds before the first word."""
    pace: float = 0.0
    """Seconds before each further word."""
    fail: str = ""
    """A category of failure; empty: none."""
    after: int = 0
    """Words before the failure."""


SCRIPTS: Mapping[str, Script] = {
    "echo": Script(),
    "silent": Script(say=""),
    "ponder": Script(think="Let me think about that.", say="I would begin with: {last}"),
}


def script_of(name: str, scripts: Mapping[str, Script] | None = None) -> Script:
    """The script of that name, or the one that the name spells out; `Refused` if there is none."""
    known = {**SCRIPTS, **(scripts or {})}
    if name in known:
        return known[name]
    kinds = {each.name: each.type for each in fields(Script)}
    given: dict[str, str | float | int] = {}
    for pair in name.split(";"):
        key, equals, value = pair.partition("=")
        if not equals or key not in kinds:
            raise _unknown(name, known)
        try:
            convert = {"float": float, "int": int}.get(str(kinds[key]))
            given[key] = convert(value) if convert else value.replace("_", " ")
        except ValueError:
            raise _unknown(name, known) from None
    fail = str(given.get("fail", "")).replace(" ", "_")
    if fail and fail not in MODEL_ERRORS:
        raise Refused(f"There is no failure {fail!r}.", f"Known are {', '.join(MODEL_ERRORS)}.")
    return Script(**{**given, "fail": fail})  # type: ignore[arg-type]  # checked field by field above


class ScriptedModel:
    """A model that follows a script."""

    def __init__(
        self,
        name: str,
        scripts: Mapping[str, Script] | None = None,
        sleep: Sleep = asyncio.sleep,
        clock: Clock = system_clock,
    ) -> None:
        self._name = name
        self._scripts = scripts
        self._sleep = sleep
        self._clock = clock

    @property
    def id(self) -> str:
        """provider:name."""
        return f"scripted:{self._name}"

    def encode(self, request: Request) -> Encoded:
        """The bytes that would be sent if there were a wire."""
        return encode("scripted", self._name, request)

    async def stream(self, request: Request, log: AttemptLog | None = None) -> OpenReply:
        """Begin to speak."""
        log = AttemptLog() if log is None else log
        log.encoded, log.model = self.encode(request), self.id
        started_at, began = self._clock(), time.monotonic()
        category: str | None = None
        message: str | None = None
        try:
            script = script_of(self._name, self._scripts)
            reply = ScriptedReply(self.id, log.encoded, request, log.attempts, script, self._sleep)
            return await reply.begin()
        except ModelError as error:
            category, message = error.category, error.message
            raise
        finally:
            waited = round((time.monotonic() - began) * 1000, 3)
            log.attempts.append(
                Attempt(self.id, started_at, waited, category=category, message=message)
            )


class ScriptedReply(OpenReply):
    """Word by word."""

    def __init__(
        self,
        model: str,
        encoded: Encoded,
        request: Request,
        attempts: list[Attempt],
        script: Script,
        sleep: Sleep,
    ) -> None:
        super().__init__(model, encoded, request, attempts)
        questions = [message.text for message in request.messages if message.role == "user"]
        last = questions[-1] if questions else ""
        most = request.params.max_tokens
        self._script = script
        self._thoughts = _words(script.think.replace("{last}", last))
        self._words = _words(script.say.replace("{last}", last))[:most]
        self._at = 0
        self._sent = 0
        self._sleep = sleep
        self._aborted: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def __anext__(self) -> Piece:
        if self._held is not None and (held := self._hold()) is not None:
            return held
        if self.over:
            raise StopAsyncIteration
        script, words = self._script, self._words
        await self._pause(script.pace if self._at else script.delay)
        thought = len(self._thoughts)
        spoken = self._at - thought
        if script.fail and spoken >= min(script.after, len(words)):
            self._stop(_failure(script.fail, self.model))
        if self._at < thought:
            piece = Piece(thinking=self._thoughts[self._at])
        elif not words:
            self._stop(EmptyAnswer(f"{self.model} has nothing to say.", "Give it a script."))
        else:
            piece = Piece(text=words[spoken])
        self._at += 1
        self._sent += len(piece.text) + len(piece.thinking)
        if spoken == len(words) - 1 and not (script.fail and script.after > spoken):
            piece.usage, piece.finish = self.usage, "stop"
            self._end()
        return piece

    def abort(self, error: ModelError) -> None:
        """Stop at this word."""
        if not self.over and not self._aborted.done():
            self._aborted.set_exception(error)

    def _stop(self, error: ModelError) -> None:
        self._end()
        raise error

    async def _pause(self, seconds: float) -> None:
        """Wait, unless it is aborted first."""
        if seconds <= 0:
            await self._sleep(0)
        else:
            pause = asyncio.ensure_future(self._sleep(seconds))
            try:
                await asyncio.wait({pause, self._aborted}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                pause.cancel()
        if self._aborted.done():
            self._end()
            self._aborted.result()

    def _reported(self) -> tuple[Usage | None, int, float | None]:
        thought = min(self._at, len(self._thoughts))
        tokens = estimated_tokens(self._request)
        return Usage(tokens, self._at, reasoning_tokens=thought), 0, None

    def _characters(self) -> int:
        return self._sent

    def _complete(self) -> bool:
        return self._at >= len(self._thoughts) + len(self._words)

    def _release(self) -> None:
        if self._aborted.done():
            self._aborted.exception()  # seen, also when nobody waits any more


def _words(text: str) -> list[str]:
    """Words with the space before them; together they are the text."""
    return re.findall(r"\s*\S+|\s+$", text)


def _failure(category: str, model: str) -> ModelError:
    kind = MODEL_ERRORS[category]
    return kind(f"{model} was told to fail with {category}.", "Use another script.")


def _unknown(name: str, known: Mapping[str, Script]) -> Refused:
    return Refused(
        f"There is no script {name!r}.",
        f"Known are {', '.join(known)}; or write one: scripted:say=Hello_there;pace=0.1.",
    )
