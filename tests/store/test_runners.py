from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from polyvox.ids import new_id
from polyvox.store.database import Database
from polyvox.store.runners import FileHold, dead, register
from polyvox.store.sqlite import SqliteDatabase

CHILD = """
import asyncio, sys
from pathlib import Path
from polyvox.store.open import open_database
from polyvox.store.runners import register

async def main():
    database = await open_database(sys.argv[1], Path("."))
    runner = await register(database)
    print(runner.id, flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await runner.close()
    await database.close()

asyncio.run(main())
"""


def child(url: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


async def test_a_runner_is_alive_until_it_closes(database: Database) -> None:
    one = await register(database, lambda: 5)
    two = await register(database)
    nobody = new_id()

    assert one.id != two.id
    assert await one.dead({one.id, two.id, nobody}) == {nobody}
    await one.close()
    assert await dead(database, [one.id, two.id]) == {one.id}
    await two.close()
    assert await dead(database, [one.id, two.id]) == {one.id, two.id}
    assert await dead(database, []) == set()
    row = await database.read(
        lambda tx: tx.one("SELECT started_at, ended_at FROM runners WHERE id = ?", (one.id,))
    )
    assert row == (5, 5)


async def test_asking_disturbs_nobody(database: Database) -> None:
    one = await register(database)

    answers = await asyncio.gather(*(dead(database, [one.id, "gone"]) for _ in range(20)))

    assert answers == [{"gone"}] * 20
    await one.close()


@pytest.mark.slow
async def test_another_process_is_alive_until_it_is_killed(
    database: Database, database_url: str
) -> None:
    me = await register(database)
    processes = [child(database_url) for _ in range(2)]
    ids = []
    for process in processes:
        assert process.stdout is not None
        ids.append((await asyncio.to_thread(process.stdout.readline)).strip())

    assert await me.dead([*ids, me.id]) == set()
    processes[0].send_signal(signal.SIGKILL)
    await asyncio.to_thread(processes[0].communicate)
    # PostgreSQL notices the end of a connection on its own time.
    async with asyncio.timeout(60):
        while not await me.dead(ids):
            pass
    assert await me.dead([*ids, me.id]) == {ids[0]}
    await asyncio.to_thread(processes[1].communicate, "end\n")
    assert processes[1].returncode == 0
    assert await me.dead(ids) == set(ids)
    await me.close()


async def test_files_of_the_killed_are_swept_and_of_the_living_kept(
    sqlite_database: Database,
) -> None:
    assert isinstance(sqlite_database, SqliteDatabase)
    folder = sqlite_database.path.with_name("polyvox.db.runners")
    one = await register(sqlite_database)
    (folder / "killed").touch()

    two = await register(sqlite_database)

    assert {path.name for path in folder.iterdir()} == {one.id, two.id}
    await one.close()
    await two.close()
    assert list(folder.iterdir()) == []


def test_a_sweep_between_making_and_locking_is_noticed(tmp_path: Path) -> None:
    """Many that start at once sweep each other's files; each ends up holding its own."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            names = [new_id() for _ in range(8)]
            holds = list(pool.map(lambda name: FileHold(tmp_path, name), names))
            assert {path.name for path in tmp_path.iterdir()} == set(names)
            for hold in holds:
                hold.release()
