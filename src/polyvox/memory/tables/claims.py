"""Claims: short texts that can be recalled beside episodes (facts, summaries), as index rows only.

Their texts, evidence and history belong to whoever made them; here stands what a search needs to
choose among them: words, whose they are, since when they are known and when they were superseded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyvox.memory.tables import shelves
from polyvox.memory.tables.episodes import Partition
from polyvox.memory.tables.shelves import SHARED, Doc, Shelf
from polyvox.store.database import Row, Tx, Value

ROLE = shelves.CLAIM
"""The role of a claim's shelf."""
_CLAIM = "number, kind, id, at, terms, advisor_id, cloud, retired_at, pinned"


@dataclass(frozen=True, slots=True)
class Claim:
    """What the index knows of a claim."""

    kind: str
    id: str
    at: int
    """When it was said: before that, nobody could recall it."""
    terms: tuple[str, ...]
    advisor_id: str | None = None
    cloud: bool = True
    retired_at: int | None = None
    """When the statement was said that superseded this one."""
    pinned: bool = False

    def shelf(self, partition: Partition) -> Shelf:
        """Where its words stand."""
        return Shelf(partition.key, self.advisor_id or SHARED, ROLE, self.cloud)


def put(tx: Tx, partition: Partition, claims: Sequence[Claim]) -> None:
    """Make claims findable, each in place of what had its kind and id. Where the words are the same
    they stay where they are, and so does what was made of them (a vector)."""
    for claim in claims:
        old = _find(tx, partition, claim.kind, claim.id)
        if old is None:
            _insert(tx, partition, claim)
        elif (old[1].terms, old[1].shelf(partition)) != (claim.terms, claim.shelf(partition)):
            _delete(tx, partition, [old])
            _insert(tx, partition, claim)
        elif old[1] != claim:
            tx.run(
                "UPDATE claims SET at = ?, retired_at = ?, pinned = ?"
                " WHERE user_id = ? AND number = ?",
                (claim.at, claim.retired_at, int(claim.pinned), tx.user, old[0]),
            )


def _insert(tx: Tx, partition: Partition, claim: Claim) -> None:
    postgres = tx.dialect == "postgresql"
    shelf = claim.shelf(partition)
    vector = shelves.vector(tx.scope, Doc(0, shelf, claim.terms))
    values: tuple[Value, ...] = (
        tx.user,
        partition.key,
        claim.kind,
        claim.id,
        claim.at,
        " ".join(claim.terms),
        claim.advisor_id,
        int(claim.cloud),
        claim.retired_at,
        int(claim.pinned),
        *((vector,) if postgres else ()),
    )
    row = tx.one(
        "INSERT INTO claims (user_id, part, kind, id, at, terms, advisor_id, cloud,"
        f" retired_at, pinned{', words' if postgres else ''})"
        f" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?{', CAST(? AS TSVECTOR)' if postgres else ''})"
        " RETURNING number",
        values,
    )
    if row is not None:
        shelves.place(tx, [Doc(-row[0], shelf, claim.terms)])


def remove(tx: Tx, partition: Partition, kind: str, ids: Sequence[str]) -> None:
    """Make claims unfindable."""
    found = [_find(tx, partition, kind, one) for one in ids]
    _delete(tx, partition, [one for one in found if one is not None])


def _find(tx: Tx, partition: Partition, kind: str, claim_id: str) -> tuple[int, Claim] | None:
    """A claim and its number."""
    row = tx.one(
        f"SELECT {_CLAIM} FROM claims WHERE user_id = ? AND part = ? AND kind = ? AND id = ?",
        (tx.user, partition.key, kind, claim_id),
    )
    return None if row is None else (row[0], _claim(row))


def read(tx: Tx, partition: Partition, docs: Sequence[int]) -> list[tuple[int, Claim]]:
    """The claims with these (negative) index numbers."""
    found: list[tuple[int, Claim]] = []
    for start in range(0, len(docs), 400):
        numbers = [-doc for doc in docs[start : start + 400]]
        rows = tx.all(
            f"SELECT {_CLAIM} FROM claims WHERE user_id = ? AND part = ?"
            f" AND number IN ({', '.join('?' * len(numbers))})",
            (tx.user, partition.key, *numbers),
        )
        found += [(-row[0], _claim(row)) for row in rows]
    return found


def _delete(tx: Tx, partition: Partition, claims: Sequence[tuple[int, Claim]]) -> None:
    shelves.take(
        tx, [Doc(-number, claim.shelf(partition), claim.terms) for number, claim in claims]
    )
    tx.many(
        "DELETE FROM claims WHERE user_id = ? AND number = ?",
        [(tx.user, number) for number, _ in claims],
    )


def _claim(row: Row) -> Claim:
    _, kind, claim_id, at, terms, advisor_id, cloud, retired_at, pinned = row
    words = tuple(terms.split())
    return Claim(kind, claim_id, at, words, advisor_id, bool(cloud), retired_at, bool(pinned))
