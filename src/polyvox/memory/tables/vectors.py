"""Vectors as rows: what texts mean to an embeddings model, kept by shelf like their words.

Looking for what is near has two steps. The signs of the numbers alone are compared first: that is
one XOR a text, and what is near as a whole is near by its signs. Then the nearest of them are
compared as a whole. Both steps look at all that stands on the shelves which are named and at
nothing else, so an index that only guesses (and guesses by what others store) is not used.

On PostgreSQL pgvector does the arithmetic. On SQLite we do, for the sqlite3 module of many Pythons
cannot load an extension such as sqlite-vec. That takes 33 ms among 10,000 vectors of 1,536 numbers
and 170 ms among 100,000 (sqlite-vec: a third of it), about as long as a model needs to answer.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import TypeAlias

from polyvox.errors import PolyvoxError
from polyvox.memory.tables import claims, companions
from polyvox.memory.tables.remembered import SESSION_BITS, Partition, owner_of
from polyvox.memory.tables.shelves import SHARED, Shelf, drop_vectors
from polyvox.store.database import Tx, Value
from polyvox.values import Scope

MAY_LEAVE = (
    " AND e.cloud = 1 AND NOT EXISTS (SELECT 1 FROM transcripts t WHERE t.user_id = e.user_id"
    f" AND t.number = e.doc >> {SESSION_BITS} AND t.held_here = 1)"
)
CLAIM_MAY_LEAVE = (
    " AND c.cloud = 1 AND NOT EXISTS (SELECT 1 FROM transcripts t WHERE t.user_id = s.user_id"
    " AND t.part = s.part AND t.session_id = s.session_id AND t.held_here = 1)"
)
"""What was told on this machine alone is not sent to an online model."""
COMPARED = 200
"""So many of those that are nearest by their signs are compared as a whole."""
LAST = 1 << 62
"""Behind every number."""
FACT = "fact"

Bytes: TypeAlias = "array[int]"
Vector: TypeAlias = "array[float]"  # a name in quotes: before Python 3.12 it cannot be written out


class NoExtension(PolyvoxError):
    """The server lacks what searches by vectors need."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A text that has no vector yet."""

    doc: int
    mark: str
    """Of its shelf."""
    text: str


@dataclass(frozen=True, slots=True)
class Scale:
    """How to read the cosines of a model."""

    size: int
    """Numbers in a vector."""
    near: float
    """What texts that belong together have."""
    far: float
    """What texts that do not belong together hardly ever reach."""
    spread: float
    """The standard deviation among those."""


def space(tx: Tx) -> str | None:
    """Where PostgreSQL's vector functions are, as a prefix; None where they are not, and nothing
    on SQLite, which needs none."""
    if tx.dialect == "sqlite":
        return ""
    row = tx.one(
        "SELECT quote_ident(n.nspname) FROM pg_extension e"
        " JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
    )
    return None if row is None else f"{row[0]}."


def prepare(tx: Tx) -> None:
    """Get ready to keep vectors, or say why that cannot be."""
    if space(tx) is None:
        if not possible(tx):
            raise no_extension()
        tx.run("CREATE EXTENSION IF NOT EXISTS vector")


def possible(tx: Tx) -> bool:
    """Whether PostgreSQL's vector functions can be had where they are not yet."""
    return tx.one("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'") is not None


def no_extension() -> NoExtension:
    """What to say where they cannot."""
    return NoExtension(
        "This PostgreSQL server has no pgvector, so recall goes by words alone.",
        "Install the extension on the server, or leave models.embeddings empty.",
    )


def partitions(tx: Tx) -> list[tuple[Scope, str]]:
    """Every partition in which something can be recalled, by its key."""
    rows = tx.all("SELECT DISTINCT user_id, part FROM shelves ORDER BY user_id, part")
    return [(Scope(user), part) for user, part in rows]


def scale(tx: Tx, model: str) -> Scale | None:
    """How to read a model's cosines, if that is known."""
    row = tx.one(
        "SELECT size, near, far, spread FROM vector_models WHERE user_id = ? AND model = ?",
        (tx.user, model),
    )
    return None if row is None else Scale(*row)


def keep_scale(tx: Tx, model: str, found: Scale, now: int) -> None:
    """From now on, this is how they are read."""
    tx.run(
        "INSERT INTO vector_models (user_id, model, size, near, far, spread, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (user_id, model) DO UPDATE SET size = excluded.size, near = excluded.near,"
        " far = excluded.far, spread = excluded.spread, at = excluded.at",
        (tx.user, model, found.size, found.near, found.far, found.spread, now),
    )


