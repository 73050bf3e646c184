"""What is special about SQLite: grouping, locks, a full disk, broken files, other processes."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from polyvox.errors import ConfigError, StoreError, StoreFull
from polyvox.store.database import Database, Tx
from polyvox.store.open import open_database
from polyvox.store.sqlite import SqliteDatabase

INSERT = "INSERT INTO users (id, name, created_at) VALUES (?, ?, 1)"

WRITER = """
import asyncio, sys
from pathlib import Path
from polyvox.store.open import open_database

async def main(path, name, count):
    database = await open_database("sqlite:///" + path, Path("."))
    for number in range(int(count)):
        await database.write(lambda tx: (
            tx.run("INSERT INTO users (id, name, created_at) VALUES (?, ?, 1)",
                   (f"{name}{number}", name)),
            tx.run("UPDATE users SET created_at = created_at + 1 WHERE id = 'counter'"),
        ))
        print(number, flush=True)
    await database.close()

asyncio.run(main(*sys.argv[1:]))
"""


def put(name: str, text: str) -> Callable[[Tx], int]:
    return lambda tx: tx.run(INSERT, (name, text))


async def count(database: Database) -> int:
    row = await database.read(lambda tx: tx.one("SELECT COUNT(*) FROM users"))
    assert row is not None
    return int(row[0])


async def named(database: Database, name: str) -> set[str]:
    rows = await database.read(lambda tx: tx.all("SELECT id FROM users WHERE name = ?", (name,)))
    return {row[0] for row in rows}


def child(path: Path, name: str, writes: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(writes)],
        stdout=subprocess.PIPE,
        text=True,
    )


async def test_the_file_is_kept_as_the_house_wants_it(tmp_path: Path) -> None:
    def pragmas(tx: Tx) -> list[object]:
        found = []
        for name in ("journal_mode", "synchronous", "foreign_keys", "secure_delete"):
            row = tx.one(f"PRAGMA {name}")
            assert row is not None
            found.append(row[0])
        return found

    database = await open_database("", tmp_path)
    assert await database.write(pragmas) == ["wal", 1, 1, 1]
    await database.close()
    assert (tmp_path / "polyvox.db").stat().st_mode & 0o777 == 0o600


async def test_works_that_wait_share_a_commit(sqlite_database: Database) -> None:
    before = sqlite_database.commits

    await asyncio.gather(*(sqlite_database.write(put(str(n), "x")) for n in range(100)))

    assert await count(sqlite_database) == 100
    assert sqlite_database.commits - before < 20


async def test_a_write_is_answered_after_its_commit(
    sqlite_database: Database, tmp_path: Path
) -> None:
    await sqlite_database.write(put("a", "x"))

    other = sqlite3.connect(tmp_path / "polyvox.db")
    assert other.execute("SELECT id FROM users").fetchall() == [("a",)]
    other.close()


async def test_a_spoilt_transaction_makes_each_work_run_again_alone(
    sqlite_database: Database,
) -> None:
    def spoil(tx: Tx) -> None:
        tx.run(INSERT, ("spoilt", "x"))
        tx.run("ROLLBACK")  # as SQLite does by itself on some I/O errors
        raise StoreError("the disk failed")

    done = await asyncio.gather(
        *(sqlite_database.write(spoil if n == 5 else put(str(n), "x")) for n in range(10)),
        return_exceptions=True,
    )

    assert [n for n, one in enumerate(done) if isinstance(one, StoreError)] == [5]
    assert await count(sqlite_database) == 9


async def test_a_full_disk_says_so_and_keeps_what_there_is(sqlite_database: Database) -> None:
    await sqlite_database.write(put("kept", "x"))

    def limit(tx: Tx) -> None:
        pages = tx.one("PRAGMA page_count")
        assert pages is not None
        tx.run(f"PRAGMA max_page_count = {pages[0] + 2}")

    await sqlite_database.write(limit)
    done = await asyncio.gather(
        sqlite_database.write(put("small 1", "x")),
        sqlite_database.write(put("large", "x" * 1_000_000)),
        sqlite_database.write(put("small 2", "x")),
        return_exceptions=True,
    )

    assert done[0] == done[2] == 1
    assert isinstance(done[1], StoreFull)
    assert "no space left" in done[1].message
    assert "Free some space" in done[1].hint
    await sqlite_database.write(lambda tx: tx.run("PRAGMA max_page_count = 1000000"))
    assert await sqlite_database.write(put("large", "x" * 1_000_000)) == 1
    assert await count(sqlite_database) == 4


async def test_a_lock_that_lasts_is_said_and_readers_do_not_mind(tmp_path: Path) -> None:
    path = tmp_path / "polyvox.db"
    database = await open_database(f"sqlite:///{path}", tmp_path, busy_seconds=0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    done = await asyncio.gather(
        *(database.write(put("a", "x")) for _ in range(3)),
        return_exceptions=True,
    )
    assert [type(one) for one in done] == [StoreError] * 3
    assert "locked by another program" in str(done[0])
    assert await count(database) == 0

    other.execute("ROLLBACK")
    other.close()
    assert await database.write(put("a", "x")) == 1
    await database.close()


async def test_a_short_lock_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "polyvox.db"
    database = await open_database(f"sqlite:///{path}", tmp_path, busy_seconds=60)
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")

    waiting = asyncio.create_task(database.write(put("a", "x")))
    assert await count(database) == 0
    await asyncio.to_thread(other.execute, "COMMIT")

    assert await waiting == 1
    other.close()
    await database.close()


async def test_closing_leaves_one_file(tmp_path: Path) -> None:
    database = await open_database("", tmp_path)
    await database.write(put("a", "x"))
    await count(database)
    await database.close()

    assert [path.name for path in tmp_path.iterdir()] == ["polyvox.db"]


@pytest.mark.slow
async def test_two_processes_and_this_one_lose_no_write(
    sqlite_database: Database, tmp_path: Path
) -> None:
    await sqlite_database.write(put("counter", "x"))
    children = [child(tmp_path / "polyvox.db", name, 150) for name in ("a", "b")]

    for number in range(150):
        await sqlite_database.write(put(f"c{number}", "x"))
    for process in children:
        await asyncio.to_thread(process.communicate)
        assert process.returncode == 0

    assert await count(sqlite_database) == 451
    row = await sqlite_database.read(
        lambda tx: tx.one("SELECT created_at FROM users WHERE id = 'counter'")
    )
    assert row == (301,)


@pytest.mark.slow
async def test_what_was_acknowledged_survives_kill_9(
    sqlite_database: Database, tmp_path: Path
) -> None:
    for round_ in range(3):
        process = child(tmp_path / "polyvox.db", f"r{round_}-", 100_000)
        assert process.stdout is not None
        for _ in range(20 * (round_ + 1)):
            acknowledged = int(await asyncio.to_thread(process.stdout.readline))
        process.send_signal(signal.SIGKILL)
        rest = await asyncio.to_thread(process.stdout.read)
        process.stdout.close()
        process.wait()
        acknowledged = max([acknowledged, *(int(n) for n in rest.split("\n")[:-1])])
        ids = await named(sqlite_database, f"r{round_}-")
        assert {f"r{round_}-{n}" for n in range(acknowledged + 1)} <= ids
    row = await sqlite_database.read(lambda tx: tx.one("PRAGMA integrity_check"))
    assert row == ("ok",)


async def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("milk, bread, " * 1000)

    with pytest.raises(ConfigError, match="not a database") as caught:
        await open_database(f"sqlite:///{path}", tmp_path)

    assert "setting `database`" in caught.value.hint
    assert path.read_text() == "milk, bread, " * 1000


async def test_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "polyvox.db"
    database = await open_database("", tmp_path)
    await database.write(lambda tx: tx.many(INSERT, [(str(n), "x" * 2000) for n in range(2000)]))
    await database.close()
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 200_000] = b"\xa5" * 200_000
    path.write_bytes(data)

    database = await open_database("", tmp_path)
    with pytest.raises(StoreError, match="damaged") as caught:
        await database.read(lambda tx: tx.all("SELECT LENGTH(name), created_at FROM users"))
    assert "backup" in caught.value.hint
    await database.close()


async def test_a_database_that_vanished_is_said(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "gone" / "polyvox.db")

    for _ in range(2):
        with pytest.raises(StoreError, match="cannot be opened"):
            await database.write(lambda tx: tx.one("SELECT 1"))
        with pytest.raises(StoreError, match="cannot be opened"):
            await database.read(lambda tx: tx.one("SELECT 1"))
    await database.close()
