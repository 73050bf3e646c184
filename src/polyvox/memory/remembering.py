"""Whom a turn asks about the past: a memory service, our own or a remote one.

Whatever a service cannot tell is a `Degrade` beside what it can; it never fails a turn. What is
kept from cloud models is asked for with `cloud`, and then is not told; nor is what was vetoed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import ClassVar, Protocol

from polyvox.context.recipe import Recipe
from polyvox.context.words import unstructured
from polyvox.errors import StoreError
from polyvox.memory import facts, profile
from polyvox.memory import session_start as briefs
from polyvox.memory import veto as vetoing
from polyvox.memory.embeddings import WORDS_ALONE, Embeddings, Sense
from polyvox.memory.loops import Loop
from polyvox.memory.packets import (
    Entity,
    LoopRow,
    Person,
    QueryReply,
    Recalled,
    Star,
    StartBrief,
    Stated,
    UserModel,
)
from polyvox.memory.profile import Line, Profile
from polyvox.memory.recall import STRETCHES, Exclude, Reader, Wish, entities_in, recall_all
from polyvox.memory.remote import Degrade, Got, RemoteMemory, SessionStart
from polyvox.memory.session_start import Known, Talk, startbrief
from polyvox.memory.tell import uses_memory
from polyvox.memory.times import zone_of
from polyvox.memory.values import Item, Partition
from polyvox.memory.veto import NO_VETO, Veto
from polyvox.resources import Resources
from polyvox.settings import Settings
from polyvox.store.database import Database, Tx
from polyvox.transport import Transport
from polyvox.values import Scope

LOOPS = 10
QUICK, FEW = 2, 4
"""So many stretches are read, for so many items, where a whole council looks. Of the evidence in
three conversations of LoCoMo 63.6 % is among the first three found then, and 63.5 % with the
longest look, at less than half of the time."""
RELEVANT = 0.6
"""What is less relevant is not told."""
Start = SessionStart


@dataclass(frozen=True, slots=True)
class Lookup:
    """One look into memory."""

    words: str
    now: int
    reader: Reader = field(default_factory=Reader)
    exclude: Exclude = field(default_factory=Exclude)
    limit: int = 6
    stretches: int = STRETCHES
    """So many stretches of sessions are read for it."""


class Writer(Protocol):
    """Who writes handovers."""

    @property
    def writes(self) -> bool:
        """Whether there is anybody to write; else a template does."""
        ...

    @property
    def cloud(self) -> bool:
        """Whether what the writer is told leaves this machine."""
        ...

    async def brief(self, scope: Scope, known: Known) -> StartBrief:
        """The startbrief of what is known, within its time."""
        ...


class MemoryService(Protocol):
    """What a turn needs of a memory."""

    starts_whole: ClassVar[bool]
    """Whether the items of a start tell what is `standing`, too."""
    elsewhere: ClassVar[bool]
    """A service elsewhere keeps to its budget itself, and its start tells all that is standing
    (`standing_in`): to end its calls from here would lose what came because of one that did not."""

    async def start(
        self,
        scope: Scope,
        session_id: str,
        now: int,
        *,
        cloud: bool,
        veto: Veto = NO_VETO,
        written: bool = True,
        talk: Talk | None = None,
    ) -> Start:
        """Everything that a session starts with, as far as it comes in time; without `written`, no
        model is asked for it. `talk`: the conversation that it begins in."""
        ...

    async def standing(self, scope: Scope, *, cloud: bool) -> tuple[str, ...]:
        """What the person asked for once and for all, the oldest first. A remote one is not asked
        for it: its start told the profile."""
        ...

    async def look_up(self, scope: Scope, wanted: Lookup) -> Got[QueryReply]:
        """What is remembered of something."""
        ...

    async def look_up_all(
        self, scope: Scope, wanted: Sequence[Lookup]
    ) -> Sequence[Got[QueryReply]]:
        """The same for several readers at once, each of whom is told only what they may see."""
        ...

    def here(self) -> MemoryService:
        """The same, as far as nobody elsewhere and no model is asked for it: for what is not said
        yet."""
        ...


class NoMemory:
    """Nothing is remembered."""

    starts_whole: ClassVar[bool] = False
    elsewhere: ClassVar[bool] = False

    async def start(
        self,
        scope: Scope,  # noqa: ARG002 - as the contract says, here and below
        session_id: str,  # noqa: ARG002
        now: int,  # noqa: ARG002
        *,
        cloud: bool,  # noqa: ARG002
        veto: Veto = NO_VETO,  # noqa: ARG002
        written: bool = True,  # noqa: ARG002
        talk: Talk | None = None,  # noqa: ARG002
    ) -> Start:
        """Nothing."""
        return Start()

    async def standing(self, scope: Scope, *, cloud: bool) -> tuple[str, ...]:  # noqa: ARG002
        """Nothing."""
        return ()

    async def look_up(self, scope: Scope, wanted: Lookup) -> Got[QueryReply]:  # noqa: ARG002
        """Nothing."""
        return Got(QueryReply())

    async def look_up_all(
        self,
        scope: Scope,  # noqa: ARG002
        wanted: Sequence[Lookup],
    ) -> Sequence[Got[QueryReply]]:
        """Nothing."""
        return [Got(QueryReply()) for _ in wanted]

    def here(self) -> MemoryService:
        """The same."""
        return self


@dataclass(frozen=True, slots=True)
class OwnMemory:
    """The embedded service: the person's own partition of this database."""

    starts_whole: ClassVar[bool] = True
    elsewhere: ClassVar[bool] = False
    database: Database
    timezone: Callable[[], str]
    embeddings: Embeddings | None = None
    writer: Writer | None = None

    async def start(
        self,
        scope: Scope,
        session_id: str,
        now: int,
        *,
        cloud: bool,
        veto: Veto = NO_VETO,
        written: bool = True,
        talk: Talk | None = None,
    ) -> Start:
        """The startbrief, the profile and the loops."""
        part, zone = Partition.own(scope), zone_of(self.timezone())
        wanted = written and vetoing.HANDOVER not in veto.ids
        writer = self.writer if wanted else None
        writer = writer if writer is not None and writer.writes else None
        away = cloud or (writer is not None and writer.cloud)

        def read(tx: Tx) -> tuple[Known, list[Loop], Profile]:
            def look(*, cloud: bool) -> briefs.Found:
                return briefs.read(
                    tx, part, now, zone, session_id, talk=talk, cloud=cloud, whole=False
                )

            known, kept, who = look(cloud=away)
            if away != cloud:  # the writer may be told less than those who answer
                _, kept, who = look(cloud=cloud)
            return known, kept[:LOOPS], who

        try:
            known, kept, who = await self.database.read(read, scope)
        except StoreError:
            return Start(degrades=(Degrade("startbrief", "unreachable", "database"),))
        left = vetoing.without(known, kept, who, veto)
        if writer is not None:
            told = await writer.brief(scope, left.known)
        else:
            told, _ = await startbrief(left.known)
        return Start(
            startbrief=vetoing.silenced(told, veto),
            user_model=_model(left.who),
            daily=left.known.yesterday,
            loops=tuple(map(_row, left.loops)),
            items=vetoing.items_of(known, told, who),
            hidden=left.hidden,
        )

    async def standing(self, scope: Scope, *, cloud: bool) -> tuple[str, ...]:
        """Instructions, what to avoid, and how to call them."""
        part = Partition.own(scope)
        who = await self.database.read(lambda tx: profile.read(tx, part, cloud=cloud).lines, scope)
        return tuple(
            vetoing.told_as(place, one.text)
            for place in vetoing.INSTRUCTIONS
            for one in who.get(place, ())
        )

    async def look_up(self, scope: Scope, wanted: Lookup) -> Got[QueryReply]:
        """By the words of the episodes and the facts, and by what they mean where a model knows."""
        (got,) = await self._look(scope, [wanted], named=True)
        return got

    async def look_up_all(
        self, scope: Scope, wanted: Sequence[Lookup]
    ) -> Sequence[Got[QueryReply]]:
        """At once, and quickly."""
        quick = [replace(one, stretches=QUICK, limit=min(one.limit, FEW)) for one in wanted]
        return await self._look(scope, quick)

    def here(self) -> MemoryService:
        """By words alone."""
        return replace(self, embeddings=None, writer=None)

    async def _look(
        self, scope: Scope, wanted: Sequence[Lookup], *, named: bool = False
    ) -> Sequence[Got[QueryReply]]:
        """`named`: also who and what is named in what was found."""
        part, zone = Partition.own(scope), zone_of(self.timezone())
        senses = dict.fromkeys((one.words for one in wanted), WORDS_ALONE)
        if self.embeddings is not None:
            for words in senses:
                senses[words] = await self.embeddings.sense(scope, words)

        def look(tx: Tx) -> list[Got[QueryReply]]:
            alike: dict[tuple[str, int], dict[Lookup, None]] = {}
            for one in wanted:
                alike.setdefault((one.words, one.now), {})[one] = None
            found: dict[Lookup, Got[QueryReply]] = {}
            for (words, now), some in alike.items():
                sense = senses[words]
                found |= _looked(tx, part, words, now, list(some), sense, named=named, zone=zone)
            return [found[one] for one in wanted]

        try:
            return await self.database.read(look, scope)
        except StoreError:
            return [Got(None, Degrade("query", "unreachable", "database")) for _ in wanted]


