"""The whole story of a message, from what is stored of it to its last answer.

    read each advisor's thread → compile its request → ask all of them at once → wait for the last

A turn belongs to the app, never to a request: nobody has to listen for it to go on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from polyvox.context.budget import TooLong, allowance_for
from polyvox.context.compile import compile_request, with_memory
from polyvox.context.draft import Compiled
from polyvox.context.receipt import BaseHistory, Seat, base_of, pack
from polyvox.context.recipe import Recipe
from polyvox.errors import StoreError
from polyvox.events import Event
from polyvox.memory.derive import want_judged
from polyvox.memory.tables import companions
from polyvox.memory.tables.companions import Kept
from polyvox.models.base import ModelFacts
from polyvox.session import companion, recollecting, running_summary, starting, trace
from polyvox.session.answer import Call, answer, seal
from polyvox.session.council import model_for, params_for, voiced
from polyvox.session.earlier import unread_of
from polyvox.session.recollecting import Remembered, Seated
from polyvox.session.road import Job, Road
from polyvox.store import advisors, conversations, ratios, receipts, turns
from polyvox.store.database import Tx
from polyvox.store.threads import (
    Need,
    Reach,
    count_answered_messages,
    quotable_answers,
    read_threads,
)
from polyvox.thread import Other, Own, Thread, ThreadTurn
from polyvox.values import Params, Recall, Scope, Turn

log = logging.getLogger("polyvox.session")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Found:
    """What is stored of a turn and what follows from it."""

    seats: list[Seated]
    recall: Recall
    kept: Kept | None
    calls: list[Call] | None = None
    drafts: Sequence[Compiled | None] = ()
    """What each would be asked with without memory; none where nothing was said before."""
    unread: Sequence[tuple[ThreadTurn, ...]] = ()
    """What was said in this session before what was read for a request."""
    number: int = 1
    """Which message of its session it is."""


async def take_turn(road: Road, jobs: Sequence[Job], round_: int = 0) -> None:
    """Ask every job's advisor at the same time; return when each answer has ended, however."""
    scope, turn, recipe = jobs[0].scope, jobs[0].turn, jobs[0].recipe
    with_companion = recipe.name == companion.RECIPE
    ready = None
    if with_companion and not round_:
        ready = await _unless_stopped(jobs, companion.get_ready(road, jobs, models_of(road, jobs)))
    found = await _read(road, jobs, round_)
    remembered = None
    if _remembers(road, recipe):
        remembered = await _unless_stopped(jobs, _recollect(road, jobs, found))
    await make_calls(road, jobs, await _compile(road, jobs, found), remembered)
    if ready is not None:
        await companion.take_back(road, jobs, ready)
    await trace.tell(road, jobs)
    if road.settings.memory.judge and turn.session_id is not None:
        await _judge(road, scope, turn.session_id)


async def foresee(road: Road, jobs: Sequence[Job]) -> list[Call]:
    """What the advisors of a turn that is not stored would be asked with. Nothing is kept of it,
    nobody elsewhere is asked, and no gate reads the message."""
    road = replace(road, memory=road.memory.here())
    recipe = jobs[0].recipe
    if recipe.name == companion.RECIPE:
        await companion.foresee(road, jobs, models_of(road, jobs))
    found = await _read(road, jobs)
    if _remembers(road, recipe):
        await _recollect(road, jobs, found)
    return await _compile(road, jobs, found)


def _remembers(road: Road, recipe: Recipe) -> bool:
    """Whether advisors are told of the past as those of a council are."""
    return recipe.name != companion.RECIPE and starting.uses_memory(road, recipe)


async def _read(road: Road, jobs: Sequence[Job], round_: int = 0) -> _Found:
    scope, turn, recipe = jobs[0].scope, jobs[0].turn, jobs[0].recipe
    remembers = _remembers(road, recipe)

    def read(tx: Tx) -> _Found:
        # It may have been deleted meanwhile.
        recall = conversations.recall_of(tx, turn.conversation_id)
        kept = companions.session(tx, turn.session_id or turn.id) if remembers else None
        seats = seat(tx, road, jobs, advisors.slugs(tx), round_)
        if not remembers:
            return _Found(seats, recall, None, compile_all(road, jobs, seats))
        # What memory has to tell depends on what is told anyway, but not where that is one message.
        alone = all(one.begins for one in seats)
        drafts = [] if alone else [_draft(road, *each) for each in zip(jobs, seats, strict=True)]
        unread = [unread_of(tx, turn, one.thread) for one in seats]
        number = 1 + _said_before(tx, turn, seats[0].thread)
        return _Found(seats, recall, kept, None, drafts, unread, number)

    return await road.database.read(read, scope)


