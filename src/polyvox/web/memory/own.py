"""Routes of the person's own memory, which see everything: search, facts, loops, forgetting."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from polyvox.fields import Filled, Text
from polyvox.memory.forget import Kind, Target
from polyvox.memory.loops import LIVE, LoopStatus
from polyvox.memory.query import Query as Wanted
from polyvox.memory.query import shape
from polyvox.memory.shapes.contract import LoopOut, QueryOut, Time, found, iso, micros
from polyvox.memory.shapes.own import (
    EpisodeOut,
    FactOut,
    FactPatch,
    FactWhole,
    ForgetBody,
    ForgetOut,
    LoopPatch,
    MarkBody,
    SummaryOut,
)
from polyvox.memory.shapes.profile import UserModelOut
from polyvox.memory.values import Partition
from polyvox.values import Scope
from polyvox.web.dependencies import App, Key, Who
from polyvox.web.errors import responses

router = APIRouter(tags=["memory"])

OwnTenant = Annotated[Filled | None, Query(alias="tenantId", min_length=1, max_length=200)]
OwnUser = Annotated[Filled | None, Query(alias="userId", min_length=1, max_length=200)]
"""Default: the person's own memory."""
Few = Annotated[int, Query(ge=1, le=200)]
AsOf = Annotated[Time | None, Query(alias="asOf")]
Index = Annotated[int, Path(ge=0, le=1_000_000)]


def _part(who: Scope, tenant: str | None, user: str | None) -> Partition:
    own = Partition.own(who)
    return Partition(tenant or own.tenant, user or own.user)


@router.get("/api/memory/search", responses=responses(), response_model_exclude_unset=True)
async def search_memory(
    app: App,
    who: Who,
    q: Annotated[Text, Query(min_length=1, max_length=1000)],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    tenant: OwnTenant = None,
    user: OwnUser = None,
) -> QueryOut:
    """Everything that is remembered about something: messages, answers, facts."""
    asked = Wanted(q, app.clock(), limit)
    return found(shape(await app.memory.query(who, _part(who, tenant, user), asked)))


@router.get("/api/memory/facts", responses=responses())
async def list_facts(
    app: App,
    who: Who,
    q: Annotated[Text, Query(max_length=1000)] = "",
    as_of: AsOf = None,
    history: bool = False,
    tenant: OwnTenant = None,
    user: OwnUser = None,
) -> list[FactOut]:
    """What is known: pinned facts first, then the newest; with `q`, those about it."""
    facts = await app.memory.facts(
        who,
        _part(who, tenant, user),
        words=q,
        as_of=None if as_of is None else micros("asOf", as_of),
        include_history=history,
    )
    return [FactOut.of(one) for one in facts]


@router.get("/api/memory/facts/{fact}", responses=responses(404))
async def get_fact(
    app: App, who: Who, fact: Key, tenant: OwnTenant = None, user: OwnUser = None
) -> FactWhole:
    """One fact, and everything else that was ever said of the same."""
    one, others = await app.memory.fact(who, _part(who, tenant, user), fact)
    history = [FactOut.of(each) for each in others]
    return FactWhole(**FactOut.of(one).model_dump(), history=history)


@router.patch("/api/memory/facts/{fact}", responses=responses(404))
async def change_fact(
    app: App,
    who: Who,
    fact: Key,
    body: FactPatch,
    tenant: OwnTenant = None,
    user: OwnUser = None,
) -> FactOut:
    """Pin a fact, exclude it from recall, or correct it: a correction is a fact of its own, which
    stands in its place."""
    one = await app.memory.change_fact(
        who,
        _part(who, tenant, user),
        fact,
        text=body.text,
        pinned=body.pinned,
        excluded=body.excluded,
    )
    return FactOut.of(one)


@router.get("/api/memory/facts/{fact}/forget", responses=responses(404))
async def preview_forgetting_fact(
    app: App, who: Who, fact: Key, tenant: OwnTenant = None, user: OwnUser = None
) -> ForgetOut:
    """What would go with a fact. Nothing is changed."""
    return ForgetOut.of(
        await app.memory.preview(who, _part(who, tenant, user), Target("fact", fact))
    )


