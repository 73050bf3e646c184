"""An answer under way: its job, its call, and the writing of it. Its failure is its own event.

Nothing raised here reaches another answer. Writing ends in exactly one state, and the commit that
stores that state also stores the whole text, the usage and the sealed receipt.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from polyvox.context.draft import Compiled
from polyvox.context.receipt import Packed, sealed
from polyvox.context.recipe import Recipe
from polyvox.context.synthesis import SynthesisReader
from polyvox.errors import (
    CapReached,
    ContextTooLong,
    ModelError,
    PolyvoxError,
    QuotaExceeded,
    Refused,
)
from polyvox.events import Event
from polyvox.memory import running
from polyvox.models.base import AttemptLog, Reply, Request
from polyvox.resources import Resources
from polyvox.store import endings, receipts
from polyvox.store.database import Tx
from polyvox.store.endings import Ending
from polyvox.store.usage import check_caps, learn_ratio
from polyvox.values import Advisor, Answer, AnswerState, Failure, Scope, Turn, Usage

log = logging.getLogger("polyvox.turn")

INTERNAL = Failure(
    "unavailable",
    "Polyvox itself failed while this answer was being written.",
    "Retry it; `polyvox doctor` and the log tell more.",
)
OnComplete = Callable[[Tx, str], None]
"""Called with an answer's id in the commit that completes it."""


