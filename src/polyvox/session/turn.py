"""A turn, from the message to its last answer. The only file that knows the whole way:

    begin (one transaction) → read the threads → memory tells → compile → ask all at once → done

A turn belongs to the app, never to a request: nobody has to listen for it to go on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import msgspec

from polyvox.context.budget import TooLong
from polyvox.context.compile import compile_request, with_memory
from polyvox.context.draft import Compiled
from polyvox.context.receipt import pack
from polyvox.errors import NotFound, StoreError
from polyvox.events import Event
from polyvox.memory.tell import AdvisorView, Blocks, Telling, Told, TurnView
from polyvox.resources import Resources
from polyvox.session import synthesis
from polyvox.session.answer import AnswerJob, AnswerWriter, Call, jobs_for, seal
from polyvox.session.begin import Plan, begin
from polyvox.session.council import seat
from polyvox.session.inspect import trace_of
from polyvox.session.queue import TurnQueue
from polyvox.settings import Settings
from polyvox.store import threads, turns
from polyvox.store.database import Database, Tx
from polyvox.store.turns import Begun
from polyvox.values import Scope, Turn

chat_log = logging.getLogger("polyvox.chat")

T = TypeVar("T")
NOTHING = Told()


class TurnRunner:
    """Takes turns from their message to their last answer."""

    def __init__(
        self, resources: Resources, memory: Telling, answers: AnswerWriter, queue: TurnQueue
    ) -> None:
        self._resources = resources
        self._memory = memory
        self._answers = answers
        self._queue = queue

    async def begin(self, scope: Scope, plan: Plan) -> Begun:
        """Store a message with its pending answers, and have them written after those of the turns
        before it."""

        def act(tx: Tx) -> tuple[Begun, list[Event]]:
            begun = begin(tx, self._resources, plan)
            return begun, begun.opening

        begun, _ = await self._resources.journal.do(scope, plan.conversation.id, act, now=True)
        if not begun.existing:
            jobs = jobs_for(scope, begun.turn, begun.answers, plan.asked, plan.recipe)
            self._queue.in_turn(begun.turn.conversation_id, jobs, lambda: self._run(jobs, begun))
        return begun

    async def _run(self, jobs: Sequence[AnswerJob], begun: Begun) -> None:
        await self.take(jobs, begun=begun)
        scope, turn, recipe = jobs[0].scope, jobs[0].turn, jobs[0].recipe
        if recipe.synthesis == "always" and not any(job.halt for job in jobs):
            words = await self._resources.database.read(
                lambda tx: threads.quotable_answers(tx, turn.id, 0), scope
            )
            if len(words) > 1:
                await synthesis.write(
                    self._resources, self._answers, self._queue, scope, turn, recipe, None
                )

    async def take(
        self, jobs: Sequence[AnswerJob], round_: int = 0, begun: Begun | None = None
    ) -> None:
        """Ask every job's advisor at the same time; return when each answer has ended, however.
        `round_`: of an exchange; `begun`: the turn is new."""
        view, calls = await self._resources.database.read(
            lambda tx: self._look(tx, jobs, round_, begun), jobs[0].scope
        )
        told = NOTHING
        if calls is None:
            told = await unless_stopped(jobs, self._memory.tell(view)) or NOTHING
            # Off the loop, where others are streaming.
            calls = await asyncio.to_thread(compile_calls, self._resources.settings, view, told)
        await self.ask(jobs, calls, told)
        spoken = any("".join(job.received).strip() for job in jobs)
        await self._memory.settle(view, told, spoken=spoken)
        await _log_traces(self._resources.database, jobs[0].scope, jobs[0].turn, view.answer_ids)

    async def foresee(self, jobs: Sequence[AnswerJob]) -> list[Call]:
        """Compile the calls of a turn that is not stored. Nothing is kept of it, nobody elsewhere
        is asked, and no gate reads the message."""
        view, calls = await self._resources.database.read(
            lambda tx: self._look(tx, jobs, imagined=True), jobs[0].scope
        )
        if calls is not None:
            return calls
        told = await self._memory.tell(view)
        return await asyncio.to_thread(compile_calls, self._resources.settings, view, told)

    def _look(
        self,
        tx: Tx,
        jobs: Sequence[AnswerJob],
        round_: int = 0,
        begun: Begun | None = None,
        *,
        imagined: bool = False,
    ) -> tuple[TurnView, list[Call] | None]:
        """Read what the turn is about to be asked with. Where memory has nothing to tell, the
        calls are compiled here, in the same thread."""
        view = TurnView(
            scope=jobs[0].scope,
            turn=jobs[0].turn,
            recipe=jobs[0].recipe,
            advisors=tuple(seat(tx, self._resources, jobs, round_)),
            round=round_,
            begins=begun is not None and begun.begins,
            follows=begun is not None and begun.follows,
            imagined=imagined,
        )
        view = self._memory.look(tx, view)
        calls = None if view.tell else compile_calls(self._resources.settings, view, NOTHING)
        return view, calls

    async def ask(
        self, jobs: Sequence[AnswerJob], calls: Sequence[Call], told: Told = NOTHING
    ) -> None:
        """Have each job answered by its call; return when each answer has ended, however. The
        receipts, and what memory wants stored, go into the journal's next commit; nobody waits for
        it: the calls go out now."""
        scope, turn = jobs[0].scope, jobs[0].turn

        def act(tx: Tx) -> tuple[None, list[Event]]:
            turns.set_running(tx, turn.id)
            if told.store is not None:
                told.store(tx)
            for job, call in zip(jobs, calls, strict=True):
                seal(tx, job, call)
            return None, []

        self._resources.journal.soon(scope, turn.conversation_id, act)
        for job, call in zip(jobs, calls, strict=True):
            job.start(self._answers.write(job, call))
        await asyncio.wait([job.task for job in jobs if job.task is not None])


async def unless_stopped(jobs: Sequence[AnswerJob], lookup: Coroutine[Any, Any, T]) -> T | None:
    """Run the memory lookup; cancel it when every answer of the turn is stopped."""
    asking = asyncio.create_task(lookup, name="memory")
    stopping = asyncio.create_task(_all_stopped(jobs))
    await asyncio.wait((asking, stopping), return_when=asyncio.FIRST_COMPLETED)
    asking.cancel()  # does nothing to one that is done
    stopping.cancel()
    await asyncio.wait((asking, stopping))
    return None if asking.cancelled() else asking.result()


async def _all_stopped(jobs: Sequence[AnswerJob]) -> None:
    for job in jobs:
        await job.halted.wait()


def compile_calls(settings: Settings, view: TurnView, told: Told) -> list[Call]:
    """Compile each advisor's request with the blocks it is told."""
    blocks = told.blocks or ((),) * len(view.advisors)
    return [
        _call(settings, view, advisor, told_here)
        for advisor, told_here in zip(view.advisors, blocks, strict=True)
    ]


