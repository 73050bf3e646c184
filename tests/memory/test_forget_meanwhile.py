"""Forgetting while background work stores what it made: whoever comes second knows of the first."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from tests.memory.desk import EMPTY, ME, PART, Desk, open_desk

from polyvox.memory import forget
from polyvox.memory.forget import Target
from polyvox.store import companions
from polyvox.store.database import Tx
from polyvox.store.open import open_database

SAYS = "I live in Quillabamba, and I'll paint the boathouse there tomorrow."
NOTED = {
    **EMPTY,
    "facts": [
        {
            "subject": "I",
            "attribute": "home",
            "text": "The user lives in Quillabamba.",
            "quote": "I live in Quillabamba",
        }
    ],
}
SUMMED = {"summary": "They live in Quillabamba."}
LEFT = ("facts", "claims", "loop_sightings", "profile_entries", "summaries", "shelf_words")


async def waits_or_ends(desk: Desk, task: asyncio.Task[int]) -> None:
    """Until somebody waits for a lock of another, or the work is through."""
    async with asyncio.timeout(30):
        while not task.done():
            row = await desk.database.read(
                lambda tx: tx.one("SELECT 1 FROM pg_locks WHERE NOT granted LIMIT 1")
            )
            if row is not None:
                return


@pytest.mark.parametrize("already", ["ingested", "noted"])
async def test_what_is_being_forgotten_is_not_noted(
    tmp_path: Path, postgres_url: str, already: str
) -> None:
    """A PostgreSQL has several writers. One forgets, and has not ended yet; another stores what a
    model made of the same words."""
    database = await open_database(postgres_url, tmp_path)
    async with open_desk(database, tmp_path) as desk:
        await desk.ingest("s", SAYS)
        desk.always(SUMMED)
        desk.reply(NOTED)
        if already == "noted":
            await desk.worker.run_due(["extract"])
        begun, go_on = threading.Event(), threading.Event()
        now = desk.clock()

        def forgets(tx: Tx) -> None:
            companions.drop_packets(tx, ME)
            forget.forget(tx, ME, PART, Target("session", "s"), now, None)
            begun.set()
            assert go_on.wait(30)

        forgetting = asyncio.create_task(database.write(forgets))
        await asyncio.to_thread(begun.wait, 30)
        working = asyncio.create_task(desk.work())
        await waits_or_ends(desk, working)
        go_on.set()
        await forgetting
        await working
        await desk.work()

        def left(tx: Tx) -> dict[str, int]:
            return {table: len(tx.all(f"SELECT 1 FROM {table}")) for table in LEFT}

        assert await database.read(left) == dict.fromkeys(LEFT, 0)
    await database.close()
