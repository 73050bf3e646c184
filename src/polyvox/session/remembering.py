"""Whom a companion asks about the past: a memory service, our own or a remote one.

Whatever a service cannot tell is a `Degrade` beside what it can; it never fails a turn. What is
kept from cloud models is asked for with `cloud`, and then is not told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from polyvox.errors import StoreError
from polyvox.memory import brief as briefs
from polyvox.memory import facts, loops, past, profile
from polyvox.memory.loops import Loop
from polyvox.memory.moment import zone_of
from polyvox.memory.packets import (
    LoopRow,
    Person,
    QueryReply,
    Recalled,
    Star,
    Stated,
    UserModel,
)
from polyvox.memory.profile import Line, Profile
from polyvox.memory.recall import Exclude, Reader, recall
from polyvox.memory.remote import Degrade, Got, RemoteMemory, SessionStart
from polyvox.memory.startbrief import Known, startbrief
from polyvox.memory.values import Item, Partition
from polyvox.store.database import Database, Tx
from polyvox.values import Scope

LOOPS = 10
Start = SessionStart


@dataclass(frozen=True, slots=True)
class Lookup:
    """One look into memory."""

    words: str
    now: int
    reader: Reader = field(default_factory=Reader)
    exclude: Exclude = field(default_factory=Exclude)
    limit: int = 6


class MemoryService(Protocol):
    """What a companion needs of a memory."""

    async def start(self, scope: Scope, session_id: str, now: int, *, cloud: bool) -> Start:
        """Everything that a session starts with, as far as it comes in time."""
        ...

    async def standing(self, scope: Scope, *, cloud: bool) -> tuple[str, ...]:
        """What the person asked for once and for all, the oldest first."""
        ...

    async def look_up(self, scope: Scope, wanted: Lookup) -> Got[QueryReply]:
        """What is remembered of something."""
        ...


class NoMemory:
    """Nothing is remembered."""

    async def start(
        self,
        scope: Scope,  # noqa: ARG002 - as the contract says, here and below
        session_id: str,  # noqa: ARG002
        now: int,  # noqa: ARG002
        *,
        cloud: bool,  # noqa: ARG002
    ) -> Start:
        """Nothing."""
        return Start()

    async def standing(self, scope: Scope, *, cloud: bool) -> tuple[str, ...]:  # noqa: ARG002
        """Nothing."""
        return ()

    async def look_up(self, scope: Scope, wanted: Lookup) -> Got[QueryReply]:  # noqa: ARG002
        """Nothing."""
        return Got(QueryReply())


@dataclass(frozen=True, slots=True)
class OwnMemory:
    """The embedded service: the person's own partition of this database."""

    database: Database
    timezone: Callable[[], str]

    async def start(self, scope: Scope, session_id: str, now: int, *, cloud: bool) -> Start:
        """The startbrief in plain words, the profile and the loops."""
        part, zone = Partition.own(scope), zone_of(self.timezone())

        def read(tx: Tx) -> tuple[Known, list[Loop], Profile]:
            known = past.read(tx, scope, part, now, zone, session_id, cloud=cloud)
            kept = loops.listed(tx, scope, part, now, limit=LOOPS)
            return known, kept, profile.read(tx, scope, part, cloud=cloud)

        try:
            known, kept, who = await self.database.read(read)
        except StoreError:
            return Start(degrades=(Degrade("startbrief", "unreachable", "database"),))
        shown = [one for one in kept if one.cloud or not cloud]
        told, _ = await startbrief(known)
        rows = tuple(_row(one) for one in shown) or tuple(
            LoopRow(one.text, id=one.id, type=one.type) for one in known.loops
        )
        return Start(startbrief=told, user_model=_model(who), daily=known.yesterday, loops=rows)

    async def standing(self, scope: Scope, *, cloud: bool) -> tuple[str, ...]:
        """Instructions, what to avoid, and how to call them."""
        part = Partition.own(scope)
        who = await self.database.read(lambda tx: profile.read(tx, scope, part, cloud=cloud))
        named = who.one("name")
        return (
            *(() if named is None else (f"Call me {named.text}",)),
            *(f"Avoid: {one.text}" for one in who.all("preferences.avoid")),
            *(one.text for one in who.all("instructions")),
        )

    async def look_up(self, scope: Scope, wanted: Lookup) -> Got[QueryReply]:
        """By the words of the episodes and the facts."""
        part = Partition.own(scope)

        def read(tx: Tx) -> list[Item]:
            return recall(
                tx,
                scope,
                part,
                wanted.words,
                reference_time=wanted.now,
                limit=wanted.limit,
                reader=wanted.reader,
                exclude=wanted.exclude,
                sources={facts.KIND: facts.tell},
            )

        try:
            found = await self.database.read(read)
        except StoreError:
            return Got(None, Degrade("query", "unreachable", "database"))
        return Got(QueryReply(tuple(_recalled(one) for one in found)))


