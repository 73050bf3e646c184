from __future__ import annotations

import asyncio
import re
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from polyvox.errors import ConfigError, StoreError
from polyvox.store.database import Database, Tx
from polyvox.store.migrate import Migration, backup, shipped
from polyvox.store.open import open_database

ONE = Migration(1, "one", "CREATE TABLE things (id TEXT PRIMARY KEY, size {real});")
TWO = Migration(
    2, "two", "ALTER TABLE things ADD COLUMN colour TEXT;\nUPDATE things SET colour = 'red';"
)
BROKEN = Migration(
    2,
    "broken",
    "ALTER TABLE things ADD COLUMN colour TEXT;\nDELETE FROM things;\nSELECT * FROM nowhere;",
)


def clock() -> int:
    return 1_700_000_000_000_000


async def at(url: str, home: Path, *migrations: Migration) -> Database:
    return await open_database(url, home, clock=clock, migrations=migrations)


async def with_a_thing(url: str, home: Path) -> None:
    database = await at(url, home, ONE)
    await database.write(lambda tx: tx.run("INSERT INTO things (id) VALUES ('a')"))
    await database.close()


async def state(url: str, home: Path, *migrations: Migration) -> tuple[list[object], list[object]]:
    database = await at(url, home, *migrations)

    def look(tx: Tx) -> tuple[list[object], list[object]]:
        versions = tx.all("SELECT version, applied_at, name FROM schema_version ORDER BY version")
        return [*versions], [*tx.all("SELECT * FROM things")]

    try:
        return await database.read(look)
    finally:
        await database.close()


def test_the_shipped_ones_are_numbered_without_gaps() -> None:
    assert [one.version for one in shipped()] == list(range(1, len(shipped()) + 1))
    assert all(re.fullmatch(r"[a-z_]+", one.name) for one in shipped())


def test_statements_by_database() -> None:
    text = textwrap.dedent("""
        -- a remark; with a semicolon
        CREATE TABLE a (b {blob}, c {real},
            d TEXT);
        -- sqlite:
        CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM a; SELECT 1; END;
        -- postgresql:
        SELECT 'a;b';
        -- both:
        SELECT 2;
    """)
    migration = Migration(1, "x", text)

    sqlite = migration.statements("sqlite")
    postgres = migration.statements("postgresql")

    assert sqlite[0] == "CREATE TABLE a (b BLOB, c REAL,\n    d TEXT)"
    assert postgres[0] == "CREATE TABLE a (b BYTEA, c DOUBLE PRECISION,\n    d TEXT)"
    assert sqlite[1].startswith("CREATE TRIGGER")
    assert sqlite[2:] == ["SELECT 2"]
    assert postgres[1:] == ["SELECT 'a;b'", "SELECT 2"]


def test_half_a_statement_is_refused() -> None:
    with pytest.raises(ValueError, match="middle of a statement"):
        Migration(1, "x", "SELECT 1;\nSELECT").statements("sqlite")


async def test_an_older_database_is_migrated(empty_url: str, tmp_path: Path) -> None:
    await with_a_thing(empty_url, tmp_path)

    versions, things = await state(empty_url, tmp_path, ONE, TWO)

    assert versions == [(1, clock(), "one"), (2, clock(), "two")]
    assert things == [("a", None, "red")]
    assert await state(empty_url, tmp_path, ONE, TWO) == (versions, things)


async def test_a_newer_database_is_refused_and_left_alone(empty_url: str, tmp_path: Path) -> None:
    await with_a_thing(empty_url, tmp_path)
    await state(empty_url, tmp_path, ONE, TWO)

    with pytest.raises(ConfigError, match=r"newer Polyvox.*version 2, this program knows 1") as no:
        await at(empty_url, tmp_path, ONE)

    assert "Upgrade Polyvox" in no.value.hint
    versions, _ = await state(empty_url, tmp_path, ONE, TWO)
    assert len(versions) == 2


async def test_a_failing_migration_leaves_the_old_state(empty_url: str, tmp_path: Path) -> None:
    await with_a_thing(empty_url, tmp_path)

    with pytest.raises(StoreError, match="nowhere") as caught:
        await at(empty_url, tmp_path, ONE, BROKEN)
    assert "Nothing was changed" in caught.value.hint

    assert await state(empty_url, tmp_path, ONE) == ([(1, clock(), "one")], [("a", None)])
    _, things = await state(empty_url, tmp_path, ONE, TWO)
    assert things == [("a", None, "red")]


async def test_tables_of_another_program_are_refused(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "polyvox.db")
    other.execute("CREATE TABLE songs (id TEXT)")
    other.close()

    with pytest.raises(ConfigError, match="another program"):
        await open_database("", tmp_path)


