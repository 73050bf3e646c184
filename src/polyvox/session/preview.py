"""Before a message is sent: what it would cost, and what its session would be told. Nothing is
stored, and no model is asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

from polyvox.companion.starting import (
    Packet,
    When,
    leaves,
    looks_up,
    packet_of,
    told_to,
    unwritten,
    within,
)
from polyvox.context.budget import TooLong
from polyvox.context.recipe import Recipe
from polyvox.errors import NotFound
from polyvox.ids import new_id
from polyvox.memory.packets import ItemKind, StartItem
from polyvox.memory.remembering import MemoryService
from polyvox.memory.session_start import Talk
from polyvox.memory.tables import companions
from polyvox.memory.tables.companions import Kept
from polyvox.memory.tell import uses_memory
from polyvox.memory.trace_words import missing
from polyvox.memory.veto import Veto
from polyvox.receive import receive
from polyvox.recipes import recipe_for
from polyvox.resources import Resources
from polyvox.session import council
from polyvox.session.answer import AnswerJob
from polyvox.session.begin import next_turn, too_long_for_all
from polyvox.session.lifecycle import running_session
from polyvox.session.turn import TurnRunner
from polyvox.store import conversations, sessions
from polyvox.store.database import Tx
from polyvox.store.sessions import Session
from polyvox.values import Conversation, Recall, Scope, Usage


@dataclass(frozen=True, slots=True)
class Estimate:
    """The cost of asking one advisor."""

    advisor_id: str
    name: str
    model: str
    input_tokens: int
    output_tokens: int
    """The most it may answer."""
    cost: int | None
    """Nano-dollars at most; None where the model's price is unknown."""


async def estimate(
    resources: Resources,
    runner: TurnRunner,
    scope: Scope,
    conversation_id: str | None,
    content: str,
    advisors: Sequence[str] | None,
    recipe_name: str,
) -> list[Estimate]:
    """Estimate a message for each advisor it would go to, with what they would be told of the
    past; without a conversation, as the first of a new one."""
    jobs = await resources.database.read(
        lambda tx: _imagine(tx, resources, conversation_id, content, advisors, recipe_name), scope
    )
    estimates = []
    refused: list[tuple[str, TooLong]] = []
    for job, call in zip(jobs, await runner.foresee(jobs), strict=True):
        if call.compiled is None:  # would not be asked, and cost nothing
            if isinstance(call.refusal, TooLong):
                refused.append((job.advisor.name, call.refusal))
            continue
        tokens = call.compiled.draft.input_tokens
        most = resources.models.answer_limit(call.model, call.compiled.request.params)
        cost = resources.models.cost(call.model, Usage(tokens, most))
        advisor = job.advisor
        estimates.append(Estimate(advisor.id, advisor.name, call.model, tokens, most, cost))
    if refused and not estimates:
        raise too_long_for_all(refused)
    return estimates


def _imagine(
    tx: Tx,
    resources: Resources,
    conversation_id: str | None,
    content: str,
    advisors: Sequence[str] | None,
    recipe_name: str,
) -> list[AnswerJob]:
    """Make the jobs of the turn that a message would become."""
    conversation = (
        conversations.get(tx, conversation_id)
        if conversation_id is not None
        else Conversation("", "", recipe_name, None, None, None, 0, 0, 0)
    )
    known = council.everyone(tx)
    message = receive(
        content,
        known=known,
        limit=resources.settings.limits.message_chars,
        advisors=advisors,
    )
    recipe = recipe_for(tx, resources.settings, conversation)
    asked = council.council_of(conversation, known, message.asked, recipe)
    now = resources.clock()
    turn = next_turn(tx, conversation, content, now)
    session = running_session(tx, resources.settings, conversation, now)
    turn = replace(
        turn,
        session_id=turn.id if session is None else session.id,
        asked=tuple(advisor.id for advisor in asked),
    )
    return [AnswerJob(tx.scope, turn, new_id(), advisor, recipe) for advisor in asked]


@dataclass(frozen=True, slots=True)
class ItemSource:
    """Where something remembered comes from, as far as that is known."""

    quote: str | None
    """The person's very words."""
    said_at: int | None
    session_id: str | None
    elsewhere: bool
    """True if that session is none of the conversations here."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Something that a session may be told, as a person looks at it."""

    id: str
    """The name of it in a veto; items that rest on the same words share it."""
    kind: ItemKind
    text: str
    source: ItemSource
    when: When
    """Told at once, or only where it comes up."""
    vetoed: bool


