from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

from polyvox.store import search
from polyvox.store.database import Database, Tx
from polyvox.store.scrub import scrub
from polyvox.values import Scope

ME = Scope("me")
CANARY = "zanzibarx"
"""A word that stems to itself, as the index keeps it."""


def raw(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


async def test_words_of_deleted_rows_leave_the_files(
    sqlite_database: Database, tmp_path: Path
) -> None:
    def say(tx: Tx) -> None:
        for number in range(300):
            search.index(tx, "c", "message", str(number), f"{CANARY} {number} keptword")

    def forget(tx: Tx) -> None:
        for number in range(300):
            search.index(tx, "c", "message", str(number), f"{number} keptword")

    await sqlite_database.write(say, ME)
    await sqlite_database.write(forget, ME)
    assert CANARY.encode() in raw(tmp_path)

    assert await scrub(sqlite_database)

    assert CANARY.encode() not in raw(tmp_path)
    assert b"keptword" in raw(tmp_path)
    assert await scrub(sqlite_database)


async def test_whoever_reads_an_older_state_keeps_it_in_the_log(
    sqlite_database: Database, tmp_path: Path
) -> None:
    await sqlite_database.write(lambda tx: search.index(tx, "c", "message", "1", CANARY), ME)
    reader = sqlite3.connect(tmp_path / "polyvox.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT COUNT(*) FROM passages").fetchone()
    await sqlite_database.write(lambda tx: search.remove(tx, "message", "1"), ME)
    assert not await scrub(sqlite_database), "and says so"
    reader.execute("COMMIT")
    reader.close()
    assert await scrub(sqlite_database)
    assert CANARY.encode() not in raw(tmp_path)


async def test_writers_get_their_turn_meanwhile(database: Database) -> None:
    def say(tx: Tx, start: int) -> None:
        for number in range(start, start + 200):
            search.index(tx, "c", "message", str(number), f"w{number} " * 20)

    for start in range(0, 1000, 200):
        await database.write(lambda tx, s=start: say(tx, s), ME)  # type: ignore[misc]  # mypy infers no lambda with a default
    await asyncio.gather(
        scrub(database),
        scrub(database),
        *(database.write(lambda tx: search.remove(tx, "message", "1"), ME) for _ in range(20)),
    )

    row = await database.read(lambda tx: tx.one("SELECT COUNT(*) FROM passages"), ME)
    assert row == (999,)
