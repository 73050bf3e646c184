"""Scrubbing: making sure that what was deleted is gone from the files, not only from the tables.

On SQLite deleted rows are overwritten at once (secure_delete), but two places keep their words for
a while: the segments of a full-text index, until they are merged, and the write-ahead log, until
it is folded in. On PostgreSQL this is the work of its own VACUUM.
"""

from __future__ import annotations

import asyncio
import sqlite3
from functools import partial

from polyvox.store.database import Database, Tx
from polyvox.store.sqlite import SqliteDatabase, connect

INDEXES = ("passage_words", "episode_words")
PAGES = 256
"""Index pages merged per commit (about 10 ms), so that other writers get their turn between."""


async def scrub(database: Database) -> bool:
    """Remove the traces of deleted rows from the files; True if all are gone. Safe to repeat; costs
    a rewrite of the search indexes."""
    if not isinstance(database, SqliteDatabase):
        return True
    for index in INDEXES:
        pages = -PAGES  # negative: begin a merge of everything; positive: go on with it
        while await database.write(partial(_merge, index, pages)):
            pages = PAGES
    return await asyncio.to_thread(_fold_log, database)


def _merge(index: str, pages: int, tx: Tx) -> bool:
    """One step of merging; answers whether there is more to do."""
    before = tx.one("SELECT total_changes()")
    tx.run(f"INSERT INTO {index} ({index}, rank) VALUES ('merge', ?)", (pages,))
    after = tx.one("SELECT total_changes()")
    # FTS5's own rule: a step that changed fewer than two rows had nothing to do.
    return bool(before and after and after[0] - before[0] >= 2)


def _fold_log(database: SqliteDatabase) -> bool:
    """Fold the log in; False where somebody is still reading an older state."""
    connection = connect(database.path)
    try:
        row = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError:
        return False
    else:
        return row is not None and row[0] == 0
    finally:
        connection.close()
