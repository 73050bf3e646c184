"""Episodes as rows: what was said in each session, message by message, whole and findable.

A message is known by its session and its index in it; once stored it is never another one. Rows
and index change together, inside the caller's transaction, so a reader finds all of a message or
nothing, and whoever dies in the middle leaves nothing. Whatever is removed is gone from the index
too, and a session that was forgotten does not come back when it is sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Literal

from polyvox.errors import Conflict, NotFound
from polyvox.ids import content_hash
from polyvox.memory.tables import shelves
from polyvox.memory.tables.remembered import (
    EPISODE,
    SESSION_BITS,
    Episode,
    Message,
    New,
    Partition,
    Role,
    Stored,
    Transcript,
    View,
    in_views,
    insert,
    placed,
    stored_of,
)
from polyvox.memory.tables.shelves import Doc, Shelf
from polyvox.store.database import Row, Tx, Value
from polyvox.values import REDACTED

__all__ = ["Episode", "Message", "New", "Partition", "Role", "Stored", "Transcript"]

IDS = 400
"""So many ids are asked for by one statement."""
_TRANSCRIPT = "session_id, persona_id, started_at, ended_at, messages"


def forgotten(tx: Tx, partition: Partition, session_id: str) -> bool:
    """Whether a session of this id was removed."""
    row = tx.one(
        "SELECT 1 FROM forgotten_sessions WHERE user_id = ? AND part = ? AND hash = ?",
        (tx.user, partition.key, content_hash(session_id)),
    )
    return row is not None


def forgotten_of(tx: Tx, partition: Partition, session_ids: Sequence[str]) -> set[str]:
    """Which of these sessions were removed."""
    if not session_ids:
        return set()
    hashes = {content_hash(one): one for one in session_ids}
    rows = tx.all(
        "SELECT hash FROM forgotten_sessions WHERE user_id = ? AND part = ?"
        f" AND hash IN ({', '.join('?' * len(hashes))})",
        (tx.user, partition.key, *hashes),
    )
    return {hashes[row[0]] for row in rows}


def add(
    tx: Tx, partition: Partition, transcript: Transcript, messages: Sequence[New], cloud: bool
) -> int:
    """Store what is new of a session's messages; answers how many are. What is there already must
    be the same. The session's times grow to hold those given."""
    return _grow(tx, partition, transcript, cloud, lambda known: messages[known:], messages)


def append(
    tx: Tx, partition: Partition, transcript: Transcript, fresh: Sequence[New], cloud: bool
) -> int:
    """Store further messages of a session, behind those that it has; answers the index of the
    first."""
    first: list[int] = []

    def all_of_it(known: int) -> Sequence[New]:
        first.append(known)
        return fresh

    _grow(tx, partition, transcript, cloud, all_of_it, ())
    return first[0]


def _grow(
    tx: Tx,
    partition: Partition,
    transcript: Transcript,
    cloud: bool,
    fresh_of: Callable[[int], Sequence[New]],
    same: Sequence[New],
) -> int:
    """Store what `fresh_of` says is new behind so many messages."""
    key = (tx.user, partition.key, transcript.session_id)
    # On PostgreSQL a second ingest of this session waits here for the first one.
    row = tx.one(
        f"INSERT INTO transcripts (user_id, part, {_TRANSCRIPT}) VALUES (?, ?, ?, ?, ?, ?, 0)"
        " ON CONFLICT (user_id, part, session_id) DO UPDATE SET"
        " persona_id = COALESCE(transcripts.persona_id, excluded.persona_id),"
        f" started_at = {_either('started_at', '<')}, ended_at = {_either('ended_at', '>')}"
        " RETURNING number, messages, started_at",
        (*key, transcript.persona_id, transcript.started_at, transcript.ended_at),
    )
    if row is None:
        raise Conflict("This session is being forgotten right now.", "Send it again.")
    number, known, started_at = row
    stored = _session(tx, partition, number) if known else []
    _same(stored, same)
    undated = [one.doc for one in stored if one.episode.said_at is None and one.at > started_at]
    tx.many(
        "UPDATE episodes SET at = ? WHERE user_id = ? AND doc = ?",
        [(started_at, tx.user, doc) for doc in undated],
    )
    fresh = fresh_of(known)
    rows = placed(number, known, stored, fresh, transcript.session_id, started_at, cloud)
    _insert(tx, partition, rows)
    if fresh:
        tx.run(
            "UPDATE transcripts SET messages = ? WHERE user_id = ? AND part = ? AND session_id = ?",
            (known + len(fresh), *key),
        )
    return len(fresh)


def _either(column: str, is_: str) -> str:
    """The smaller or the greater of two times, for the database."""
    old, new = f"transcripts.{column}", f"excluded.{column}"
    return f"CASE WHEN {old} {is_} {new} THEN {old} ELSE {new} END"


def find_transcript(tx: Tx, partition: Partition, session_id: str) -> Transcript | None:
    """One ingested session, or None."""
    row = tx.one(
        f"SELECT {_TRANSCRIPT} FROM transcripts WHERE user_id = ? AND part = ? AND session_id = ?",
        (tx.user, partition.key, session_id),
    )
    return None if row is None else Transcript(*row)


