"""Shelves: which word occurs in which text, kept apart for everyone who may not see the other.

A shelf holds the words of what one owner (everybody, or one advisor) said in one role inside one
partition of a user's, for cloud models or not. Each word is indexed together with the mark of its
shelf, so whoever asks names the shelves that they may see, and neither what is found nor how often
a word counts depends on anything else that is stored. FTS5 on SQLite, tsvector on PostgreSQL; both
hold the same words, cut and stemmed before they get here.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from polyvox.store.database import Tx, Value
from polyvox.values import Scope

MARK_CHARS = 10
NUMBERS = {"cloud": "INTEGER", "docs": "BIGINT", "words": "BIGINT"}
"""The columns of the counts that are no text."""
SHARED = ""
"""The owner of what every advisor may know."""
CLAIM = "claim"
"""The role of what nobody said: a claim."""
OWNER = f"CASE WHEN role = 'user' THEN '{SHARED}' ELSE COALESCE(advisor_id, '{SHARED}') END"
"""Whose an episode is (`remembered.owner_of`), for the database."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where a text's words stand."""

    part: str
    owner: str
    role: str
    cloud: bool

    def mark(self, scope: Scope) -> str:
        """What its words begin with; of one length, so that no two shelves share a word."""
        return _mark(scope.user, self)


@lru_cache(maxsize=1024)
def _mark(user: str, shelf: Shelf) -> str:
    name = json.dumps([user, shelf.part, shelf.owner, shelf.role, shelf.cloud])
    digest = hashlib.sha256(name.encode()).digest()
    return base64.b32encode(digest)[:MARK_CHARS].decode().lower()


@dataclass(frozen=True, slots=True)
class Stock:
    """How much stands on a shelf."""

    shelf: Shelf
    docs: int
    words: int


@dataclass(frozen=True, slots=True)
class Doc:
    """A text to be found: its number (negative: a claim's) and its words, in order."""

    number: int
    shelf: Shelf
    terms: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """Its different words; who speaks is not one of them."""
        return sorted({term for term in self.terms if not term.startswith("@")})


def marked(scope: Scope, doc: Doc) -> list[str]:
    """The words of a text as they are indexed."""
    mark = doc.shelf.mark(scope)
    return [mark + plain(word) for word in doc.words]


def plain(word: str) -> str:
    """A word in ASCII alone, so that no database cuts it as its own tables of letters say."""
    return f"w{word}" if word.isascii() else f"x{word.encode().hex()}"


def vector(scope: Scope, doc: Doc) -> str:
    """The words of a text as PostgreSQL takes them (they hold nothing that must be escaped)."""
    return " ".join(f"'{word}'" for word in marked(scope, doc))


def place(tx: Tx, docs: Sequence[Doc]) -> None:
    """Put texts on their shelves. (On PostgreSQL their vectors are columns of their own rows.)"""
    if tx.dialect == "sqlite":
        tx.many(
            "INSERT INTO episode_words (rowid, words) VALUES (?, ?)",
            [(doc.number, " ".join(marked(tx.scope, doc))) for doc in docs],
        )
    _count(tx, docs, 1)


def take(tx: Tx, docs: Sequence[Doc]) -> None:
    """Take texts off their shelves, their vectors too; `terms` must be what was placed."""
    drop_vectors(tx, [(doc.shelf.mark(tx.scope), doc.number) for doc in docs])
    if tx.dialect == "sqlite":
        tx.many(
            "INSERT INTO episode_words (episode_words, rowid, words) VALUES ('delete', ?, ?)",
            [(doc.number, " ".join(marked(tx.scope, doc))) for doc in docs],
        )
    _count(tx, docs, -1)


def drop_vectors(tx: Tx, places: Sequence[tuple[str, int]]) -> None:
    """Delete the vectors of texts, by the mark of their shelf and their number."""
    tx.many(
        "DELETE FROM vectors WHERE user_id = ? AND doc = ?",
        [(tx.user, number) for _, number in places],
    )
    tx.many(
        "DELETE FROM vector_bits WHERE user_id = ? AND mark = ? AND doc = ?",
        [(tx.user, mark, number) for mark, number in places],
    )


def stocks(tx: Tx, part: str) -> list[Stock]:
    """Every shelf of a partition on which something stands."""
    rows = tx.all(
        "SELECT owner, role, cloud, docs, words FROM shelves"
        " WHERE user_id = ? AND part = ? AND docs > 0",
        (tx.user, part),
    )
    return [
        Stock(Shelf(part, owner, role, bool(cloud)), docs, words)
        for owner, role, cloud, docs, words in rows
    ]