@dataclass(frozen=True, slots=True)
class RemoteService:
    """A service elsewhere, by the contract. It knows nothing of advisors: what it tells is the
    person's. It keeps to its budget itself, and is asked for the profile once in a session."""

    starts_whole: ClassVar[bool] = True
    elsewhere: ClassVar[bool] = True
    remote: RemoteMemory
    timezone: Callable[[], str]

    async def start(
        self,
        scope: Scope,
        session_id: str,
        now: int,
        *,
        cloud: bool,  # noqa: ARG002 - what went there has left this machine already
        veto: Veto = NO_VETO,
        written: bool = True,  # noqa: ARG002 - that is theirs to decide
        talk: Talk | None = None,  # noqa: ARG002 - it knows sessions alone
    ) -> Start:
        """Everything at once, within the service's budget."""
        own = Partition.own(scope)
        told = await self.remote.session_start(own, now, session_id, self.timezone() or None)
        return vetoing.foreign_without(told, veto)

    async def standing(self, scope: Scope, *, cloud: bool) -> tuple[str, ...]:  # noqa: ARG002
        """Nothing more than its start told: see `standing_in`."""
        return ()

    async def look_up(self, scope: Scope, wanted: Lookup) -> Got[QueryReply]:
        """A query."""
        own = Partition.own(scope)
        return await self.remote.query(own, wanted.words, now=wanted.now, limit=wanted.limit)

    async def look_up_all(
        self, scope: Scope, wanted: Sequence[Lookup]
    ) -> Sequence[Got[QueryReply]]:
        """One query for all who ask the same."""
        asked = {one.words: one for one in wanted}
        found = await asyncio.gather(*(self.look_up(scope, one) for one in asked.values()))
        by_words = dict(zip(asked, found, strict=True))
        return [by_words[one.words] for one in wanted]

    def here(self) -> MemoryService:
        """Nothing: whatever it is asked leaves this machine."""
        return NoMemory()


