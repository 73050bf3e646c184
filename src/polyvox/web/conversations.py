"""Routes of conversations: list, read, change, search, send, follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Header, Query, Response
from pydantic import Field

from polyvox.errors import Invalid
from polyvox.fields import Asking, Body, Id, Message, RecipeName, Title, Vetoes
from polyvox.session.preview import Estimate
from polyvox.shapes import ConversationOut, MessageOut, shape, usd
from polyvox.store.conversations import ConversationDetails
from polyvox.stream import follow
from polyvox.values import Recall
from polyvox.web.dependencies import App, Key, Who
from polyvox.web.errors import responses
from polyvox.web.openapi import EVENTS, Router
from polyvox.web.stream import EventStream
from polyvox.web.turns import TurnStartedOut

router = Router("conversations")

Few = Annotated[int, Query(ge=1, le=200)]
Advisors = Annotated[list[Id], Field(max_length=200)]


class ConversationCreate(Body):
    """A new conversation. Without advisors or a council, every active advisor is asked."""

    title: Title = ""
    recipe: RecipeName | None = None
    advisors: Advisors | None = None
    council: Id | None = None
    recall: Recall | None = None
    phases: Asking | None = None
    """Answers in which advisors only ask, at most; 0: none, null: as the council or the recipe
    says."""


class ConversationPatch(Body):
    """Changes to a conversation."""

    title: Title | None = None
    recipe: RecipeName | None = None
    advisors: Advisors | None = None
    council: Id | None = None
    head: Id | None = None
    recall: Recall | None = None
    """Recall of earlier conversations in its turns; inherit: as the settings say."""
    phases: Asking | None = None
    """Answers in which advisors only ask, at most; 0: none, null: as the recipe says."""


class TurnCreate(Body):
    """A message to the council."""

    content: Message
    advisors: Advisors | None = None
    idempotency_key: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    veto: Vetoes = Field([])
    """Memories that the session shall not be told, by the ids that GET /api/memory/start gives;
    added to those it has."""
    answer_now: bool = False
    """Ends the phase in which advisors only ask: this message and all later ones are answered."""


class EstimateBody(Body):
    """A message that might be sent."""

    content: Message
    advisors: Advisors | None = None


class FirstEstimateBody(EstimateBody):
    """A message that might open a conversation."""

    recipe: RecipeName = "council"


@dataclass(frozen=True, slots=True)
class ConversationPage:
    """Conversations, newest first; `next` is the `after` of the next page."""

    items: list[ConversationOut]
    next: str | None


@dataclass(frozen=True, slots=True)
class ConversationWhole(ConversationOut):
    """A conversation with the messages and answers of its current branch."""

    messages: list[MessageOut]
    branches: Mapping[str, tuple[str, ...]]
    """Where a message was edited: the turns that share a parent, by that parent (or "")."""
    tips: Mapping[str, str]
    """For each of those turns the last one of its branch: the `head` that goes on from there."""
    more: bool
    """True if there are older messages than these."""


@dataclass(frozen=True, slots=True)
class EstimateRow:
    """The most that asking one advisor would take; a cost of null is unknown, not free."""

    advisor_id: str
    name: str
    model: str
    input_tokens: int
    max_output_tokens: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class EstimateOut:
    """The most that a message would take."""

    advisors: list[EstimateRow]
    input_tokens: int
    max_output_tokens: int
    cost: float | None
    """USD at most, of the models whose price is known; null when none is."""
    unpriced: int
    """Advisors whose model has no known price."""


@router.get("/api/conversations")
async def list_conversations(
    app: App, who: Who, limit: Few = 50, after: Id | None = None
) -> ConversationPage:
    """Conversations by their newest message."""
    page = await app.conversations.list(who, limit=limit, after=after)
    return ConversationPage([ConversationOut.of(item) for item in page.items], page.next)


@router.post("/api/conversations", status_code=201, responses=responses(404))
async def create_conversation(app: App, who: Who, body: ConversationCreate) -> ConversationOut:
    """A new conversation."""
    await app.check_recipe(who, body.recipe)
    details = body.model_dump(exclude_none=True)
    return ConversationOut.of(await app.conversations.create(who, **details))


@router.get("/api/conversations/{conversation}")
async def get_conversation(
    app: App,
    who: Who,
    conversation: Key,
    before: Annotated[int | None, Query(ge=1, le=2**31)] = None,
    limit: Few = 200,
) -> ConversationWhole:
    """The newest messages of the current branch with their answers; `before` pages back."""
    seen = await app.view(who, conversation, before, limit)
    helped = {turn.id: turn.content for turn, _ in seen.turns if turn.id in seen.crises}
    helps = {id_: await app.help_for(content) for id_, content in helped.items()}
    return shape(
        ConversationWhole,
        ConversationOut.of(seen.conversation),
        messages=[
            MessageOut.of(turn, answers, seen.notices.get(turn.id, ""), helps.get(turn.id, ""))
            for turn, answers in seen.turns
        ],
        branches=seen.branches,
        tips=seen.tips,
        more=seen.more,
    )


@router.patch("/api/conversations/{conversation}", responses=responses(409))
async def update_conversation(
    app: App, who: Who, conversation: Key, body: ConversationPatch
) -> ConversationOut:
    """Rename it, change its advisors (also while it goes on), or move its head to a branch."""
    await app.check_recipe(who, body.recipe)
    details = body.given("advisors", "council", "phases")
    head = details.pop("head", None)
    return ConversationOut.of(
        await app.change_conversation(who, conversation, cast("ConversationDetails", details), head)
    )


@router.delete("/api/conversations/{conversation}", status_code=204)
async def delete_conversation(app: App, who: Who, conversation: Key) -> None:
    """Delete it with everything in it."""
    await app.delete_conversation(who, conversation)


@router.post(
    "/api/conversations/{conversation}/turns", status_code=202, responses=responses(402, 409)
)
async def create_turn(app: App, who: Who, conversation: Key, body: TurnCreate) -> TurnStartedOut:
    """Send a message. It is stored when this returns; the answers come as events."""
    begun = await app.turns.send(
        who,
        conversation,
        body.content,
        advisors=body.advisors,
        idempotency_key=body.idempotency_key,
        veto=body.veto,
        answer_now=body.answer_now,
    )
    return TurnStartedOut.of(begun.turn, begun.answers)


@router.post("/api/conversations/{conversation}/estimate")
async def estimate_turn(app: App, who: Who, conversation: Key, body: EstimateBody) -> EstimateOut:
    """Tokens and price of a message before it is sent."""
    return _estimated(await app.turns.estimate(who, conversation, body.content, body.advisors))


@router.post("/api/estimate", responses=responses(404))
async def estimate_first(app: App, who: Who, body: FirstEstimateBody) -> EstimateOut:
    """The same for a message that would open a new conversation."""
    await app.check_recipe(who, body.recipe)
    rows = await app.turns.estimate(who, None, body.content, body.advisors, body.recipe)
    return _estimated(rows)


def _estimated(rows: Sequence[Estimate]) -> EstimateOut:
    known = [row.cost for row in rows if row.cost is not None]
    return EstimateOut(
        advisors=[
            shape(EstimateRow, row, max_output_tokens=row.output_tokens, cost=usd(row.cost))
            for row in rows
        ],
        input_tokens=sum(row.input_tokens for row in rows),
        max_output_tokens=sum(row.output_tokens for row in rows),
        cost=usd(sum(known)) if known else None,
        unpriced=len(rows) - len(known),
    )


@router.get("/api/conversations/{conversation}/events", responses=EVENTS, response_class=Response)
async def follow_events(
    app: App,
    who: Who,
    conversation: Key,
    after: Annotated[int | None, Query(ge=0, le=2**53)] = None,
    live: bool = True,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """Stream the events after a number, then new ones as they happen. `id` of an event is the
    number to come back with (as `after` or Last-Event-ID). `live=false` ends after what is
    stored."""
    number = after
    if last_event_id:
        if not last_event_id.isdecimal() or len(last_event_id) > 16:
            raise Invalid("Last-Event-ID must be a whole number.", param="Last-Event-ID")
        number = int(last_event_id)
    start = number or 0
    await follow.check(app.database, who, conversation, start)
    if not live:
        return EventStream(follow.stored(app.database, who, conversation, start), lambda: None)
    listener = app.hub.listen(conversation)
    chunks = follow.follow(app.database, listener, who, conversation, start)
    return EventStream(chunks, listener.end)
