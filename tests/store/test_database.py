"""The contract of `Database`, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from polyvox.errors import Conflict, NotFound, StoreError
from polyvox.store.database import Database, Tx
from polyvox.store.open import open_database
from polyvox.values import Scope

INSERT = "INSERT INTO users (id, name, created_at) VALUES (?, ?, ?)"


def put(tx: Tx, name: str) -> int:
    return tx.run(INSERT, (name, name, 1))


def putting(name: str) -> Callable[[Tx], int]:
    return lambda tx: put(tx, name)


async def names(database: Database) -> list[str]:
    rows = await database.read(lambda tx: tx.all("SELECT id FROM users ORDER BY id"))
    return [row[0] for row in rows]


async def test_what_is_written_can_be_read(database: Database) -> None:
    assert await database.write(putting("a")) == 1

    assert await names(database) == ["a"]
    assert (
        await database.read(lambda tx: tx.one("SELECT 1 FROM users WHERE id = ?", ("b",))) is None
    )


async def test_many_runs_once_for_each_row(database: Database) -> None:
    rows = [(f"u{n}", "x", n) for n in range(500)]

    await database.write(lambda tx: tx.many(INSERT, rows))

    assert len(await names(database)) == 500


async def test_numbers_come_back_as_the_same_types(database: Database) -> None:
    def work(tx: Tx) -> tuple[object, ...] | None:
        tx.many(INSERT, [("a", "x", 2**53 + 1), ("b", "x", 1)])
        return tx.one(
            "SELECT SUM(created_at), COUNT(*), MAX(created_at), COUNT(timezone) FROM users"
            " WHERE created_at >= ?",
            (True,),
        )

    row = await database.write(work)

    assert row == (2**53 + 2, 2, 2**53 + 1, 0)
    assert row is not None
    assert {type(value) for value in row} == {int}


async def test_an_error_in_work_undoes_it_and_passes_through(database: Database) -> None:
    def work(tx: Tx) -> None:
        put(tx, "a")
        raise NotFound("nothing here")

    with pytest.raises(NotFound, match="nothing here"):
        await database.write(work)

    assert await names(database) == []


async def test_a_row_that_stands_already_is_a_conflict(database: Database) -> None:
    await database.write(putting("a"))

    with pytest.raises(Conflict):
        await database.write(putting("a"))

    assert await database.write(putting("b")) == 1


async def test_a_failing_work_harms_none_of_its_companions(database: Database) -> None:
    def odd_ones_fail(number: int) -> Callable[[Tx], int]:
        def work(tx: Tx) -> int:
            put(tx, f"u{number:02}")
            if number % 2:
                raise NotFound(str(number))
            return number

        return work

    writes = (database.write(odd_ones_fail(number)) for number in range(40))
    done = await asyncio.gather(*writes, return_exceptions=True)

    assert [one for one in done if isinstance(one, int)] == list(range(0, 40, 2))
    assert [str(one) for one in done if isinstance(one, NotFound)] == [
        str(number) for number in range(1, 40, 2)
    ]
    assert await names(database) == [f"u{number:02}" for number in range(0, 40, 2)]


async def test_fifty_tasks_lose_no_write(database: Database) -> None:
    await database.write(putting("counter"))

    async def count() -> None:
        for _ in range(20):
            await database.write(
                lambda tx: tx.run(
                    "UPDATE users SET created_at = created_at + 1 WHERE id = ?", ("counter",)
                )
            )

    await asyncio.gather(*(count() for _ in range(50)))

    row = await database.read(lambda tx: tx.one("SELECT created_at FROM users"))
    assert row == (1001,)


async def test_commits_are_counted(database: Database) -> None:
    before = database.commits
    await database.write(putting("a"))
    await database.read(lambda tx: tx.all("SELECT 1"))

    assert database.commits == before + 1


async def test_a_reader_sees_one_moment(database: Database) -> None:
    """What is committed in the middle of a read is not part of it."""
    loop = asyncio.get_running_loop()

    def work(tx: Tx) -> tuple[int, int]:
        before = tx.all("SELECT id FROM users")
        done = asyncio.run_coroutine_threadsafe(database.write(putting("new")), loop)
        assert done.result(30) == 1
        return len(before), len(tx.all("SELECT id FROM users"))

    assert await database.read(work) == (0, 0)
    assert await names(database) == ["new"]


async def test_a_reader_cannot_write(database: Database) -> None:
    with pytest.raises(Exception, match=r"(?i)read-?only"):
        await database.read(putting("a"))

    assert await names(database) == []
    assert await database.read(lambda tx: tx.one("SELECT 1")) == (1,)


async def test_a_write_nobody_waits_for_is_stored_all_the_same(database: Database) -> None:
    task = asyncio.create_task(database.write(putting("a")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await database.close()

    assert database.commits == 1


async def test_closing_finishes_what_is_queued_and_then_refuses(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    tasks = [asyncio.create_task(database.write(putting(f"u{n:03}"))) for n in range(200)]
    await asyncio.sleep(0)
    await database.close()

    assert await asyncio.gather(*tasks) == [1] * 200
    with pytest.raises(StoreError, match="closed"):
        await database.write(putting("late"))
    again = await open_database(database_url, tmp_path)
    assert len(await names(again)) == 200
    await again.close()


async def test_closing_twice_is_fine(database: Database) -> None:
    await database.write(putting("a"))
    await database.close()
    await database.close()


async def test_work_that_raises_stop_iteration_does_not_hang(database: Database) -> None:
    def work(_: Tx) -> None:
        raise StopIteration

    with pytest.raises(RuntimeError, match="StopIteration"):
        await database.write(work)


async def test_the_loop_runs_on_while_work_blocks(database: Database) -> None:
    loop = asyncio.get_running_loop()
    alive = asyncio.Event()

    def work(_: Tx) -> bool:
        # It can only end because the loop is running meanwhile.
        asyncio.run_coroutine_threadsafe(_set(alive), loop).result(30)
        return True

    assert await database.write(work)
    assert alive.is_set()


async def _set(event: asyncio.Event) -> None:
    event.set()


async def test_a_transaction_knows_its_user(database: Database) -> None:
    ann, bert = Scope("ann"), Scope("bert")

    def users(tx: Tx) -> list[str]:
        return [tx.user, tx.scope.user, tx.of(bert).user, tx.user]

    for run in (database.read, database.write):
        assert await run(users, ann) == ["ann", "ann", "bert", "ann"]
        with pytest.raises(AttributeError):
            await run(users)