def list_transcripts(
    tx: Tx, partition: Partition, limit: int, before: int | None = None
) -> list[Transcript]:
    """Ingested sessions, the last ended first; `before`, only those that ended earlier."""
    time: tuple[Value, ...] = () if before is None else (before,)
    rows = tx.all(
        f"SELECT {_TRANSCRIPT} FROM transcripts WHERE user_id = ? AND part = ?"
        f"{'' if before is None else ' AND ended_at < ?'}"
        " ORDER BY ended_at DESC, session_id LIMIT ?",
        (tx.user, partition.key, *time, limit),
    )
    return [Transcript(*row) for row in rows]


def episodes_of(tx: Tx, partition: Partition, session_id: str) -> list[Episode]:
    """Everything that is remembered of a session, in order."""
    number = _number(tx, partition, session_id)
    stored = [] if number is None else _session(tx, partition, number)
    return [one.episode for one in stored]


def visible_of(
    tx: Tx,
    partition: Partition,
    session_id: str,
    sees: Callable[[Shelf], bool],
    until: int | None,
    indexes: Collection[int],
) -> list[Episode]:
    """What somebody who sees only some shelves may be told of these messages of a session, in
    order."""
    number = _number(tx, partition, session_id)
    stored = [] if number is None else _in_session(tx, partition, number, indexes)
    return [
        one.episode
        for one in sorted(stored, key=lambda one: one.doc)
        if not one.episode.excluded
        and sees(one.shelf(partition))
        and (until is None or one.at <= until)
    ]


def read(tx: Tx, partition: Partition, ranges: Sequence[tuple[int, int]]) -> list[Stored]:
    """The episodes whose numbers are in these ranges (first, last)."""
    views = [View(first, last) for first, last in ranges]
    return [stored_of(row) for row in in_views(tx, partition, views, EPISODE)]


def marked(
    tx: Tx,
    partition: Partition,
    mark: Literal["pinned", "excluded"],
    limit: int,
    after: tuple[int, int] | None = None,
) -> list[Stored]:
    """What was pinned, or excluded from recall, the newest first; `after`: behind this time and
    number."""
    behind = "" if after is None else " AND (e.at < ? OR (e.at = ? AND e.doc < ?))"
    rows = tx.all(
        f"SELECT {EPISODE} FROM episodes e WHERE e.user_id = ? AND e.part = ? AND e.{mark} = 1"
        f"{behind} ORDER BY e.at DESC, e.doc DESC LIMIT ?",
        (tx.user, partition.key, *(() if after is None else (after[0], *after)), limit),
    )
    return [stored_of(row) for row in rows]


def at_places(
    tx: Tx, partition: Partition, places: Sequence[tuple[str, int]]
) -> dict[tuple[str, int], Episode]:
    """The messages at these places (session, index), as far as they are remembered."""
    found: dict[tuple[str, int], Episode] = {}
    for session_id in dict.fromkeys(name for name, _ in places):
        number = _number(tx, partition, session_id)
        indexes = {index for name, index in places if name == session_id}
        for one in [] if number is None else _in_session(tx, partition, number, indexes):
            found[session_id, one.episode.index] = one.episode
    return found


def kept_out(tx: Tx, partition: Partition) -> set[tuple[str, int]]:
    """The messages that are excluded: (session, index)."""
    rows = tx.all(
        "SELECT t.session_id, e.message_index FROM episodes e JOIN transcripts t"
        f" ON t.user_id = e.user_id AND t.number = e.doc >> {SESSION_BITS}"
        " WHERE e.user_id = ? AND e.part = ? AND e.excluded = 1",
        (tx.user, partition.key),
    )
    return {(row[0], row[1]) for row in rows}


def count_sessions(tx: Tx, partition: Partition) -> int:
    """How many sessions are remembered."""
    row = tx.one(
        "SELECT COUNT(*) FROM transcripts WHERE user_id = ? AND part = ?",
        (tx.user, partition.key),
    )
    return 0 if row is None else int(row[0])


def said_between(tx: Tx, partition: Partition, start: int, end: int, most: int) -> list[Stored]:
    """What was said in a stretch of time, the latest first, at most so many."""
    rows = tx.all(
        f"SELECT {EPISODE} FROM episodes e WHERE e.user_id = ? AND e.part = ?"
        " AND e.at >= ? AND e.at < ? AND e.excluded = 0 ORDER BY e.at DESC, e.doc DESC LIMIT ?",
        (tx.user, partition.key, start, end, most),
    )
    return [stored_of(row) for row in rows]


def session_numbers(tx: Tx, partition: Partition, session_ids: Sequence[str]) -> set[int]:
    """By which numbers the index knows these sessions."""
    if not session_ids:
        return set()
    rows = tx.all(
        "SELECT number FROM transcripts WHERE user_id = ? AND part = ?"
        f" AND session_id IN ({', '.join('?' * len(session_ids))})",
        (tx.user, partition.key, *session_ids),
    )
    return {row[0] for row in rows}


