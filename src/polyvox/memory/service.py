"""Memory: the verbs that every door uses, on the memory inside this program.

Each verb is one transaction. What is to be done in the background is wanted in the same one, and
the worker is rung. After something was forgotten, the files are scrubbed before the verb answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from polyvox.ids import Clock
from polyvox.memory import derive, facts, loops, profile
from polyvox.memory.asking import Asker
from polyvox.memory.derive import Deriving
from polyvox.memory.facts import Known
from polyvox.memory.forget import Going, Target, backups, forget, forget_conversation, preview
from polyvox.memory.ingest import Ingested
from polyvox.memory.loops import LIVE, Loop, LoopStatus
from polyvox.memory.moment import at, zone_of
from polyvox.memory.profile import Profile
from polyvox.memory.query import Answer, Query, answer
from polyvox.memory.recall import NOTHING, PERSON, Exclude, Reader, Source, recall
from polyvox.memory.values import Episode, Message, Partition
from polyvox.models.registry import Models
from polyvox.settings import Settings
from polyvox.store import companions, derived, episodes
from polyvox.store.database import Database, T, Tx
from polyvox.store.derived import Daily, Summary
from polyvox.store.loops import Ending
from polyvox.store.scrub import scrub
from polyvox.values import Scope
from polyvox.work.worker import Handler

SOURCES: Mapping[str, Source] = {facts.KIND: facts.tell}
"""Who tells the claims of recall."""


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What goes, or went, and where it still is."""

    going: Going
    backups: tuple[str, ...]
    """Names of copies of the database that still hold it."""


