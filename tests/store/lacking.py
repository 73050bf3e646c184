"""A PostgreSQL server without pgvector: everything is real but the lists of its extensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from polyvox.store.database import Database, Dialect, Row, Tx, Value
from polyvox.values import Scope

T = TypeVar("T")


class LackingTx:
    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.run = tx.run
        self.many = tx.many
        self.all = tx.all

    @property
    def dialect(self) -> Dialect:
        return self._tx.dialect

    @property
    def scope(self) -> Scope:
        return self._tx.scope

    @property
    def user(self) -> str:
        return self._tx.user

    def of(self, scope: Scope) -> Tx:
        return self._tx.of(scope)

    def one(self, sql: str, params: Sequence[Value] = ()) -> Row | None:
        if "pg_extension" in sql or "pg_available_extensions" in sql:
            return None
        return self._tx.one(sql, params)


class Lacking:
    def __init__(self, database: Database) -> None:
        self._database = database
        self.close = database.close

    @property
    def dialect(self) -> Dialect:
        return self._database.dialect

    @property
    def commits(self) -> int:
        return self._database.commits

    @property
    def url(self) -> str:
        return str(getattr(self._database, "url", ""))

    async def write(self, work: Callable[[Tx], T], scope: Scope | None = None) -> T:
        return await self._database.write(lambda tx: work(LackingTx(tx)), scope)

    async def read(self, work: Callable[[Tx], T], scope: Scope | None = None) -> T:
        return await self._database.read(lambda tx: work(LackingTx(tx)), scope)
