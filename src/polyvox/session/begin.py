"""The beginning of a turn: a message is checked, then stored with its pending answers.

`plan` only reads; `begin` writes everything in one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from polyvox.companion import starting
from polyvox.context.budget import TooLong
from polyvox.context.compile import compile_request
from polyvox.context.recipe import Recipe, asked_first, shortened
from polyvox.errors import Invalid
from polyvox.events import ConversationChanged
from polyvox.ids import new_id
from polyvox.memory import excluding
from polyvox.receive import UserMessage, receive
from polyvox.recipes import recipe_for
from polyvox.resources import Resources
from polyvox.session import council
from polyvox.session.council import model_for, params_for, reach_of
from polyvox.store import conversations, sessions, threads, turns, usage
from polyvox.store.database import Tx
from polyvox.store.turns import Begun, NewTurn
from polyvox.store.usage import check_caps
from polyvox.thread import Thread, ThreadTurn
from polyvox.values import Advisor, Conversation, Turn


@dataclass(frozen=True, slots=True)
class Plan:
    """A message that was checked, with everything needed to begin its turn."""

    conversation: Conversation
    message: UserMessage
    recipe: Recipe
    asked: tuple[Advisor, ...]
    edits: str | None = None
    """The turn whose message this one replaces."""
    veto: tuple[str, ...] = ()
    """Items of memory that its session shall not be told."""
    ends_phases: bool = False
    """True if the person asks for answers though a limited phase is in force."""


def plan(
    tx: Tx,
    resources: Resources,
    conversation_id: str,
    content: str,
    advisors: Sequence[str] | None,
    key: str | None,
    model: str | None,
    edits: str | None,
    veto: Sequence[str],
    answer_now: bool,
) -> Plan:
    """Check a message; it must fit at least one of its advisors. `answer_now` ends the limited
    phases of the conversation."""
    limits = resources.settings.limits
    conversation = conversations.get(tx, conversation_id)
    known = council.everyone(tx)
    message = receive(
        content,
        known=known,
        limit=limits.message_chars,
        advisors=advisors,
        idempotency_key=key,
        answer_now=answer_now,
    )
    recipe = recipe_for(tx, resources.settings, conversation)
    ends_phases = answer_now and asked_first(recipe) > 0
    recipe = shortened(recipe, 0) if ends_phases else recipe
    chosen = council.council_of(conversation, known, message.asked, recipe)
    asked = council.with_model(chosen, model)
    check_caps(tx, limits, conversation_id, None, resources.clock())
    turn = next_turn(tx, conversation, content, resources.clock(), edits)
    _refuse_too_long(tx, resources, recipe, asked, turn)
    return Plan(conversation, message, recipe, asked, edits, tuple(veto), ends_phases)


def _refuse_too_long(
    tx: Tx, resources: Resources, recipe: Recipe, asked: Sequence[Advisor], turn: Turn
) -> None:
    """Refuse a message that fits none of its advisors, before anything is stored. No history is
    read: that can be dropped."""
    message = ThreadTurn(turn.id, turn.message_id, 1, turn.content, turn.said_at)
    enough = reach_of(recipe).count_upto
    refusals: list[tuple[str, TooLong]] = []
    for advisor in asked:
        name = model_for(resources, recipe, advisor)
        facts = resources.models.facts(name)
        params = params_for(resources, recipe, advisor, facts)
        thread = Thread(
            council.voiced(recipe, advisor),
            message,
            answers=threads.count_answers(tx, turn, advisor.id, enough),
            company=len(asked) > 1,
            ratio=usage.token_ratio(tx, name),
            zone=resources.settings.zone,
        )
        try:
            compile_request(recipe, thread, resources.settings.limits, facts, params)
        except TooLong as error:
            refusals.append((advisor.name, error))
        else:
            return
    if refusals:
        raise too_long_for_all(refusals)


def too_long_for_all(refusals: Sequence[tuple[str, TooLong]]) -> Invalid:
    """The refusal of a message that fits no advisor: by how much for each, and whether the message
    or a prompt is to blame."""
    least = min((error for _, error in refusals), key=lambda error: error.over)
    told = "; ".join(
        f"{name}: {'its prompt' if error.by_prompt else 'the message'} is about"
        f" {error.over_chars:,} characters too long"
        for name, error in refusals
    )
    blame = "prompt" if all(error.by_prompt for _, error in refusals) else "content"
    what = "The advisors' prompts are too long" if blame == "prompt" else "The message is too long"
    return Invalid(f"{what} ({told}). {least.message}", least.hint, param=blame)


def begin(tx: Tx, resources: Resources, plan: Plan) -> Begun:
    """Store a message and the answers that are to be written. A message whose idempotency key is
    known was stored before: then its turn is returned as it is."""
    message, conversation_id = plan.message, plan.conversation.id
    now, limits = resources.clock(), resources.settings.limits
    held = turns.lock(tx, conversation_id)
    if message.idempotency_key is not None:
        key = message.idempotency_key
        repeat = turns.find_repeat(tx, conversation_id, key, message.body_hash)
        if repeat is not None:
            return Begun(*repeat, existing=True)
    place = turns.place(tx, held, plan.edits, limits.queue, now)
    idle = None if plan.recipe.traits.endless else resources.settings.sessions.idle_minutes
    session = sessions.placed(tx, conversation_id, now, idle)
    if plan.veto:
        starting.add_veto(tx, session.session_id, conversation_id, plan.veto, now)
    new = NewTurn(
        content=message.content,
        asked=plan.asked,
        said_at=now,
        idempotency_key=message.idempotency_key,
        body_hash=message.body_hash,
        edits=plan.edits,
    )
    begun = turns.begin(tx, place, new, session.session_id, resources.runner_id, now)
    if plan.edits is not None and held.head_id is not None:
        excluding.follow_head(tx, conversation_id, held.head_id, begun.turn.id, now)
    if plan.ends_phases:
        conversations.update(tx, conversation_id, {"phases": 0})
        begun.opening.append(ConversationChanged("details", conversation_id))
    return replace(begun, begins=session.begins, follows=session.follows)


def next_turn(
    tx: Tx, conversation: Conversation, content: str, now: int, edits: str | None = None
) -> Turn:
    """The turn a message would become."""
    if edits is not None:
        edited = turns.get_turn(tx, edits)
        return replace(edited, id=new_id(), content=content, said_at=now)
    head = turns.get_turn(tx, conversation.head_id) if conversation.head_id else None
    return Turn(
        id=new_id(),
        conversation_id=conversation.id,
        message_id=new_id(),
        session_id=head.session_id if head else None,
        parent_id=head.id if head else None,
        branch_id=head.branch_id if head else "",
        depth=head.depth + 1 if head else 1,
        content=content,
        said_at=now,
        asked=(),
        state="queued",
        excluded=False,
        created_at=now,
    )
