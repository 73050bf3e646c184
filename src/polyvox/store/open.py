"""From a database URL to a database that is ready: the directory made, the tables up to date."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from polyvox.errors import ConfigError
from polyvox.ids import Clock, system_clock
from polyvox.store.database import Database
from polyvox.store.migrate import Migration, backup, migrate, not_migrated, shipped
from polyvox.store.sqlite import BUSY_SECONDS, SqliteDatabase, SqliteTx, connect, explain

MIGRATION_SECONDS = 60.0
"""Seconds to wait for another program that is migrating the same database."""


async def open_database(
    url: str,
    home: Path,
    *,
    clock: Clock = system_clock,
    migrations: Sequence[Migration] | None = None,
    busy_seconds: float = BUSY_SECONDS,
) -> Database:
    """The database at `url` (empty: polyvox.db in `home`), migrated."""
    steps = tuple(migrations) if migrations is not None else shipped()
    if url.startswith(("postgresql://", "postgres://")):
        # psycopg costs 0.1 s to import, which nobody on SQLite should pay.
        from polyvox.store import postgres

        await asyncio.to_thread(postgres.prepare, url, steps, clock)
        return postgres.PostgresDatabase(url)
    path = sqlite_path(url, home)
    await asyncio.to_thread(_prepare, path, steps, clock, busy_seconds)
    return SqliteDatabase(path, busy_seconds=busy_seconds)


def sqlite_path(url: str, home: Path) -> Path:
    """The file that an SQLite URL names; a relative one begins where the program runs."""
    if not url:
        return home / "polyvox.db"
    name = url.removeprefix("sqlite:///")
    if name == url or not name or name.startswith(":memory:"):
        raise ConfigError(
            f"The database address {url.partition('://')[0]}://… is not usable.",
            "Write sqlite:///path/to/polyvox.db or postgresql://user@host/name.",
        )
    return Path(name).expanduser().absolute()


def _prepare(
    path: Path, migrations: Sequence[Migration], clock: Clock, busy_seconds: float
) -> None:
    _make_place(path)
    try:
        connection = connect(path, max(busy_seconds, MIGRATION_SECONDS))
        try:
            # Most starts have nothing to migrate: they must not even want the write lock.
            if not _up_to_date(connection, migrations):
                _migrate(connection, path, migrations, clock)
        finally:
            connection.close()
    except sqlite3.Error as error:
        explained = explain(error, path)
        raise (
            not_migrated(f"The database {path}", error) if explained is error else explained
        ) from error


def _up_to_date(connection: sqlite3.Connection, migrations: Sequence[Migration]) -> bool:
    tables = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'")
    if tables.fetchone() is None:
        return False
    row = connection.execute("SELECT MAX(version) FROM schema_version").fetchone()
    return bool(row[0] == migrations[-1].version)


def _migrate(
    connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration], clock: Clock
) -> None:
    copies: list[Path] = []
    connection.execute("BEGIN IMMEDIATE")
    try:
        # The copy is made by a second connection: while this one holds the write lock, nobody
        # can change what is copied.
        migrate(
            SqliteTx(connection),
            migrations,
            clock,
            f"The database {path}",
            lambda version: copies.append(backup(path, version, clock)),
        )
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if not _up_to_date(connection, migrations):
            # Nothing was changed: a copy for each attempt would only fill the disk.
            for copy in copies:
                copy.unlink(missing_ok=True)
        raise


def _make_place(path: Path) -> None:
    """The directory, and an empty file that only its owner can read."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.is_dir():
            raise ConfigError(
                f"The database {path} is a directory.",
                f"Name a file, for instance sqlite:///{path / 'polyvox.db'}.",
            )
        if not path.exists():
            path.touch(mode=0o600)
    except OSError as error:
        raise ConfigError(
            f"The database {path} cannot be created: {error.strerror}.",
            "Check the setting `database` and the permissions of that directory.",
        ) from error
