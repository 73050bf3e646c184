"""Episodes as they are read: rows by their numbers, with the sessions they belong to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from polyvox.store.database import Row, Tx
from polyvox.store.remembered import SESSION_BITS, Episode, Glance, Partition, Stored, owner_of
from polyvox.store.shelves import OWNER, SHARED
from polyvox.values import Scope

EPISODE = (
    "e.doc, e.message_index, e.role, e.advisor_id, e.text, e.said_at, e.excluded, e.pinned, e.at,"
    " e.cloud, e.terms"
)
RANGES, IDS = 100, 400
"""So many ranges and ids are asked for by one statement."""
ANYBODY = "*"
"""An owner: whoever it is."""


class View(NamedTuple):
    """A range of numbers, and whose episodes of it are wanted beside those that are for all."""

    first: int
    last: int
    owner: str = ANYBODY
    reader: int = 0
    """Who wants them: told with each row."""


def in_views(
    tx: Tx, scope: Scope, partition: Partition, views: Sequence[View], columns: str
) -> list[Row]:
    """The reader and these columns of every episode in these ranges."""
    # Both databases are told to jump to the numbers: as long as they have no statistics they would
    # rather walk the whole partition in the order of time.
    whose = f"(spans.whose = '{ANYBODY}' OR {OWNER} IN ('{SHARED}', spans.whose))"
    if tx.dialect == "postgresql":
        # One text for any number of ranges, so that it is planned once.
        return tx.all(
            f"SELECT spans.reader, {columns} FROM json_to_recordset(CAST(? AS JSON))"
            " AS spans (low BIGINT, high BIGINT, whose TEXT, reader INTEGER) CROSS JOIN LATERAL"
            " (SELECT * FROM episodes WHERE doc BETWEEN spans.low AND spans.high AND user_id = ?"
            f" OFFSET 0) AS e WHERE e.part = ? AND {whose}",
            (_spans(views), scope.user, partition.key),
        )
    found: list[Row] = []
    for start in range(0, len(views), RANGES):
        some = views[start : start + RANGES]
        values = ", ".join(["(?, ?, ?, ?)"] * len(some))
        found += tx.all(
            f"WITH spans (low, high, whose, reader) AS (VALUES {values})"
            f" SELECT spans.reader, {columns} FROM spans CROSS JOIN episodes e NOT INDEXED"
            " WHERE e.doc BETWEEN spans.low AND spans.high AND e.user_id = ? AND e.part = ?"
            f" AND {whose}",
            (*(value for view in some for value in view), scope.user, partition.key),
        )
    return found


def _spans(views: Sequence[View]) -> str:
    return json.dumps(
        [
            {"low": one.first, "high": one.last, "whose": one.owner, "reader": one.reader}
            for one in views
        ]
    )


def glance(
    tx: Tx, scope: Scope, partition: Partition, views: Sequence[View]
) -> list[tuple[int, Glance]]:
    """The episodes in these ranges, without their texts, each with whose view it is in."""
    columns = "e.doc, e.at, e.terms, e.advisor_id, e.role, e.cloud, e.excluded, e.pinned"
    return [
        (reader, Glance(doc, at, terms, owner_of(role, advisor_id), role, *rest))
        for reader, doc, at, terms, advisor_id, role, *rest in in_views(
            tx, scope, partition, views, columns
        )
    ]


def persons_words(
    tx: Tx, scope: Scope, partition: Partition, before: int, most: int
) -> list[tuple[Episode, int, bool]]:
    """What the person said, of the last so many messages before a time, the latest first; each with
    its time and whether it may go to a cloud model."""
    rows = tx.all(
        f"SELECT {EPISODE} FROM (SELECT * FROM episodes WHERE user_id = ? AND part = ?"
        " AND at < ? AND excluded = 0 ORDER BY at DESC, doc DESC LIMIT ?) AS e"
        " WHERE e.role = 'user' AND e.advisor_id IS NULL ORDER BY e.at DESC, e.doc DESC",
        (scope.user, partition.key, before, most),
    )
    return [(one.episode, one.at, one.cloud) for one in with_sessions(tx, scope, rows)]


def with_sessions(tx: Tx, scope: Scope, rows: Sequence[Row]) -> list[Stored]:
    """Rows of EPISODE columns as values."""
    numbers = sorted({row[0] >> SESSION_BITS for row in rows})
    names: dict[int, str] = {}
    for start in range(0, len(numbers), IDS):
        some = numbers[start : start + IDS]
        names |= dict(
            tx.all(
                "SELECT number, session_id FROM transcripts WHERE user_id = ?"
                f" AND number IN ({', '.join('?' * len(some))})",
                (scope.user, *some),
            )
        )
    return [stored_of(row, names[row[0] >> SESSION_BITS]) for row in rows]


def stored_of(row: Row, session_id: str) -> Stored:
    """A row of EPISODE columns as a value."""
    doc, index, role, advisor_id, text, said_at, excluded, pinned, at, cloud, terms = row
    episode = Episode(
        session_id, index, role, advisor_id, text, said_at, bool(excluded), bool(pinned)
    )
    return Stored(doc, episode, at, bool(cloud), tuple(terms.split()))
