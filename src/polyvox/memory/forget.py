"""Forgetting: a message and everything that was derived from it, from every table and index.

A fact or a loop is forgotten by forgetting the messages it was taken from: left alone, they would
bring it back. The preview and the forgetting walk the same closure, so nothing goes that was not
shown. Invariant: a row with evidence in a forgotten message does not outlive it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
from pathlib import Path
from typing import Literal

from polyvox.errors import Invalid, NotFound
from polyvox.memory import derive, facts, loops
from polyvox.memory.statements import plain
from polyvox.memory.values import Episode, Partition
from polyvox.store import derived, episodes, jobs, profiles, sessions
from polyvox.store import facts as fact_rows
from polyvox.store import loops as loop_rows
from polyvox.store.database import Database, Tx
from polyvox.store.derived import Daily, Summary
from polyvox.store.facts import Fact
from polyvox.store.loops import Ended, Sighting
from polyvox.store.profiles import Entry
from polyvox.store.sqlite import SqliteDatabase
from polyvox.values import Scope

Kind = Literal["fact", "loop", "profile", "message", "session"]


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be forgotten: a fact, a loop, a line of the profile (by the ids they have), a
    message ("session#index") or a whole session."""

    kind: Kind
    id: str


@dataclass(frozen=True, slots=True)
class Going:
    """What goes with it."""

    sessions: tuple[str, ...]
    """Those that go as a whole."""
    messages: tuple[Episode, ...]
    facts: tuple[Fact, ...]
    sightings: tuple[Sighting, ...]
    endings: tuple[Ended, ...]
    entries: tuple[Entry, ...]
    summaries: tuple[Summary, ...]
    """They are written anew from what is left."""
    days: tuple[Daily, ...]
    """So are these."""
    returns: tuple[Fact, ...]
    """Older statements that would hold again."""
    conversations: tuple[str, ...]
    """Conversations in which the words still stand."""

    @property
    def index_rows(self) -> int:
        """How many entries of the index of recall go."""
        return sum(not one.excluded for one in self.messages) + sum(
            not one.excluded and not one.retracts for one in self.facts
        )


@dataclass(slots=True)
class _Walk:
    tx: Tx
    scope: Scope
    partition: Partition

    def going(self, target: Target, now: int) -> Going:
        messages, chosen, whole = self._chosen(target, now)
        places = {(one.session_id, one.index) for one in messages}
        touched = sorted({one.session_id for one in messages} | set(whole))
        tx, scope, part = self.tx, self.scope, self.partition
        gone = {one.id: one for one in chosen}
        sightings: list[Sighting] = []
        endings: list[Ended] = []
        entries: list[Entry] = []
        for session_id in touched:
            every = session_id in whole
            found = fact_rows.of_session(tx, scope, part, session_id)
            gone |= {f.id: f for f in found if every or (session_id, f.index) in places}
            seen = loop_rows.sightings(tx, scope, part, session_id=session_id)
            sightings += [s for s in seen if every or (session_id, s.index) in places]
            over = loop_rows.endings(tx, scope, part, session_id=session_id)
            endings += [e for e in over if every or (session_id, e.index) in places]
            heard = profiles.entries(tx, scope, part, session_id=session_id)
            entries += [e for e in heard if every or (session_id, e.index) in places]
        gone |= {one.id: one for one in self._corrections(list(gone))}
        if target.kind == "profile":
            entries += [one for one in self._lines(target.id) if one not in entries]
        endings += self._marks(sightings)
        summaries = [
            one
            for session_id in touched
            if (one := derived.find_summary(tx, scope, part, "session", session_id)) is not None
        ]
        days = [
            one for one in derived.list_daily(tx, scope, part) if set(one.sessions) & set(touched)
        ]
        return Going(
            tuple(whole),
            tuple(messages),
            tuple(gone.values()),
            tuple(sightings),
            tuple(endings),
            tuple(entries),
            tuple(summaries),
            tuple(days),
            self._returning(list(gone.values())),
            self._conversations(touched),
        )

    def _chosen(self, target: Target, now: int) -> tuple[list[Episode], list[Fact], list[str]]:
        """The messages, the facts, and the whole sessions that a target means."""
        tx, scope, part = self.tx, self.scope, self.partition
        if target.kind == "fact":
            fact = fact_rows.get(tx, scope, part, target.id)
            line = fact_rows.of_lines(tx, scope, part, (fact.line,))
            same = [one for one in line if plain(one.text) == plain(fact.text)]
            return self._messages([(one.session_id, one.index) for one in same]), same, []
        if target.kind == "loop":
            loop = loops.find(tx, scope, part, target.id, now)
            return self._messages([(one.session_id, one.index) for one in loop.evidence]), [], []
        if target.kind == "profile":
            lines = self._lines(target.id)
            if not lines:
                raise NotFound(f"The profile has no line {target.id}.", "Look at it again.")
            return self._messages([(one.session_id, one.index) for one in lines]), [], []
        if target.kind == "session":
            found = episodes.episodes_of(tx, scope, part, target.id)
            if episodes.find_transcript(tx, scope, part, target.id) is None:
                raise NotFound(
                    f"Nothing is remembered of a session {target.id}.", "Search for its words."
                )
            return found, [], [target.id]
        session_id, mark, number = target.id.rpartition("#")
        if not mark or not number.isdigit():
            raise Invalid(f"{target.id!r} names no message.", "Write it as SESSION#INDEX.")
        message = self._messages([(session_id, int(number))])
        if not message:
            raise NotFound(f"There is no message {target.id}.", "It may have been forgotten.")
        return message, [], []

    def _messages(self, places: Sequence[tuple[str | None, int | None]]) -> list[Episode]:
        wanted = {(name, index) for name, index in places if name is not None}
        return [
            one
            for session_id in sorted({name for name, _ in wanted})
            for one in episodes.episodes_of(self.tx, self.scope, self.partition, session_id)
            if (session_id, one.index) in wanted
        ]

    def _lines(self, entry_id: str) -> list[Entry]:
        """An entry, and everything that was ever entered at its place."""
        every = profiles.entries(self.tx, self.scope, self.partition)
        for one in every:
            if one.id == entry_id:
                return [e for e in every if (e.field, e.item) == (one.field, one.item)]
        return []

    def _corrections(self, ids: list[str]) -> list[Fact]:
        found: dict[str, Fact] = {}
        while ids:
            more = fact_rows.corrections(self.tx, self.scope, self.partition, ids)
            ids = [one.id for one in more if one.id not in found]
            found |= {one.id: one for one in more}
        return list(found.values())

    def _marks(self, sightings: Sequence[Sighting]) -> list[Ended]:
        """What was marked by hand of loops that are nowhere spoken of any more."""
        gone = {one.id for one in sightings}
        every = loop_rows.sightings(self.tx, self.scope, self.partition)
        left = {one.topic for one in every if one.id not in gone}
        topics = {one.topic for one in sightings} - left
        marks = loop_rows.endings(self.tx, self.scope, self.partition)
        return [one for one in marks if one.topic is not None and one.topic in topics]

    def _returning(self, gone: list[Fact]) -> tuple[Fact, ...]:
        lines = sorted({one.line for one in gone})
        every = fact_rows.of_lines(self.tx, self.scope, self.partition, lines)
        ids = {one.id for one in gone}
        now = {one.fact.id for one in facts.held(every) if one.valid_to is None}
        after = facts.held([one for one in every if one.id not in ids])
        return tuple(
            one.fact
            for one in after
            if one.valid_to is None and one.fact.id not in now and not one.fact.retracts
        )

    def _conversations(self, touched: Sequence[str]) -> tuple[str, ...]:
        if self.partition != Partition.own(self.scope):
            return ()
        found: dict[str, None] = {}
        for session_id in touched:
            try:
                session = sessions.get(self.tx, self.scope, session_id)
            except NotFound:
                continue  # it was ingested from elsewhere, or its conversation is deleted
            found[session.conversation_id] = None
        return tuple(found)


