"""Before a message is stored: it is checked, and what it would take is told.

Everything here reads, but for `begin`, which stores the message and the answers that are to come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from polyvox.context.budget import TooLong
from polyvox.context.compile import compile_request
from polyvox.context.recipe import Recipe
from polyvox.errors import Invalid, ModelError
from polyvox.ids import new_id
from polyvox.memory import excluding
from polyvox.receive import UserMessage, receive
from polyvox.session import council, lifecycle, starting
from polyvox.session.council import model_for, params_for
from polyvox.session.lifecycle import Placed
from polyvox.session.road import Job, Road
from polyvox.session.spending import Estimate, check_caps
from polyvox.session.turn import foresee, reach_of
from polyvox.store import conversations, ratios, threads, turns
from polyvox.store.database import Tx
from polyvox.store.turns import Begun, NewTurn
from polyvox.thread import Thread, ThreadTurn
from polyvox.values import Advisor, Conversation, Scope, Turn, Usage


@dataclass(frozen=True, slots=True)
class Plan:
    """A message that was checked, with everything needed to begin its turn."""

    conversation: Conversation
    message: UserMessage
    recipe: Recipe
    asked: tuple[Advisor, ...]


def plan(
    tx: Tx,
    road: Road,
    conversation_id: str,
    content: str,
    advisors: Sequence[str] | None,
    key: str | None,
    model: str | None,
    edits: str | None,
) -> Plan:
    """Check a message; what it says must fit at least one of its advisors."""
    limits = road.settings.limits
    conversation = conversations.get(tx, conversation_id)
    known = council.everyone(tx)
    message = receive(
        content, known=known, limit=limits.message_chars, advisors=advisors, idempotency_key=key
    )
    recipe = council.find_recipe(tx, road.settings, conversation.recipe)
    asked = council.with_model(council.council_of(conversation, known, message.asked), model)
    check_caps(tx, limits, conversation_id, None, road.clock())
    turn = next_turn(tx, conversation, content, road.clock(), edits)
    _refuse_too_long(tx, road, recipe, asked, turn)
    return Plan(conversation, message, recipe, asked)


def _refuse_too_long(
    tx: Tx, road: Road, recipe: Recipe, asked: Sequence[Advisor], turn: Turn
) -> None:
    """A message that fits none of its advisors is refused before anything is stored. All that
    bears on it is read, and no history: that can be dropped."""
    said = ThreadTurn(turn.id, turn.message_id, 1, turn.content, turn.said_at)
    enough = reach_of(recipe).count_upto
    refusal: TooLong | None = None
    for advisor in asked:
        name = model_for(road, recipe, advisor)
        facts = road.models.facts(name)
        params = params_for(road, recipe, advisor, facts)
        thread = Thread(
            council.voiced(recipe, advisor),
            said,
            answers=threads.count_answers(tx, turn, advisor.id, enough),
            ratio=ratios.ratio(tx, name),
        )
        try:
            compile_request(recipe, thread, road.settings.limits, facts, params)
        except TooLong as error:
            refusal = error
        else:
            return
    if refusal is not None:
        raise Invalid(refusal.message, refusal.hint, param="content")


def begin(tx: Tx, road: Road, plan: Plan, edits: str | None, veto: Sequence[str]) -> Begun:
    """Store a message and the answers that are to be written."""
    message = plan.message
    now = road.clock()
    idle = None if plan.recipe.name == "agent" else road.settings.sessions.idle_minutes
    new = NewTurn(
        content=message.content,
        asked=plan.asked,
        said_at=now,
        idempotency_key=message.idempotency_key,
        body_hash=message.body_hash,
        edits=edits,
    )

    place: list[Placed] = []

    def session() -> str:
        place.append(lifecycle.placed(tx, plan.conversation.id, now, idle))
        found = place[-1].session_id
        if veto:
            starting.add_veto(tx, found, plan.conversation.id, veto, now)
        return found

    head = None if edits is None else conversations.get(tx, plan.conversation.id).head_id
    begun = turns.begin(
        tx, plan.conversation.id, new, session, road.runner_id, road.settings.limits.queue, now
    )
    if not place:  # it was stored before
        return begun
    if head is not None:
        excluding.follow_head(tx, plan.conversation.id, head, begun.turn.id, now)
    return replace(begun, begins=place[-1].begins, follows=place[-1].follows)


def imagine(
    tx: Tx,
    road: Road,
    conversation_id: str | None,
    content: str,
    advisors: Sequence[str] | None,
    recipe_name: str,
) -> list[Job]:
    """The turn that a message would become, for each advisor it would go to."""
    conversation = (
        conversations.get(tx, conversation_id)
        if conversation_id is not None
        else Conversation("", "", recipe_name, None, None, None, 0, 0, 0)
    )
    known = council.everyone(tx)
    message = receive(
        content,
        known=known,
        limit=road.settings.limits.message_chars,
        advisors=advisors,
    )
    recipe = council.find_recipe(tx, road.settings, conversation.recipe)
    asked = council.council_of(conversation, known, message.asked)
    now = road.clock()
    turn = next_turn(tx, conversation, content, now)
    session = starting.running_session(tx, road, conversation, now)
    turn = replace(turn, session_id=turn.id if session is None else session.id)
    return [Job(tx.scope, turn, new_id(), advisor, recipe) for advisor in asked]


async def estimate(
    road: Road,
    scope: Scope,
    conversation_id: str | None,
    content: str,
    advisors: Sequence[str] | None,
    recipe_name: str,
) -> list[Estimate]:
    """What a message would take, for each advisor it would go to, with what they would be told of
    the past."""
    jobs = await road.database.read(
        lambda tx: imagine(tx, road, conversation_id, content, advisors, recipe_name), scope
    )
    found = []
    refused: list[ModelError] = []
    for job, call in zip(jobs, await foresee(road, jobs), strict=True):
        if call.compiled is None:  # would not be asked, and cost nothing
            refused += [call.refusal] if call.refusal else []
            continue
        tokens = call.compiled.draft.input_tokens
        most = call.compiled.request.params.max_tokens or 0
        cost = road.models.cost(call.model, Usage(tokens, most))
        found.append(Estimate(job.advisor.id, job.advisor.name, call.model, tokens, most, cost))
    if refused and not found:
        raise Invalid(refused[0].message, refused[0].hint, param="content")
    return found


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
