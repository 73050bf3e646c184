"""Memory: the verbs that every door uses, on the memory inside this program.

Each verb is one transaction. What is to be done in the background is wanted in the same one, and
the worker is rung. After something was forgotten, the files are scrubbed before the verb answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta, tzinfo
from typing import Any

from polyvox.errors import Conflict, NotFound
from polyvox.ids import Clock
from polyvox.memory import consent, derive, excluding, facts, loops, profile
from polyvox.memory.asking import Asker
from polyvox.memory.derive import Deriving
from polyvox.memory.embeddings import Embeddings
from polyvox.memory.forget import (
    SCRUB,
    Going,
    Target,
    backups,
    forget,
    forget_conversation,
    preview,
)
from polyvox.memory.loops import LIVE, Ending, Loop, LoopStatus
from polyvox.memory.profile import Profile
from polyvox.memory.query import Answer, Query, answer
from polyvox.memory.recall import NOTHING, PERSON, Exclude, Reader, Source, recall
from polyvox.memory.remote import RemoteMemory
from polyvox.memory.tables import companions, derived
from polyvox.memory.tables import statements as rows
from polyvox.memory.tables.derived import Daily, Summary
from polyvox.memory.times import at, zone_of
from polyvox.memory.transcript import Ingested
from polyvox.memory.values import Episode, Message, Partition
from polyvox.memory.view import Held
from polyvox.models.registry import Models
from polyvox.settings import Settings
from polyvox.store import jobs
from polyvox.store.database import Database, T, Tx
from polyvox.store.jobs import Job
from polyvox.store.scrub import scrub
from polyvox.values import Scope
from polyvox.work.worker import Handler

SOURCES: Mapping[str, Source] = {facts.KIND: facts.tell}
"""Who tells the claims of recall."""


PATIENCE = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Seconds between attempts to scrub the files while somebody reads an older state."""


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What goes, or went, and where it still is."""

    going: Going
    backups: tuple[str, ...]
    """Names of copies of the database that still hold it."""
    scrubbed: bool | None = None
    """Whether the files hold nothing of it any more; None: nothing was forgotten yet."""


class Memory:
    """The embedded memory service."""

    def __init__(
        self,
        database: Database,
        models: Models,
        settings: Callable[[], Settings],
        clock: Clock,
        ring: Callable[[], None] = lambda: None,
        changed: Callable[[str], None] = lambda _: None,
        remote: Callable[[], RemoteMemory | None] = lambda: None,
    ) -> None:
        """`ring` when there is something to do in the background, `changed` when something was
        marked in a conversation. Where there is a `remote` memory, sessions are sent there."""
        self._database = database
        self._settings = settings
        self._clock = clock
        self._ring = ring
        self._changed = changed
        self.asker = Asker(database, models, settings, clock)
        self.embeddings = Embeddings(database, models, self.asker, settings, clock)
        self._deriving = Deriving(
            database, self.asker, lambda: zone_of(settings().timezone), self._embeds, remote
        )

    @property
    def handlers(self) -> dict[str, Handler]:
        """What the worker does for memory, by kind of job."""
        more = {derive.EMBED: self.embeddings.embed, SCRUB: self._scrub}
        return {**self._deriving.handlers, **more}

    @property
    def _zone(self) -> tzinfo | None:
        return zone_of(self._settings().timezone)

    def _embeds(self) -> bool:
        return bool(self.embeddings.model)

    # what is remembered

    async def ingest(
        self,
        scope: Scope,
        partition: Partition,
        session_id: str,
        persona_id: str | None,
        started_at: int,
        ended_at: int,
        messages: Sequence[Message],
        *,
        cloud: bool = True,
    ) -> Ingested:
        """Remember a session; when this answers, it can be found."""
        now, embed = self._clock(), self._embeds()
        status = await self._database.write(
            lambda tx: derive.take_in(
                tx,
                partition,
                session_id,
                persona_id,
                started_at,
                ended_at,
                messages,
                now,
                cloud=cloud,
                embed=embed,
            ),
            scope,
        )
        self._ring()
        return status

    async def query(
        self,
        scope: Scope,
        partition: Partition,
        query: Query,
        *,
        reader: Reader = PERSON,
        exclude: Exclude = NOTHING,
    ) -> Answer:
        """What is remembered about something."""
        sense, zone = await self.embeddings.sense(scope, query.query), self._zone
        found = await self._database.read(
            lambda tx: answer(
                tx,
                partition,
                query,
                reader=reader,
                exclude=exclude,
                sources=SOURCES,
                also=sense.also(tx, partition, reader),
                zone=zone,
            ),
            scope,
        )
        return replace(found, degrade=sense.degrade)

    # facts

    async def facts(
        self,
        scope: Scope,
        partition: Partition,
        *,
        words: str = "",
        as_of: int | None = None,
        include_history: bool = False,
    ) -> list[Held]:
        """What is known; with `words`, what of it is about them, best first."""

        def read(tx: Tx) -> list[Held]:
            if not words.strip():
                return facts.known(tx, partition, as_of=as_of, include_history=include_history)
            items = recall(
                tx,
                partition,
                words,
                reference_time=self._clock(),
                limit=100,
                reader=Reader(everything=True, roles=frozenset({"claim"})),
                as_of=as_of,
                include_history=include_history,
                sources=SOURCES,
                zone=self._zone,
            )
            found = rows.by_ids(tx, partition, [item.id for item in items])
            held = facts.held(tx, partition, found, as_of)
            return [held[item.id] for item in items if item.id in held]

        return await self._database.read(read, scope)

    async def fact(
        self, scope: Scope, partition: Partition, fact_id: str
    ) -> tuple[Held, list[Held]]:
        """One fact, and everything else that was ever said of the same."""

        def read(tx: Tx) -> tuple[Held, list[Held]]:
            facts.check(tx, partition, fact_id)
            return facts.find(tx, partition, fact_id)

        return await self._database.read(read, scope)

    async def write_fact(self, scope: Scope, partition: Partition, text: str) -> Held:
        """Keep what a person tells memory outright."""
        now = self._clock()
        return await self._change(
            scope, lambda tx: facts.write(tx, partition, text, now), partition
        )

    async def change_fact(
        self,
        scope: Scope,
        partition: Partition,
        fact_id: str,
        *,
        text: str | None = None,
        pinned: bool | None = None,
        excluded: bool | None = None,
        current: bool | None = None,
    ) -> Held:
        """Pin a fact or not; exclude it from recall or take it back; put a statement by hand in its
        place; with `current`, undo that it was superseded or ended."""
        now = self._clock()

        def change(tx: Tx) -> Held:
            facts.check(tx, partition, fact_id)
            one = facts.mark(tx, partition, fact_id, pinned=pinned, excluded=excluded)
            if current and not one.current:
                one = facts.reopen(tx, partition, fact_id, now)
            return one if text is None else facts.correct(tx, partition, fact_id, text, now)

        return await self._change(scope, change, partition)

    async def mark_message(
        self,
        scope: Scope,
        partition: Partition,
        session_id: str,
        index: int,
        *,
        pinned: bool | None = None,
        excluded: bool | None = None,
    ) -> Episode:
        """The same for a message, and what is told because of it."""
        now = self._clock()
        changed = await self._change(
            scope,
            lambda tx: excluding.mark(
                tx, partition, session_id, index, now, pinned=pinned, excluded=excluded
            ),
            partition,
        )
        self._ring()
        return changed

    # consent

    async def kept_local(self, scope: Scope) -> int:
        """The number of sessions that were held on this machine and that the model that notes, an
        online one, may not read yet."""
        model = self.asker.model
        if model is None or not self.asker.is_cloud(model):
            return 0
        return len(await self._database.read(consent.kept_local, scope))

    async def open_sessions(self, scope: Scope) -> int:
        """Let online models read what was told to models on this machine; return how many
        sessions."""
        opened = await self._deriving.open_sessions(scope)
        self._ring()
        return opened

    # loops

    async def loops(
        self,
        scope: Scope,
        partition: Partition,
        *,
        statuses: Sequence[LoopStatus] = LIVE,
        domain: str | None = None,
        limit: int | None = None,
    ) -> list[Loop]:
        """The loops in these states, by priority."""
        now, zone = self._clock(), self._zone
        return await self._database.read(
            lambda tx: loops.listed(
                tx, partition, now, statuses=statuses, domain=domain, limit=limit, zone=zone
            ),
            scope,
        )

    async def change_loop(
        self,
        scope: Scope,
        partition: Partition,
        loop_id: str,
        *,
        status: Ending | None = None,
        text: str | None = None,
        due: date | None = None,
        clear_due: bool = False,
        pinned: bool | None = None,
    ) -> Loop:
        """Mark a loop as done, dropped, or open again; put it in other words, give it another day
        by which it is due (or none); pin it or not."""
        now, zone = self._clock(), self._zone

        def change(tx: Tx) -> Loop:
            which = (tx, partition, loop_id)
            one = loops.end(*which, "open", now) if status == "open" else loops.find(*which, now)
            if text is not None or due is not None or clear_due:
                one = loops.correct(*which, now, text=text, due=due, clear_due=clear_due, zone=zone)
            if pinned is not None:
                one = loops.mark(*which, now, pinned=pinned)
            if status is not None and status != "open":
                one = loops.end(*which, status, now)
            return one

        return await self._change(scope, change)

    # the profile

    async def profile(self, scope: Scope, partition: Partition, *, cloud: bool = False) -> Profile:
        """The user model; `cloud`: for a cloud model."""
        return await self._database.read(lambda tx: profile.read(tx, partition, cloud=cloud), scope)

    async def change_profile(
        self, scope: Scope, partition: Partition, change: Mapping[str, Any]
    ) -> Profile:
        """Change the user model by hand."""
        now = self._clock()
        return await self._change(scope, lambda tx: profile.patch(tx, partition, change, now))

    async def add_line(
        self, scope: Scope, partition: Partition, place: str, item: str, text: str
    ) -> Profile:
        """Write a line of the profile by hand."""
        now = self._clock()
        return await self._change(
            scope, lambda tx: profile.add(tx, partition, place, item, text, now)
        )

    async def change_line(
        self, scope: Scope, partition: Partition, line_id: str, text: str | None
    ) -> Profile:
        """Put a line of the profile in other words, or take it back (None)."""
        now = self._clock()

        def write(tx: Tx) -> Profile:
            if text is None:
                return profile.take_back(tx, partition, line_id, now)
            return profile.change(tx, partition, line_id, text, now)

        return await self._change(scope, write)

    # days and sessions

    async def daily(
        self, scope: Scope, partition: Partition, day: date | None = None
    ) -> tuple[date, Daily | None]:
        """A day's analysis; without a day, today's if there is one, else yesterday's."""
        today = at(self._clock(), self._zone).date()
        days = [day] if day is not None else [today, today - timedelta(days=1)]

        def read(tx: Tx) -> tuple[date, Daily | None]:
            for one in days:
                if (found := derived.find_daily(tx, partition, one.isoformat())) is not None:
                    return one, found
            return days[-1], None

        return await self._database.read(read, scope)

    async def summaries(self, scope: Scope, partition: Partition, limit: int = 10) -> list[Summary]:
        """Summaries of sessions, the last first."""
        return await self._database.read(
            lambda tx: derived.list_summaries(tx, partition, "session", limit), scope
        )

    # forgetting

    async def preview(self, scope: Scope, partition: Partition, target: Target) -> Forgetting:
        """What would go with it."""
        now = self._clock()
        going = await self._database.read(lambda tx: preview(tx, partition, target, now), scope)
        return self._forgetting(going)

    async def forget(self, scope: Scope, partition: Partition, target: Target) -> Forgetting:
        """Let it go for good, from the files too. Whoever is killed before the files are scrubbed
        can do it again; the worker does it too."""
        now, zone = self._clock(), self._zone
        try:
            going = await self._change(
                scope, lambda tx: forget(tx, partition, target, now, zone), partition
            )
        except NotFound:
            if await self._database.read(lambda tx: jobs.is_open(tx, SCRUB), scope):
                await self._scrub_now(scope)
            raise
        self._tell(going)
        scrubbed = await self._scrub_now(scope)
        self._ring()
        return replace(self._forgetting(going), scrubbed=scrubbed)

    async def forget_conversation(self, scope: Scope, conversation_id: str) -> None:
        """Let go of everything that was remembered of a conversation that is to be deleted; then
        the files have to be scrubbed (`scrubbed`)."""
        now, zone = self._clock(), self._zone
        going = await self._change(
            scope,
            lambda tx: forget_conversation(tx, conversation_id, now, zone),
            Partition.own(scope),
        )
        self._tell(going)
        self._ring()

    async def scrubbed(self, scope: Scope) -> None:
        """The files hold nothing any more of what was forgotten."""
        now = self._clock()
        await self._database.write(lambda tx: jobs.mark_done(tx, SCRUB, now), scope)

    async def _scrub_now(self, scope: Scope) -> bool:
        """Scrub the files; False where somebody reads an older state for longer than a moment. Then
        it is left to the worker."""
        for moment in PATIENCE:
            if await scrub(self._database):
                await self.scrubbed(scope)
                return True
            await asyncio.sleep(moment)
        return False

    async def _scrub(self, _: Job) -> None:
        """The job of whoever was killed, or kept from it, before they had scrubbed the files."""
        if not await scrub(self._database):
            raise Conflict(
                "Somebody reads an older state of the database, so its log still holds what was"
                " forgotten.",
                "It is tried again; if it stays so, end the program that reads.",
            )

    def _tell(self, going: Going) -> None:
        for name in dict.fromkeys(one.conversation_id for one in going.marked):
            if name is not None:
                self._changed(name)

    async def _change(
        self, scope: Scope, change: Callable[[Tx], T], partition: Partition | None = None
    ) -> T:
        """Change what is remembered; what a session was told of it at its start goes with it. With
        a partition, what can be found there changes too, and what is new wants its vector."""
        now, embed = self._clock(), self._embeds()

        def write(tx: Tx) -> T:
            companions.drop_packets(tx)
            changed = change(tx)
            if embed and partition is not None:
                derive.want_vectors(tx, partition, now)
            return changed

        done = await self._database.write(write, scope)
        if embed and partition is not None:
            self._ring()
        return done

    def _forgetting(self, going: Going) -> Forgetting:
        return Forgetting(going, tuple(path.name for path in backups(self._database)))
