"""Forgetting: a message and everything that was derived from it, from every table and index.

A fact or a loop is forgotten by forgetting the messages it was taken from: left alone, they would
bring it back. In its conversation a message becomes a mark, and whatever repeats it loses those
words (see `repeats`). The preview and the forgetting walk the same closure, so nothing goes that
was not shown. A row that is of another message but tells such words goes too; that message is
worked through again. Invariant: no row with evidence in a forgotten message outlives it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, tzinfo
from pathlib import Path
from typing import Literal

from polyvox.errors import Invalid, NotFound
from polyvox.memory import derive, facts, loops, repeats, statements
from polyvox.memory.repeats import Derived, Words
from polyvox.memory.statements import LISTS, plain
from polyvox.memory.tables import derived, episodes
from polyvox.memory.tables import facts as fact_rows
from polyvox.memory.tables import loops as loop_rows
from polyvox.memory.tables.derived import Daily, Entry, Summary
from polyvox.memory.tables.facts import Fact
from polyvox.memory.tables.loops import Ended, Sighting
from polyvox.memory.tables.redaction import Found
from polyvox.memory.transcript import known_sources
from polyvox.memory.values import Episode, Partition
from polyvox.store import jobs, turns
from polyvox.store.database import Database, Row, Tx
from polyvox.store.sqlite import SqliteDatabase
from polyvox.values import Scope

Kind = Literal["fact", "loop", "profile", "message", "session"]
SCRUB = "scrub"
"""The job that scrubs the files, should whoever forgets die before that."""
MANY = 400


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be forgotten: a fact, a loop, a line of the profile (by the ids they have), a
    message ("session#index", or the id it has in its conversation) or a whole session."""

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
    """Conversations in which a message becomes a mark."""
    repeats: tuple[Found, ...]
    """Where the words become a mark: messages, answers that repeat them, titles, receipts …"""
    loops: tuple[tuple[str, str], ...] = ()
    """(id, text) of the loops that the sightings are of."""
    anew: tuple[tuple[str, int], ...] = ()
    """Messages (session, index) that are worked through again: something that goes was theirs."""

    @property
    def index_rows(self) -> int:
        """How many entries of the index of recall go."""
        return sum(not one.excluded for one in self.messages) + sum(
            not one.excluded and not one.retracts for one in self.facts
        )


@dataclass(slots=True)
class _Chosen:
    """What a target means."""

    messages: list[Episode] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    """Those that go as a whole."""
    lines: list[Entry] = field(default_factory=list)
    turns: set[str] = field(default_factory=set)
    """Turns of conversations that are not remembered yet."""
    answers: set[str] = field(default_factory=set)
    leaving: str | None = None
    """The conversation that is about to be deleted."""


