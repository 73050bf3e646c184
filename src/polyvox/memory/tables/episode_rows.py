"""Episodes as rows: put there together, and read by their numbers, each with its session."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import NamedTuple

from polyvox.memory.tables import at_once
from polyvox.memory.tables.remembered import SESSION_BITS, Episode, Partition, Stored
from polyvox.memory.tables.shelves import OWNER
from polyvox.store.database import Row, Tx, Value

EPISODE = (
    "e.doc, (SELECT t.session_id FROM transcripts t WHERE t.user_id = e.user_id"
    f" AND t.number = e.doc >> {SESSION_BITS}), e.message_index, e.role, e.advisor_id, e.text,"
    " e.said_at, e.excluded, e.pinned, e.at, e.cloud, e.terms"
)
"""The columns of an episode and the session it belongs to (`stored_of`)."""

COLUMNS = {
    "user_id": "TEXT",
    "doc": "BIGINT",
    "part": "TEXT",
    "message_index": "INTEGER",
    "role": "TEXT",
    "advisor_id": "TEXT",
    "cloud": "INTEGER",
    "text": "TEXT",
    "said_at": "BIGINT",
    "at": "BIGINT",
    "excluded": "INTEGER",
    "pinned": "INTEGER",
    "terms": "TEXT",
}
"""Of a new episode."""


class View(NamedTuple):
    """A range of numbers, and whose episodes of it are wanted; None: everybody's."""

    first: int
    last: int
    owners: Collection[str] | None = None


def in_views(
    tx: Tx,
    partition: Partition,
    views: Sequence[View],
    columns: str,
    more: str = "",
    params: Sequence[Value] = (),
) -> list[Row]:
    """These columns of every episode in these ranges for which `more` is true."""
    # One text for any number of ranges, so that it is planned once. Both databases are told to
    # jump to the numbers: as long as they have no statistics they would rather walk the whole
    # partition in the order of time.
    spans = json.dumps([(one.first, one.last, _list(one.owners)) for one in views])
    if tx.dialect == "postgresql":
        return tx.all(
            f"SELECT {columns} FROM (SELECT CAST(one ->> 0 AS BIGINT) AS low,"
            " CAST(one ->> 1 AS BIGINT) AS high, one ->> 2 AS whose"
            " FROM json_array_elements(CAST(? AS JSON)) AS one OFFSET 0) AS spans"
            " CROSS JOIN LATERAL (SELECT * FROM episodes"
            " WHERE doc BETWEEN spans.low AND spans.high AND user_id = ? OFFSET 0) AS e"
            " WHERE e.part = ? AND (spans.whose IS NULL OR"
            f" strpos(spans.whose, ',' || {OWNER} || ',') > 0) {more}",
            (spans, tx.user, partition.key, *params),
        )
    return tx.all(
        "WITH spans (low, high, whose) AS MATERIALIZED (SELECT json_extract(value, '$[0]'),"
        " json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(?))"
        f" SELECT {columns} FROM spans CROSS JOIN episodes e NOT INDEXED"
        " WHERE e.doc BETWEEN spans.low AND spans.high AND e.user_id = ? AND e.part = ?"
        f" AND (spans.whose IS NULL OR instr(spans.whose, ',' || {OWNER} || ',')) {more}",
        (spans, tx.user, partition.key, *params),
    )


def _list(owners: Collection[str] | None) -> str | None:
    return None if owners is None else f",{','.join(sorted(owners))},"


def glances(tx: Tx, partition: Partition, views: Sequence[View], until: int | None) -> list[Row]:
    """As much as it takes to rank them of the episodes in these ranges that may be told, those said
    by `until`: number, time, words, whose, role, cloud, pinned."""
    if not views:
        return []
    columns = f"e.doc, e.at, e.terms, {OWNER}, e.role, e.cloud, e.pinned"
    more, params = "AND e.excluded = 0", list[Value]()
    if until is not None:
        more, params = f"{more} AND e.at <= ?", [until]
    return in_views(tx, partition, views, columns, more, params)


def persons_words(
    tx: Tx, partition: Partition, before: int, most: int
) -> list[tuple[Episode, int, bool]]:
    """What the person said, of the last so many messages before a time, the latest first; each with
    its time and whether it may go to a cloud model."""
    rows = tx.all(
        f"SELECT {EPISODE} FROM (SELECT * FROM episodes WHERE user_id = ? AND part = ?"
        " AND at < ? AND excluded = 0 ORDER BY at DESC, doc DESC LIMIT ?) AS e"
        " WHERE e.role = 'user' AND e.advisor_id IS NULL ORDER BY e.at DESC, e.doc DESC",
        (tx.user, partition.key, before, most),
    )
    return [(one.episode, one.at, one.cloud) for one in map(stored_of, rows)]


def stored_of(row: Row) -> Stored:
    """A row of EPISODE columns as a value."""
    doc, session_id, index, role, advisor_id, text, said_at, excluded, pinned, at, *rest = row
    episode = Episode(
        session_id, index, role, advisor_id, text, said_at, bool(excluded), bool(pinned)
    )
    cloud, terms = rest
    return Stored(doc, episode, at, bool(cloud), tuple(terms.split()))


def insert(tx: Tx, partition: Partition, rows: Sequence[Stored], vectors: Sequence[str]) -> None:
    """Store episodes, on PostgreSQL with the words they are found by (`vectors`)."""
    postgres = tx.dialect == "postgresql"
    values: list[tuple[Value, ...]] = [
        (
            tx.user,
            one.doc,
            partition.key,
            one.episode.index,
            one.episode.role,
            one.episode.advisor_id,
            int(one.cloud),
            one.episode.text,
            one.episode.said_at,
            one.at,
            0,
            0,
            " ".join(one.terms),
            *((vector,) if postgres else ()),
        )
        for one, vector in zip(rows, vectors, strict=True)
    ]
    at_once.insert(tx, "episodes", COLUMNS | ({"words": "TSVECTOR"} if postgres else {}), values)