def occurrences(tx: Tx, shelves: Iterable[Shelf], words: Sequence[str]) -> dict[str, int]:
    """In how many texts on these shelves each word occurs; a word that occurs in none is left
    out."""
    counted = occurrences_on(tx, shelves, words)
    return {word: sum(docs.values()) for word, docs in counted.items()}


def occurrences_on(
    tx: Tx, shelves: Iterable[Shelf], words: Sequence[str]
) -> dict[str, dict[Shelf, int]]:
    """The same for each of these shelves; those without the word are left out."""
    by_mark = {shelf.mark(tx.scope): shelf for shelf in shelves}
    if not by_mark or not words:
        return {}
    query = "SELECT word, mark, docs FROM shelf_words WHERE user_id = ?"
    if tx.dialect == "postgresql":
        # One text for any number of them, so that it is planned once.
        some = "ANY(ARRAY(SELECT json_array_elements_text(CAST(? AS JSON))))"
        lists = json.dumps(list(by_mark)), json.dumps(list(words))
        rows = tx.all(f"{query} AND mark = {some} AND word = {some}", (tx.user, *lists))
    else:
        rows = tx.all(
            f"{query} AND mark IN ({_marks(by_mark)}) AND word IN ({_marks(words)})",
            (tx.user, *by_mark, *words),
        )
    found: dict[str, dict[Shelf, int]] = {}
    for word, mark, docs in rows:
        found.setdefault(word, {})[by_mark[mark]] = docs
    return found


def postings(
    tx: Tx, shelves: Sequence[Shelf], word: str, most: int, until: int | None = None
) -> list[int]:
    """The numbers of the texts on these shelves that hold a word, the last stored first, at most
    so many; with `until`, only what was said by then."""
    part = _part(shelves)
    if tx.dialect == "sqlite":
        wanted = _match(tx.scope, shelves, word)
        found = "SELECT rowid FROM episode_words WHERE episode_words MATCH ?"
        params: tuple[Value, ...] = (wanted,)
        if until is not None:
            found = (
                "SELECT w.rowid FROM episode_words w JOIN episodes e ON e.doc = w.rowid"
                " WHERE episode_words MATCH ? AND e.at <= ?"
                " UNION ALL SELECT w.rowid FROM episode_words w JOIN claims c"
                " ON c.number = -w.rowid WHERE episode_words MATCH ? AND c.at <= ?"
            )
            params = (wanted, until, wanted, until)
        rows = tx.all(f"{found} ORDER BY 1 DESC LIMIT ?", (*params, most))
    else:
        found = _named("CAST(? AS TSQUERY)", until)
        each = (_query(tx.scope, shelves, word), *_place_of(tx.scope, part, until))
        rows = tx.all(f"{found} ORDER BY 1 DESC LIMIT ?", (*each, *each, most))
    return [row[0] for row in rows]


def postings_each(
    tx: Tx,
    asked: Sequence[tuple[Sequence[str], Shelf]],
    most: int,
    until: int | None = None,
    *,
    few: bool,
) -> list[list[int]]:
    """The texts that hold a word in any of its forms, for each word and shelf by itself, the last
    stored first. `few`: no word is in more than `most` texts, so everything is read at once."""
    if not asked:
        return []
    if not few or (tx.dialect == "sqlite" and until is not None):
        return [
            sorted({doc for form in forms for doc in postings(tx, [shelf], form, most, until)})[
                ::-1
            ]
            for forms, shelf in asked
        ]
    # One text for any number of words, so that it is planned once.
    if tx.dialect == "sqlite":
        match = [
            " OR ".join(_match(tx.scope, [shelf], form) for form in forms) for forms, shelf in asked
        ]
        rows = tx.all(
            "SELECT (SELECT json_group_array(rowid) FROM episode_words"
            " WHERE episode_words MATCH value) FROM json_each(?) ORDER BY key",
            (json.dumps(match),),
        )
    else:
        queries = [
            " | ".join(_query(tx.scope, [shelf], form) for form in forms) for forms, shelf in asked
        ]
        part = _part(shelf for _, shelf in asked)
        rows = tx.all(
            f"SELECT (SELECT json_agg(number) FROM ({_named('CAST(one AS TSQUERY)', until)}) AS it)"
            " FROM json_array_elements_text(CAST(? AS JSON)) WITH ORDINALITY AS asked (one, n)"
            " ORDER BY n",
            (*_place_of(tx.scope, part, until) * 2, json.dumps(queries)),
        )
    return [_newest(row[0]) for row in rows]


def _newest(docs: str | list[int] | None) -> list[int]:
    """A list of numbers as a database tells it, the last first."""
    numbers = msgspec.json.decode(docs, type=list[int]) if isinstance(docs, str) else docs or []
    numbers.sort(reverse=True)
    return numbers


