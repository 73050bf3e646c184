"""The advisors of a conversation, and how each of them is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import resources

from polyvox.companion.personas import embodied, find_or_make, opening
from polyvox.context.budget import allowance_for
from polyvox.context.receipt import BaseHistory, Seat, base_of
from polyvox.context.recipe import Recipe, asked_first, phase_for
from polyvox.ids import new_id
from polyvox.memory import running
from polyvox.memory.tell import AdvisorView
from polyvox.models.base import ModelFacts
from polyvox.resources import Resources
from polyvox.session.answer import AnswerJob
from polyvox.store import advisors as advisor_rows
from polyvox.store import receipts, usage
from polyvox.store.database import Tx
from polyvox.store.threads import (
    Need,
    Reach,
    count_answers,
    last_words,
    newest_depth,
    quotable_answers,
    read_threads,
)
from polyvox.thread import Other, Own, Peer, Thread
from polyvox.values import ASSISTANT_ID, Advisor, Conversation, Params, Scope, Turn

PERSONA = "harbor"
"""Whom a companion conversation is with where nobody was named."""


def everyone(tx: Tx) -> list[Advisor]:
    """Every advisor of this user, the inactive ones too."""
    return advisor_rows.list_all(tx)


def council_of(
    conversation: Conversation,
    known: Sequence[Advisor],
    asked: Sequence[str] | None,
    recipe: Recipe,
) -> tuple[Advisor, ...]:
    """Choose the advisors of a message: those it names, else the conversation's council, else every
    active advisor, else the plain assistant. A companion is one voice: where nobody is named it is
    the first persona, which may not be stored yet (`keep_persona`)."""
    by_id = {advisor.id: advisor for advisor in known} | {ASSISTANT_ID: plain_assistant()}
    if asked is not None:
        chosen = [by_id[advisor_id] for advisor_id in asked if advisor_id in by_id]
    elif conversation.advisors is not None:
        ids = conversation.advisors
        chosen = [by_id[advisor_id] for advisor_id in ids if advisor_id in by_id]
    elif recipe.traits.persona:
        chosen = [_persona(known)]
    else:
        chosen = [advisor for advisor in known if advisor.active]
    return tuple(chosen) or (plain_assistant(),)


def _persona(known: Sequence[Advisor]) -> Advisor:
    """The persona for whoever named nobody. Its slug is its id until it is stored."""
    stored = next((advisor for advisor in known if advisor.slug == PERSONA), None)
    return stored or Advisor(PERSONA, PERSONA, PERSONA.capitalize(), opening(PERSONA))


async def keep_persona(resources: Resources, scope: Scope, asked: Sequence[Advisor]) -> bool:
    """Store the persona among these that is not stored yet; True if there is one."""
    if all(advisor.id != PERSONA for advisor in asked):
        return False
    now = resources.clock()
    await resources.database.write(lambda tx: find_or_make(tx, PERSONA, now), scope)
    return True


def with_model(asked: Sequence[Advisor], model: str | None) -> tuple[Advisor, ...]:
    """The same advisors, all asked with one model where one is given."""
    return tuple(replace(advisor, model=model) if model else advisor for advisor in asked)


def voiced(recipe: Recipe, advisor: Advisor) -> Advisor:
    """The advisor as a recipe lets it speak: a companion speaks from its kernel."""
    return embodied(advisor) if recipe.traits.persona else advisor


def model_for(resources: Resources, recipe: Recipe, advisor: Advisor) -> str:
    """The model an advisor is asked with: its own, else the recipe's, else the default."""
    return advisor.model or recipe.model or resources.models.default


def params_for(resources: Resources, recipe: Recipe, advisor: Advisor, facts: ModelFacts) -> Params:
    """The parameters of a request: the advisor's, then the recipe's, the model's, the settings'."""
    base = Params(max_tokens=facts.max_tokens or resources.settings.limits.max_tokens)
    return advisor.params.over(recipe.params.over(base))


# -- the advisors that exist before anyone made one ------------------------------------------------


def starter_council(now: int = 0, make_id: Callable[[], str] = new_id) -> tuple[Advisor, ...]:
    """Six advisors for a first run, in their order, all active. Their prompt versions are made by
    whoever stores them."""
    import yaml  # costs 20 ms, and only a first run needs it

    text = (resources.files("polyvox") / "starter" / "council.yaml").read_text(encoding="utf-8")
    return tuple(
        Advisor(
            id=make_id(),
            slug=row["slug"],
            name=row["name"],
            description=row["description"].strip(),
            color=row["color"],
            position=position,
            created_at=now,
            updated_at=now,
        )
        for position, row in enumerate(yaml.safe_load(text))
    )


def plain_assistant(now: int = 0) -> Advisor:
    """The advisor that answers when no other is active. Its words come from the prompt set, unless
    it is given a prompt of its own."""
    return Advisor(
        id=ASSISTANT_ID,
        slug="assistant",
        name="Assistant",
        description="Answers when no advisor is active.",
        color="#6d675c",
        created_at=now,
        updated_at=now,
    )


