"""The profile as rows: statement by statement, with a version that grows with each change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyvox.memory.tables.facts import Source
from polyvox.memory.tables.remembered import Partition
from polyvox.store.database import Row, Tx

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
