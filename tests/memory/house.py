"""A small memory for tests: sessions of a few messages, asked in one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from polyvox.memory.recall import recall
from polyvox.memory.transcript import Ingested, ingest
from polyvox.memory.values import Item, Message, Partition
from polyvox.store.database import Database, Row, Tx, Value
from polyvox.values import Scope

ME, YOU = Scope("me"), Scope("you")
HERE, THERE = Partition("app", "anna"), Partition("app", "bert")
DAY = 86_400_000_000
START = 1_700_000_000_000_000
"""A Tuesday: 14 November 2023, 22:13:20 UTC."""
NOW = START + 400 * DAY


def talk(*texts: str, at: int | None = START, advisor: str | None = None) -> list[Message]:
    """The user speaks first, then they take turns, a minute apart."""
    return [
        Message(
            "assistant" if place % 2 else "user",
            text,
            None if at is None else at + place * 60_000_000,
            advisor if place % 2 else None,
        )
        for place, text in enumerate(texts)
    ]


async def tell(
    database: Database,
    session: str,
    messages: Sequence[Message],
    *,
    scope: Scope = ME,
    partition: Partition = HERE,
    persona: str | None = None,
    cloud: bool = True,
    started_at: int = START,
) -> Ingested:
    """Ingest a session."""
    return await database.write(
        lambda tx: ingest(
            tx,
            partition,
            session,
            persona,
            started_at,
            started_at + DAY // 24,
            messages,
            cloud=cloud,
        ),
        scope,
    )


async def ask(
    database: Database,
    query: str,
    *,
    scope: Scope = ME,
    partition: Partition = HERE,
    **options: Any,
) -> list[Item]:
    """Recall, asked at a time long after everything."""
    options.setdefault("reference_time", NOW)
    return await database.read(lambda tx: recall(tx, partition, query, **options), scope)


async def texts(database: Database, query: str, **options: Any) -> list[str]:
    """Only what the items say."""
    return [item.text for item in await ask(database, query, **options)]


class Counted:
    """A transaction that counts what goes through it, and may die before a statement."""

    def __init__(self, tx: Tx, most: int | None = None) -> None:
        self._tx = tx
        self.dialect = tx.dialect
        self.statements = 0
        self.rows = 0
        self._most = most

    @property
    def scope(self) -> Scope:
        return self._tx.scope

    @property
    def user(self) -> str:
        return self._tx.user

    def of(self, scope: Scope) -> Tx:
        return self._tx.of(scope)

    def _count(self) -> None:
        self.statements += 1
        if self._most is not None and self.statements > self._most:
            raise Killed

    def run(self, sql: str, params: Sequence[Value] = ()) -> int:
        self._count()
        return self._tx.run(sql, params)

    def many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        self._count()
        self._tx.many(sql, rows)

    def one(self, sql: str, params: Sequence[Value] = ()) -> Row | None:
        self._count()
        return self._tx.one(sql, params)

    def all(self, sql: str, params: Sequence[Value] = ()) -> list[Row]:
        self._count()
        found = self._tx.all(sql, params)
        self.rows += len(found)
        return found


def rows_that(tx: Tx, hold: Callable[[str], bool]) -> dict[str, list[Any]]:
    """The rows of every table that hold something, by table; not of an index that has no words."""
    if tx.dialect == "sqlite":
        names = tx.all("SELECT name FROM sqlite_master WHERE type = 'table'")
    else:
        names = tx.all("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
    found = {}
    for (name,) in names:
        if not name.startswith(("episode_words", "passage_words")):
            held = [row for row in tx.all(f"SELECT * FROM {name}") if hold(repr(row))]
            if held:
                found[name] = held
    return found


class Killed(Exception):
    """Somebody pulled the plug."""