# -- the advisors of a turn, each with its thread, its model, and the receipt it builds on ---------


def seat(
    tx: Tx, resources: Resources, jobs: Sequence[AnswerJob], round_: int = 0
) -> list[AdvisorView]:
    """Read every job's thread and how its model is asked. `round_`: of an exchange."""
    recipe, turn = jobs[0].recipe, jobs[0].turn
    peers = advisor_rows.peers(tx)
    asked = []
    needs: list[Need] = []
    measured: dict[str, float] = {}
    for job in jobs:
        facts = resources.models.facts(model_for(resources, recipe, job.advisor))
        params = params_for(resources, recipe, job.advisor, facts)
        if facts.id not in measured:
            measured[facts.id] = usage.token_ratio(tx, facts.id)
        ratio = measured[facts.id]
        room = allowance_for(resources.settings.limits, facts, params, ratio, recipe.context)
        asked.append((facts, params))
        needs.append(Need(voiced(recipe, job.advisor), room.chars, ratio))
    threads = read_threads(tx, turn, reach_of(recipe), needs, peers)
    bases = [_base(tx, thread) for thread in threads]
    if round_:
        early = nobody_took_a_position(tx, turn, recipe)
        threads = [
            replace(_in_exchange(tx, turn, thread, round_, peers), early=early)
            for thread in threads
        ]
    elif turn.depth > 1:
        threads = _with_last_words(tx, turn, threads, bases, peers)
    views = []
    for job, thread, base, (facts, params) in zip(jobs, threads, bases, asked, strict=True):
        advisor = job.advisor
        place = Seat(advisor.id, advisor.name, advisor.version_id, facts.id)
        cut = base.cut if base is not None else None
        summary = None if round_ else running.find(tx, turn, recipe, advisor.id)
        thread = replace(
            thread,
            cut=cut,
            summary=summary,
            company=len(turn.asked) > 1,
            zone=resources.settings.zone,
        )
        views.append(AdvisorView(job.answer_id, advisor, thread, facts, params, base, place))
    return views


def thread_of(
    resources: Resources, tx: Tx, turn: Turn, recipe: Recipe, advisor_id: str
) -> Thread | None:
    """The thread of an advisor as it would be read for a turn; None: there is no such advisor."""
    for advisor in (*everyone(tx), plain_assistant()):
        if advisor.id == advisor_id:
            (view,) = seat(tx, resources, [AnswerJob(tx.scope, turn, "", advisor, recipe)])
            return view.thread
    return None


def nobody_took_a_position(tx: Tx, turn: Turn, recipe: Recipe) -> bool:
    """True if everybody was in a passing phase when it was asked in a turn."""
    enough = reach_of(recipe).count_upto
    return ASSISTANT_ID not in turn.asked and all(
        phase_for(recipe, count_answers(tx, turn, advisor_id, enough)).n is not None
        for advisor_id in turn.asked
    )


def reach_of(recipe: Recipe) -> Reach:
    """The stretch of a thread that a recipe has to see."""
    levels = {recipe.visibility.default, *(pair.level for pair in recipe.visibility.pairs)}
    window = recipe.window
    return Reach(
        session_only=recipe.scope == "session" or window.kind == "recent",
        whole_threads="thread" in levels,
        first_turns=window.system_messages if window.kind == "bookends" else 0,
        count_upto=None if recipe.count_turns else asked_first(recipe),
    )


def _base(tx: Tx, thread: Thread) -> BaseHistory | None:
    """The receipt of the advisor's newest answer in its thread: the next one builds on it."""
    spoken = next((turn.own[0] for turn in reversed(thread.past) if turn.own), None)
    stored = receipts.find(tx, spoken.answer_id) if spoken is not None else None
    return None if stored is None else base_of(stored.answer_id, stored.data)


def _with_last_words(
    tx: Tx,
    turn: Turn,
    threads: Sequence[Thread],
    bases: Sequence[BaseHistory | None],
    peers: Mapping[str, Peer],
) -> list[Thread]:
    """The threads with the others' last words: none that is older than what the advisor has
    already been shown."""
    since = [newest_depth(tx, base.shown) if base is not None else 0 for base in bases]
    last = last_words(tx, turn, min(since), peers)
    return [
        replace(
            thread,
            last=tuple(o for o in last if o.advisor_id != thread.advisor.id and o.depth >= shown),
        )
        for thread, shown in zip(threads, since, strict=True)
    ]


def _in_exchange(
    tx: Tx, turn: Turn, thread: Thread, round_: int, peers: Mapping[str, Peer]
) -> Thread:
    """The thread as it stands inside a turn, before an exchange round."""
    me = thread.advisor.id
    spoken = quotable_answers(tx, turn.id)
    own = tuple(Own(i, text) for i, who, _, text, n in spoken if who == me and n < round_)
    words = tuple(
        Other(i, who, peer.slug, peer.called(name), text, turn.depth)
        for i, who, name, text, n in spoken
        for peer in [peers.get(who, Peer())]
        if who != me and n == round_ - 1
    )
    return replace(thread, current=replace(thread.current, own=own), words=words, round=round_)