@dataclass(slots=True)
class _Walk:
    tx: Tx
    scope: Scope
    partition: Partition

    def going(self, chosen: _Chosen, now: int, *, dry: bool) -> Going:
        messages, whole = chosen.messages, chosen.sessions
        places = {(one.session_id, one.index) for one in messages}
        touched = sorted({one.session_id for one in messages} | set(whole))
        tx, part = self.tx, self.partition
        gone = {one.id: one for one in chosen.facts}
        sightings: list[Sighting] = []
        endings: list[Ended] = []
        entries: list[Entry] = []
        for session_id in touched:
            every = session_id in whole
            found = fact_rows.of_session(tx, part, session_id)
            gone |= {f.id: f for f in found if every or (session_id, f.index) in places}
            seen = loop_rows.sightings(tx, part, session_id=session_id)
            sightings += [s for s in seen if every or (session_id, s.index) in places]
            over = loop_rows.endings(tx, part, session_id=session_id)
            endings += [e for e in over if every or (session_id, e.index) in places]
            heard = derived.entries(tx, part, session_id=session_id)
            entries += [e for e in heard if every or (session_id, e.index) in places]
        gone |= {one.id: one for one in self._corrections(list(gone))}
        entries += [one for one in chosen.lines if one not in entries]
        entries += self._by_hand(entries)
        endings += self._marks(sightings)
        summaries = [
            one
            for session_id in touched
            if (one := derived.find_summary(tx, part, "session", session_id)) is not None
        ]
        days = [one for one in derived.list_daily(tx, part) if set(one.sessions) & set(touched)]
        self._add_rows(chosen, touched)
        told: list[Derived] = [*gone.values(), *sightings, *endings, *entries]
        words = self._words(chosen, told, summaries, days, now)
        needles = repeats.needles_of(tx, part, words, now)
        more = repeats.retold(tx, part, words, self._others(told))
        anew = {(one.session_id, one.index) for one in more}
        gone |= {one.id: one for one in more if isinstance(one, Fact)}
        gone |= {one.id: one for one in self._corrections(list(gone))}
        sightings += [one for one in more if isinstance(one, Sighting)]
        endings += [one for one in more if isinstance(one, Ended)]
        endings += [one for one in self._marks(sightings) if one not in endings]
        entries += self._without_others([one for one in more if isinstance(one, Entry)], entries)
        entries += self._by_hand(entries)
        ids = {one.id for one in messages}
        repeated = repeats.find(tx, part, needles, ids, dry=dry)
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
            _conversations(repeated),
            tuple(repeated),
            loops.named(tx, part, sightings),
            tuple(sorted((name, at) for name, at in anew if name is not None and at is not None)),
        )

    def chosen(self, target: Target, now: int) -> _Chosen:
        """What a target means, or NotFound."""
        tx, part = self.tx, self.partition
        if target.kind == "fact":
            fact = fact_rows.get(tx, part, target.id)
            line = fact_rows.of_lines(tx, part, (fact.line,))
            same = [one for one in line if plain(one.text) == plain(fact.text)]
            return _Chosen(self._messages([(one.session_id, one.index) for one in same]), same)
        if target.kind == "loop":
            loop = loops.find(tx, part, target.id, now)
            return _Chosen(self._messages([(one.session_id, one.index) for one in loop.evidence]))
        if target.kind == "profile":
            lines = self._lines(target.id)
            if not lines:
                raise NotFound(f"The profile has no line {target.id}.", "Look at it again.")
            places = [(one.session_id, one.index) for one in lines]
            return _Chosen(self._messages(places), lines=lines)
        if target.kind == "session":
            found = episodes.episodes_of(tx, part, target.id)
            if episodes.find_transcript(tx, part, target.id) is None:
                raise NotFound(
                    f"Nothing is remembered of a session {target.id}.", "Search for its words."
                )
            return _Chosen(found, sessions=[target.id])
        return self._one_message(target.id)

    def _one_message(self, name: str) -> _Chosen:
        session_id, mark, number = name.rpartition("#")
        if mark and number.isdecimal():
            message = self._messages([(session_id, int(number))])
            if not message:
                raise NotFound(f"There is no message {name}.", "It may have been forgotten.")
            return _Chosen(message)
        if mark or self.partition != Partition.own(self.scope):
            raise Invalid(f"{name!r} names no message.", "Write it as SESSION#INDEX.")
        try:
            turn = turns.turn_of_message(self.tx, name)
        except NotFound:
            raise Invalid(f"{name!r} names no message.", "Write it as SESSION#INDEX.") from None
        if turn.redacted:
            raise NotFound(f"There is no message {name}.", "It was forgotten.")
        known = {} if turn.session_id is None else self._sources(turn.session_id)
        places = [(turn.session_id, index) for index, ref in known.items() if ref == f"u{turn.id}"]
        return _Chosen(self._messages(places), turns={turn.id})

    def _sources(self, session_id: str) -> dict[int, str]:
        """Where the messages of a session came from; empty where it is no conversation's."""
        try:
            return known_sources(self.tx, session_id)
        except NotFound:
            return {}  # it was ingested from elsewhere, or its conversation is deleted

    def _add_rows(self, chosen: _Chosen, touched: Sequence[str]) -> None:
        """The turns and answers that the forgotten messages are in their conversation."""
        tx, scope = self.tx, self.scope
        if self.partition != Partition.own(scope):
            return
        for session_id in touched:
            if session_id in chosen.sessions:
                rows = tx.all(
                    "SELECT t.id, a.id FROM sessions s JOIN turns t ON t.user_id = s.user_id"
                    " AND t.conversation_id = s.conversation_id AND t.session_id = s.id"
                    " LEFT JOIN answers a ON a.user_id = t.user_id AND a.turn_id = t.id"
                    " WHERE s.user_id = ? AND s.id = ?",
                    (scope.user, session_id),
                )
                chosen.turns |= {row[0] for row in rows}
                chosen.answers |= {row[1] for row in rows if row[1] is not None}
                continue
            known = self._sources(session_id)
            mine = [one.index for one in chosen.messages if one.session_id == session_id]
            refs = [known[index] for index in mine if index in known]
            chosen.turns |= {ref[1:] for ref in refs if ref[0] == "u"}
            chosen.answers |= {ref[1:] for ref in refs if ref[0] == "a"}

    def _words(
        self,
        chosen: _Chosen,
        told: Sequence[Derived],
        summaries: Sequence[Summary],
        days: Sequence[Daily],
        now: int,
    ) -> Words:
        """The words that are to be forgotten, and since when they are here."""
        said = [one.text for one in chosen.messages if one.role == "user"]
        said += [row[0] for row in self._rows("turns", "content", chosen.turns)]
        spoken = list(said)
        for one in told:
            names = ("text", "quote", "value")
            texts = [text for name in names if (text := getattr(one, name, None))]
            said += texts
            if one.session_id is None:
                spoken += repeats.put_in(self.tx, self.partition, one, texts)
        made = [one.text for one in summaries]
        made += [text for day in days for text in (*day.themes, day.steering_note or "")]
        made += [one.text for one in chosen.messages if one.role == "assistant"]
        return Words(
            said,
            spoken,
            made,
            chosen.messages,
            chosen.turns,
            chosen.answers,
            self._since(chosen, told, now),
            chosen.leaving,
        )

    def _since(self, chosen: _Chosen, told: Sequence[Derived], now: int) -> int:
        """When the first of it came here, by our own clock: what a client or a file claims is no
        bound. 0 where nobody knows."""
        sessions = {one.session_id for one in (*chosen.messages, *told)} | set(chosen.sessions)
        times = [one.said_at for one in told if one.session_id is None]
        for session_id in sorted(name for name in sessions if name is not None):
            subject = derive.subject_of(self.partition, session_id)
            row = self.tx.one(
                "SELECT created_at FROM jobs WHERE user_id = ? AND id = ?",
                (self.scope.user, f"{derive.EXTRACT}:{subject}"),
            )
            times.append(0 if row is None else row[0])
        imported = (
            "runner_id IS NULL OR EXISTS (SELECT 1 FROM answers a WHERE a.user_id = turns.user_id"
            " AND a.turn_id = turns.id AND a.runner_id IS NULL)"
        )
        for table, foreign, ids in (
            ("turns", imported, chosen.turns),
            ("answers", "runner_id IS NULL", chosen.answers),
        ):
            column = f"CASE WHEN {foreign} THEN 0 ELSE created_at END"
            times += [row[0] for row in self._rows(table, column, ids)]
        first = min(times, default=0)
        return first if first <= now else 0

    def _rows(self, table: str, column: str, ids: Collection[str]) -> list[Row]:
        wanted = sorted(ids)
        found: list[Row] = []
        for start in range(0, len(wanted), MANY):
            some = wanted[start : start + MANY]
            found += self.tx.all(
                f"SELECT {column} FROM {table} WHERE user_id = ?"  # noqa: S608 - our own names
                f" AND id IN ({', '.join('?' * len(some))})",
                (self.scope.user, *some),
            )
        return found

    def _messages(self, places: Sequence[tuple[str | None, int | None]]) -> list[Episode]:
        wanted = {(name, index) for name, index in places if name is not None}
        return [
            one
            for session_id in sorted({name for name, _ in wanted})
            for one in episodes.episodes_of(self.tx, self.partition, session_id)
            if (session_id, one.index) in wanted
        ]

    def _lines(self, entry_id: str) -> list[Entry]:
        """An entry, and everything that was ever entered at its place."""
        every = statements.entries(self.tx, self.partition)
        for one in every:
            if one.id == entry_id:
                return [e for e in every if (e.field, e.item) == (one.field, one.item)]
        return []

    def _corrections(self, ids: list[str]) -> list[Fact]:
        found: dict[str, Fact] = {}
        while ids:
            more = fact_rows.corrections(self.tx, self.partition, ids)
            ids = [one.id for one in more if one.id not in found]
            found |= {one.id: one for one in more}
        return list(found.values())

    def _others(self, told: Sequence[Derived]) -> list[Derived]:
        """What is derived and does not go so far. A mark by hand goes with its loop."""
        tx, part = self.tx, self.partition
        gone = {one.id for one in told}
        seen = [one for one in loop_rows.sightings(tx, part) if one.id not in gone]
        topics = {one.topic for one in seen}
        every: list[Derived] = [
            *fact_rows.every(tx, part),
            *seen,
            *(one for one in loop_rows.endings(tx, part) if one.topic not in topics),
            *derived.entries(tx, part),
        ]
        return [one for one in every if one.id not in gone]

    def _without_others(self, more: Sequence[Entry], gone: Sequence[Entry]) -> list[Entry]:
        """Without retractions of lines that stay: they would hold again."""
        ids = {one.id for one in (*more, *gone)}
        every = derived.entries(self.tx, self.partition)
        stay = {(e.field, e.item) for e in every if e.id not in ids and not e.retracts}
        return [one for one in more if not one.retracts or (one.field, one.item) not in stay]

    def _by_hand(self, entries: Sequence[Entry]) -> list[Entry]:
        """What was made by hand of lines that are known by their own words or a name, of which
        nothing else is left: that they were taken back, or what they were reworded to."""
        every = derived.entries(self.tx, self.partition)
        found = {one.id: one for one in entries}
        ahead = [one for one in entries if one.field in (*LISTS, "key_relationships")]
        while ahead:
            place = (ahead[-1].field, ahead.pop().item)
            here = [one for one in every if (one.field, one.item) == place]
            since = min((one.said_at for one in here if one.id in found), default=0)
            rest = [one for one in here if one.id not in found]
            if any(one.session_id is not None or one.said_at < since for one in rest):
                continue
            more = rest + [new for one in rest for new in _reworded(one, every)]
            ahead += [one for one in more if one.id not in found]
            found |= {one.id: one for one in more}
        ids = {one.id for one in entries}
        return [one for one in found.values() if one.id not in ids]

    def _marks(self, sightings: Sequence[Sighting]) -> list[Ended]:
        """What was marked by hand of loops that are nowhere spoken of any more."""
        gone = {one.id for one in sightings}
        every = loop_rows.sightings(self.tx, self.partition)
        left = {one.topic for one in every if one.id not in gone}
        topics = {one.topic for one in sightings} - left
        marks = loop_rows.endings(self.tx, self.partition)
        return [one for one in marks if one.topic is not None and one.topic in topics]

    def _returning(self, gone: list[Fact]) -> tuple[Fact, ...]:
        lines = sorted({one.line for one in gone})
        every = fact_rows.of_lines(self.tx, self.partition, lines)
        ids = {one.id for one in gone}
        now = {one.fact.id for one in facts.held(every) if one.valid_to is None}
        after = facts.held([one for one in every if one.id not in ids])
        return tuple(
            one.fact
            for one in after
            if one.valid_to is None and one.fact.id not in now and not one.fact.retracts
        )


