"""Statements as rows: facts, loops, instructions and profile lines are kinds of one thing.

A statement is added once and never rewritten; a link says that one stands in place of another,
repeats it, or that it is over. What is current is not stored: it is computed from both (see
`memory.view`), so that any order of arrival gives the same view.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from polyvox.errors import NotFound
from polyvox.ids import content_hash
from polyvox.memory.tables.remembered import Partition, Role
from polyvox.store.database import Tx
from polyvox.store.table import Table, rows_in

Kind = Literal["fact", "loop", "instruction", "profile"]
Source = Literal["user_stated", "manual", "inferred"]
Precision = Literal["day", "week", "month", "year"]
LinkKind = Literal["supersedes", "repeats", "done", "dropped", "ended", "reopens"]
LoopType = Literal["commitment", "decision", "friction", "habit", "thread"]
Horizon = Literal["today", "this_week", "ongoing"]


class Plan(msgspec.Struct, frozen=True):
    """The part of a statement that only a loop has."""

    type: LoopType = "commitment"
    horizon: Horizon = "ongoing"
    due: str | None = None
    """A day, as 2024-05-31."""
    domain: str = "general"
    importance: int = 3
    urgency: int = 3
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """Something that a person said of themself or their life, or wrote into memory by hand."""

    id: str
    kind: Kind
    subject: str
    """Who or what it is about; of a profile line: which one of several (a domain, a name)."""
    attribute: str
    """The matter that can be said again with another value; of a profile line: its place. Empty:
    it is about nothing but itself."""
    text: str
    said_at: int
    about_from: int | None = None
    """The time it is about, where it names one: from here, before `about_to`."""
    about_to: int | None = None
    about_precision: Precision | None = None
    source: Source = "user_stated"
    confidence: float = 1.0
    session_id: str | None = None
    """None: it was written by hand."""
    message_index: int | None = None
    role: Role | None = None
    quote: str | None = None
    advisor_id: str | None = None
    """The advisor whose own it is; None: shared."""
    cloud: bool = True
    """False: it never goes to a cloud model."""
    pinned: bool = False
    excluded: bool = False
    plan: Plan | None = None

    @property
    def place(self) -> tuple[str, int] | None:
        """The message it was taken from: session and index."""
        if self.session_id is None or self.message_index is None:
            return None
        return self.session_id, self.message_index


@dataclass(frozen=True, slots=True)
class Link:
    """Says of a statement that it is over, or what stands in its place."""

    id: str
    kind: LinkKind
    target_id: str
    """The statement that it is about."""
    by_id: str | None
    """The statement that supersedes or repeats it."""
    said_at: int
    session_id: str | None = None
    """None: it was made by hand."""
    message_index: int | None = None
    quote: str | None = None

    @property
    def place(self) -> tuple[str, int] | None:
        """The message it was taken from: session and index."""
        if self.session_id is None or self.message_index is None:
            return None
        return self.session_id, self.message_index


STATEMENTS = Table("statements", Statement)
LINKS = Table("statement_links", Link)
_OF = "AND part = ?"


def add(
    tx: Tx,
    partition: Partition,
    statements: Iterable[Statement],
    links: Iterable[Link] = (),
    now: int = 0,
) -> list[Statement]:
    """Store what is not there yet and was not forgotten; return the statements that are new."""
    part = partition.key
    wanted = list(statements)
    gone = _forgotten(tx, partition, [_mark(one) for one in wanted])
    new = [
        one
        for one in wanted
        if _mark(one) not in gone and STATEMENTS.try_insert(tx, one, part=part, slot=slot_of(one))
    ]
    for link in links:
        LINKS.try_insert(tx, link, part=part)
    if any(one.kind in ("profile", "instruction") for one in new):
        changed(tx, partition, now)
    return new


def every(tx: Tx, partition: Partition, kinds: Sequence[Kind]) -> list[Statement]:
    """Every statement of these kinds."""
    return [
        one
        for kind in kinds
        for one in STATEMENTS.all(tx, f"{_OF} AND kind = ?", partition.key, kind)
    ]


def links(tx: Tx, partition: Partition, kinds: Sequence[Kind]) -> list[Link]:
    """Every link to a statement of these kinds."""
    marks = ", ".join("?" * len(kinds))
    rest = (
        f"{_OF} AND target_id IN (SELECT s.id FROM statements s WHERE s.user_id = ?"
        f" AND s.part = ? AND s.kind IN ({marks}))"
    )
    return LINKS.all(tx, rest, partition.key, tx.user, partition.key, *kinds)


def get(tx: Tx, partition: Partition, statement_id: str) -> Statement:
    """One statement."""
    found = by_ids(tx, partition, (statement_id,))
    if not found:
        raise NotFound("This is not in memory any more.", "Search for it again.")
    return found[0]


def by_ids(tx: Tx, partition: Partition, ids: Collection[str]) -> list[Statement]:
    """The statements with these ids."""
    return _among(tx, partition, "id", ids)


def _among(tx: Tx, partition: Partition, column: str, keys: Collection[str]) -> list[Statement]:
    sql = f"SELECT part, {STATEMENTS.columns} FROM statements WHERE user_id = ? AND {column}"
    rows = rows_in(tx, sql, keys)
    return [STATEMENTS.value(row[1:]) for row in rows if row[0] == partition.key]


def at_places(
    tx: Tx, partition: Partition, places: Collection[tuple[str, int]]
) -> tuple[list[Statement], list[Link]]:
    """The statements and links that were taken from these messages."""
    wanted = set(places)
    found: tuple[list[Statement], list[Link]] = ([], [])
    for session in sorted({session for session, _ in wanted}):
        said, linked = of_session(tx, partition, session)
        found[0].extend(one for one in said if one.place in wanted)
        found[1].extend(one for one in linked if one.place in wanted)
    return found


def of_session(tx: Tx, partition: Partition, session_id: str) -> tuple[list[Statement], list[Link]]:
    """The statements and links that were taken from a session."""
    where = (f"{_OF} AND session_id = ?", partition.key, session_id)
    return STATEMENTS.all(tx, *where), LINKS.all(tx, *where)


def page(
    tx: Tx,
    partition: Partition,
    kind: Kind,
    limit: int,
    *,
    pinned: bool | None = None,
    excluded: bool | None = None,
    after: tuple[int, str] | None = None,
) -> list[Statement]:
    """Statements with these marks (None: either way), the newest first, behind a time and id."""
    rest, values = f"{_OF} AND kind = ?", [partition.key, kind]
    for name, mark in (("pinned", pinned), ("excluded", excluded)):
        if mark is not None:
            rest += f" AND {name} = {int(mark)}"  # in the text: only then is its index used
    place = () if after is None else (after[0], after[0], after[1])
    if after is not None:
        rest += " AND (said_at < ? OR (said_at = ? AND id < ?))"
    rest += " ORDER BY said_at DESC, id DESC LIMIT ?"
    return STATEMENTS.all(tx, rest, *values, *place, limit)


def about(tx: Tx, partition: Partition, some: Collection[Statement]) -> list[Statement]:
    """These statements and all others that may bear on whether they are current: those of the same
    slot, and those that links name."""
    found: dict[str, Statement] = {}
    fresh = {one.id: one for one in some}
    while fresh:
        found |= fresh
        near = {
            name
            for link in links_about(tx, partition, fresh)
            for name in (link.target_id, link.by_id)
            if name is not None
        }
        more = _among(tx, partition, "slot", {slot_of(one) for one in fresh.values()})
        more += by_ids(tx, partition, near - found.keys())
        fresh = {one.id: one for one in more if one.id not in found}
    return list(found.values())


def links_about(tx: Tx, partition: Partition, ids: Collection[str]) -> list[Link]:
    """The links whose target or successor is among these statements."""
    found: dict[str, Link] = {}
    for column in ("target_id", "by_id"):
        sql = f"SELECT part, {LINKS.columns} FROM statement_links WHERE user_id = ? AND {column}"
        for row in rows_in(tx, sql, ids):
            if row[0] == partition.key:
                found[row[1]] = LINKS.value(row[1:])
    return list(found.values())


def count(tx: Tx, partition: Partition, kind: Kind) -> int:
    """How many statements of a kind there are."""
    row = tx.one(
        "SELECT COUNT(*) FROM statements WHERE user_id = ? AND part = ? AND kind = ?",
        (tx.user, partition.key, kind),
    )
    return 0 if row is None else int(row[0])


def mark(tx: Tx, partition: Partition, ids: Collection[str], **flags: bool) -> None:
    """Set `pinned` or `excluded` of statements."""
    changes = ", ".join(f"{name} = {int(flag)}" for name, flag in flags.items())
    tx.many(
        f"UPDATE statements SET {changes} WHERE user_id = ? AND part = ? AND id = ?",
        [(tx.user, partition.key, one) for one in sorted(ids)],
    )


def remove(
    tx: Tx,
    partition: Partition,
    gone: Collection[Statement],
    links: Collection[Link] = (),
    *,
    now: int,
    forever: bool = False,
) -> None:
    """Delete statements, every link to or from them, and these links. `forever`: the same quote of
    the same message is not taken down again."""
    where = (tx.user, partition.key)
    for one in gone:
        tx.run("DELETE FROM statements WHERE user_id = ? AND part = ? AND id = ?", (*where, one.id))
        tx.run(
            "DELETE FROM statement_links WHERE user_id = ? AND part = ?"
            " AND (target_id = ? OR by_id = ?)",
            (*where, one.id, one.id),
        )
        if forever and one.session_id is not None:
            tx.run(
                "INSERT INTO forgotten_statements (user_id, part, hash) VALUES (?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                (*where, _mark(one)),
            )
    tx.many(
        "DELETE FROM statement_links WHERE user_id = ? AND part = ? AND id = ?",
        [(*where, link.id) for link in links],
    )
    if gone or links:
        changed(tx, partition, now)


def slot_of(one: Statement) -> str:
    """The matter that a statement is about: of two with one slot the newer is current."""
    matter = plain(one.attribute) or f"#{plain(one.text)}"
    if one.kind == "instruction":
        matter = f"#{plain(one.quote or one.text)}"
    slot = (one.kind, one.advisor_id or "", plain(one.subject), matter)
    return msgspec.json.encode(slot).decode()


def plain(words: str) -> str:
    """Words as they are compared."""
    return " ".join(words.casefold().split())


def _mark(one: Statement) -> str:
    """The name under which a forgotten statement is known: a hash, never its words."""
    return content_hash(msgspec.json.encode((one.kind, one.place, one.quote or one.text)).decode())


def _forgotten(tx: Tx, partition: Partition, marks: Collection[str]) -> set[str]:
    sql = "SELECT hash, part FROM forgotten_statements WHERE user_id = ? AND hash"
    return {row[0] for row in rows_in(tx, sql, marks) if row[1] == partition.key}


def version(tx: Tx, partition: Partition) -> tuple[int, int | None]:
    """How often the profile was changed, and when last."""
    row = tx.one(
        "SELECT version, updated_at FROM profiles WHERE user_id = ? AND part = ?",
        (tx.user, partition.key),
    )
    return (0, None) if row is None else (int(row[0]), int(row[1]))


def changed(tx: Tx, partition: Partition, now: int) -> None:
    """Count a change of the profile."""
    tx.run(
        "INSERT INTO profiles (user_id, part, version, updated_at) VALUES (?, ?, 1, ?)"
        " ON CONFLICT (user_id, part) DO UPDATE SET version = profiles.version + 1,"
        " updated_at = excluded.updated_at",
        (tx.user, partition.key, now),
    )
