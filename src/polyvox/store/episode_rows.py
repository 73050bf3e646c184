"""Episodes as they are read: rows by their numbers, with the sessions they belong to."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from polyvox.store.database import Row, Tx
from polyvox.store.remembered import SESSION_BITS, Episode, Partition, Stored
from polyvox.store.shelves import SHARED
from polyvox.values import Scope

EPISODE = (
    "e.doc, e.message_index, e.role, e.advisor_id, e.text, e.said_at, e.excluded, e.pinned, e.at,"
    " e.cloud, e.terms"
)
RANGES, IDS = 100, 400
"""So many ranges and ids are asked for by one statement."""


def in_ranges(
    tx: Tx,
    scope: Scope,
    partition: Partition,
    ranges: Sequence[tuple[int, int]],
    columns: str,
    owners: Collection[str] | None = None,
) -> list[Row]:
    """The rows whose numbers are in these ranges (first, last); of these owners alone, if given."""
    whose, names = "", tuple(sorted(owners or ()))
    if owners is not None:
        # Whose an episode is: `owner_of`, for the database.
        owner = (
            f"CASE WHEN e.role = 'user' THEN '{SHARED}' ELSE COALESCE(e.advisor_id, '{SHARED}') END"
        )
        whose = f" AND {owner} IN ({', '.join('?' * len(names))})"
    # Both databases are told to jump to the numbers: as long as they have no statistics they would
    # rather walk the whole partition in the order of time.
    if tx.dialect == "sqlite":
        chosen = (
            f"SELECT {columns} FROM spans CROSS JOIN episodes e NOT INDEXED"
            " WHERE e.doc BETWEEN spans.low AND spans.high AND e.user_id = ? AND e.part = ?"
        )
    else:
        chosen = (
            f"SELECT {columns} FROM spans CROSS JOIN LATERAL (SELECT * FROM episodes"
            " WHERE doc BETWEEN spans.low AND spans.high AND user_id = ? OFFSET 0) AS e"
            " WHERE e.part = ?"
        )
    found: list[Row] = []
    for start in range(0, len(ranges), RANGES):
        some = ranges[start : start + RANGES]
        values = ", ".join(["(CAST(? AS BIGINT), CAST(? AS BIGINT))"] * len(some))
        found += tx.all(
            f"WITH spans (low, high) AS (VALUES {values}) {chosen}{whose}",
            (*(number for span in some for number in span), scope.user, partition.key, *names),
        )
    return found


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
