"""What is made from whole sessions: how far each was worked through, summaries, daily analyses."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from polyvox.memory.tables.remembered import Partition
from polyvox.store.database import Row, Tx, Value

Quality = Literal["ok", "needs_review", "insufficient_data"]
SummaryKind = Literal["session", "running"]
_SUMMARY = "kind, subject, text, covers, model, cloud, told_at, made_at"
_DAILY = (
    "day, themes, scores, steering_note, confidence, quality_flag, sessions, model, made_at, cloud"
)


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
    cloud: bool = True
    """False: it tells of what never goes to a cloud model."""


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
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
            int(one.cloud),
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
    day, themes, scores, note, confidence, quality, sessions, model, made_at, cloud = row
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
        bool(cloud),
    )


# -- hard messages: danger, grief, acute distress -------------------------------------------------


def keep_hard(tx: Tx, partition: Partition, session_id: str, indexes: Collection[int]) -> None:
    """Keep that these messages are hard: nothing is taken from them or quoted of them."""
    tx.many(
        "INSERT INTO hard_messages (user_id, part, session_id, message_index) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        [(tx.user, partition.key, session_id, index) for index in sorted(indexes)],
    )


def hard(tx: Tx, partition: Partition, session_ids: Collection[str]) -> set[tuple[str, int]]:
    """The messages (session, index) of these sessions that are hard: as the extractor read them,
    or as the gate did while they were answered."""
    named = sorted(session_ids)
    marks = ", ".join("?" * len(named))
    if not named:
        return set()
    rows = tx.all(
        "SELECT session_id, message_index FROM hard_messages"
        f" WHERE user_id = ? AND part = ? AND session_id IN ({marks})"
        " UNION SELECT e.session_id, e.message_index FROM companion_marks m"
        " JOIN episode_sources e ON e.user_id = m.user_id AND e.session_id = m.session_id"
        " AND e.ref = 'u' || m.turn_id"
        f" WHERE m.user_id = ? AND m.mark = 'risk' AND e.part = ? AND e.session_id IN ({marks})",
        (tx.user, partition.key, *named, tx.user, partition.key, *named),
    )
    return {(row[0], row[1]) for row in rows}
