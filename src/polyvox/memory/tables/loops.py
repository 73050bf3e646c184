"""Loops as rows: each time one was spoken of, and what was said of its end.

What is open is not stored: it is computed from both, so that their order of arrival is no matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from polyvox.memory.tables.remembered import Partition
from polyvox.store.database import Row, Tx

LoopType = Literal["commitment", "decision", "friction", "habit", "thread"]
Horizon = Literal["today", "this_week", "ongoing"]
Ending = Literal["done", "dropped", "open"]
"""How a loop ended; "open": it was taken up again, by hand."""
_SIGHTING = (
    "id, topic, type, text, said_at, horizon, due, domain, importance, urgency, tags, confidence,"
    " session_id, message_index, quote, cloud, pinned"
)
_ENDING = "id, status, topic, words, said_at, session_id, message_index, quote"
TAB = "\t"


@dataclass(frozen=True, slots=True)
class Sighting:
    """A loop was spoken of."""

    id: str
    topic: str
    """What it is about: sightings of one topic are one loop."""
    type: LoopType
    text: str
    said_at: int
    horizon: Horizon
    due: str | None
    """A day, as 2024-05-31."""
    domain: str
    importance: int
    urgency: int
    tags: tuple[str, ...]
    confidence: float
    session_id: str
    index: int
    quote: str
    cloud: bool = True
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """It was said, or marked by hand, that a loop is over."""

    id: str
    status: Ending
    topic: str | None
    """Which loop is meant; None: the one whose words these are."""
    words: tuple[str, ...]
    said_at: int
    session_id: str | None = None
    index: int | None = None
    quote: str | None = None


Said = TypeVar("Said", Sighting, Ended)


def add(
    tx: Tx, partition: Partition, sightings: Sequence[Sighting], endings: Sequence[Ended] = ()
) -> int:
    """Store what is not there yet; answers how much was new."""
    new = 0
    for one in sightings:
        new += tx.run(
            f"INSERT INTO loop_sightings (user_id, part, {_SIGHTING}) VALUES"
            " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (
                tx.user,
                partition.key,
                one.id,
                one.topic,
                one.type,
                one.text,
                one.said_at,
                one.horizon,
                one.due,
                one.domain,
                one.importance,
                one.urgency,
                TAB.join(one.tags),
                one.confidence,
                one.session_id,
                one.index,
                one.quote,
                int(one.cloud),
                int(one.pinned),
            ),
        )
    for end in endings:
        new += tx.run(
            f"INSERT INTO loop_endings (user_id, part, {_ENDING}) VALUES"
            " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (
                tx.user,
                partition.key,
                end.id,
                end.status,
                end.topic,
                " ".join(end.words),
                end.said_at,
                end.session_id,
                end.index,
                end.quote,
            ),
        )
    return new


def sightings(tx: Tx, partition: Partition, *, session_id: str | None = None) -> list[Sighting]:
    """Every sighting, or those of one session."""
    only = "" if session_id is None else " AND session_id = ?"
    rows = tx.all(
        f"SELECT {_SIGHTING} FROM loop_sightings WHERE user_id = ? AND part = ?{only}",
        (tx.user, partition.key, *(() if session_id is None else (session_id,))),
    )
    return _in_order([_sighting(row) for row in rows])


def endings(
    tx: Tx, partition: Partition, *, since: int | None = None, session_id: str | None = None
) -> list[Ended]:
    """What was said of the end of loops, since a time, or in one session."""
    where, values = "", []
    if since is not None:
        where, values = " AND said_at >= ?", [since]
    only = () if session_id is None else (session_id,)
    rows = tx.all(
        f"SELECT {_ENDING} FROM loop_endings WHERE user_id = ? AND part = ?{where}"
        f"{' AND session_id = ?' if only else ''}",
        (tx.user, partition.key, *values, *only),
    )
    return _in_order([_ended(row) for row in rows])


def mark(tx: Tx, partition: Partition, ids: Sequence[str], *, pinned: bool) -> None:
    """Keep whether these sightings are of a pinned loop."""
    tx.many(
        "UPDATE loop_sightings SET pinned = ? WHERE user_id = ? AND part = ? AND id = ?",
        [(int(pinned), tx.user, partition.key, one) for one in ids],
    )


def any_pinned(tx: Tx, partition: Partition) -> bool:
    """Whether some loop is pinned."""
    row = tx.one(
        "SELECT 1 FROM loop_sightings WHERE user_id = ? AND part = ? AND pinned = 1 LIMIT 1",
        (tx.user, partition.key),
    )
    return row is not None


def remove(tx: Tx, partition: Partition, sighted: Sequence[str], ended: Sequence[str]) -> None:
    """Delete sightings and endings."""
    for table, ids in (("loop_sightings", sighted), ("loop_endings", ended)):
        tx.many(
            f"DELETE FROM {table} WHERE user_id = ? AND part = ? AND id = ?",
            [(tx.user, partition.key, one) for one in ids],
        )


def _in_order(rows: list[Said]) -> list[Said]:
    # Not by the database: without statistics it would walk the partition to spare sorting.
    return sorted(rows, key=lambda one: (one.said_at, one.id))


def _sighting(row: Row) -> Sighting:
    values = list(row)
    values[10] = tuple(tag for tag in row[10].split(TAB) if tag)
    values[15], values[16] = bool(row[15]), bool(row[16])
    return Sighting(*values)


def _ended(row: Row) -> Ended:
    values = list(row)
    values[3] = tuple(row[3].split())
    return Ended(*values)
