from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import psycopg

from polyvox.store.open import open_database
from polyvox.store.presence import SessionHold, key_of
from polyvox.store.runners import dead, register


def test_keys_are_signed_64_bit_and_differ() -> None:
    keys = {key_of(str(n)) for n in range(1000)}

    assert len(keys) == 1000
    assert all(-(2**63) <= key < 2**63 for key in keys)


async def test_a_session_that_the_server_ends_is_taken_up_again(
    postgres_url: str, postgres_server: str, tmp_path: Path
) -> None:
    database = await open_database(postgres_url, tmp_path)
    runner = await register(database)
    lock = (
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"
        " AND ((CAST(classid AS BIGINT) << 32) | CAST(objid AS BIGINT)) = %s"
    )
    with psycopg.connect(postgres_server, autocommit=True) as other:
        (before,) = other.execute(lock, (key_of(runner.id),)).fetchone() or (None,)
        assert before is not None
        other.execute("SELECT pg_terminate_backend(%s, 10000)", (before,))
        async with asyncio.timeout(60):
            again = before
            while again in (None, before):
                await asyncio.sleep(0)  # the watch is another thread's
                (again,) = other.execute(lock, (key_of(runner.id),)).fetchone() or (None,)
    assert await dead(database, [runner.id]) == set()
    await runner.close()
    await database.close()


async def test_letting_go_ends_the_watch(postgres_url: str, tmp_path: Path) -> None:
    hold = SessionHold(postgres_url, "me")
    watching = [one for one in threading.enumerate() if one.name == "polyvox-presence"]
    assert len(watching) == 1

    hold.release()

    assert not watching[0].is_alive()
