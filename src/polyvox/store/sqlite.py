"""SQLite: one writer that groups commits, a few readers, any number of other processes.

Invariants: a write is answered only after the COMMIT that holds it; works that share a
transaction cannot harm each other (each has a savepoint, and whatever spoils the shared
transaction makes each of them run again alone); every write takes the write lock first
(BEGIN IMMEDIATE), so work that reads before it writes sees what it will change.
With `synchronous=NORMAL` a commit survives a killed process, not a power cut.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polyvox.errors import ConfigError, Conflict, PolyvoxError, StoreError, StoreFull, TooLarge
from polyvox.store.database import Dialect, Row, Value
from polyvox.store.lane import Lane, Lanes, WorkItem
from polyvox.values import Scope

BUSY_SECONDS = 5.0
READERS = 4
GROUP = 64
STATEMENTS = 512
WAL_BYTES = 32 * 1024 * 1024
ALMOST_NOTHING = 1024 * 1024


class SqliteTx:
    """Statements on one connection."""

    __slots__ = ("_connection", "scope", "user")
    dialect: Dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection, scope: Scope | None = None) -> None:
        self._connection = connection
        if scope is not None:
            self.scope = scope
            self.user = scope.user

    def of(self, scope: Scope) -> SqliteTx:
        """The same transaction, bound to another user."""
        return SqliteTx(self._connection, scope)

    def run(self, sql: str, params: Sequence[Value] = ()) -> int:
        """Run one statement; answers how many rows it touched."""
        return self._connection.execute(sql, params).rowcount

    def many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Run one statement for each row of parameters."""
        self._connection.executemany(sql, rows)

    def one(self, sql: str, params: Sequence[Value] = ()) -> Row | None:
        """The first row, or None."""
        row: Row | None = self._connection.execute(sql, params).fetchone()
        return row

    def all(self, sql: str, params: Sequence[Value] = ()) -> list[Row]:
        """All rows."""
        return self._connection.execute(sql, params).fetchall()


