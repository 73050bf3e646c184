"""What is remembered, as values, and how messages are numbered in the index.

A number is made of the session's, the message's place in it and a count at that place, so that
neighbours are found by arithmetic. Users' messages have even places and the answers to one share
the next odd one: no advisor's places depend on what others answered.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from polyvox.memory.tables import shelves
from polyvox.memory.tables.shelves import OWNER, SHARED, Shelf
from polyvox.store.database import Row, Tx, Value
from polyvox.values import Scope

Role = Literal["user", "assistant"]
OWN_TENANT = "polyvox"
"""The tenant of the person's own memory on this account."""

SUB_BITS, PLACE_BITS = 8, 20
SESSION_BITS = SUB_BITS + PLACE_BITS
SUBS = 1 << SUB_BITS


@dataclass(frozen=True, slots=True)
class Partition:
    """A memory inside a user's account. No read or write crosses from one to another."""

    tenant: str
    user: str

    @classmethod
    def own(cls, scope: Scope) -> Partition:
        """The person's own memory."""
        return cls(OWN_TENANT, scope.user)

    @property
    def key(self) -> str:
        """This partition as one text that no other has."""
        return _key(self)


@lru_cache(maxsize=1024)
def _key(partition: Partition) -> str:
    return json.dumps([partition.tenant, partition.user], ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a transcript."""

    role: Role
    text: str
    said_at: int | None = None
    advisor_id: str | None = None
    """Who answered. What an advisor said is its own; other advisors do not recall it. An answer
    without a name, like every message of the user's, is for all."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A session that was ingested."""

    session_id: str
    persona_id: str | None
    started_at: int
    ended_at: int
    messages: int
    """How many were ingested, forgotten ones included."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One remembered message."""

    session_id: str
    index: int
    role: Role
    advisor_id: str | None
    text: str
    said_at: int | None
    excluded: bool = False
    pinned: bool = False

    @property
    def id(self) -> str:
        """How this episode is named from outside."""
        return f"{self.session_id}#{self.index}"


@dataclass(frozen=True, slots=True)
class Stored:
    """An episode as the index knows it."""

    doc: int
    episode: Episode
    at: int
    """When it was said; where nobody knows, when its session began."""
    cloud: bool
    terms: tuple[str, ...]

    def shelf(self, partition: Partition) -> Shelf:
        """Where its words stand."""
        said = self.episode
        return Shelf(partition.key, owner_of(said.role, said.advisor_id), said.role, self.cloud)


def owner_of(role: Role, advisor_id: str | None) -> str:
    """Whose a message is: the person's words are for all, and so is an answer of nobody's."""
    return SHARED if role == "user" else advisor_id or SHARED


@dataclass(frozen=True, slots=True)
class New:
    """A message with the words it is found by."""

    message: Message
    terms: tuple[str, ...]


def placed(
    number: int,
    known: int,
    stored: Sequence[Stored],
    fresh: Sequence[New],
    session_id: str,
    started_at: int,
    cloud: bool,
) -> list[Stored]:
    """The new messages, each with its number; the first comes after the last one stored."""
    mask = (1 << PLACE_BITS) - 1
    last = stored[-1].doc if stored else None
    # A forgotten tail leaves its places free, and nobody can tell: only their order matters.
    place, sub = (0, 0) if last is None else ((last >> SUB_BITS) & mask, last & (SUBS - 1))
    found = []
    for index, new in enumerate(fresh, known):
        odd = new.message.role == "assistant"
        if odd and place % 2 == 1 and sub < SUBS - 1:
            sub += 1
        else:
            place, sub = place + (1 if (place + 1) % 2 == odd else 2), 0
        said = new.message.said_at
        doc = number << SESSION_BITS | place << SUB_BITS | sub
        episode = Episode(
            session_id, index, new.message.role, new.message.advisor_id, new.message.text, said
        )
        found.append(Stored(doc, episode, started_at if said is None else said, cloud, new.terms))
    return found


# -- episodes as rows: put there together, and read by their numbers -------------------------------

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
    shelves.insert_many(
        tx, "episodes", COLUMNS | ({"words": "TSVECTOR"} if postgres else {}), values
    )


# -- where the episodes of a session came from -----------------------------------------------------

MANY = 400


def of_session(tx: Tx, partition: Partition, session_id: str) -> dict[int, str]:
    """References by the index of the message; what was forgotten is still listed."""
    rows = tx.all(
        "SELECT message_index, ref FROM episode_sources"
        " WHERE user_id = ? AND part = ? AND session_id = ?",
        (tx.user, partition.key, session_id),
    )
    return dict(rows)


def keep(tx: Tx, partition: Partition, session_id: str, refs: Mapping[int, str]) -> None:
    """These messages came from there."""
    tx.many(
        "INSERT INTO episode_sources (user_id, part, session_id, message_index, ref)"
        " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [(tx.user, partition.key, session_id, index, ref) for index, ref in refs.items()],
    )


def places(tx: Tx, partition: Partition, refs: Iterable[str]) -> list[tuple[str, int, str]]:
    """Under which session and index each of these was ingested, as far as it was: (session, index,
    reference)."""
    wanted = sorted(set(refs))
    found: list[tuple[str, int, str]] = []
    for start in range(0, len(wanted), MANY):
        some = wanted[start : start + MANY]
        found += tx.all(
            "SELECT session_id, message_index, ref FROM episode_sources"
            " WHERE user_id = ? AND part = ?"
            f" AND ref IN ({', '.join('?' * len(some))}) ORDER BY session_id, message_index",
            (tx.user, partition.key, *some),
        )
    return found