async def test_a_backup_comes_first_and_holds_the_old_state(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'polyvox.db'}"
    await with_a_thing(url, tmp_path)
    assert list(tmp_path.glob("*.bak")) == []
    await state(url, tmp_path, ONE, TWO)
    await state(url, tmp_path, ONE, TWO)

    copies = list(tmp_path.glob("*.bak*"))
    assert [path.name for path in copies] == ["polyvox.db.v1-20231114T221320.bak"]
    assert copies[0].stat().st_mode & 0o777 == 0o600
    copy = sqlite3.connect(copies[0])
    assert copy.execute("SELECT * FROM things").fetchall() == [("a", None)]
    assert copy.execute("SELECT MAX(version) FROM schema_version").fetchall() == [(1,)]
    copy.close()


async def test_a_backup_made_while_the_log_is_long_is_whole(tmp_path: Path) -> None:
    """Rows that are only in the write-ahead log are part of the copy."""
    url = f"sqlite:///{tmp_path / 'polyvox.db'}"
    database = await at(url, tmp_path, ONE)
    await database.write(
        lambda tx: tx.many("INSERT INTO things (id) VALUES (?)", [(str(n),) for n in range(1000)])
    )
    path = await asyncio.to_thread(backup, tmp_path / "polyvox.db", 1, clock)
    await database.close()

    copy = sqlite3.connect(path)
    assert copy.execute("SELECT COUNT(*) FROM things").fetchall() == [(1000,)]
    copy.close()


async def test_an_update_that_fails_leaves_no_backup_of_what_is_unchanged(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'polyvox.db'}"
    await with_a_thing(url, tmp_path)
    kept = tmp_path / "polyvox.db.v0-20230101T000000.bak"
    kept.touch()

    for _ in range(2):
        with pytest.raises(StoreError, match="nowhere"):
            await at(url, tmp_path, ONE, BROKEN)

    assert list(tmp_path.glob("*.bak*")) == [kept]


async def test_no_backup_no_migration(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'polyvox.db'}"
    await with_a_thing(url, tmp_path)
    blocked = tmp_path / "polyvox.db.v1-20231114T221320.bak.part"
    blocked.mkdir()

    with pytest.raises(StoreError, match="No backup"):
        await at(url, tmp_path, ONE, TWO)

    assert (await state(url, tmp_path, ONE))[0] == [(1, clock(), "one")]


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from polyvox.store.migrate import Migration
from polyvox.store.open import open_database

class Deadly(Migration):
    def statements(self, dialect):
        def them():
            for number, statement in enumerate(super(Deadly, self).statements(dialect)):
                yield statement
                if number == int(sys.argv[2]):
                    os.kill(os.getpid(), signal.SIGKILL)
        return them()

ONE = Migration(1, "one", "CREATE TABLE things (id TEXT PRIMARY KEY, size {real});")
TEXT = "ALTER TABLE things ADD COLUMN colour TEXT;\\nDELETE FROM things;\\n" + "".join(
    f"CREATE TABLE t{n} (id TEXT);\\n" for n in range(50))
asyncio.run(open_database(sys.argv[1], Path("."), migrations=[ONE, Deadly(2, "deadly", TEXT)]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("statement", [0, 1, 30])
async def test_a_kill_in_the_middle_leaves_the_old_state(
    empty_url: str, tmp_path: Path, statement: int
) -> None:
    await with_a_thing(empty_url, tmp_path)

    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, empty_url, str(statement)
    )
    assert await process.wait() == -9

    assert await state(empty_url, tmp_path, ONE) == ([(1, clock(), "one")], [("a", None)])
    _, things = await state(empty_url, tmp_path, ONE, TWO)
    assert things == [("a", None, "red")]


START = """
import asyncio, sys
from pathlib import Path
from polyvox.store.open import open_database

async def main():
    print("ready", flush=True)
    sys.stdin.readline()
    database = await open_database(sys.argv[1], Path("."))
    await database.close()

asyncio.run(main())
"""


@pytest.mark.slow
async def test_programs_that_start_at_once_migrate_once(empty_url: str, tmp_path: Path) -> None:
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", START, empty_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in starters:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in starters:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in starters:
        await asyncio.to_thread(process.communicate)
        assert process.returncode == 0

    database = await open_database(empty_url, tmp_path)
    rows = await database.read(lambda tx: tx.all("SELECT version FROM schema_version ORDER BY 1"))
    await database.close()
    assert rows == [(one.version,) for one in shipped()]