@dataclass(slots=True, eq=False)
class AnswerJob:
    """One answer under way: who answers what, and how it may be told to end early."""

    scope: Scope
    turn: Turn
    answer_id: str
    advisor: Advisor
    recipe: Recipe
    halt: AnswerState | None = None
    """Why it is ending early: `stopped` by the user, `interrupted` by the end of the program."""
    halted: asyncio.Event = field(default_factory=asyncio.Event)
    """Set together with `halt`."""
    task: asyncio.Task[None] | None = None
    calling: bool = False
    """True while its model is being asked: only then is there anything to break off."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    received: list[str] = field(default_factory=list)
    """Text so far, to estimate what a stopped answer consumed."""

    def start(self, writing: Coroutine[Any, Any, None]) -> None:
        """Have the answer written from now on."""
        self.task = asyncio.create_task(writing, name=f"answer {self.answer_id}")

    def end_early(self, state: AnswerState) -> None:
        """Ask the answer to end now; it still stores what it has. One that has not begun sees
        `halt` when it does (a task cancelled before its first step would never run at all), and
        one that is being stored is left to it."""
        if self.halt is None:
            self.halt = state
            self.halted.set()
            if self.task is not None and self.calling:
                self.task.cancel()


def jobs_for(
    scope: Scope,
    turn: Turn,
    answers: Sequence[Answer],
    asked: Sequence[Advisor],
    recipe: Recipe,
) -> list[AnswerJob]:
    """Make a job for each pending answer of a turn."""
    return [
        AnswerJob(scope, turn, answer.id, advisor, recipe)
        for answer, advisor in zip(answers, asked, strict=True)
    ]


@dataclass(slots=True)
class Call:
    """The request of an answer, and how the asking goes."""

    model: str
    compiled: Compiled | None
    packed: Packed | None = None
    refusal: ModelError | None = None
    """Why there is nothing to ask (the request does not fit)."""
    reader: SynthesisReader | None = None
    """Reads a synthesis: the text to show, and its points with their attributions."""
    plain: tuple[Compiled, Packed] | None = None
    """The same request without a schema, for a server that refuses one."""
    tried: AttemptLog = field(default_factory=AttemptLog)
    usage: Usage | None = None


class AnswerWriter:
    """Writes answers: asks the model, journals what comes, stores the end."""

    def __init__(self, resources: Resources, on_complete: OnComplete) -> None:
        self._resources = resources
        self._on_complete = on_complete

    async def write(self, job: AnswerJob, call: Call) -> None:
        """Write one answer from its compiled request to its end."""
        state: AnswerState = "completed"
        failure: Failure | None = None
        job.calling = True
        try:
            await self._stream(job, call)
        except ModelError as error:
            state, failure = "failed", error.failure
        except asyncio.CancelledError:
            if job.halt is None:
                job.halt = "interrupted"
            state = job.halt
        except PolyvoxError as error:  # the store is away
            state, failure = "failed", Failure("unavailable", error.message, error.hint)
        except Exception:
            log.exception("answer %s", job.answer_id)
            state, failure = "failed", INTERNAL
        finally:
            job.calling = False
        text = "".join(job.received)
        ending = Ending(
            answer_id=job.answer_id,
            state=state,
            failure=failure,
            usage=call.usage or self._sent_in_vain(call, state),
            model=call.tried.model or call.model,
            attempts=tuple(call.tried.attempts),
            points=_points(call.reader) if text.strip() else None,
        )
        try:
            await asyncio.shield(self._end(job, call, ending))
        except PolyvoxError as error:
            # Its conversation was deleted, or the program ends on a broken store; then the next
            # start closes it as interrupted.
            log.warning("answer %s: its end was not stored: %s", job.answer_id, error.message)
        finally:
            job.ended.set()

    async def _stream(self, job: AnswerJob, call: Call) -> None:
        """Ask the model and journal what comes."""
        if job.halt is not None:
            raise asyncio.CancelledError
        if call.compiled is None:
            raise call.refusal or ContextTooLong("There is nothing to send.")
        await self._afford(job)
        reply = await self._reply(call, call.compiled)
        reader = call.reader
        conversation, answer_id = job.turn.conversation_id, job.answer_id
        add, scope, received = self._resources.journal.add, job.scope, job.received
        try:
            async for piece in reply:
                text = piece.text if reader is None else reader.feed(piece.text)
                if text or piece.thinking:
                    received.append(text)
                    full = add(scope, conversation, answer_id, text, piece.thinking)
                    if full is not None:
                        await full.wait()
            if reader is not None and (rest := reader.end()):
                received.append(rest)
                add(scope, conversation, answer_id, rest, "")
        finally:
            await reply.aclose()
            call.usage = reply.usage

    async def _reply(self, call: Call, compiled: Compiled) -> Reply:
        """Start the reply; where a schema is refused, without one."""
        model = self._resources.models.chain(call.model)
        try:
            return await model.stream(compiled.request, call.tried)
        except Refused:
            if call.plain is None:
                raise
            call.compiled, call.packed = call.plain
            return await model.stream(call.compiled.request, call.tried)

    async def _afford(self, job: AnswerJob) -> None:
        """End the answer before its call where a cap is reached."""
        limits = self._resources.settings.limits
        if not limits.capped:
            return
        turn = job.turn
        try:
            await self._resources.database.read(
                lambda tx: check_caps(
                    tx, limits, turn.conversation_id, turn.id, self._resources.clock()
                ),
                job.scope,
            )
        except CapReached as error:
            raise QuotaExceeded(error.message, error.hint) from None

    def _sent_in_vain(self, call: Call, state: AnswerState) -> Usage | None:
        """Estimate what an answer consumed that was stopped before its first word."""
        if state != "stopped" or not call.tried.attempts or call.compiled is None:
            return None
        sent = Usage(call.compiled.draft.input_tokens, 0, estimated=True)
        return replace(sent, cost=self._resources.models.cost(call.tried.model or call.model, sent))

    async def _end(self, job: AnswerJob, call: Call, ending: Ending) -> None:
        """Store the end, and all that belongs to it, in one commit."""

        def act(tx: Tx) -> tuple[None, list[Event]]:
            now = self._resources.clock()
            ended, happened = endings.end(tx, ending, now)
            if ended is None:
                return None, []
            spent = ending.usage
            if spent is not None and not spent.estimated and call.compiled is not None:
                learn_ratio(tx, ending.model, spent.input_tokens, call.compiled.draft.size)
            if call.packed is not None:
                seal(tx, job, call)
            if marked:
                self._on_complete(tx, job.answer_id)
            if sums:
                running.want(tx, job.turn, job.advisor.id, now)
            return None, happened

        marked = ending.state == "completed" and self._resources.settings.evaluation.badges
        draft = None if call.compiled is None else call.compiled.draft
        sums = draft is not None and running.leaves_out(job.recipe, draft)
        await self._resources.journal.do(
            job.scope, job.turn.conversation_id, act, ends=job.answer_id
        )
        if sums or marked:
            self._resources.bell.ring()
        _debug(job, call, ending)


def seal(tx: Tx, job: AnswerJob, call: Call) -> None:
    """Store the receipt with what was put on the wire, as far as it got."""
    packed, tried = call.packed, call.tried
    if packed is None:
        return
    if tried.encoded is not None:
        packed = sealed(
            packed, tried.encoded, tried.model or call.model, tried.attempts, tried.params
        )
    receipts.put(
        tx, job.answer_id, job.turn.conversation_id, packed.base_id, packed.data, packed.spans
    )


def _points(reader: SynthesisReader | None) -> str | None:
    return None if reader is None else msgspec.json.encode(reader.read()).decode()


def _debug(job: AnswerJob, call: Call, ending: Ending) -> None:
    """One structured line per advisor call; texts only at trace level, secrets never."""
    if not log.isEnabledFor(logging.DEBUG) or call.compiled is None:
        return
    draft = call.compiled.draft
    last = ending.attempts[-1] if ending.attempts else None
    log.debug(
        "call advisor=%s turn=%d phase=%s system_tokens=%d input_tokens=%d messages=%d omitted=%d"
        " model=%s status=%s first_byte_ms=%s attempt=%d state=%s",
        job.advisor.slug,
        draft.k,
        draft.phase or "-",
        draft.system_tokens,
        draft.input_tokens,
        len(draft.lines),
        draft.messages_omitted,
        ending.model,
        last.status if last else None,
        None if last is None or last.first_byte_ms is None else round(last.first_byte_ms, 1),
        len(ending.attempts),
        ending.state,
    )
    if log.isEnabledFor(5):
        _trace(call.compiled.request, "".join(job.received))


def _trace(request: Request, text: str) -> None:
    for part in request.system:
        log.log(5, "system %s", part.text)
    for message in request.messages:
        log.log(5, "%s %s", message.role, message.text)
    log.log(5, "answer %s", text)
