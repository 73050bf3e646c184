"""What is made from whole sessions: how far each was worked through, summaries, daily analyses."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from polyvox.memory.tables.facts import Source
from polyvox.memory.tables.remembered import Partition
from polyvox.store.database import Row, Tx, Value

Quality = Literal["ok", "needs_review", "insufficient_data"]
SummaryKind = Literal["session", "running"]
_SUMMARY = "kind, subject, text, covers, model, cloud, told_at, made_at"
_DAILY = "day, themes, scores, steering_note, confidence, quality_flag, sessions, model, made_at"


@dataclass(frozen=True, slots=True)
class Summary:
    """A text in place of many: of a session, or of what left a conversation's window."""

    kind: SummaryKind
    subject: str
    """The session or the conversation."""
    text: str
    covers: tuple[str, ...]
    """The ids of the messages it tells of."""
    model: str
    """Who wrote it; empty: nobody, it quotes."""
    cloud: bool
    told_at: int
    """When the last of what it tells of was said."""
    made_at: int


@dataclass(frozen=True, slots=True)
class Daily:
    """What a day was about."""

    day: str
    themes: tuple[str, ...]
    scores: dict[str, float]
    steering_note: str | None
    confidence: float
    quality: Quality
    sessions: tuple[str, ...]
    model: str
    made_at: int


def extracted(tx: Tx, partition: Partition, session_id: str) -> int:
    """The index of the first message of a session that was not worked through, or is to be once
    more: what follows it may have been."""
    rows = tx.all(
        "SELECT first_index, last_index FROM extractions"
        " WHERE user_id = ? AND part = ? AND session_id = ? ORDER BY first_index",
        (tx.user, partition.key, session_id),
    )
    upto = 0
    for first, last in rows:
        if first > upto:
            break
        upto = max(upto, last + 1)
    return upto


def unread(
    tx: Tx, partition: Partition, places: Collection[tuple[str, int]]
) -> set[tuple[str, int]]:
    """Those of these messages (session, index) that nobody has worked through yet."""
    sessions = sorted({session_id for session_id, _ in places})
    if not sessions:
        return set()
    rows = tx.all(
        "SELECT session_id, first_index, last_index FROM extractions WHERE user_id = ? AND part = ?"
        f" AND session_id IN ({', '.join('?' * len(sessions))})",
        (tx.user, partition.key, *sessions),
    )
    done: dict[str, list[range]] = {}
    for session_id, first, last in rows:
        done.setdefault(session_id, []).append(range(first, last + 1))
    return {
        (name, index)
        for name, index in places
        if not any(index in one for one in done.get(name, ()))
    }


def keep_extraction(
    tx: Tx, partition: Partition, session_id: str, first: int, last: int, model: str, now: int
) -> bool:
    """A batch was worked through; False where somebody else has done it meanwhile."""
    if extracted(tx, partition, session_id) > first:
        return False
    return bool(
        tx.run(
            "INSERT INTO extractions (user_id, part, session_id, first_index, last_index, model,"
            " made_at) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (tx.user, partition.key, session_id, first, last, model, now),
        )
    )


def take_back_extraction(tx: Tx, partition: Partition, session_id: str, index: int) -> bool:
    """Let a message count as not worked through, with those that were together with it; False
    where it does not count as that anyway."""
    return bool(
        tx.run(
            "DELETE FROM extractions WHERE user_id = ? AND part = ? AND session_id = ?"
            " AND first_index <= ? AND last_index >= ?",
            (tx.user, partition.key, session_id, index, index),
        )
    )


def drop_extractions(tx: Tx, partition: Partition, session_id: str) -> None:
    """A session is gone, and with it how far it was worked through."""
    tx.run(
        "DELETE FROM extractions WHERE user_id = ? AND part = ? AND session_id = ?",
        (tx.user, partition.key, session_id),
    )


def put_summary(tx: Tx, partition: Partition, one: Summary) -> None:
    """Keep a summary in place of the one before."""
    drop_summaries(tx, partition, one.kind, (one.subject,))
    tx.run(
        f"INSERT INTO summaries (user_id, part, {_SUMMARY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            tx.user,
            partition.key,
            one.kind,
            one.subject,
            one.text,
            msgspec.json.encode(one.covers).decode(),
            one.model,
            int(one.cloud),
            one.told_at,
            one.made_at,
        ),
    )


