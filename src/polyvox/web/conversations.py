"""Routes of conversations: their lives, their messages, their events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, cast

from fastapi import APIRouter, Header, Query, Response
from pydantic import BaseModel

from polyvox.errors import Invalid
from polyvox.session.preview import Estimate
from polyvox.store.conversations import ConversationDetails
from polyvox.stream import follow
from polyvox.web.context import App, Who
from polyvox.web.event_page import EVENTS
from polyvox.web.failures import responses
from polyvox.web.fields import Id, Key
from polyvox.web.schemas import (
    AnswerRef,
    ConversationCreate,
    ConversationOut,
    ConversationPatch,
    ConversationWhole,
    EstimateBody,
    EstimateOut,
    EstimateRow,
    FirstEstimateBody,
    MessageOut,
    TurnCreate,
    TurnStartedOut,
    usd,
)
from polyvox.web.streaming import EventStream

router = APIRouter(tags=["conversations"])

Few = Annotated[int, Query(ge=1, le=200)]


class ConversationPage(BaseModel):
    """Conversations, newest first; `next` is the `after` of the next page."""

    items: list[ConversationOut]
    next: str | None


@router.get("/api/conversations", responses=responses())
async def list_conversations(
    app: App, who: Who, limit: Few = 50, after: Id | None = None
) -> ConversationPage:
    """Conversations by their newest message."""
    page = await app.conversations.list(who, limit=limit, after=after)
    return ConversationPage(items=[ConversationOut.of(one) for one in page.items], next=page.next)


@router.post("/api/conversations", status_code=201, responses=responses(404))
async def create_conversation(app: App, who: Who, body: ConversationCreate) -> ConversationOut:
    """A new conversation."""
    details = body.model_dump(exclude_none=True)
    return ConversationOut.of(await app.conversations.create(who, **details))


@router.get("/api/conversations/{conversation}", responses=responses(404))
async def get_conversation(
    app: App,
    who: Who,
    conversation: Key,
    before: Annotated[int | None, Query(ge=1, le=2**31)] = None,
    limit: Few = 200,
) -> ConversationWhole:
    """The newest messages of the current branch with their answers; `before` pages back."""
    seen = await app.view(who, conversation, before, limit)
    return ConversationWhole(
        **ConversationOut.of(seen.conversation).model_dump(),
        messages=[MessageOut.of(turn, list(answers)) for turn, answers in seen.turns],
        branches={parent: list(ids) for parent, ids in seen.branches.items()},
        tips=dict(seen.tips),
        more=seen.more,
    )


@router.patch("/api/conversations/{conversation}", responses=responses(404, 409))
async def update_conversation(
    app: App, who: Who, conversation: Key, body: ConversationPatch
) -> ConversationOut:
    """Rename it, change its advisors (also while it goes on), or move its head to a branch."""
    said = body.model_dump(exclude_unset=True)
    head = said.pop("head", None)
    keep = {"advisors", "council"}
    details = {key: value for key, value in said.items() if value is not None or key in keep}
    return ConversationOut.of(
        await app.change_conversation(who, conversation, cast("ConversationDetails", details), head)
    )


@router.delete("/api/conversations/{conversation}", status_code=204, responses=responses(404))
async def delete_conversation(app: App, who: Who, conversation: Key) -> None:
    """Delete it with everything in it."""
    await app.delete_conversation(who, conversation)


@router.post(
    "/api/conversations/{conversation}/turns",
    status_code=202,
    responses=responses(402, 404, 409),
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
    )
    return TurnStartedOut(
        turn_id=begun.turn.id,
        message_id=begun.turn.message_id,
        session_id=begun.turn.session_id,
        state=begun.turn.state,
        answers=[AnswerRef(answer_id=a.id, advisor_id=a.advisor_id) for a in begun.answers],
    )


@router.post("/api/conversations/{conversation}/estimate", responses=responses(404))
async def estimate_turn(app: App, who: Who, conversation: Key, body: EstimateBody) -> EstimateOut:
    """Tokens and price of a message before it is sent."""
    return _estimated(await app.turns.estimate(who, conversation, body.content, body.advisors))


@router.post("/api/estimate", responses=responses(404))
async def estimate_first(app: App, who: Who, body: FirstEstimateBody) -> EstimateOut:
    """The same for a message that would open a new conversation."""
    rows = await app.turns.estimate(who, None, body.content, body.advisors, body.recipe)
    return _estimated(rows)


def _estimated(rows: Sequence[Estimate]) -> EstimateOut:
    known = [row.cost for row in rows if row.cost is not None]
    return EstimateOut(
        advisors=[
            EstimateRow(
                advisor_id=row.advisor_id,
                name=row.name,
                model=row.model,
                input_tokens=row.input_tokens,
                max_output_tokens=row.output_tokens,
                cost=usd(row.cost),
            )
            for row in rows
        ],
        input_tokens=sum(row.input_tokens for row in rows),
        max_output_tokens=sum(row.output_tokens for row in rows),
        cost=usd(sum(known)) if known else None,
        unpriced=len(rows) - len(known),
    )


@router.get(
    "/api/conversations/{conversation}/events",
    responses={**responses(404), 200: EVENTS},
    response_class=Response,
)
async def follow_events(
    app: App,
    who: Who,
    conversation: Key,
    after: Annotated[int | None, Query(ge=0, le=2**53)] = None,
    live: bool = True,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """Everything after a number, then whatever happens. `id` of an event is the number to come
    back with (as `after` or Last-Event-ID). `live=false` ends after what is stored."""
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