class SqliteDatabase(Lanes):
    """A database file. Its directory and tables exist already (`open_database` sees to it)."""

    dialect: Dialect = "sqlite"

    def __init__(self, path: Path, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path = path
        super().__init__(
            Lane("writer", lambda: _WriteConnection(self, busy_seconds), batch=GROUP),
            Lane("reader", lambda: _ReadConnection(path, busy_seconds), threads=READERS),
        )


class _WriteConnection:
    """The connection that writes, for all tasks of this process."""

    def __init__(self, owner: SqliteDatabase, busy_seconds: float) -> None:
        self._owner = owner
        self._connection = connect(owner.path, busy_seconds)

    def run(self, items: list[WorkItem[Any]]) -> None:
        if len(items) == 1 or not self._together(items):
            for item in items:
                self._alone(item)

    def rest(self) -> None:
        """Nothing is left to do."""

    def close(self) -> None:
        try:
            self._connection.execute("PRAGMA optimize")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error:
            # Housekeeping only: everything is committed, and the next program to open does it.
            pass
        finally:
            self._connection.close()

    def _alone(self, item: WorkItem[Any]) -> None:
        connection = self._connection
        item.result = item.error = None
        try:
            connection.execute("BEGIN IMMEDIATE")
            item.result = item.work(SqliteTx(self._connection, item.scope))
            connection.execute("COMMIT")
            self._owner.committed()
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is awaited
            item.error = explain(error, self._owner.path)
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _together(self, items: list[WorkItem[Any]]) -> bool:
        """Run all items in one transaction; False, with nothing stored, where that cannot be."""
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            # Locked: said to all at once, or each would wait out the busy timeout in its turn.
            raise explain(error, self._owner.path) from error
        try:
            for item in items:
                connection.execute("SAVEPOINT item")
                try:
                    item.result = item.work(SqliteTx(self._connection, item.scope))
                except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
                    item.error = explain(error, self._owner.path)
                    # A full disk or an I/O error may have rolled everything back already; then
                    # this fails and every item runs again alone.
                    connection.execute("ROLLBACK TO item")
                connection.execute("RELEASE item")
            connection.execute("COMMIT")
        except sqlite3.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            return False
        self._owner.committed()
        return True


class _ReadConnection:
    """A connection that cannot write."""

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self._path = path
        self._connection = connect(path, busy_seconds, read_only=True)

    def run(self, items: list[WorkItem[Any]]) -> None:
        connection = self._connection
        for item in items:
            if item.future.cancelled():
                continue
            try:
                connection.execute("BEGIN")
                item.result = item.work(SqliteTx(self._connection, item.scope))
            except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
                item.error = explain(error, self._path)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def rest(self) -> None:
        """Nothing is left to do."""

    def close(self) -> None:
        self._connection.close()


def connect(
    path: Path, busy_seconds: float = BUSY_SECONDS, *, read_only: bool = False
) -> sqlite3.Connection:
    """Open a connection with our settings; it belongs to the calling thread."""
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite3.connect(
            # A reader also writes to the shared index of the WAL; query_only keeps it from more.
            f"{path.absolute().as_uri()}?mode={'rw' if read_only else 'rwc'}",
            uri=True,
            timeout=busy_seconds,
            isolation_level=None,
            cached_statements=STATEMENTS,
        )
        # How many signs of two vectors differ. Asked so, 100,000 rows take 150 ms; fetched first
        # and compared then, twice as long.
        connection.create_function("apart", 2, _apart, deterministic=True)
        if read_only:
            connection.execute("PRAGMA query_only = ON")
        else:
            _use_wal(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        raise explain(error, path) from error
    return connection


def _apart(left: bytes, other: bytes) -> int:
    return (int.from_bytes(left, "big") ^ int.from_bytes(other, "big")).bit_count()


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging. SQLite does not wait for a busy file here, so where two
    programs create it at once the loser waits for the write lock (which does wait) and retries."""
    for _ in range(20):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if primary(error) != sqlite3.SQLITE_BUSY:
                raise
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        else:
            return
    connection.execute("PRAGMA journal_mode = WAL")


def primary(error: sqlite3.Error) -> int:
    """SQLite's result code without its extension (0 where the error is not SQLite's)."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def explain(error: BaseException, path: Path) -> BaseException:
    """Map SQLite's error to ours. Errors that are not the database's fault pass unchanged."""
    if not isinstance(error, sqlite3.Error):
        return error
    explained = _explanation(error, path)
    if explained is None:
        return error
    explained.__cause__ = error
    return explained


def _explanation(error: sqlite3.Error, path: Path) -> PolyvoxError | None:
    code = primary(error)
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _no_space(path)):
        return StoreFull(
            f"There is no space left for the database {path}.",
            "Free some space on that disk and try again; what was stored before is safe.",
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreError(
            f"The database is locked by another program ({path}).",
            "Wait a moment and try again, or end the program that holds it.",
        )
    if code == sqlite3.SQLITE_NOTADB:
        return ConfigError(
            f"{path} is not a database that Polyvox can read.",
            "Choose another file with the setting `database`, or move this one away.",
        )
    if code == sqlite3.SQLITE_CORRUPT:
        return StoreError(
            f"The database {path} is damaged: {error}.",
            "Move it away and put a backup (a .bak file beside it) in its place.",
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return StoreError(
            f"The database {path} cannot be opened for writing: {error}.",
            "Check that the file and its directory exist and belong to you.",
        )
    if code == sqlite3.SQLITE_IOERR:
        return StoreError(
            f"The disk failed under the database {path}: {error}.", "Check that disk."
        )
    if code == sqlite3.SQLITE_CONSTRAINT:
        return Conflict("Another row already stands where this one should go.", "Try again.")
    if code == sqlite3.SQLITE_TOOBIG:
        return TooLarge("That text is larger than a database row can be.", "Send less at once.")
    return None


def _no_space(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < ALMOST_NOTHING
    except OSError:
        return False