def find_summary(tx: Tx, partition: Partition, kind: SummaryKind, subject: str) -> Summary | None:
    """One summary, or None."""
    row = tx.one(
        f"SELECT {_SUMMARY} FROM summaries"
        " WHERE user_id = ? AND part = ? AND kind = ? AND subject = ?",
        (tx.user, partition.key, kind, subject),
    )
    return None if row is None else _summary(row)


def list_summaries(
    tx: Tx, partition: Partition, kind: SummaryKind, limit: int, told_by: int | None = None
) -> list[Summary]:
    """Summaries, the last told first; only of what was told by a time."""
    time: tuple[Value, ...] = () if told_by is None else (told_by,)
    rows = tx.all(
        f"SELECT {_SUMMARY} FROM summaries WHERE user_id = ? AND part = ? AND kind = ?"
        f"{'' if told_by is None else ' AND told_at <= ?'} ORDER BY told_at DESC, subject LIMIT ?",
        (tx.user, partition.key, kind, *time, limit),
    )
    return [_summary(row) for row in rows]


def drop_summaries(
    tx: Tx, partition: Partition, kind: SummaryKind, subjects: Sequence[str]
) -> None:
    """Delete summaries."""
    tx.many(
        "DELETE FROM summaries WHERE user_id = ? AND part = ? AND kind = ? AND subject = ?",
        [(tx.user, partition.key, kind, one) for one in subjects],
    )


def put_daily(tx: Tx, partition: Partition, one: Daily) -> None:
    """Keep a day's analysis in place of the one before."""
    drop_daily(tx, partition, (one.day,))
    tx.run(
        f"INSERT INTO daily_analyses (user_id, part, {_DAILY})"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            tx.user,
            partition.key,
            one.day,
            msgspec.json.encode(one.themes).decode(),
            msgspec.json.encode(one.scores).decode(),
            one.steering_note,
            one.confidence,
            one.quality,
            msgspec.json.encode(one.sessions).decode(),
            one.model,
            one.made_at,
        ),
    )


def find_daily(tx: Tx, partition: Partition, day: str) -> Daily | None:
    """A day's analysis, or None."""
    row = tx.one(
        f"SELECT {_DAILY} FROM daily_analyses WHERE user_id = ? AND part = ? AND day = ?",
        (tx.user, partition.key, day),
    )
    return None if row is None else _daily(row)


def list_daily(tx: Tx, partition: Partition) -> list[Daily]:
    """Every day's analysis."""
    rows = tx.all(
        f"SELECT {_DAILY} FROM daily_analyses WHERE user_id = ? AND part = ? ORDER BY day",
        (tx.user, partition.key),
    )
    return [_daily(row) for row in rows]


def days_of(tx: Tx, partition: Partition, session_id: str) -> list[str]:
    """The days whose analysis draws on a session."""
    name = msgspec.json.encode(session_id).decode()
    rows = tx.all(
        "SELECT day, sessions FROM daily_analyses WHERE user_id = ? AND part = ?"
        " AND sessions LIKE ? ORDER BY day",
        (tx.user, partition.key, f"%{name.replace(chr(92), '_')}%"),
    )
    # A wildcard in a name may have found more.
    return [day for day, named in rows if session_id in msgspec.json.decode(named)]


def daily_before(tx: Tx, partition: Partition, before: str | None, limit: int) -> list[Daily]:
    """The analyses of the last days, or of those before a day, the last first."""
    earlier, values = ("", ()) if before is None else (" AND day < ?", (before,))
    rows = tx.all(
        f"SELECT {_DAILY} FROM daily_analyses WHERE user_id = ? AND part = ?{earlier}"
        " ORDER BY day DESC LIMIT ?",
        (tx.user, partition.key, *values, limit),
    )
    return [_daily(row) for row in rows]