def _match(scope: Scope, shelves: Iterable[Shelf], word: str) -> str:
    """A word on these shelves, as FTS5 asks for it."""
    return " OR ".join(f'"{shelf.mark(scope)}{plain(word)}"' for shelf in shelves)


def _part(shelves: Iterable[Shelf]) -> str:
    parts = {shelf.part for shelf in shelves}
    if len(parts) != 1:
        raise ValueError("a search is inside one partition")
    return parts.pop()


def _query(scope: Scope, shelves: Iterable[Shelf], word: str) -> str:
    """A word on these shelves, as PostgreSQL asks for it."""
    return " | ".join(f"'{shelf.mark(scope)}{plain(word)}'" for shelf in shelves)


def _place_of(scope: Scope, part: str, until: int | None) -> tuple[Value, ...]:
    return (scope.user, part) if until is None else (scope.user, part, until)


def _named(wanted: str, until: int | None) -> str:
    """The query for the numbers of the texts that hold a word, on PostgreSQL. It takes `_place_of`
    twice."""
    time = "" if until is None else " AND at <= ?"
    # The word is looked up first: without statistics PostgreSQL would walk the partition.
    return " UNION ALL ".join(
        f"SELECT number FROM (SELECT {number} AS number, user_id, part, at FROM {table}"
        f" WHERE words @@ {wanted} OFFSET 0) AS found WHERE user_id = ? AND part = ?{time}"
        for table, number in (("episodes", "doc"), ("claims", "-number"))
    )


def _count(tx: Tx, docs: Sequence[Doc], sign: int) -> None:
    """Keep the counts true. In a fixed order, so that two writers never wait for each other."""
    sizes: dict[Shelf, list[int]] = {}
    words: Counter[tuple[str, str]] = Counter()
    for doc in docs:
        size = sizes.setdefault(doc.shelf, [0, 0])
        size[0] += 1
        size[1] += len(doc.terms)
        mark = doc.shelf.mark(tx.scope)
        words.update((mark, word) for word in doc.words)
    _add(
        tx,
        "shelves",
        "user_id, part, owner, role, cloud",
        {
            (tx.user, s.part, s.owner, s.role, int(s.cloud)): (sign * n, sign * length)
            for s, (n, length) in sizes.items()
        },
        ("docs", "words"),
    )
    _add(
        tx,
        "shelf_words",
        "user_id, mark, word",
        {(tx.user, mark, word): (sign * n,) for (mark, word), n in words.items()},
        ("docs",),
    )
    if sign < 0:
        tx.many(
            "DELETE FROM shelf_words WHERE user_id = ? AND mark = ? AND word = ? AND docs <= 0",
            [(tx.user, mark, word) for mark, word in sorted(words)],
        )
        tx.many(
            "DELETE FROM shelves WHERE user_id = ? AND part = ? AND owner = ? AND role = ?"
            " AND cloud = ? AND docs <= 0",
            [(tx.user, s.part, s.owner, s.role, int(s.cloud)) for s in sizes],
        )


def _add(
    tx: Tx,
    table: str,
    key: str,
    changes: Mapping[tuple[str | int, ...], tuple[int, ...]],
    columns: tuple[str, ...],
) -> None:
    names = [*key.split(", "), *columns]
    sums = ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in columns)
    insert_many(
        tx,
        table,
        {name: NUMBERS.get(name, "TEXT") for name in names},
        [(*row, *change) for row, change in sorted(changes.items())],
        f"ON CONFLICT ({key}) DO UPDATE SET {sums}",
    )


def _marks(values: Collection[str]) -> str:
    return ", ".join("?" * len(values))


# -- many rows at once -----------------------------------------------------------------------------


def insert_many(
    tx: Tx,
    table: str,
    columns: Mapping[str, str],
    rows: Sequence[Sequence[Value]],
    also: str = "",
) -> None:
    """Put rows into a table; `columns` with their types, `also`: what to do on a conflict."""
    names = list(columns)
    into = f"INSERT INTO {table} ({', '.join(names)})"
    if tx.dialect == "postgresql":
        types = ", ".join(f"{name} {type_}" for name, type_ in columns.items())
        tx.run(
            f"{into} SELECT {', '.join(names)} FROM json_to_recordset(CAST(? AS JSON))"
            f" AS new ({types}) {also}",
            (json.dumps([dict(zip(names, row, strict=True)) for row in rows]),),
        )
    else:
        tx.many(f"{into} VALUES ({', '.join('?' * len(names))}) {also}", rows)
