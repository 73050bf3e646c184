"""Routes of the memory service's contract, at the paths that clients know.

`tenantId` and `userId` name a partition inside the caller's account; nothing crosses from one to
another. A client of the contract may pass on its answers to any model: they hold neither an
advisor's own words (unless asked for) nor anything that must not go to a cloud model.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, tzinfo
from functools import partial
from typing import Annotated, Literal

from fastapi import Depends, Query

from polyvox.errors import Invalid
from polyvox.fields import Id
from polyvox.memory import session_start
from polyvox.memory.query import Query as Wanted
from polyvox.memory.query import shape
from polyvox.memory.recall import Reader
from polyvox.memory.session_start import written_brief
from polyvox.memory.shapes.brief import BriefOut, StartBriefOut
from polyvox.memory.shapes.contract import (
    DailyOut,
    IngestBody,
    IngestOut,
    LoopOut,
    LoopsOut,
    QueryBody,
    QueryOut,
    found,
    micros,
)
from polyvox.memory.shapes.profile import ModelPatch, UserModelOut
from polyvox.memory.times import zone_of
from polyvox.web.dependencies import App, Who
from polyvox.web.errors import responses
from polyvox.web.memory.partition import Named, OwnTenant, OwnUser
from polyvox.web.openapi import Router

router = Router("memory")

Few = Annotated[int, Query(ge=1, le=200)]
Domain = Literal["relationships", "work", "health", "spirituality", "general"]
Day = Annotated[date | None, Query(description="Default: today, else yesterday.")]
Zone = Annotated[Id | None, Query(description="A name such as Europe/Lisbon; default: yours.")]
Now = Annotated[
    datetime | None, Query(description="ISO 8601; without an offset it is in the time zone.")
]
EARLIEST, LATEST = 1971, 9000
"""Years that every time zone can tell."""


@router.post("/memory/query", response_model_exclude_unset=True)
async def query_memory(
    app: App, who: Who, body: QueryBody, tenant: OwnTenant = None, user: OwnUser = None
) -> QueryOut:
    """What is remembered about something, with dates and sources, best first. Which partition is
    meant stands in the body or in the address."""
    at = body.reference_time
    asked = Wanted(
        body.query,
        app.clock() if at is None else micros("referenceTime", at),
        body.limit or 10,
        bool(body.include_context),
        None if body.as_of is None else micros("asOf", body.as_of),
        bool(body.include_history),
        body.max_tokens,
    )
    partition = body.partition(tenant, user)
    reader = Reader(body.advisor_id, cloud=True)
    return found(shape(await app.memory.query(who, partition, asked, reader=reader)))


@router.get("/memory/loops")
async def get_loops(
    app: App, who: Who, partition: Named, limit: Few = 10, domain: Domain | None = None
) -> LoopsOut:
    """What is open, by priority, pinned ones first."""
    every = await app.memory.loops(who, partition, domain=domain)
    told = [one for one in every if one.cloud]
    return LoopsOut(
        items=[LoopOut.of(one) for one in told[:limit]],
        metadata={"count": min(limit, len(told)), "total": len(told), "limit": limit},
    )


@router.post("/session/ingest", responses=responses(409))
async def ingest_session(
    app: App, who: Who, body: IngestBody, tenant: OwnTenant = None, user: OwnUser = None
) -> IngestOut:
    """Remember a session, once by its id; when this answers, it can be found. Which partition is
    meant stands in the body or in the address."""
    partition = body.partition(tenant, user)
    status = await app.memory.ingest(who, partition, *body.values(), cloud=not body.never_to_cloud)
    return IngestOut(status=status, session_id=body.session_id)


@router.get("/user/model")
async def get_user_model(app: App, who: Who, partition: Named) -> UserModelOut:
    """The profile."""
    profile = await app.memory.profile(who, partition, cloud=True)
    return UserModelOut.of(profile, app.clock())


@router.patch("/user/model")
async def change_user_model(
    app: App, who: Who, body: ModelPatch, tenant: OwnTenant = None, user: OwnUser = None
) -> UserModelOut:
    """Change the profile by hand: what is named, as it shall be; a list replaces the list, a null
    takes back. The changes stand in `model` or in the body itself, and which partition is meant in
    the body or in the address."""
    partition = body.partition(tenant, user)
    await app.memory.change_profile(who, partition, body.changes())
    return UserModelOut.of(await app.memory.profile(who, partition, cloud=True), app.clock())


@router.get("/analysis/daily")
async def get_daily(
    app: App, who: Who, partition: Named, day: Annotated[Day, Query(alias="date")] = None
) -> DailyOut:
    """What a day was about."""
    return DailyOut.of(*await app.memory.daily(who, partition, day))


async def _past(
    app: App,
    partition: Named,
    session: Annotated[Id | None, Query(alias="sessionId")] = None,
    timezone: Zone = None,
    now: Now = None,
) -> Callable[..., session_start.Found]:
    """A reading of what was before the session that starts; it lacks its transaction, and whether
    it is for a whole brief."""
    zone = zone_of(timezone or app.settings.timezone)
    time = app.clock() if now is None else _micros(now, zone)
    return partial(session_start.read, partition=partition, now=time, zone=zone, session_id=session)


Past = Annotated[Callable[..., session_start.Found], Depends(_past)]


@router.get("/session/startbrief")
async def get_startbrief(app: App, who: Who, read: Past) -> StartBriefOut:
    """What a session starts with: where the person is in time, what is open, a handover. What must
    never go to a cloud model is left out, for nobody knows where a brief goes."""
    known = (await app.database.read(partial(read, whole=False), who)).known
    return StartBriefOut.of(await written_brief(app.resources, who, known))


@router.get("/session/brief")
async def get_brief(app: App, who: Who, read: Past) -> BriefOut:
    """The same, more plainly: for clients that know no startbrief."""
    return BriefOut.of((await app.database.read(partial(read, whole=True), who)).known)


def _micros(time: datetime, zone: tzinfo | None) -> int:
    if not EARLIEST <= time.year < LATEST:
        raise Invalid("now: no such time can be told.", "Give the time it is.", param="now")
    placed = time if time.tzinfo is not None else time.replace(tzinfo=zone)
    return int(placed.timestamp() * 1_000_000)