def mark(
    tx: Tx,
    partition: Partition,
    session_id: str,
    index: int,
    *,
    excluded: bool | None = None,
    pinned: bool | None = None,
) -> Episode:
    """Exclude an episode from recall (it leaves the index) or take it back; pin it or not."""
    old = _one(tx, partition, session_id, index)
    was = old.episode
    new = replace(
        was,
        excluded=was.excluded if excluded is None else excluded,
        pinned=was.pinned if pinned is None else pinned,
    )
    tx.run(
        "UPDATE episodes SET excluded = ?, pinned = ? WHERE user_id = ? AND doc = ?",
        (new.excluded, new.pinned, tx.user, old.doc),
    )
    doc = _doc(old, partition)
    if new.excluded and not was.excluded:
        shelves.take(tx, [doc])
        _set_vector(tx, old.doc, "")
    elif was.excluded and not new.excluded:
        shelves.place(tx, [doc])
        _set_vector(tx, old.doc, shelves.vector(tx.scope, doc))
    return new


def remove_message(tx: Tx, partition: Partition, session_id: str, index: int) -> None:
    """Forget one message. Its place stays empty."""
    _delete(tx, partition, [_one(tx, partition, session_id, index)])


def remove_session(tx: Tx, partition: Partition, session_id: str) -> int:
    """Forget a session; answers how many episodes went. It does not come back when sent again,
    and that holds for one that was never here too: it may be on its way."""
    number = _number(tx, partition, session_id)
    gone = [] if number is None else _session(tx, partition, number)
    _delete(tx, partition, gone)
    where = (tx.user, partition.key)
    for table in ("transcripts", "episode_sources"):
        tx.run(
            f"DELETE FROM {table} WHERE user_id = ? AND part = ? AND session_id = ?",
            (*where, session_id),
        )
    tx.run(
        "INSERT INTO forgotten_sessions (user_id, part, hash) VALUES (?, ?, ?)"
        " ON CONFLICT (user_id, part, hash) DO NOTHING",
        (*where, content_hash(session_id)),
    )
    return len(gone)


def _same(stored: Sequence[Stored], messages: Sequence[New]) -> None:
    for one in stored:
        old = one.episode
        if old.index >= len(messages):
            break
        new = messages[old.index].message
        # What was taken out of a message because it repeated something forgotten is still the same.
        text = old.text if REDACTED in old.text else new.text
        if (new.role, text, new.advisor_id) != (old.role, old.text, old.advisor_id):
            raise Conflict(
                f"Message {old.index} of session {old.session_id} is remembered with other words.",
                "A session can grow, but what was said stays; send a correction as a new message,"
                " or forget the session first.",
            )


def _insert(tx: Tx, partition: Partition, rows: Sequence[Stored]) -> None:
    docs = [_doc(one, partition) for one in rows]
    found_by = [shelves.vector(tx.scope, doc) if tx.dialect == "postgresql" else "" for doc in docs]
    insert(tx, partition, rows, found_by)
    shelves.place(tx, docs)


def _delete(tx: Tx, partition: Partition, rows: Sequence[Stored]) -> None:
    shelves.take(tx, [_doc(one, partition) for one in rows if not one.episode.excluded])
    tx.many(
        "DELETE FROM episodes WHERE user_id = ? AND doc = ?",
        [(tx.user, one.doc) for one in rows],
    )


def _set_vector(tx: Tx, doc: int, vector: str) -> None:
    if tx.dialect == "postgresql":
        tx.run(
            "UPDATE episodes SET words = CAST(? AS TSVECTOR) WHERE user_id = ? AND doc = ?",
            (vector, tx.user, doc),
        )


def _session(tx: Tx, partition: Partition, number: int) -> list[Stored]:
    return sorted(read(tx, partition, [_span(number)]), key=lambda one: one.doc)


def _in_session(
    tx: Tx, partition: Partition, number: int, indexes: Collection[int]
) -> list[Stored]:
    """The messages of a session that have these indexes."""
    found: list[Row] = []
    wanted = sorted(indexes)
    for start in range(0, len(wanted), IDS):
        some = wanted[start : start + IDS]
        more = f"AND e.message_index IN ({', '.join('?' * len(some))})"
        views = [View(*_span(number))]
        found += in_views(tx, partition, views, EPISODE, more, some)
    return [stored_of(row) for row in found]


def _span(number: int) -> tuple[int, int]:
    """The first and the last number that a message of a session can have."""
    return number << SESSION_BITS, ((number + 1) << SESSION_BITS) - 1


def _one(tx: Tx, partition: Partition, session_id: str, index: int) -> Stored:
    number = _number(tx, partition, session_id)
    if number is not None and (found := _in_session(tx, partition, number, (index,))):
        return found[0]
    raise NotFound(
        f"Nothing is remembered of message {index} of session {session_id}.",
        "It may have been forgotten; a search shows what is there.",
    )


def _number(tx: Tx, partition: Partition, session_id: str) -> int | None:
    numbers = session_numbers(tx, partition, (session_id,))
    return numbers.pop() if numbers else None


def _doc(one: Stored, partition: Partition) -> Doc:
    return Doc(one.doc, one.shelf(partition), one.terms)