def summaries_before(tx: Tx, partition: Partition, before: int | None, limit: int) -> list[Summary]:
    """Summaries of sessions whose last message was said before a time, the last first."""
    earlier, values = ("", ()) if before is None else (" AND told_at < ?", (before,))
    rows = tx.all(
        f"SELECT {_SUMMARY} FROM summaries WHERE user_id = ? AND part = ? AND kind = 'session'"
        f"{earlier} ORDER BY told_at DESC, subject LIMIT ?",
        (tx.user, partition.key, *values, limit),
    )
    return [_summary(row) for row in rows]


def drop_daily(tx: Tx, partition: Partition, days: Sequence[str]) -> None:
    """Delete analyses."""
    tx.many(
        "DELETE FROM daily_analyses WHERE user_id = ? AND part = ? AND day = ?",
        [(tx.user, partition.key, day) for day in days],
    )


def _summary(row: Row) -> Summary:
    kind, subject, text, covers, model, cloud, told_at, made_at = row
    ids = msgspec.json.decode(covers, type=tuple[str, ...])
    return Summary(kind, subject, text, ids, model, bool(cloud), told_at, made_at)


def _daily(row: Row) -> Daily:
    day, themes, scores, note, confidence, quality, sessions, model, made_at = row
    return Daily(
        day,
        msgspec.json.decode(themes, type=tuple[str, ...]),
        msgspec.json.decode(scores, type=dict[str, float]),
        note,
        confidence,
        quality,
        msgspec.json.decode(sessions, type=tuple[str, ...]),
        model,
        made_at,
    )


# -- the profile: statement by statement, with a version that grows with each change ---------------

_ENTRY = (
    "id, field, item, value, said_at, source, confidence, retracts, session_id, message_index,"
    " quote, cloud"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that belongs into the profile."""

    id: str
    field: str
    """The place in it: north_star, preferences.tone …"""
    item: str
    """Which one of several; empty where there is only one."""
    value: str
    said_at: int
    source: Source
    confidence: float = 1.0
    retracts: bool = False
    session_id: str | None = None
    index: int | None = None
    quote: str | None = None
    cloud: bool = True


def add(tx: Tx, partition: Partition, entries: Sequence[Entry], now: int) -> int:
    """Store what is not there yet; answers how much was new."""
    new = 0
    for one in entries:
        new += tx.run(
            f"INSERT INTO profile_entries (user_id, part, {_ENTRY}) VALUES"
            " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (
                tx.user,
                partition.key,
                one.id,
                one.field,
                one.item,
                one.value,
                one.said_at,
                one.source,
                one.confidence,
                int(one.retracts),
                one.session_id,
                one.index,
                one.quote,
                int(one.cloud),
            ),
        )
    if new:
        _changed(tx, partition, now)
    return new


def entries(tx: Tx, partition: Partition, *, session_id: str | None = None) -> list[Entry]:
    """Every entry, or those of one session."""
    only = "" if session_id is None else " AND session_id = ?"
    rows = tx.all(
        f"SELECT {_ENTRY} FROM profile_entries WHERE user_id = ? AND part = ?{only}"
        " ORDER BY said_at, id",
        (tx.user, partition.key, *(() if session_id is None else (session_id,))),
    )
    return [_entry(row) for row in rows]


def remove(tx: Tx, partition: Partition, ids: Sequence[str], now: int) -> None:
    """Delete entries."""
    tx.many(
        "DELETE FROM profile_entries WHERE user_id = ? AND part = ? AND id = ?",
        [(tx.user, partition.key, one) for one in ids],
    )
    if ids:
        _changed(tx, partition, now)


def version(tx: Tx, partition: Partition) -> tuple[int, int | None]:
    """How often the profile was changed, and when last."""
    row = tx.one(
        "SELECT version, updated_at FROM profiles WHERE user_id = ? AND part = ?",
        (tx.user, partition.key),
    )
    return (0, None) if row is None else (int(row[0]), int(row[1]))


def _changed(tx: Tx, partition: Partition, now: int) -> None:
    tx.run(
        "INSERT INTO profiles (user_id, part, version, updated_at) VALUES (?, ?, 1, ?)"
        " ON CONFLICT (user_id, part) DO UPDATE SET version = profiles.version + 1,"
        " updated_at = excluded.updated_at",
        (tx.user, partition.key, now),
    )


def _entry(row: Row) -> Entry:
    values = list(row)
    values[7], values[11] = bool(row[7]), bool(row[11])
    return Entry(*values)