@dataclass(frozen=True, slots=True)
class Strip:
    """The memory of the session that the next message belongs to: told at its start, or where it
    comes up."""

    session: Literal["new", "running"]
    """new: the next message opens one."""
    session_id: str | None
    memory: bool
    """False: it is switched off, by the setting or in the recipe."""
    recall: Literal["auto", "off"]
    """Whether its turns look things up as well."""
    items: tuple[Shown, ...] = ()
    degrades: tuple[str, ...] = ()
    """What may be missing, and why."""
    missing: tuple[str, ...] = ()
    """The degrades in words that a person understands."""


@dataclass(frozen=True, slots=True)
class _Place:
    recipe: Recipe
    models: tuple[str, ...]
    recall: Recall
    session: Session | None
    kept: Kept | None
    talk: Talk | None


async def strip(
    resources: Resources,
    memory: MemoryService,
    scope: Scope,
    recipe_name: str,
    conversation_id: str | None = None,
) -> Strip:
    """List what the next message's session would be told, for a person to look at."""
    place = await resources.database.read(
        lambda tx: _place(tx, resources, recipe_name, conversation_id), scope
    )
    kept, session = place.kept, place.session
    recall = looks_up(resources, place.recall)
    empty = Strip(
        session="new" if session is None else "running",
        session_id=None if session is None else session.id,
        memory=uses_memory(resources.settings, place.recipe),
        recall="auto" if recall else "off",
    )
    if not empty.memory:
        return empty
    ids = frozenset(kept.vetoed) if kept is not None else frozenset[str]()
    before = packet_of(kept)
    if before is None:
        before = await _fresh(resources, memory, scope, place, Veto(ids))
    small = all(resources.models.facts(model).prompts == "compact" for model in place.models)
    listed = told_to(place.recipe, before.start, ids, small=small, look=recall)
    whence = {item.session_id for item, _ in listed if item.session_id is not None}
    here = await resources.database.read(lambda tx: _known(tx, whence), scope)
    items = tuple(
        Shown(item.id, item.kind, item.text, _source(item, here), when, vetoed=item.id in ids)
        for item, when in listed
    )
    degrades = (*map(str, before.start.degrades), *unwritten(before.start))
    return replace(empty, items=items, degrades=degrades, missing=tuple(map(missing, degrades)))


def _source(item: StartItem, here: Collection[str]) -> ItemSource:
    elsewhere = item.session_id is not None and item.session_id not in here
    return ItemSource(item.quote, item.said_at, item.session_id, elsewhere)


def _known(tx: Tx, ids: Iterable[str]) -> set[str]:
    """The ids among these that are sessions of ours."""
    known = set()
    for session_id in ids:
        with suppress(NotFound):
            known.add(sessions.get(tx, session_id).id)
    return known


async def _fresh(
    resources: Resources, memory: MemoryService, scope: Scope, place: _Place, veto: Veto
) -> Packet:
    cloud = leaves(resources, place.recipe, place.models)
    session = place.session.id if place.session is not None else ""
    asked = memory.start(
        scope, session, resources.clock(), cloud=cloud, veto=veto, written=False, talk=place.talk
    )
    return Packet(await within(resources, memory, asked), cloud)


def _place(tx: Tx, resources: Resources, recipe_name: str, conversation_id: str | None) -> _Place:
    known = council.everyone(tx)
    if conversation_id is None:
        talk = Conversation("", "", recipe_name, None, None, None, 0, 0, 0)
        session = None
    else:
        talk = conversations.get(tx, conversation_id)
        session = running_session(tx, resources.settings, talk, resources.clock())
    recipe = recipe_for(tx, resources.settings, talk)
    asked = council.council_of(talk, known, None, recipe)
    models = tuple(council.model_for(resources, recipe, advisor) for advisor in asked)
    kept = companions.session(tx, session.id) if session is not None else None
    alone = asked[0].id if recipe.traits.persona and len(asked) == 1 else None
    begins_in = None if conversation_id is None else Talk(conversation_id, alone)
    return _Place(recipe, models, talk.recall, session, kept, begins_in)