def drop_model(tx: Tx, model: str) -> None:
    """Forget everything that a model made."""
    for table in ("vector_models", "vectors", "vector_bits"):
        tx.run(f"DELETE FROM {table} WHERE user_id = ? AND model = ?", (tx.user, model))


def keep_only(tx: Tx, partition: Partition, model: str) -> None:
    """Drop what other models made of a partition."""
    where = "user_id = ? AND part = ? AND model <> ?"
    old = (tx.user, partition.key, model)
    marks = [row[0] for row in tx.all(f"SELECT DISTINCT mark FROM vectors WHERE {where}", old)]
    for mark in marks:
        tx.run(
            "DELETE FROM vector_bits WHERE user_id = ? AND mark = ? AND model <> ?",
            (tx.user, mark, model),
        )
    if marks:
        tx.run(f"DELETE FROM vectors WHERE {where}", old)


def waiting(
    tx: Tx, partition: Partition, model: str, cloud: bool, before: int, most: int
) -> list[Waiting]:
    """Texts that have no vector of this model, those with the highest numbers below `before` first:
    the newest messages, then the facts. `cloud`: only what may leave this machine."""
    find = _Find(tx, tx.scope, partition, model, cloud)
    return find.episodes((0, before - 1), most) or find.facts((-LAST, min(before, 0) - 1), most)


@dataclass(frozen=True, slots=True)
class _Find:
    """Looks for texts without a vector, by the first and the last number that they may have."""

    tx: Tx
    scope: Scope
    partition: Partition
    model: str
    cloud: bool = False

    def episodes(self, span: tuple[int, int], most: int) -> list[Waiting]:
        # SQLite is told to walk by number: while it has no statistics it would rather sort.
        walk = " NOT INDEXED" if self.tx.dialect == "sqlite" else ""
        rows = self.tx.all(
            f"SELECT e.doc, e.role, e.advisor_id, e.cloud, e.text FROM episodes e{walk}"
            " WHERE e.user_id = ? AND e.part = ? AND e.doc BETWEEN ? AND ? AND e.excluded = 0"
            f"{MAY_LEAVE if self.cloud else ''} AND NOT EXISTS (SELECT 1 FROM vectors v"
            " WHERE v.user_id = e.user_id AND v.doc = e.doc AND v.model = ?)"
            " ORDER BY e.doc DESC LIMIT ?",
            (self.scope.user, self.partition.key, *span, self.model, most),
        )
        return [
            Waiting(doc, self._mark(owner_of(role, advisor_id), role, cloud), text)
            for doc, role, advisor_id, cloud, text in rows
        ]

    def facts(self, span: tuple[int, int], most: int) -> list[Waiting]:
        rows = self.tx.all(
            "SELECT c.number, c.advisor_id, c.cloud, s.text FROM claims c JOIN statements s"
            " ON s.user_id = c.user_id AND s.part = c.part AND s.id = c.id"
            " WHERE c.user_id = ? AND c.part = ? AND c.kind = ? AND c.number BETWEEN ? AND ?"
            f"{CLAIM_MAY_LEAVE if self.cloud else ''} AND NOT EXISTS (SELECT 1 FROM vectors v"
            " WHERE v.user_id = c.user_id AND v.doc = -c.number AND v.model = ?)"
            " ORDER BY c.number LIMIT ?",
            (self.scope.user, self.partition.key, FACT, -span[1], -span[0], self.model, most),
        )
        return [
            Waiting(-number, self._mark(advisor_id or SHARED, claims.ROLE, cloud), text)
            for number, advisor_id, cloud, text in rows
        ]

    def _mark(self, owner: str, role: str, cloud: int) -> str:
        return Shelf(self.partition.key, owner, role, bool(cloud)).mark(self.scope)