def _reworded(old: Entry, every: Sequence[Entry]) -> list[Entry]:
    """The line that was put by hand in place of one that was taken back at the same moment."""
    if not old.retracts:
        return []
    made = [
        one
        for one in every
        if (one.session_id, one.field, one.said_at) == (None, old.field, old.said_at)
    ]
    new = [one for one in made if not one.retracts]
    return new if len(new) == 1 and len(made) == 2 else []


def _conversations(found: Sequence[Found]) -> tuple[str, ...]:
    """Those in which a message becomes a mark."""
    marked = [one.conversation_id for one in found if one.kind == "message"]
    return tuple(dict.fromkeys(name for name in marked if name is not None))


def preview(tx: Tx, partition: Partition, target: Target, now: int) -> Going:
    """What would go."""
    walk = _Walk(tx, tx.scope, partition)
    return walk.going(walk.chosen(target, now), now, dry=True)


def forget(tx: Tx, partition: Partition, target: Target, now: int, zone: tzinfo | None) -> Going:
    """Let it go, all of it or nothing. Afterwards the files have to be scrubbed."""
    chosen = _Walk(tx, tx.scope, partition).chosen(target, now)
    return _forget(tx, partition, chosen, now, zone)


def _forget(tx: Tx, partition: Partition, chosen: _Chosen, now: int, zone: tzinfo | None) -> Going:
    going = _Walk(tx, tx.scope, partition).going(chosen, now, dry=False)
    facts.remove(tx, partition, [one.id for one in going.facts])
    loop_rows.remove(
        tx, partition, [one.id for one in going.sightings], [one.id for one in going.endings]
    )
    derived.remove(tx, partition, [one.id for one in going.entries], now)
    derived.drop_summaries(tx, partition, "session", [one.subject for one in going.summaries])
    derived.drop_daily(tx, partition, [one.day for one in going.days])
    for session_id in going.sessions:
        episodes.remove_session(tx, partition, session_id)
        derived.drop_extractions(tx, partition, session_id)
        jobs.delete_about(tx, derive.subject_of(partition, session_id))
        if partition == Partition.own(tx.scope):
            jobs.delete_about(tx, session_id)
    for one in going.messages:
        if one.session_id not in going.sessions:
            episodes.remove_message(tx, partition, one.session_id, one.index)
    for session_id, index in going.anew:
        derive.work_again(tx, partition, session_id, index, now)
    for summary in going.summaries:
        if summary.subject not in going.sessions:
            subject = derive.subject_of(partition, summary.subject)
            jobs.enqueue_again(tx, derive.SUMMARISE, subject, now)
    for day in going.days:
        derive.want_day(tx, partition, date.fromisoformat(day.day), zone, now)
    jobs.enqueue_again(tx, SCRUB, SCRUB, now)
    return going


