"""A runner's presence on PostgreSQL: an advisory lock on a session of its own.

Invariant: while the runner lives, its session is kept: a thread watches the connection and makes a
new one when the server drops it, so that a restart of the server does not make a living runner
look dead for longer than the restart.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import threading
from collections.abc import Iterable

import psycopg

from polyvox.errors import PolyvoxError
from polyvox.store.database import Row, Tx
from polyvox.store.postgres import connect

RETRY_SECONDS = 1.0


def key_of(runner_id: str) -> int:
    """The runner's lock: a signed 64-bit number."""
    digest = hashlib.sha256(f"polyvox runner {runner_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def holders(tx: Tx, ids: Iterable[str]) -> set[str]:
    """The runners among these that hold their lock."""
    rows = tx.all(
        "SELECT classid, objid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1"
        " AND granted AND database ="
        " (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    held = {(int(row[0]) << 32) | int(row[1]) for row in rows}
    return {runner_id for runner_id in ids if key_of(runner_id) % (1 << 64) in held}


class SessionHold:
    """A session that holds the lock, and the thread that keeps it."""

    def __init__(self, url: str, runner_id: str) -> None:
        self._url = url
        self._key = key_of(runner_id)
        self._connection: psycopg.Connection[Row] = self._take()
        self._wake, self._bell = os.pipe()
        name = "polyvox-presence"
        self._thread = threading.Thread(target=self._watch, name=name, daemon=True)
        self._thread.start()

    def release(self) -> None:
        """Let go of the lock and end the watch."""
        os.write(self._bell, b"x")
        self._thread.join()
        # A server notices a closed connection on its own time; an unlock holds at once.
        with contextlib.suppress(psycopg.Error):
            self._connection.execute(f"SELECT pg_advisory_unlock_shared({self._key})".encode())
        self._connection.close()
        os.close(self._wake)
        os.close(self._bell)

    def _take(self) -> psycopg.Connection[Row]:
        connection = connect(self._url)
        connection.execute(f"SELECT pg_advisory_lock_shared({self._key})".encode())
        return connection

    def _watch(self) -> None:
        """Replace a lost connection. A session at rest becomes readable only when the server says
        something, nearly always its end."""
        while self._quiet(self._connection.fileno(), None):
            try:
                self._connection.execute(b"SELECT 1")
            except psycopg.Error:
                self._connection.close()
                if not self._take_again():
                    return

    def _take_again(self) -> bool:
        """Try until the lock is held again; False when the runner ends before that."""
        while True:
            try:
                self._connection = self._take()
            except (psycopg.Error, PolyvoxError):
                if not self._quiet(None, RETRY_SECONDS):
                    return False
            else:
                return True

    def _quiet(self, source: int | None, seconds: float | None) -> bool:
        """Wait for the source or the time; False when the runner is ending."""
        sources = [self._wake] if source is None else [self._wake, source]
        readable, _, _ = select.select(sources, [], [], seconds)
        return self._wake not in readable