@dataclass(frozen=True, slots=True)
class RemoteService:
    """A service elsewhere, by the contract. It knows nothing of advisors: what it tells is the
    person's."""

    remote: RemoteMemory
    timezone: Callable[[], str]

    async def start(
        self,
        scope: Scope,
        session_id: str,
        now: int,
        *,
        cloud: bool,  # noqa: ARG002 - what went there has left this machine already
    ) -> Start:
        """Everything at once, within the service's budget."""
        own = Partition.own(scope)
        return await self.remote.session_start(own, now, session_id, self.timezone() or None)

    async def standing(self, scope: Scope, *, cloud: bool) -> tuple[str, ...]:  # noqa: ARG002 - so too
        """What the profile says to avoid: the contract has no place for more."""
        got = await self.remote.user_model(Partition.own(scope))
        return () if got.value is None else tuple(f"Avoid: {one}" for one in got.value.avoid)

    async def look_up(self, scope: Scope, wanted: Lookup) -> Got[QueryReply]:
        """A query."""
        own = Partition.own(scope)
        return await self.remote.query(own, wanted.words, now=wanted.now, limit=wanted.limit)


def as_handover(start: Start) -> str:
    """What fills the handover's place: the startbrief's own text, else what the brief says."""
    if start.startbrief is not None:
        return start.startbrief.handover_text or ""
    return briefs.as_handover(start.brief) if start.brief is not None else ""


def _row(loop: Loop) -> LoopRow:
    return LoopRow(
        loop.text,
        id=loop.id,
        type=loop.type,
        status=loop.status,
        salience=loop.salience,
        time_horizon=loop.horizon,
        due_date=loop.due,
        last_seen_at=datetime.fromtimestamp(loop.last_seen_at / 1_000_000, UTC).isoformat(),
        domain=loop.domain,
        importance=loop.importance,
        urgency=loop.urgency,
        tags=loop.tags,
    )


def _stated(line: Line | None) -> Stated | None:
    return None if line is None else Stated(line.text, line.source, line.confidence)


def _model(who: Profile) -> UserModel:
    return UserModel(
        north_star={one.item: Star(vision=_stated(one)) for one in who.all("north_star")},
        current_focus=_stated(who.one("current_focus")),
        work_context=_stated(who.one("work_context")),
        key_relationships=tuple(
            Person(one.item, one.text, one.source, one.confidence)
            for one in who.all("key_relationships")
        ),
        patterns=tuple(Stated(one.text, one.source, one.confidence) for one in who.all("patterns")),
        tone=_stated(who.one("preferences.tone")),
        avoid=tuple(one.text for one in who.all("preferences.avoid")),
        version=who.version,
        exists=bool(who.lines),
    )


def _recalled(item: Item) -> Recalled:
    return Recalled(
        item.text,
        item.relevance,
        item.source,
        item.evidence,
        item.valid_from,
        item.valid_to,
        item.status,
    )