def forget_conversation(tx: Tx, conversation_id: str, now: int, zone: tzinfo | None) -> Going:
    """Let go of everything that was remembered of a conversation, wherever it was told since. To be
    called while its sessions are still rows; one that was not ingested yet never will be."""
    own = Partition.own(tx.scope)
    where = (tx.user, conversation_id)
    every = tx.all("SELECT id FROM sessions WHERE user_id = ? AND conversation_id = ?", where)
    chosen = _Chosen(leaving=conversation_id)
    for (session_id,) in every:
        if episodes.find_transcript(tx, own, session_id) is not None:
            chosen.sessions.append(session_id)
            chosen.messages += episodes.episodes_of(tx, own, session_id)
        else:
            episodes.remove_session(tx, own, session_id)
            jobs.delete_about(tx, session_id)
    for table, ids in (("turns", chosen.turns), ("answers", chosen.answers)):
        sql = f"SELECT id FROM {table} WHERE user_id = ? AND conversation_id = ?"  # noqa: S608 - ours
        ids |= {row[0] for row in tx.all(sql, where)}
    return _forget(tx, own, chosen, now, zone)


def backups(database: Database) -> list[Path]:
    """Copies of the database that were made before its tables changed: they still hold it."""
    if not isinstance(database, SqliteDatabase):
        return []
    path = database.path
    return sorted(path.parent.glob(f"{path.name}.v*.bak"))
