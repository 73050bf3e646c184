"""Facts as rows: statements with their evidence. A statement is added once and never rewritten.

Which statement holds is not stored: it is computed from all statements of a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from polyvox.errors import NotFound
from polyvox.memory.tables import episodes
from polyvox.memory.tables.remembered import Partition, Role
from polyvox.store.database import Row, Tx, Value

Source = Literal["user_stated", "manual", "inferred"]
Precision = Literal["day", "week", "month", "year"]
_FACT = (
    "id, line, subject, attribute, text, said_at, about_from, about_to, about_precision, source,"
    " confidence, session_id, message_index, role, quote, advisor_id, cloud, pinned, excluded,"
    " retracts, corrects"
)
SOME = 400
"""So many ids or lines are asked for by one statement."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Somebody said that an attribute of a subject is so."""

    id: str
    line: str
    subject: str
    attribute: str
    text: str
    said_at: int
    about_from: int | None = None
    """The time it is about, where it names one: from here, before `about_to`."""
    about_to: int | None = None
    about_precision: Precision | None = None
    source: Source = "user_stated"
    confidence: float = 1.0
    session_id: str | None = None
    index: int | None = None
    role: Role | None = None
    quote: str | None = None
    advisor_id: str | None = None
    """The advisor whose own it is; None: shared."""
    cloud: bool = True
    pinned: bool = False
    excluded: bool = False
    retracts: bool = False
    """It says that nothing is known of this any more."""
    corrects: str | None = None
    """The fact that this one was put in place of, by hand."""
    place: int = 0
    """Where its quote ends in the message; not stored, told where one message says several things
    of a line."""


def add(tx: Tx, partition: Partition, facts: Sequence[Fact]) -> list[Fact]:
    """Store what is not there yet; answers what was new."""
    fresh = []
    for fact in facts:
        values: tuple[Value, ...] = (
            fact.id,
            fact.line,
            fact.subject,
            fact.attribute,
            fact.text,
            fact.said_at,
            fact.about_from,
            fact.about_to,
            fact.about_precision,
            fact.source,
            fact.confidence,
            fact.session_id,
            fact.index,
            fact.role,
            fact.quote,
            fact.advisor_id,
            int(fact.cloud),
            int(fact.pinned),
            int(fact.excluded),
            int(fact.retracts),
            fact.corrects,
        )
        new = tx.run(
            f"INSERT INTO facts (user_id, part, {_FACT}) VALUES"
            f" (?, ?, {', '.join('?' * len(values))}) ON CONFLICT DO NOTHING",
            (tx.user, partition.key, *values),
        )
        if new:
            fresh.append(fact)
    return fresh


def get(tx: Tx, partition: Partition, fact_id: str) -> Fact:
    """One fact."""
    found = by_ids(tx, partition, (fact_id,))
    if not found:
        raise NotFound(
            f"There is no fact {fact_id}.", "It may have been forgotten; search for it again."
        )
    return found[0]


def by_ids(tx: Tx, partition: Partition, ids: Sequence[str]) -> list[Fact]:
    """The facts of these ids that there are."""
    return _among(tx, partition, "id", ids)


def of_lines(tx: Tx, partition: Partition, lines: Sequence[str]) -> list[Fact]:
    """Every statement of these lines."""
    return _among(tx, partition, "line", lines)


def of_session(tx: Tx, partition: Partition, session_id: str) -> list[Fact]:
    """Every statement whose evidence is in a session."""
    return _among(tx, partition, "session_id", (session_id,))


def corrections(tx: Tx, partition: Partition, ids: Sequence[str]) -> list[Fact]:
    """What was put in place of these facts by hand."""
    return _among(tx, partition, "corrects", ids)


def every(tx: Tx, partition: Partition) -> list[Fact]:
    """Every statement there is, the newest first."""
    rows = tx.all(
        f"SELECT {_FACT} FROM facts WHERE user_id = ? AND part = ? ORDER BY said_at DESC, id",
        (tx.user, partition.key),
    )
    return _placed(tx, partition, [_fact(row) for row in rows])


def some(
    tx: Tx,
    partition: Partition,
    limit: int,
    *,
    pinned: bool | None = None,
    excluded: bool | None = None,
    after: tuple[int, str] | None = None,
) -> list[Fact]:
    """Some statements with these marks (None: either way), the newest first; `after`: those behind
    this time and id."""
    only, values = "", list[Value]()
    for name, wanted in (("pinned", pinned), ("excluded", excluded)):
        if wanted is not None:
            only += f" AND {name} = {int(wanted)}"  # in the text: only then is its index used
    if after is not None:
        only += " AND (said_at < ? OR (said_at = ? AND id < ?))"
        values += [after[0], *after]
    rows = tx.all(
        f"SELECT {_FACT} FROM facts WHERE user_id = ? AND part = ?{only}"
        " ORDER BY said_at DESC, id DESC LIMIT ?",
        (tx.user, partition.key, *values, limit),
    )
    return [_fact(row) for row in rows]


def count(tx: Tx, partition: Partition) -> int:
    """How many statements there are."""
    row = tx.one(
        "SELECT COUNT(*) FROM facts WHERE user_id = ? AND part = ?", (tx.user, partition.key)
    )
    return 0 if row is None else int(row[0])


def mark(tx: Tx, partition: Partition, fact: Fact) -> None:
    """Keep whether a fact is pinned and excluded."""
    tx.run(
        "UPDATE facts SET pinned = ?, excluded = ? WHERE user_id = ? AND part = ? AND id = ?",
        (int(fact.pinned), int(fact.excluded), tx.user, partition.key, fact.id),
    )


def remove(tx: Tx, partition: Partition, ids: Sequence[str]) -> None:
    """Delete facts."""
    tx.many(
        "DELETE FROM facts WHERE user_id = ? AND part = ? AND id = ?",
        [(tx.user, partition.key, one) for one in ids],
    )


def _among(tx: Tx, partition: Partition, column: str, values: Sequence[str]) -> list[Fact]:
    found: list[Row] = []
    for start in range(0, len(values), SOME):
        some = values[start : start + SOME]
        found += tx.all(
            f"SELECT {_FACT} FROM facts WHERE user_id = ? AND part = ?"
            f" AND {column} IN ({', '.join('?' * len(some))})",
            (tx.user, partition.key, *some),
        )
    # Put in order here: a database without statistics would walk the partition to spare sorting.
    facts = sorted(map(_fact, found), key=lambda one: (one.said_at, one.id))
    return _placed(tx, partition, facts)


def _placed(tx: Tx, partition: Partition, facts: list[Fact]) -> list[Fact]:
    """Facts of which it is known what a message says first, where it says several of a line."""
    said = Counter((one.line, one.session_id, one.index) for one in facts)
    several = {
        one.id: (one.session_id, one.index)
        for one in facts
        if one.session_id is not None and one.index is not None
        if said[one.line, one.session_id, one.index] > 1
    }
    if not several:
        return facts
    messages = episodes.at_places(tx, partition, list(several.values()))

    def place(one: Fact) -> int:
        message = messages.get(several.get(one.id, ("", 0)))
        before = -1 if message is None or not one.quote else message.text.find(one.quote)
        return 0 if before < 0 else before + len(one.quote or "")

    return [replace(one, place=place(one)) for one in facts]


def _fact(row: Row) -> Fact:
    values = list(row)
    values[16:20] = map(bool, row[16:20])
    return Fact(*values)
