"""Living processes: each process that runs turns holds a lock that ends with it, however it ends.

Invariants: a runner's lock is held before its id is in any row, so an id found in a row whose lock
nobody holds belongs to a process that is gone; asking never disturbs a runner, nor another asker.
On SQLite the lock is an flock on a file beside the database, which the system releases even after
kill -9. On PostgreSQL it is a session's advisory lock, so it also works across machines.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from polyvox.errors import ConfigError
from polyvox.ids import Clock, new_id, system_clock
from polyvox.store.database import Database, Tx
from polyvox.store.sqlite import SqliteDatabase


class Hold(Protocol):
    """A lock that says: this runner is alive."""

    def release(self) -> None:
        """Let go of it."""
        ...


class Runner:
    """This process, as a runner of turns."""

    def __init__(self, runner_id: str, database: Database, hold: Hold, clock: Clock) -> None:
        self.id = runner_id
        self._database = database
        self._hold = hold
        self._clock = clock

    async def dead(self, ids: Iterable[str]) -> set[str]:
        """The runners among these that are not alive. An id nobody ever registered is not alive."""
        return await dead(self._database, ids)

    async def close(self) -> None:
        """Say that this runner has ended, while the database is still open."""
        now = self._clock()
        try:
            await self._database.write(
                lambda tx: tx.run("UPDATE runners SET ended_at = ? WHERE id = ?", (now, self.id))
            )
        finally:
            await asyncio.to_thread(self._hold.release)


async def register(database: Database, clock: Clock = system_clock) -> Runner:
    """Make this process known as a living runner."""
    runner_id = new_id()
    hold = await asyncio.to_thread(_hold, database, runner_id)
    runner = Runner(runner_id, database, hold, clock)
    now = clock()
    await database.write(
        lambda tx: tx.run("INSERT INTO runners (id, started_at) VALUES (?, ?)", (runner_id, now))
    )
    return runner


async def dead(database: Database, ids: Iterable[str]) -> set[str]:
    """The runners among these that are not alive. An id nobody ever registered is not alive."""
    asked = set(ids)
    if not asked:
        return set()
    if isinstance(database, SqliteDatabase):
        folder = _folder(database)
        return await asyncio.to_thread(
            lambda: {runner_id for runner_id in asked if not _held(folder / runner_id)}
        )

    from polyvox.store.presence import holders

    def gone(tx: Tx) -> set[str]:
        return asked - holders(tx, asked)

    return await database.read(gone)


def _hold(database: Database, runner_id: str) -> Hold:
    if isinstance(database, SqliteDatabase):
        return FileHold(_folder(database), runner_id)
    # psycopg is imported only where PostgreSQL is used.
    from polyvox.store.postgres import PostgresDatabase
    from polyvox.store.presence import SessionHold

    if not isinstance(database, PostgresDatabase):
        raise TypeError(f"no way to hold a runner on {type(database).__name__}")
    return SessionHold(database.url, runner_id)


class FileHold:
    """An flock on a file that is named like the runner."""

    def __init__(self, folder: Path, runner_id: str) -> None:
        self._path = folder / runner_id
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            _sweep(folder)
            self._file = self._take()
        except OSError as error:
            raise ConfigError(
                f"{folder} cannot be used: {error.strerror}.",
                "The directory of the database must be writable.",
            ) from error

    def _take(self) -> int:
        while True:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                if os.path.samestat(os.fstat(file), self._path.stat()):
                    return file
            except FileNotFoundError:
                pass
            # A sweep came between making the file and locking it, and took the file away.
            os.close(file)

    def release(self) -> None:
        """Let go of the lock, and take the file away while it still is ours."""
        self._path.unlink(missing_ok=True)
        os.close(self._file)


def _held(path: Path, *, sweep: bool = False) -> bool:
    """True if somebody holds the lock. Askers share it, so they do not see each other. A sweep
    takes the file away while it has its share: whoever is about to lock it then sees that."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        if sweep:
            path.unlink(missing_ok=True)
        return False
    finally:
        os.close(file)


def _sweep(folder: Path) -> None:
    """Take away the files of runners that were killed."""
    for path in folder.iterdir():
        _held(path, sweep=True)


def _folder(database: SqliteDatabase) -> Path:
    return database.path.with_name(f"{database.path.name}.runners")