def preview(tx: Tx, scope: Scope, partition: Partition, target: Target, now: int) -> Going:
    """What would go."""
    return _Walk(tx, scope, partition).going(target, now)


def forget(
    tx: Tx, scope: Scope, partition: Partition, target: Target, now: int, zone: tzinfo | None
) -> Going:
    """Let it go, all of it or nothing. Afterwards the files have to be scrubbed."""
    going = preview(tx, scope, partition, target, now)
    facts.remove(tx, scope, partition, [one.id for one in going.facts])
    loop_rows.remove(
        tx,
        scope,
        partition,
        [one.id for one in going.sightings],
        [one.id for one in going.endings],
    )
    profiles.remove(tx, scope, partition, [one.id for one in going.entries], now)
    derived.drop_summaries(
        tx, scope, partition, "session", [one.subject for one in going.summaries]
    )
    derived.drop_daily(tx, scope, partition, [one.day for one in going.days])
    for session_id in going.sessions:
        episodes.remove_session(tx, scope, partition, session_id)
        derived.drop_extractions(tx, scope, partition, session_id)
        jobs.forget(tx, scope, derive.subject_of(partition, session_id))
        if partition == Partition.own(scope):
            jobs.forget(tx, scope, session_id)
    for one in going.messages:
        if one.session_id not in going.sessions:
            episodes.remove_message(tx, scope, partition, one.session_id, one.index)
    for summary in going.summaries:
        if summary.subject not in going.sessions:
            subject = derive.subject_of(partition, summary.subject)
            jobs.again(tx, scope, derive.SUMMARISE, subject, now)
    for day in going.days:
        derive.want_day(tx, scope, partition, date.fromisoformat(day.day), zone, now)
    return going


def forget_conversation(
    tx: Tx, scope: Scope, conversation_id: str, now: int, zone: tzinfo | None
) -> None:
    """Let go of everything that was remembered of a conversation. To be called while its sessions
    are still rows; one that was not ingested yet never will be."""
    own = Partition.own(scope)
    every = tx.all(
        "SELECT id FROM sessions WHERE user_id = ? AND conversation_id = ?",
        (scope.user, conversation_id),
    )
    for (session_id,) in every:
        if episodes.find_transcript(tx, scope, own, session_id) is not None:
            forget(tx, scope, own, Target("session", session_id), now, zone)
        else:
            episodes.remove_session(tx, scope, own, session_id)
            jobs.forget(tx, scope, session_id)


def backups(database: Database) -> list[Path]:
    """Copies of the database that were made before its tables changed: they still hold it."""
    if not isinstance(database, SqliteDatabase):
        return []
    path = database.path
    return sorted(path.parent.glob(f"{path.name}.v*.bak"))