async def _recollect(road: Road, jobs: Sequence[Job], found: _Found) -> Remembered:
    return await recollecting.recollect(
        road,
        jobs,
        found.seats,
        found.drafts,
        found.kept,
        found.unread,
        found.number,
        look=starting.looks_up(road, found.recall),
    )


async def _compile(road: Road, jobs: Sequence[Job], found: _Found) -> list[Call]:
    if found.calls is not None:
        return found.calls
    # Off the loop, where others are streaming.
    return await asyncio.to_thread(compile_all, road, jobs, found.seats, found.drafts)


def _said_before(tx: Tx, turn: Turn, thread: Thread) -> int:
    """How many answered messages of its session stand before a turn, in a thread or not."""
    mine = [one for one in thread.past if one.session_id == turn.session_id]
    if len(thread.past) == turn.depth - 1 and all(one.own for one in mine):  # all are there
        return len(mine)
    return count_answered_messages(tx, turn)


async def _judge(road: Road, scope: Scope, session_id: str) -> None:
    """Have the turn remembered in the background now."""
    try:
        await road.database.write(lambda tx: want_judged(tx, session_id, road.clock()), scope)
    except StoreError as error:  # it is remembered when its session ends
        log.warning("a turn is not remembered at once: %s", error.message)
    else:
        road.ring()


async def _unless_stopped(jobs: Sequence[Job], lookup: Coroutine[Any, Any, T]) -> T | None:
    """Run the memory lookup; cancel it when every answer of the turn is stopped."""
    asking = asyncio.create_task(lookup, name="memory")
    stopping = asyncio.create_task(_all_stopped(jobs))
    await asyncio.wait((asking, stopping), return_when=asyncio.FIRST_COMPLETED)
    asking.cancel()  # does nothing to one that is done
    stopping.cancel()
    await asyncio.wait((asking, stopping))
    return None if asking.cancelled() else asking.result()


async def _all_stopped(jobs: Sequence[Job]) -> None:
    for job in jobs:
        await job.halted.wait()


async def make_calls(
    road: Road,
    jobs: Sequence[Job],
    calls: Sequence[Call],
    remembered: Remembered | None = None,
) -> None:
    """Have each job answered by its call; return when each answer has ended, however."""
    _store_receipts(road, jobs, calls, remembered)
    for job, call in zip(jobs, calls, strict=True):
        job.task = asyncio.create_task(answer(road, job, call), name=f"answer {job.answer_id}")
    await asyncio.wait([job.task for job in jobs if job.task is not None])


def models_of(road: Road, jobs: Sequence[Job]) -> list[str]:
    """The models that these are asked with."""
    return [model_for(road, job.recipe, job.advisor) for job in jobs]


def seat(
    tx: Tx, road: Road, jobs: Sequence[Job], slugs: Mapping[str, str], round_: int = 0
) -> list[Seated]:
    """For every job: its thread, read from the newest end, and how its model is asked. Only
    reads."""
    recipe, turn = jobs[0].recipe, jobs[0].turn
    limits = road.settings.limits
    asked: list[tuple[ModelFacts, Params]] = []
    needs: list[Need] = []
    measured: dict[str, float] = {}
    for job in jobs:
        facts = road.models.facts(model_for(road, recipe, job.advisor))
        params = params_for(road, recipe, job.advisor, facts)
        if facts.id not in measured:
            measured[facts.id] = ratios.ratio(tx, facts.id)
        ratio = measured[facts.id]
        room = allowance_for(limits, facts, params, ratio, recipe.context)
        asked.append((facts, params))
        needs.append(Need(voiced(recipe, job.advisor), room.chars, ratio))
    threads = read_threads(tx, turn, reach_of(recipe), needs, slugs)
    if round_:
        threads = [_in_exchange(tx, turn, thread, round_, slugs) for thread in threads]
    found = []
    for job, thread, (facts, params) in zip(jobs, threads, asked, strict=True):
        advisor, base = job.advisor, _base(tx, thread)
        place = Seat(advisor.id, advisor.name, advisor.version_id, facts.id)
        cut = base.cut if base is not None else None
        summary = None if round_ else running_summary.find(tx, turn, recipe, advisor.id)
        thread = replace(thread, cut=cut, summary=summary)
        found.append(Seated(thread, facts, params, base, place))
    return found


