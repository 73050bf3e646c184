"""The briefs of the memory contract: what a session starts with, at the paths that clients know."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, tzinfo
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from polyvox.app import Polyvox
from polyvox.errors import Invalid
from polyvox.memory import past
from polyvox.memory.brief import brief
from polyvox.memory.briefing import written_brief
from polyvox.memory.moment import zone_of
from polyvox.memory.startbrief import Known
from polyvox.memory.values import Partition
from polyvox.values import Scope
from polyvox.web.dependencies import App, Who
from polyvox.web.errors import responses
from polyvox.web.fields import Filled, Id

router = APIRouter(tags=["memory"])

Name = Annotated[Filled, Query(min_length=1, max_length=200)]
"""Of a tenant or a user: together they name a partition."""
Zone = Annotated[Id | None, Query(description="A name such as Europe/Lisbon; default: yours.")]
Time = Annotated[
    datetime | None, Query(description="ISO 8601; without an offset it is in the time zone.")
]
EARLIEST, LATEST = 1971, 9000
"""Years that every time zone can tell."""


class TimeContextOut(BaseModel):
    """When it is for the person."""

    local_time: str
    time_of_day: Literal["morning", "afternoon", "evening", "night"]
    gap_minutes: int | None
    """Since the last session ended; null: there was none."""
    sessions_today: int
    """Before this one."""
    first_session_today: bool


class ResumeOut(BaseModel):
    """Whether the talk goes on where it stopped a moment ago."""

    use_bridge: bool
    bridge_text: str | None


class ItemOut(BaseModel):
    """Something open."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    kind: Literal["loop", "tension"]
    text: str
    type: str | None
    time_horizon: str | None
    due_date: str | None
    salience: float | None
    last_seen_at: str | None


class OpsOut(BaseModel):
    """What there is to do, and how to steer."""

    top_loops_today: list[str]
    waiting_on: list[str]
    user_model_hints: list[str]
    yesterday_themes: list[str]
    steering_note: str | None


class EvidenceOut(BaseModel):
    """What the brief was made of."""

    session_ids: list[str]
    episode_ids: list[str]
    loop_ids: list[str]
    quality: str
    """good, thin (times alone) or empty (nobody talked before)."""
    fallback: str | None
    """Why the handover is the plain one; null: a model wrote it."""


class StartBriefOut(BaseModel):
    """What a session starts with."""

    handover_text: str
    handover_depth: Literal["continuation", "today", "yesterday", "multi_day"]
    time_context: TimeContextOut
    resume: ResumeOut
    items: list[ItemOut]
    ops_context: OpsOut
    evidence: EvidenceOut


class BriefOut(BaseModel):
    """The plainer packet."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    time_gap_description: str | None
    time_of_day_label: str
    facts: list[str]
    open_loops: list[str]
    commitments: list[str]
    current_focus: str | None
    narrative_summary: list[str]
    brief_context: str | None

    @classmethod
    def of(cls, known: Known) -> BriefOut:
        """The brief of what is known."""
        return cls.model_validate(asdict(brief(known)))


@router.get("/session/startbrief", responses=responses())
async def get_startbrief(
    app: App,
    who: Who,
    tenant: Annotated[Name, Query(alias="tenantId")],
    user: Annotated[Name, Query(alias="userId")],
    session: Annotated[Id | None, Query(alias="sessionId")] = None,
    timezone: Zone = None,
    now: Time = None,
) -> StartBriefOut:
    """What a session starts with: where the person is in time, what is open, a handover. What must
    never go to a cloud model is left out, for nobody knows where a brief goes."""
    known = await _known(app, who, Partition(tenant, user), session, timezone, now, whole=False)
    return await startbrief_out(app, who, known)


@router.get("/session/brief", responses=responses())
async def get_brief(
    app: App,
    who: Who,
    tenant: Annotated[Name, Query(alias="tenantId")],
    user: Annotated[Name, Query(alias="userId")],
    session: Annotated[Id | None, Query(alias="sessionId")] = None,
    timezone: Zone = None,
    now: Time = None,
) -> BriefOut:
    """The same, more plainly: for clients that know no startbrief."""
    known = await _known(app, who, Partition(tenant, user), session, timezone, now, whole=True)
    return BriefOut.of(known)


async def own_known(app: Polyvox, who: Scope, *, whole: bool) -> Known:
    """What a brief of the person's own memory draws on now; with `whole`, not only a startbrief."""
    return await _known(app, who, Partition.own(who), None, None, None, whole=whole)


async def startbrief_out(app: Polyvox, who: Scope, known: Known) -> StartBriefOut:
    """A startbrief, written by the model for memory where one is named."""
    return StartBriefOut.model_validate(asdict(await written_brief(app.resources, who, known)))


async def _known(
    app: Polyvox,
    who: Scope,
    partition: Partition,
    session: str | None,
    timezone: str | None,
    now: datetime | None,
    *,
    whole: bool,
) -> Known:
    zone = zone_of(timezone or app.settings.timezone)
    time = app.clock() if now is None else _micros(now, zone)
    return await app.database.read(
        lambda tx: past.read(tx, partition, time, zone, session, whole=whole).known, who
    )


def _micros(time: datetime, zone: tzinfo | None) -> int:
    if not EARLIEST <= time.year < LATEST:
        raise Invalid("now: no such time can be told.", "Give the time it is.", param="now")
    placed = time if time.tzinfo is not None else time.replace(tzinfo=zone)
    return int(placed.timestamp() * 1_000_000)
