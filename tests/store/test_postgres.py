"""What is special about PostgreSQL: retries, broken connections, addresses with secrets in them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest

from polyvox.errors import ConfigError, PolyvoxError, StoreError, StoreFull
from polyvox.store.database import Database, Tx
from polyvox.store.open import open_database
from polyvox.store.postgres import PostgresDatabase, explain, shown, translate

INSERT = "INSERT INTO users (id, name, created_at) VALUES (?, ?, 1)"


@pytest.fixture
async def postgres(postgres_url: str, tmp_path: Path) -> AsyncIterator[Database]:
    found = await open_database(postgres_url, tmp_path)
    yield found
    await found.close()


def test_statements_are_translated_and_percent_signs_refused() -> None:
    assert translate("SELECT ? FROM a WHERE b = ?") == "SELECT %s FROM a WHERE b = %s"
    with pytest.raises(ValueError, match="percent sign"):
        translate("SELECT 1 FROM a WHERE b LIKE 'x%'")


async def test_a_deadlock_is_run_again(postgres: Database) -> None:
    """Two works that lock two rows in opposite order: one of them loses, and runs again."""
    await postgres.write(lambda tx: tx.many(INSERT, [("a", "x"), ("b", "x")]))
    both = threading.Barrier(2)
    runs: list[str] = []

    def lock(first: str, second: str) -> None:
        def work(tx: Tx) -> None:
            runs.append(first)
            tx.run("UPDATE users SET created_at = created_at + 1 WHERE id = ?", (first,))
            if len(runs) <= 2:
                both.wait(30)
            tx.run("UPDATE users SET created_at = created_at + 1 WHERE id = ?", (second,))

        tasks.append(asyncio.create_task(postgres.write(work)))

    tasks: list[asyncio.Task[None]] = []
    lock("a", "b")
    lock("b", "a")
    await asyncio.gather(*tasks)

    assert len(runs) >= 3  # whoever runs again may meet the other once more
    assert await postgres.read(lambda tx: tx.all("SELECT created_at FROM users")) == [(3,), (3,)]


async def test_a_dropped_connection_is_made_again_and_work_repeated(
    postgres: Database, postgres_server: str
) -> None:
    tries: list[int] = []

    def work(tx: Tx) -> int:
        row = tx.one("SELECT pg_backend_pid()")
        assert row is not None
        tries.append(row[0])
        tx.run(INSERT, (f"u{len(tries)}", "x"))
        if len(tries) == 1:
            with psycopg.connect(postgres_server, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s, 10000)", (row[0],))
        return tx.run(INSERT, ("done", "x"))

    assert await postgres.write(work) == 1

    assert len(set(tries)) == 2
    rows = await postgres.read(lambda tx: tx.all("SELECT id FROM users ORDER BY id"))
    assert rows == [("done",), ("u2",)]


async def test_a_connection_dropped_at_rest_goes_unnoticed(
    postgres: Database, postgres_server: str
) -> None:
    def pid(tx: Tx) -> int:
        row = tx.one("SELECT pg_backend_pid()")
        assert row is not None
        return int(row[0])

    for use in (postgres.write, postgres.read):
        before = await use(pid)
        with psycopg.connect(postgres_server, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 10000)", (before,))
        assert await use(pid) != before


async def test_no_read_leaves_its_transaction_open(postgres: Database, postgres_url: str) -> None:
    """Not even one that failed: an old snapshot would hold back the server's housekeeping."""

    def fails(tx: Tx) -> None:
        tx.all("SELECT 1")
        raise LookupError

    with pytest.raises(LookupError):
        await postgres.read(fails)
    with pytest.raises(psycopg.Error):
        await postgres.read(lambda tx: tx.one("SELECT nothing_such"))
    assert await postgres.read(lambda tx: tx.one("SELECT 1")) == (1,)
    async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as other:
        while True:
            found = await other.execute(
                b"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'polyvox'"
                b" AND datname = current_database() AND state <> 'idle'"
            )
            if await found.fetchone() == (0,):
                break


async def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    url = "postgresql://somebody:s3cret@127.0.0.1:1/polyvox"

    with pytest.raises(StoreError, match="cannot be reached") as caught:
        await open_database(url, tmp_path)

    assert "postgresql://somebody@127.0.0.1:1/polyvox" in caught.value.message
    assert "Check that it runs" in caught.value.hint
    _assert_secret(caught.value, "s3cret")


async def test_a_database_that_is_not_there(postgres_server: str, tmp_path: Path) -> None:
    url = postgres_server.replace("/postgres?", "/nowhere?")

    with pytest.raises(StoreError, match="nowhere"):
        await open_database(url, tmp_path)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:s3c/ret@127.0.0.1:1/polyvox",
        "postgresql://me:s3c@ret@127.0.0.1:1/polyvox",
        "postgresql://me:s3c:ret@127.0.0.1:1/polyvox",
        "postgresql://me:s3c ret@127.0.0.1:1/polyvox",
    ],
)
async def test_an_address_that_would_spill_its_password(url: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a valid PostgreSQL address") as caught:
        await open_database(url, tmp_path)

    assert "%40" in caught.value.hint
    _assert_secret(caught.value, "s3c")


def test_an_address_is_shown_without_secrets() -> None:
    assert shown("postgresql://u:pw@h:5432/d?password=pw") == "postgresql://u@h:5432/d"
    assert shown("postgresql://h/d") == "postgresql://h/d"
    assert shown("postgresql://u:p@w@h/d") == "postgresql://…"


async def test_a_lock_that_lasts_is_said(postgres: Database, postgres_url: str) -> None:
    await postgres.write(lambda tx: tx.run(INSERT, ("a", "x")))
    with psycopg.connect(postgres_url) as other:
        other.execute("UPDATE users SET name = 'y' WHERE id = 'a'")

        def work(tx: Tx) -> None:
            tx.run("SET LOCAL lock_timeout = '20ms'")
            tx.run("UPDATE users SET name = 'z' WHERE id = 'a'")

        with pytest.raises(StoreError, match="locked by another program"):
            await postgres.write(work)


async def test_no_space_left_is_said() -> None:
    found = explain(psycopg.errors.DiskFull("could not extend file"), "postgresql://u:pw@h/d")

    assert isinstance(found, StoreFull)
    assert "could not extend file" in found.message
    assert "pw" not in found.message


async def test_a_server_that_comes_back(postgres_url: str, tmp_path: Path) -> None:
    """A database made while its server is away works once it is there."""
    await (await open_database(postgres_url, tmp_path)).close()
    away = PostgresDatabase("postgresql://u:pw@127.0.0.1:1/d")
    with pytest.raises(StoreError, match="cannot be reached"):
        await away.write(lambda tx: tx.one("SELECT 1"))
    away.url = postgres_url
    assert await away.write(lambda tx: tx.one("SELECT 1")) == (1,)
    await away.close()


def _assert_secret(error: PolyvoxError, secret: str) -> None:
    chain: BaseException | None = error
    while chain is not None:
        assert secret not in str(chain)
        chain = chain.__cause__ or (None if chain.__suppress_context__ else chain.__context__)
