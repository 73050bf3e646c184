"""Routes of the person's own memory, as it is looked through: page by page, place by place.

A page costs what it shows. Everything here is the person's: an advisor's own words and what must
not go to a cloud model are in it.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from fastapi import Query, Response
from pydantic import BaseModel, Field

from polyvox.errors import Invalid
from polyvox.fields import Body, Filled, Id, Text
from polyvox.memory import listing
from polyvox.memory.listing import Day, Only, Shown
from polyvox.memory.loops import LoopStatus
from polyvox.memory.places import Place, places
from polyvox.memory.shapes.contract import Camel, DailyOut, LoopOut, iso
from polyvox.memory.shapes.own import Day as Written
from polyvox.memory.shapes.own import EpisodeOut, FactOut, SummaryOut
from polyvox.memory.shapes.profile import UserModelOut
from polyvox.memory.tables import derived, episodes, statements
from polyvox.memory.times import zone_of
from polyvox.memory.values import Partition
from polyvox.shapes import shape
from polyvox.web.dependencies import App, Key, Who
from polyvox.web.errors import responses
from polyvox.web.openapi import Router

router = Router("memory")

MOST_PLACES = 100
EVERYTHING = 1_000_000_000
EVERY: tuple[LoopStatus, ...] = ("open", "needs_review", "stale", "done", "dropped")
Few = Annotated[int, Query(ge=1, le=100)]
Where = Annotated[
    list[Annotated[Text, Field(min_length=3, max_length=300)]],
    Query(description="SESSION#INDEX, of messages.", max_length=MOST_PLACES),
]


class OverviewOut(Camel):
    """How much is remembered, and who reads it."""

    sessions: int
    statements: int
    """Facts, superseded ones included."""
    kept_local: int
    """Sessions that were held on this machine, and that the online model may not read yet."""
    share: Literal["ask", "always", "never"]
    """The setting `memory.share`: what the person said to that."""
    model: str | None
    """What notes facts, loops and profile; null: nothing does, as there is no capable model."""


class BeforeOut(Camel):
    """What was said of the same before."""

    id: str
    text: str
    said_at: str | None


class RememberedMessageOut(EpisodeOut):
    """A remembered message, and whose it is."""

    advisor_id: str | None
    excerpt: str
    """The part that was found; empty: it was not searched for."""


class ItemOut(Camel):
    """A fact or a message."""

    kind: Literal["fact", "message"]
    fact: FactOut | None
    message: RememberedMessageOut | None
    before: BeforeOut | None
    others: int
    """How many other statements of the same there are."""
    relevance: float | None

    @classmethod
    def of(cls, one: Shown) -> ItemOut:
        """From the value."""
        old, message = one.before, one.message
        return shape(
            cls,
            one,
            kind="message" if one.fact is None else "fact",
            fact=one.fact and FactOut.of(one.fact),
            message=message and RememberedMessageOut.of(message, excerpt=one.excerpt),
            before=old and shape(BeforeOut, old, said_at=iso(old.said_at)),
        )


class ItemPage(BaseModel):
    """Some of what is remembered; `next` is the `after` of the next page."""

    items: list[ItemOut]
    next: str | None


class PlaceOut(Camel):
    """Where a remembered message stands."""

    session_id: str
    message_index: int
    role: Literal["user", "assistant"]
    advisor_id: str | None
    advisor_name: str | None
    conversation_id: str | None
    """Null: it came from elsewhere, or its conversation is deleted."""
    title: str | None
    turn_id: str | None

    @classmethod
    def of(cls, one: Place) -> PlaceOut:
        """From the value."""
        return shape(cls, one, message_index=one.index)


class LineBody(Body):
    """A new line of the profile."""

    place: Annotated[Filled, Field(min_length=1, max_length=60)]
    item: Annotated[Text, Field(max_length=200)] = ""
    """The domain of a north star, or the name of a person."""
    text: Annotated[Filled, Field(min_length=1, max_length=2_000)]


class LinePatch(Body):
    """A line in other words."""

    text: Annotated[Filled, Field(min_length=1, max_length=2_000)]


class DayOut(BaseModel):
    """A day, and the sessions that ended in it."""

    day: str
    analysis: DailyOut | None
    summaries: list[SummaryOut]

    @classmethod
    def of(cls, one: Day) -> DayOut:
        """From the value."""
        day, found = date.fromisoformat(one.day), one.analysis
        summaries = [SummaryOut.of(each) for each in one.summaries]
        return cls(day=one.day, analysis=found and DailyOut.of(day, found), summaries=summaries)


class DayPage(BaseModel):
    """Some days, the last first; `next` is the `before` of the next page."""

    items: list[DayOut]
    next: str | None


class MemoryOut(Camel):
    """All that was noted, to be taken along."""

    format: Literal["polyvox-memory"] = "polyvox-memory"
    version: Literal[1] = 1
    exported_at: str | None
    facts: list[FactOut]
    loops: list[LoopOut]
    profile: UserModelOut
    summaries: list[SummaryOut]
    days: list[DailyOut]


@router.get("/api/memory/overview")
async def get_memory_overview(app: App, who: Who) -> OverviewOut:
    """How much is remembered, and what reads it."""
    own = Partition.own(who)
    sessions, noted = await app.database.read(
        lambda tx: (episodes.count_sessions(tx, own), statements.count(tx, own, "fact")), who
    )
    return OverviewOut(
        sessions=sessions,
        statements=noted,
        kept_local=await app.memory.kept_local(who),
        share=app.settings.memory.share,
        model=app.memory.asker.model,
    )


@router.post("/api/memory/share")
async def share_sessions(app: App, who: Who) -> OverviewOut:
    """Agree that online models read what you told models on this machine so far. The setting
    `memory.share` says what holds from now on."""
    await app.memory.open_sessions(who)
    return await get_memory_overview(app, who)


@router.get("/api/memory/items")
async def list_items(
    app: App,
    who: Who,
    only: Only = "current",
    q: Annotated[Text, Query(max_length=1000)] = "",
    limit: Few = 30,
    after: Id | None = None,
) -> ItemPage:
    """What is remembered, page by page: current facts, pinned ones first; or what is pinned,
    excluded or outdated, messages too. With `q` what is about it, best first, on one page."""
    own, now = Partition.own(who), app.clock()
    if q.strip():
        zone = zone_of(app.settings.timezone)
        found = await app.database.read(
            lambda tx: listing.search(tx, own, q, now, limit, zone), who
        )
        return ItemPage(items=[ItemOut.of(one) for one in found], next=None)
    page = await app.database.read(lambda tx: listing.page(tx, own, only, limit, after), who)
    return ItemPage(items=[ItemOut.of(one) for one in page.items], next=page.next)


@router.get("/api/memory/places")
async def list_places(app: App, who: Who, at: Where) -> list[PlaceOut]:
    """Where remembered messages stand: who said them, and in which turn of which conversation."""
    wanted = [_place(one) for one in at]
    own = Partition.own(who)
    found = await app.database.read(lambda tx: places(tx, own, wanted), who)
    return [PlaceOut.of(one) for one in found]


@router.post("/api/memory/profile/lines", status_code=201, responses=responses(409))
async def add_profile_line(app: App, who: Who, body: LineBody) -> UserModelOut:
    """Write a line of the profile by hand; the whole profile, as it is then. Where a place has
    room for one only, it stands in place of what was there."""
    own = Partition.own(who)
    made = await app.memory.add_line(who, own, body.place, body.item, body.text)
    return UserModelOut.of(made, app.clock())


@router.patch("/api/memory/profile/lines/{line}")
async def change_profile_line(app: App, who: Who, line: Key, body: LinePatch) -> UserModelOut:
    """Put a line of the profile in other words; the whole profile, as it is then."""
    made = await app.memory.change_line(who, Partition.own(who), line, body.text)
    return UserModelOut.of(made, app.clock())


@router.delete("/api/memory/profile/lines/{line}")
async def remove_profile_line(app: App, who: Who, line: Key) -> UserModelOut:
    """Take a line of the profile back: it is not inferred again, and the words it was taken from
    stay. The whole profile, as it is then."""
    made = await app.memory.change_line(who, Partition.own(who), line, None)
    return UserModelOut.of(made, app.clock())


@router.get("/api/memory/days")
async def list_days(
    app: App,
    who: Who,
    limit: Annotated[int, Query(ge=1, le=60)] = 14,
    before: Written | None = None,
) -> DayPage:
    """What each day was about, with the summaries of the sessions that ended in it."""
    own, zone = Partition.own(who), zone_of(app.settings.timezone)
    found, following = await app.database.read(
        lambda tx: listing.days(tx, own, zone, limit, before), who
    )
    return DayPage(items=[DayOut.of(one) for one in found], next=following)


@router.get("/api/memory/export")
async def export_memory(app: App, who: Who, response: Response) -> MemoryOut:
    """All that was noted of what you said, as one file: facts with their history, loops, profile,
    summaries, days. What was forgotten is in none of them; conversations have exports of their
    own."""
    own, memory = Partition.own(who), app.memory
    name = f"polyvox-memory-{(iso(app.clock()) or '')[:10]}.json"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "no-store"
    known = await memory.facts(who, own, include_history=True)
    summed, told = await app.database.read(
        lambda tx: (
            derived.summaries_before(tx, own, None, EVERYTHING),
            derived.list_daily(tx, own),
        ),
        who,
    )
    return MemoryOut(
        exported_at=iso(app.clock()),
        facts=[FactOut.of(one) for one in known],
        loops=[LoopOut.of(one) for one in await memory.loops(who, own, statuses=EVERY)],
        profile=UserModelOut.of(await memory.profile(who, own), app.clock()),
        summaries=[SummaryOut.of(one) for one in summed],
        days=[DailyOut.of(date.fromisoformat(one.day), one) for one in told],
    )


def _place(name: str) -> tuple[str, int]:
    session_id, mark, number = name.rpartition("#")
    if not mark or not number.isdecimal() or len(number) > 9:
        raise Invalid(f"{name[:60]!r} names no message.", "Write it as SESSION#INDEX.", param="at")
    return session_id, int(number)