class Memory:
    """The embedded memory service."""

    def __init__(
        self,
        database: Database,
        models: Models,
        settings: Callable[[], Settings],
        clock: Clock,
        ring: Callable[[], None] = lambda: None,
    ) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock
        self._ring = ring
        self.asker = Asker(database, models, settings, clock)
        self._deriving = Deriving(database, self.asker, lambda: zone_of(settings().timezone))

    @property
    def handlers(self) -> dict[str, Handler]:
        """What the worker does for memory, by kind of job."""
        return self._deriving.handlers

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
        now = self._clock()
        status = await self._database.write(
            lambda tx: derive.take_in(
                tx,
                scope,
                partition,
                session_id,
                persona_id,
                started_at,
                ended_at,
                messages,
                now,
                cloud=cloud,
            )
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
        return await self._database.read(
            lambda tx: answer(
                tx, scope, partition, query, reader=reader, exclude=exclude, sources=SOURCES
            )
        )

    # facts

    async def facts(
        self,
        scope: Scope,
        partition: Partition,
        *,
        words: str = "",
        as_of: int | None = None,
        include_history: bool = False,
    ) -> list[Known]:
        """What is known; with `words`, what of it is about them, best first."""

        def read(tx: Tx) -> list[Known]:
            found = facts.known(tx, scope, partition, as_of=as_of, include_history=include_history)
            if not words.strip():
                return found
            items = recall(
                tx,
                scope,
                partition,
                words,
                reference_time=self._clock(),
                limit=100,
                reader=Reader(everything=True, roles=frozenset({"claim"})),
                as_of=as_of,
                include_history=include_history,
                sources=SOURCES,
            )
            by_id = {one.fact.id: one for one in found}
            return [by_id[item.id] for item in items if item.id in by_id]

        return await self._database.read(read)

    async def fact(
        self, scope: Scope, partition: Partition, fact_id: str
    ) -> tuple[Known, list[Known]]:
        """One fact, and everything else that was ever said of the same."""
        return await self._database.read(lambda tx: facts.find(tx, scope, partition, fact_id))

    async def correct(self, scope: Scope, partition: Partition, fact_id: str, text: str) -> Known:
        """Put a statement by hand in place of a fact."""
        now = self._clock()
        return await self._change(
            scope, lambda tx: facts.correct(tx, scope, partition, fact_id, text, now)
        )

    async def mark(
        self,
        scope: Scope,
        partition: Partition,
        fact_id: str,
        *,
        pinned: bool | None = None,
        excluded: bool | None = None,
    ) -> Known:
        """Pin a fact or not; exclude it from recall or take it back."""
        return await self._change(
            scope,
            lambda tx: facts.mark(tx, scope, partition, fact_id, pinned=pinned, excluded=excluded),
        )

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
        """The same for a message."""
        return await self._change(
            scope,
            lambda tx: episodes.mark(
                tx, scope, partition, session_id, index, pinned=pinned, excluded=excluded
            ),
        )

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
        now = self._clock()
        return await self._database.read(
            lambda tx: loops.listed(
                tx, scope, partition, now, statuses=statuses, domain=domain, limit=limit
            )
        )

    async def end_loop(
        self, scope: Scope, partition: Partition, loop_id: str, status: Ending
    ) -> Loop:
        """Mark a loop as done, dropped, or open again."""
        now = self._clock()
        return await self._change(
            scope, lambda tx: loops.end(tx, scope, partition, loop_id, status, now)
        )

    # the profile

    async def profile(self, scope: Scope, partition: Partition, *, cloud: bool = False) -> Profile:
        """The user model; `cloud`: for a cloud model."""
        return await self._database.read(lambda tx: profile.read(tx, scope, partition, cloud=cloud))

    async def change_profile(
        self, scope: Scope, partition: Partition, change: Mapping[str, Any]
    ) -> Profile:
        """Change the user model by hand."""
        now = self._clock()
        return await self._change(
            scope, lambda tx: profile.patch(tx, scope, partition, change, now)
        )

    # days and sessions

    async def daily(
        self, scope: Scope, partition: Partition, day: date | None = None
    ) -> tuple[date, Daily | None]:
        """A day's analysis; without a day, today's if there is one, else yesterday's."""
        today = at(self._clock(), zone_of(self._settings().timezone)).date()
        days = [day] if day is not None else [today, today - timedelta(days=1)]

        def read(tx: Tx) -> tuple[date, Daily | None]:
            for one in days:
                if (found := derived.find_daily(tx, scope, partition, one.isoformat())) is not None:
                    return one, found
            return days[-1], None

        return await self._database.read(read)

    async def summaries(self, scope: Scope, partition: Partition, limit: int = 10) -> list[Summary]:
        """Summaries of sessions, the last first."""
        return await self._database.read(
            lambda tx: derived.list_summaries(tx, scope, partition, "session", limit)
        )

    # forgetting

    async def preview(self, scope: Scope, partition: Partition, target: Target) -> Forgetting:
        """What would go with it."""
        now = self._clock()
        going = await self._database.read(lambda tx: preview(tx, scope, partition, target, now))
        return self._forgetting(going)

    async def forget(self, scope: Scope, partition: Partition, target: Target) -> Forgetting:
        """Let it go for good, from the files too."""
        now, zone = self._clock(), zone_of(self._settings().timezone)
        going = await self._change(
            scope, lambda tx: forget(tx, scope, partition, target, now, zone)
        )
        await scrub(self._database)
        self._ring()
        return self._forgetting(going)

    async def forget_conversation(self, scope: Scope, conversation_id: str) -> None:
        """Let go of everything that was remembered of a conversation that is to be deleted, which
        scrubs the files."""
        now, zone = self._clock(), zone_of(self._settings().timezone)
        await self._change(
            scope, lambda tx: forget_conversation(tx, scope, conversation_id, now, zone)
        )
        self._ring()

    async def _change(self, scope: Scope, change: Callable[[Tx], T]) -> T:
        """Change what is remembered; what a session was told of it at its start goes with it."""

        def write(tx: Tx) -> T:
            companions.drop_packets(tx, scope)
            return change(tx)

        return await self._database.write(write)

    def _forgetting(self, going: Going) -> Forgetting:
        return Forgetting(going, tuple(path.name for path in backups(self._database)))