def compile_all(
    road: Road,
    jobs: Sequence[Job],
    seats: Sequence[Seated],
    drafts: Sequence[Compiled | None] = (),
) -> list[Call]:
    """What each job is asked with, with what it is told beside its own texts; `drafts` is what it
    would be asked with without that, where it is known."""
    known = drafts or [None] * len(jobs)
    return [
        _call(road, job, one, draft, seats)
        for job, one, draft in zip(jobs, seats, known, strict=True)
    ]


def _call(
    road: Road, job: Job, one: Seated, draft: Compiled | None, council: Sequence[Seated]
) -> Call:
    """The request of a job, or why there can be none."""
    call = Call(one.facts.id, None)
    told = None if draft is None else with_memory(draft, one.thread, job.memory)
    try:
        call.compiled = _compiled(road, job, one) if told is None else told
    except TooLong as refusal:
        call.refusal = refusal
    else:
        call.packed = pack(call.compiled.draft, one.base, [each.place for each in council])
    return call


def _compiled(road: Road, job: Job, one: Seated) -> Compiled:
    told = replace(one.thread, memory=job.memory)
    return compile_request(job.recipe, told, road.settings.limits, one.facts, one.params)


def _draft(road: Road, job: Job, one: Seated) -> Compiled | None:
    """What a job would be asked with; None where nothing fits."""
    try:
        return _compiled(road, job, one)
    except TooLong:
        return None


def reach_of(recipe: Recipe) -> Reach:
    """How far back a recipe has to look."""
    levels = {recipe.visibility.default, *(pair.level for pair in recipe.visibility.pairs)}
    window = recipe.window
    return Reach(
        session_only=recipe.scope == "session" or window.kind == "recent",
        whole_threads="thread" in levels,
        first_turns=window.system_messages if window.kind == "bookends" else 0,
        count_upto=None if recipe.count_turns else sum(p.answers or 0 for p in recipe.phases),
    )


def _base(tx: Tx, thread: Thread) -> BaseHistory | None:
    """The receipt of the advisor's newest answer in its thread: the next one builds on it."""
    spoken = next((said.own[0] for said in reversed(thread.past) if said.own), None)
    stored = receipts.find(tx, spoken.answer_id) if spoken is not None else None
    return None if stored is None else base_of(stored.answer_id, stored.data)


def _in_exchange(
    tx: Tx, turn: Turn, thread: Thread, round_: int, slugs: Mapping[str, str]
) -> Thread:
    """The thread as it stands inside a turn, before an exchange round."""
    me = thread.advisor.id
    spoken = quotable_answers(tx, turn.id)
    own = tuple(Own(i, text) for i, who, _, text, n in spoken if who == me and n < round_)
    words = tuple(
        Other(i, who, slugs.get(who, ""), name, text)
        for i, who, name, text, n in spoken
        if who != me and n == round_ - 1
    )
    return replace(thread, current=replace(thread.current, own=own), words=words, round=round_)


def _store_receipts(
    road: Road, jobs: Sequence[Job], calls: Sequence[Call], remembered: Remembered | None
) -> None:
    """Put the receipts in the journal's next commit, what was remembered, and that the turn is
    under way. Nobody waits for it: the calls go out now."""
    scope, turn, now = jobs[0].scope, jobs[0].turn, road.clock()

    def act(tx: Tx) -> tuple[None, list[Event]]:
        turns.set_running(tx, turn.id)
        if remembered is not None:
            remembered.store(tx, turn, now)
        for job, call in zip(jobs, calls, strict=True):
            seal(tx, job, call)
        return None, []

    road.journal.soon(scope, turn.conversation_id, act)
