"""The two databases behind one small contract: a transaction on a thread that may block.

Rooms write SQL once, with `?` for parameters, and run it inside `read` or `write`. The work given
to them is an ordinary function: it gets a `Tx`, runs statements, returns a value. It runs on a
thread of the database's own, so it must touch nothing but its arguments. It may run again when a
transaction failed under it, so it must not remember anything from one run to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeVar

from polyvox.values import Scope

T = TypeVar("T")
Dialect = Literal["sqlite", "postgresql"]
Value = str | int | float | bytes | None
Row = tuple[Any, ...]


class Tx(Protocol):
    """Statements of one transaction, bound to the user whose rows it may touch. Work that belongs
    to no user (migrations, claiming jobs) has no `scope`; asking for it raises AttributeError."""

    @property
    def scope(self) -> Scope:
        """The user as a value."""
        ...

    @property
    def user(self) -> str:
        """The user's id: the first condition of every statement."""
        ...

    def of(self, scope: Scope) -> Tx:
        """The same transaction, bound to another user."""
        ...

    @property
    def dialect(self) -> Dialect:
        """The kind of database."""
        ...

    def run(self, sql: str, params: Sequence[Value] = ()) -> int:
        """Run one statement; answers how many rows it touched."""
        ...

    def many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Run one statement for each row of parameters."""
        ...

    def one(self, sql: str, params: Sequence[Value] = ()) -> Row | None:
        """The first row, or None."""
        ...

    def all(self, sql: str, params: Sequence[Value] = ()) -> list[Row]:
        """All rows."""
        ...


class Database(Protocol):
    """A store of rows. `write` is durable against a killed process when it returns."""

    @property
    def dialect(self) -> Dialect:
        """The kind of database."""
        ...

    @property
    def commits(self) -> int:
        """Transactions committed by `write` so far."""
        ...

    async def write(self, work: Callable[[Tx], T], scope: Scope | None = None) -> T:
        """Run `work` in a transaction of this user that may write. All of it is stored, or nothing.
        Raises StoreFull / StoreError for a database that cannot take it; whatever `work` itself
        raises passes through after a rollback."""
        ...

    async def read(self, work: Callable[[Tx], T], scope: Scope | None = None) -> T:
        """Run `work` in a snapshot of this user's rows that only reads. Readers never wait for the
        writer."""
        ...

    async def close(self) -> None:
        """Finish what is queued, then let go of every connection."""
        ...