class Services:
    """The memory service that turns draw on: the one elsewhere where the settings name an address,
    else the one of this database."""

    def __init__(
        self, resources: Resources, transport: Transport, embeddings: Embeddings, writer: Writer
    ) -> None:
        self._resources = resources
        self._transport = transport
        self._embeddings = embeddings
        self._writer = writer
        self.current: MemoryService = self.chosen()

    @property
    def remote(self) -> RemoteMemory | None:
        """The service elsewhere, where the settings name an address."""
        return remote_memory(self._resources.settings, self._transport)

    def chosen(self) -> MemoryService:
        """The service that the settings name."""
        remote = self.remote
        if remote is not None:
            return RemoteService(remote, self._zone)
        return OwnMemory(self._resources.database, self._zone, self._embeddings, self._writer)

    def choose(self) -> None:
        """Use the service that the settings name from now on."""
        self.current = self.chosen()

    def of(self, recipe: Recipe) -> MemoryService:
        """The service that a turn of this recipe draws on."""
        return self.current if uses_memory(self._resources.settings, recipe) else NoMemory()

    def _zone(self) -> str:
        return self._resources.settings.timezone


def remote_memory(settings: Settings, transport: Transport) -> RemoteMemory | None:
    """The memory service elsewhere, where there is an address."""
    given = settings.memory
    if not given.url:
        return None
    return RemoteMemory(
        transport,
        given.url,
        given.token.reveal(),
        given.budget,
        given.recall_seconds,
        given.ingest_seconds,
    )


def standing_in(start: Start) -> tuple[str, ...]:
    """What the profile that a session started with says is standing. Where the profile did not
    come, the start says why."""
    return () if start.user_model is None else vetoing.instructions(start.user_model)


def as_handover(start: Start) -> str:
    """What fills the handover's place: the startbrief's own text, else what the brief says. A model
    wrote it, or a service: it is told as it is, but it cannot pose as structure."""
    if start.startbrief is not None:
        return unstructured(start.startbrief.handover_text or "")
    return briefs.as_handover(start.brief) if start.brief is not None else ""


def _looked(
    tx: Tx,
    part: Partition,
    words: str,
    now: int,
    wanted: Sequence[Lookup],
    sense: Sense,
    *,
    named: bool,
    zone: tzinfo | None,
) -> dict[Lookup, Got[QueryReply]]:
    wishes = [
        Wish(
            one.reader,
            one.exclude,
            one.limit,
            one.stretches,
            sense.also(tx, part, one.reader),
        )
        for one in wanted
    ]
    found = recall_all(
        tx, part, words, wishes, reference_time=now, sources={facts.KIND: facts.tell}, zone=zone
    )
    degrade = Degrade("query", "words alone", sense.degrade) if sense.degrade else None

    def reply(items: Sequence[Item]) -> QueryReply:
        sure = [item for item in items if item.relevance >= RELEVANT] if named else []
        names = tuple(Entity(one.summary, "name", one.uuid) for one in entities_in(part, sure))
        return QueryReply(tuple(map(_recalled, items)), names)

    return {one: Got(reply(items), degrade) for one, items in zip(wanted, found, strict=True)}


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
