"""PostgreSQL behind the same contract: psycopg's plain connections, one per thread of a lane.

Writers run in READ COMMITTED, so work that reads before it writes must lock what it read (an
UPDATE, or FOR UPDATE). Work whose transaction lost to another one, or whose connection broke
before COMMIT was sent, runs again: it must be repeatable. A password is never part of a message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import errors as pg
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Dumper, Loader
from psycopg.postgres import adapters as _defaults
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int2Dumper

from polyvox.errors import ConfigError, Conflict, PolyvoxError, StoreError, StoreFull
from polyvox.ids import Clock
from polyvox.store.database import Dialect, Row, Value
from polyvox.store.lane import Lane, Lanes, WorkItem
from polyvox.store.migrate import Migration, migrate, not_migrated
from polyvox.values import Scope

WRITERS = 4
READERS = 4
TRIES = 5
CONNECT_SECONDS = 10
LOCK_SECONDS = 10
MIGRATION_SECONDS = 60
MIGRATION_LOCK = 0x706F6C79766F78
"""The advisory lock that a migration holds: the bytes of "polyvox"."""

URL = re.compile(
    r"""^postgres(?:ql)?://
        (?:(?P<user>[^:@/?\#\s]*)(?::[^:@/?\#\s]*)?@)?
        (?P<place>[^@?\#\s]*)
        (?:\?(?P<options>[^\#\s]*))?$""",
    re.VERBOSE,
)
_REPEAT = (pg.SerializationFailure, pg.DeadlockDetected)
_DENIED = (pg.InvalidPassword, pg.InvalidAuthorizationSpecification, pg.InvalidCatalogName)


class _Number(Loader):
    """NUMERIC as int where it is whole (the sum of BIGINTs is one), as SQLite has it."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        return float(text) if not text.lstrip("-").isdigit() else int(text)


class _Flag(Dumper):
    """bool as 0 or 1, as SQLite has it."""

    oid = Int2Dumper.oid

    def dump(self, obj: bool) -> bytes:
        return b"1" if obj else b"0"


def _adapters() -> AdaptersMap:
    adapters = AdaptersMap(_defaults)
    adapters.register_loader("numeric", _Number)
    adapters.register_dumper(bool, _Flag)
    return adapters


_translated: dict[str, str] = {}


def translate(sql: str) -> str:
    """Our `?` as psycopg's `%s`, worked out once for each statement."""
    translated = _translated.get(sql)
    if translated is None:
        if "%" in sql:
            raise ValueError(f"a percent sign in a statement belongs in a parameter: {sql}")
        translated = _translated[sql] = sql.replace("?", "%s")
    return translated


class PostgresTx:
    """Statements on one connection."""

    __slots__ = ("_connection", "scope", "user")
    dialect: Dialect = "postgresql"

    def __init__(self, connection: psycopg.Connection[Row], scope: Scope | None = None) -> None:
        self._connection = connection
        if scope is not None:
            self.scope = scope
            self.user = scope.user

    def of(self, scope: Scope) -> PostgresTx:
        """The same transaction, bound to another user."""
        return PostgresTx(self._connection, scope)

    def run(self, sql: str, params: Sequence[Value] = ()) -> int:
        """Run one statement; answers how many rows it touched."""
        return self._run(sql, params).rowcount

    def many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Run one statement for each row of parameters."""
        if not rows:
            return
        with self._connection.cursor() as cursor:
            cursor.executemany(translate(sql).encode(), rows)

    def one(self, sql: str, params: Sequence[Value] = ()) -> Row | None:
        """The first row, or None."""
        return self._run(sql, params).fetchone()

    def all(self, sql: str, params: Sequence[Value] = ()) -> list[Row]:
        """All rows."""
        return self._run(sql, params).fetchall()

    def _run(self, sql: str, params: Sequence[Value]) -> psycopg.Cursor[Row]:
        # Without parameters psycopg takes the text as it is.
        return self._connection.execute(translate(sql).encode(), params or None)


class PostgresDatabase(Lanes):
    """A PostgreSQL database whose tables are up to date (`open_database` sees to it)."""

    dialect: Dialect = "postgresql"

    def __init__(self, url: str) -> None:
        self.url = url
        reading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        super().__init__(
            Lane("writer", lambda: _Connection(self, "BEGIN"), threads=WRITERS),
            Lane("reader", lambda: _Connection(self, reading), threads=READERS),
        )


class _Connection:
    """A connection, made again where it broke."""

    def __init__(self, owner: PostgresDatabase, begin: str) -> None:
        self._owner = owner
        self._begin = begin.encode()
        self._writes = begin == "BEGIN"
        self._connection = connect(owner.url)

    def run(self, items: list[WorkItem[Any]]) -> None:
        for item in items:
            try:
                item.result = self._try(item)
            except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
                item.error = explain(error, self._owner.url)

    def rest(self) -> None:
        """End the transaction of what only read: nobody has to wait for that."""
        if not self._writes:
            self._end(b"COMMIT")

    def close(self) -> None:
        self._connection.close()

    def _try(self, item: WorkItem[Any]) -> object:
        for left in reversed(range(TRIES)):
            if self._connection.closed:
                self._connection = connect(self._owner.url)
            sent = False
            try:
                self._connection.execute(self._begin)
                result: object = item.work(PostgresTx(self._connection, item.scope))
                if self._writes:
                    sent = True
                    self._connection.execute(b"COMMIT")
            except _REPEAT:
                self._undo()
                if not left:
                    raise
            except BaseException:
                self._undo()
                # A connection that broke before COMMIT was sent has stored nothing.
                if sent or not left or not self._connection.closed:
                    raise
            else:
                if self._writes:
                    self._owner.committed()
                return result
        raise AssertionError("the last try returns or raises")

    def _undo(self) -> None:
        self._end(b"ROLLBACK")

    def _end(self, how: bytes) -> None:
        """End a transaction that leaves nothing behind; close a connection that cannot."""
        try:
            if self._connection.info.transaction_status != TransactionStatus.IDLE:
                self._connection.execute(how)
        except psycopg.Error:
            self._connection.close()


def connect(url: str, lock_seconds: int = LOCK_SECONDS) -> psycopg.Connection[Row]:
    """Open a connection with our settings. Transactions are begun by hand."""
    if URL.match(url) is None:
        # libpq would quote parts of such an address, and thereby perhaps of a password.
        raise ConfigError(
            "The database address is not a valid PostgreSQL address.",
            "Write postgresql://user:password@host:5432/name; "
            "write special characters in the password as %40 and so on.",
        )
    try:
        connection: psycopg.Connection[Row] = psycopg.connect(
            url,
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            application_name="polyvox",
            keepalives_idle=30,
            context=_Context(),
        )
        connection.execute(f"SET lock_timeout = '{lock_seconds}s'".encode())
    except psycopg.Error as error:
        raise explain(error, url) from None
    return connection


class _Context:
    """Adapters for the values on our connections."""

    adapters = _adapters()
    connection = None


def prepare(url: str, migrations: Sequence[Migration], clock: Clock) -> None:
    """Bring the tables up to date. An advisory lock lets one program do it at a time."""
    connection = connect(url, MIGRATION_SECONDS)
    where = f"The database {shown(url)}"
    try:
        connection.execute(b"BEGIN")
        connection.execute(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})".encode())
        migrate(PostgresTx(connection), migrations, clock, where, _no_backup)
        connection.execute(b"COMMIT")
    except psycopg.Error as error:
        explained = explain(error, url)
        raise not_migrated(where, error) if explained is error else explained from error
    finally:
        connection.close()


def _no_backup(version: int) -> None:
    """Backups of a PostgreSQL server are its keeper's; the transaction keeps the old state."""


def shown(url: str) -> str:
    """The address without a password."""
    match = URL.match(url)
    if match is None:
        return "postgresql://…"
    user = f"{match['user']}@" if match["user"] else ""
    return f"postgresql://{user}{match['place']}"


def explain(error: BaseException, url: str) -> BaseException:
    """Map PostgreSQL's error to ours. Errors that are not the database's fault pass unchanged."""
    if not isinstance(error, psycopg.Error):
        return error
    explained = _explanation(error, url)
    if explained is None:
        return error
    explained.__cause__ = error
    return explained


def _explanation(error: psycopg.Error, url: str) -> PolyvoxError | None:
    words = (str(error).strip().splitlines() or [type(error).__name__])[-1].strip()
    if isinstance(error, pg.DiskFull):
        return StoreFull(
            f"PostgreSQL at {shown(url)} has no space left: {words}.",
            "Free some space on its disk and try again; what was stored before is safe.",
        )
    if isinstance(error, (*_REPEAT, pg.LockNotAvailable)):
        return StoreError(
            f"The database {shown(url)} is locked by another program.",
            "Wait a moment and try again, or end the program that holds it.",
        )
    if isinstance(error, _DENIED):
        return StoreError(
            f"PostgreSQL at {shown(url)} does not let us in: {words}.",
            "Check user, password and database name in the setting `database`.",
        )
    if isinstance(error, pg.InsufficientPrivilege):
        return StoreError(
            f"PostgreSQL at {shown(url)} refuses this: {words}.",
            "Give that user the right to create and change tables.",
        )
    if isinstance(error, pg.IntegrityError):
        return Conflict("Another row already stands where this one should go.", "Try again.")
    if isinstance(error, pg.OperationalError | pg.InterfaceError) and error.sqlstate is None:
        return StoreError(
            f"PostgreSQL at {shown(url)} cannot be reached: {words}.",
            "Check that it runs and that the setting `database` is right.",
        )
    if isinstance(error, pg.OperationalError):
        return StoreError(
            f"PostgreSQL at {shown(url)} cannot do this now: {words}.", "Try again in a moment."
        )
    return None