@router.post("/api/memory/facts/{fact}/forget", responses=responses(404))
@router.delete("/api/memory/facts/{fact}", responses=responses(404), operation_id="delete_fact")
async def forget_fact(
    app: App, who: Who, fact: Key, tenant: OwnTenant = None, user: OwnUser = None
) -> ForgetOut:
    """Forget a fact for good, with everything that the preview shows, from the files too."""
    return ForgetOut.of(
        await app.memory.forget(who, _part(who, tenant, user), Target("fact", fact))
    )


@router.patch("/api/memory/messages/{session}/{index}", responses=responses(404))
async def mark_message(
    app: App,
    who: Who,
    session: Key,
    index: Index,
    body: MarkBody,
    tenant: OwnTenant = None,
    user: OwnUser = None,
) -> EpisodeOut:
    """Pin a remembered message, or exclude it from recall."""
    one = await app.memory.mark_message(
        who,
        _part(who, tenant, user),
        session,
        index,
        pinned=body.pinned,
        excluded=body.excluded,
    )
    return EpisodeOut(
        session_id=one.session_id,
        message_index=one.index,
        role=one.role,
        text=one.text,
        timestamp=iso(one.said_at),
        pinned=one.pinned,
        excluded=one.excluded,
    )


@router.get("/api/memory/loops", responses=responses())
async def list_loops(
    app: App,
    who: Who,
    status: Annotated[list[LoopStatus] | None, Query()] = None,
    tenant: OwnTenant = None,
    user: OwnUser = None,
) -> list[LoopOut]:
    """The loops in these states (default: what is open), by priority, pinned ones first."""
    loops = await app.memory.loops(who, _part(who, tenant, user), statuses=tuple(status or LIVE))
    return [LoopOut.of(one) for one in loops]


@router.patch("/api/memory/loops/{loop}", responses=responses(404, 409))
async def change_loop(
    app: App,
    who: Who,
    loop: Key,
    body: LoopPatch,
    tenant: OwnTenant = None,
    user: OwnUser = None,
) -> LoopOut:
    """Mark a loop as done or dropped, or open it again; pin it; put it in other words, or give it
    another day. What is pinned comes first and does not grow old; what is over cannot be pinned."""
    one = await app.memory.change_loop(
        who,
        _part(who, tenant, user),
        loop,
        status=body.status,
        text=body.text,
        due=body.due_date,
        clear_due="due_date" in body.model_fields_set and body.due_date is None,
        pinned=body.pinned,
    )
    return LoopOut.of(one)


@router.get("/api/memory/profile", responses=responses())
async def get_profile(
    app: App, who: Who, tenant: OwnTenant = None, user: OwnUser = None
) -> UserModelOut:
    """The whole profile, what must not go to a cloud model included."""
    profile = await app.memory.profile(who, _part(who, tenant, user))
    return UserModelOut.of(profile, app.clock())


@router.get("/api/memory/summaries", responses=responses())
async def list_summaries(
    app: App, who: Who, limit: Few = 20, tenant: OwnTenant = None, user: OwnUser = None
) -> list[SummaryOut]:
    """Sessions in few words, the last first."""
    found_ = await app.memory.summaries(who, _part(who, tenant, user), limit)
    return [SummaryOut.of(one) for one in found_]


@router.get("/api/memory/forget", responses=responses(404))
async def preview_forgetting(
    app: App,
    who: Who,
    kind: Kind,
    id: Annotated[Filled, Query(min_length=1, max_length=300)],  # noqa: A002 - as in the body
    tenant: OwnTenant = None,
    user: OwnUser = None,
) -> ForgetOut:
    """What would go with a fact, a loop, a line of the profile, a message (SESSION#INDEX) or a
    session. Nothing is changed."""
    target = Target(kind, id)
    return ForgetOut.of(await app.memory.preview(who, _part(who, tenant, user), target))


@router.post("/api/memory/forget", responses=responses(404))
async def forget(
    app: App, who: Who, body: ForgetBody, tenant: OwnTenant = None, user: OwnUser = None
) -> ForgetOut:
    """Forget it for good, with everything that the preview shows, from the files too."""
    target = Target(body.kind, body.id)
    return ForgetOut.of(await app.memory.forget(who, _part(who, tenant, user), target))