def keep(tx: Tx, partition: Partition, model: str, made: Sequence[tuple[Waiting, Vector]]) -> int:
    """Store vectors, of those texts that are still there as they were read; answers how many. What
    was forgotten or excluded meanwhile leaves nothing, even where its number was given anew."""
    companions.drops_held(tx)
    find = _Find(tx, tx.scope, partition, model)
    kept = []
    for one, vector in made:
        look = find.episodes if one.doc >= 0 else find.facts
        if look((one.doc, one.doc), 1) == [one]:
            kept.append((one, vector))
    places = [(one.mark, one.doc) for one, _ in kept]
    drop_vectors(tx, places)  # of another model
    postgres = tx.dialect == "postgresql"
    wholes: list[tuple[Value, ...]] = []
    for one, vector in kept:
        numbers = _bytes(vector)
        stored = (f"{{{_listed(numbers)}}}",) if postgres else (numbers.tobytes(), _length(numbers))
        wholes.append((tx.user, one.doc, partition.key, one.mark, model, *stored))
    columns, marks = ("", "CAST(? AS SMALLINT[])") if postgres else (", length", "?, ?")
    tx.many(
        f"INSERT INTO vectors (user_id, doc, part, mark, model, whole{columns})"
        f" VALUES (?, ?, ?, ?, ?, {marks})",
        wholes,
    )
    signs = _signs if postgres else _packed
    tx.many(
        "INSERT INTO vector_bits (user_id, mark, doc, model, bits) VALUES (?, ?, ?, ?, "
        f"{'CAST(? AS BIT VARYING)' if postgres else '?'})",
        [(tx.user, one.mark, one.doc, model, signs(vector)) for one, vector in kept],
    )
    return len(kept)


def nearest(
    tx: Tx, shelves: Sequence[Shelf], model: str, vector: Vector
) -> list[tuple[int, float]]:
    """What is nearest to a vector on these shelves, the nearest first: number and cosine."""
    marks = [shelf.mark(tx.scope) for shelf in shelves]
    if not marks:
        return []
    found = (_compared if tx.dialect == "sqlite" else _asked)(tx, marks, model, vector)
    return sorted(found, key=lambda one: (-one[1], -one[0]))


def _compared(tx: Tx, marks: Sequence[str], model: str, vector: Vector) -> list[tuple[int, float]]:
    rows = tx.all(
        "SELECT doc FROM vector_bits WHERE user_id = ?"
        f" AND mark IN ({', '.join('?' * len(marks))}) AND model = ?"
        " ORDER BY apart(bits, ?), doc DESC LIMIT ?",
        (tx.user, *marks, model, _packed(vector), COMPARED),
    )
    docs = [row[0] for row in rows]
    wanted = vector.tolist()
    wholes = tx.all(
        "SELECT doc, whole, length FROM vectors WHERE user_id = ? AND model = ?"
        f" AND doc IN ({', '.join('?' * len(docs))})",
        (tx.user, model, *docs),
    )
    return [
        (doc, sum(map(mul, wanted, memoryview(whole).cast("b"))) / length)
        for doc, whole, length in wholes
    ]


def _asked(tx: Tx, marks: Sequence[str], model: str, vector: Vector) -> list[tuple[int, float]]:
    at = space(tx)
    if at is None:
        return []
    rows = tx.all(
        "WITH near AS (SELECT doc FROM vector_bits WHERE user_id = ?"
        f" AND mark IN ({', '.join('?' * len(marks))}) AND model = ?"
        f" ORDER BY bits OPERATOR({at}<~>) CAST(? AS BIT VARYING), doc DESC LIMIT ?)"
        f" SELECT v.doc, 1 - (CAST(CAST(v.whole AS INTEGER[]) AS {at}vector)"
        f" OPERATOR({at}<=>) CAST(? AS {at}vector))"
        " FROM near JOIN vectors v ON v.user_id = ? AND v.doc = near.doc AND v.model = ?",
        (
            tx.user,
            *marks,
            model,
            _signs(vector),
            COMPARED,
            f"[{_listed(vector)}]",
            tx.user,
            model,
        ),
    )
    return [(int(doc), float(cosine)) for doc, cosine in rows]


def count(tx: Tx, model: str) -> int:
    """How many vectors of a model there are."""
    row = tx.one("SELECT COUNT(*) FROM vectors WHERE user_id = ? AND model = ?", (tx.user, model))
    return 0 if row is None else int(row[0])


def _signs(vector: Vector) -> str:
    return "".join(["1" if one > 0 else "0" for one in vector])


def _packed(vector: Vector) -> bytes:
    return int(_signs(vector), 2).to_bytes((len(vector) + 7) // 8, "big")


def _bytes(vector: Vector) -> Bytes:
    """A byte for each number: a cosine changes by less than a hundredth, the size to a quarter."""
    most = max(map(abs, vector))
    return array("b", [round(127 * one / most) for one in vector])


def _length(numbers: Bytes) -> float:
    return math.sqrt(sum(one * one for one in numbers))


def _listed(numbers: Vector | Bytes) -> str:
    return ",".join(map(repr, numbers))