def _call(settings: Settings, view: TurnView, advisor: AdvisorView, blocks: Blocks) -> Call:
    """Compile the request of an advisor, or say why there can be none."""
    call = Call(advisor.facts.id, None)
    try:
        call.compiled = _compiled(settings, view, advisor, blocks)
    except TooLong as refusal:
        call.refusal = refusal
    else:
        places = [each.place for each in view.advisors]
        call.packed = pack(call.compiled.draft, advisor.base, places)
    return call


def _compiled(settings: Settings, view: TurnView, advisor: AdvisorView, blocks: Blocks) -> Compiled:
    if advisor.draft is not None:
        ready = with_memory(advisor.draft, advisor.thread, blocks)
        if ready is not None:
            return ready
    thread = replace(advisor.thread, memory=blocks)
    return compile_request(view.recipe, thread, settings.limits, advisor.facts, advisor.params)


async def _log_traces(
    database: Database, scope: Scope, turn: Turn, answer_ids: Sequence[str]
) -> None:
    """Write one line of the log for each of these answers of a turn."""
    if not chat_log.isEnabledFor(logging.INFO):
        return
    for answer_id in answer_ids:
        try:
            data = await database.read(partial(_trace_for_log, turn.id, answer_id), scope)
        except (NotFound, StoreError):  # deleted meanwhile, or the store is away
            continue
        chat_log.info("chat.trace %s", msgspec.json.encode(data).decode())


def _trace_for_log(turn_id: str, answer_id: str, tx: Tx) -> dict[str, Any]:
    """The trace without a provider's own words: it may quote the message, and nobody forgets what
    is in a log."""
    data = trace_of(tx, turn_id, answer_id)
    return {**data, "attempts": [{**each, "message": None} for each in data["attempts"]]}
