"""The whole story of a message, from what is stored of it to its last answer.

    read each advisor's thread → compile its request → ask all of them at once → wait for the last

A turn belongs to the app, never to a request: nobody has to listen for it to go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from polyvox.context.budget import TooLong, allowance_for
from polyvox.context.compile import compile_request
from polyvox.context.receipt import BaseHistory, Seat, base_of, pack
from polyvox.context.recipe import Recipe
from polyvox.events import Event
from polyvox.models.base import ModelFacts
from polyvox.session import companion, trace
from polyvox.session.answer import Call, answer, seal
from polyvox.session.council import voiced
from polyvox.session.road import Job, Road
from polyvox.store import conversations, ratios, receipts, turns
from polyvox.store.database import Tx
from polyvox.store.threads import Need, Reach, read_threads, words_of
from polyvox.thread import Other, Own, Thread
from polyvox.values import Advisor, Params, Scope, Turn


async def take_turn(road: Road, jobs: Sequence[Job], round_: int = 0) -> None:
    """Ask every job's advisor at the same time; return when each answer has ended, however."""
    scope, turn = jobs[0].scope, jobs[0].turn

    def read(tx: Tx) -> list[Call]:
        conversations.get(tx, scope, turn.conversation_id)  # it may have been deleted meanwhile
        return prepare(tx, road, jobs, _names(tx, scope), round_)

    companions = jobs[0].recipe.name == companion.RECIPE and not round_
    if companions:
        await _get_ready(road, jobs)
    await make_calls(road, jobs, await road.database.read(read))
    if companions:
        await trace.tell(road, jobs)


async def _get_ready(road: Road, jobs: Sequence[Job]) -> None:
    """Decide what companions are told. It takes a model's time, so whoever stops the turn meanwhile
    ends it; the answer then sees for itself that it is to end."""
    models = [model_for(road, job.recipe, job.advisor) for job in jobs]
    task = asyncio.create_task(companion.get_ready(road, jobs, models), name="companion")
    alone = jobs[0] if len(jobs) == 1 else None
    if alone is not None:
        alone.task, alone.calling = task, True
        if alone.halt is not None:
            task.cancel()
    await asyncio.wait([task])
    if alone is not None:
        alone.task, alone.calling = None, False
    if not task.cancelled():
        task.result()


async def make_calls(road: Road, jobs: Sequence[Job], calls: Sequence[Call]) -> None:
    """Have each job answered by its call; return when each answer has ended, however."""
    _store_receipts(road, jobs, calls)
    for job, call in zip(jobs, calls, strict=True):
        job.task = asyncio.create_task(answer(road, job, call), name=f"answer {job.answer_id}")
    await asyncio.wait([job.task for job in jobs if job.task is not None])


def model_for(road: Road, recipe: Recipe, advisor: Advisor) -> str:
    """The model an advisor is asked with: its own, else the recipe's, else the default."""
    return advisor.model or recipe.model or road.models.default


def params_for(road: Road, recipe: Recipe, advisor: Advisor, facts: ModelFacts) -> Params:
    """How it is asked: the advisor's word, then the recipe's, the model's, the settings'."""
    base = Params(max_tokens=facts.max_tokens or road.settings.limits.max_tokens)
    return advisor.params.over(recipe.params.over(base))


def prepare(
    tx: Tx, road: Road, jobs: Sequence[Job], slugs: Mapping[str, str], round_: int = 0
) -> list[Call]:
    """For every job: its thread, read from the newest end, compiled to a request. Only reads."""
    recipe, turn, scope = jobs[0].recipe, jobs[0].turn, jobs[0].scope
    limits = road.settings.limits
    asked: list[tuple[Call, ModelFacts, Params]] = []
    needs: list[Need] = []
    for job in jobs:
        call = Call(model_for(road, recipe, job.advisor), None)
        facts = road.models.facts(call.model)
        params = params_for(road, recipe, job.advisor, facts)
        ratio = ratios.ratio(tx, scope, call.model)
        room = allowance_for(limits, facts, params, ratio, recipe.context)
        asked.append((call, facts, params))
        needs.append(Need(voiced(recipe, job.advisor), room.chars, ratio))
    threads = read_threads(tx, scope, turn, reach_of(recipe), needs, slugs)
    if round_:
        threads = [_in_exchange(tx, scope, turn, thread, round_, slugs) for thread in threads]
    council = [
        Seat(job.advisor.id, job.advisor.name, job.advisor.version_id, call.model)
        for job, (call, _, _) in zip(jobs, asked, strict=True)
    ]
    for job, thread, (call, facts, params) in zip(jobs, threads, asked, strict=True):
        base = _base(tx, scope, thread)
        cut = base.cut if base is not None else None
        try:
            told = replace(thread, cut=cut, memory=job.memory)
            call.compiled = compile_request(recipe, told, limits, facts, params)
        except TooLong as refusal:
            call.refusal = refusal
        else:
            call.packed = pack(call.compiled.draft, base, council)
    return [call for call, _, _ in asked]


def _names(tx: Tx, scope: Scope) -> dict[str, str]:
    rows = tx.all("SELECT id, slug FROM advisors WHERE user_id = ?", (scope.user,))
    return {row[0]: row[1] for row in rows}


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


def _base(tx: Tx, scope: Scope, thread: Thread) -> BaseHistory | None:
    """The receipt of the advisor's newest answer in its thread: the next one builds on it."""
    spoken = next((said.own[0] for said in reversed(thread.past) if said.own), None)
    stored = receipts.find(tx, scope, spoken.answer_id) if spoken is not None else None
    return None if stored is None else base_of(stored.answer_id, stored.data)


def _in_exchange(
    tx: Tx, scope: Scope, turn: Turn, thread: Thread, round_: int, slugs: Mapping[str, str]
) -> Thread:
    """The thread as it stands inside a turn, before an exchange round."""
    me = thread.advisor.id
    spoken = words_of(tx, scope, turn.id)
    own = tuple(Own(i, text) for i, who, _, text, n in spoken if who == me and n < round_)
    words = tuple(
        Other(i, who, slugs.get(who, ""), name, text)
        for i, who, name, text, n in spoken
        if who != me and n == round_ - 1
    )
    return replace(thread, current=replace(thread.current, own=own), words=words, round=round_)


def _store_receipts(road: Road, jobs: Sequence[Job], calls: Sequence[Call]) -> None:
    """Put the receipts in the journal's next commit, and that the turn is under way. Nobody waits
    for it: the calls go out now."""
    scope, turn = jobs[0].scope, jobs[0].turn

    def act(tx: Tx) -> list[Event]:
        turns.set_running(tx, scope, turn.id)
        for job, call in zip(jobs, calls, strict=True):
            seal(tx, job, call)
        return []

    road.journal.soon(scope, turn.conversation_id, act)
