"""The advisors of a turn, each with its thread, its model, and the receipt it builds on.

Everything here reads, in one transaction. A thread is read from its newest end, no further than
the recipe and the model's window need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from polyvox.advisors import plain_assistant
from polyvox.context.budget import allowance_for
from polyvox.context.receipt import BaseHistory, Seat, base_of
from polyvox.context.recipe import Recipe
from polyvox.memory import running_summary
from polyvox.memory.tell import AdvisorView
from polyvox.resources import Resources
from polyvox.session import council
from polyvox.session.answer import Job
from polyvox.session.council import model_for, params_for, voiced
from polyvox.store import advisors, ratios, receipts
from polyvox.store.database import Tx
from polyvox.store.threads import Need, Reach, quotable_answers, read_threads
from polyvox.thread import Other, Own, Thread
from polyvox.values import Turn


def seat(tx: Tx, resources: Resources, jobs: Sequence[Job], round_: int = 0) -> list[AdvisorView]:
    """Read every job's thread and how its model is asked. `round_`: of an exchange."""
    recipe, turn = jobs[0].recipe, jobs[0].turn
    slugs = advisors.slugs(tx)
    asked = []
    needs: list[Need] = []
    measured: dict[str, float] = {}
    for job in jobs:
        facts = resources.models.facts(model_for(resources, recipe, job.advisor))
        params = params_for(resources, recipe, job.advisor, facts)
        if facts.id not in measured:
            measured[facts.id] = ratios.ratio(tx, facts.id)
        ratio = measured[facts.id]
        room = allowance_for(resources.settings.limits, facts, params, ratio, recipe.context)
        asked.append((facts, params))
        needs.append(Need(voiced(recipe, job.advisor), room.chars, ratio))
    threads = read_threads(tx, turn, reach_of(recipe), needs, slugs)
    if round_:
        threads = [_in_exchange(tx, turn, thread, round_, slugs) for thread in threads]
    views = []
    for job, thread, (facts, params) in zip(jobs, threads, asked, strict=True):
        advisor, base = job.advisor, _base(tx, thread)
        place = Seat(advisor.id, advisor.name, advisor.version_id, facts.id)
        cut = base.cut if base is not None else None
        summary = None if round_ else running_summary.find(tx, turn, recipe, advisor.id)
        thread = replace(thread, cut=cut, summary=summary)
        views.append(AdvisorView(job.answer_id, advisor, thread, facts, params, base, place))
    return views


def thread_of(
    resources: Resources, tx: Tx, turn: Turn, recipe: Recipe, advisor_id: str
) -> Thread | None:
    """The thread of an advisor as it would be read for a turn; None: there is no such advisor."""
    for advisor in (*council.everyone(tx), plain_assistant()):
        if advisor.id == advisor_id:
            (view,) = seat(tx, resources, [Job(tx.scope, turn, "", advisor, recipe)])
            return view.thread
    return None


def reach_of(recipe: Recipe) -> Reach:
    """The stretch of a thread that a recipe has to see."""
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
    spoken = next((turn.own[0] for turn in reversed(thread.past) if turn.own), None)
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
