"""Forgetting while background work stores what it made: whoever comes second knows of the first."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import pytest
from tests.memory.desk import DAY, EMPTY, ME, PART, Desk, open_desk
from tests.provider import Script

from polyvox.memory import forget
from polyvox.memory.forget import Target
from polyvox.memory.tables import companions
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
MORE = tuple(f"There is much to tell of the day, and of the lake, part {n}." for n in range(6))
SUMMED = {"summary": "They live in Quillabamba."}
DAY_SEEN = {"themes": ["Quillabamba"], "scores": {}, "steering_note": "", "confidence": 0.9}
LEFT = ("facts", "claims", "loop_sightings", "profile_entries", "summaries", "daily_analyses")


async def waits_or_ends(desk: Desk, task: asyncio.Task[int]) -> None:
    """Until somebody waits for a lock of another, or the work is through."""
    async with asyncio.timeout(60):
        while not task.done():
            row = await desk.database.read(
                lambda tx: tx.one("SELECT 1 FROM pg_locks WHERE NOT granted LIMIT 1"), ME
            )
            if row is not None:
                return


@pytest.mark.parametrize("step", ["extract", "summarise", "daily"])
async def test_what_is_being_forgotten_is_not_noted(
    tmp_path: Path, postgres_url: str, step: str
) -> None:
    """A PostgreSQL has several writers. While a model reads, somebody begins to forget; it replies
    before they have ended, and what it made of the words is to be stored."""
    database = await open_database(postgres_url, tmp_path)
    async with open_desk(database, tmp_path) as desk:
        await desk.ingest("s", SAYS, *MORE)
        replies = {"extract": NOTED, "summarise": SUMMED, "daily": DAY_SEEN}
        desk.clock.now += 2 * DAY
        for name, reply in replies.items():
            held = Script(pieces=(json.dumps(reply),), hold="reading" if name == step else "")
            desk.reply(held)
            if name == step:
                break
            await desk.worker.run_due([name])
        asked = len(desk.provider.log)
        working = asyncio.create_task(desk.worker.run_due([step]))
        await desk.provider.arrived(asked + 1)
        begun, go_on = threading.Event(), threading.Event()
        now = desk.clock()

        def forgets(tx: Tx) -> None:
            companions.drop_packets(tx)
            forget.forget(tx, PART, Target("session", "s"), now, None)
            begun.set()
            assert go_on.wait(30)

        forgetting = asyncio.create_task(database.write(forgets, ME))
        await asyncio.to_thread(begun.wait, 30)
        desk.provider.gate("reading").set()
        await waits_or_ends(desk, working)
        go_on.set()
        await forgetting
        await working
        await desk.work()

        def left(tx: Tx) -> dict[str, int]:
            return {table: len(tx.all(f"SELECT 1 FROM {table}")) for table in LEFT}

        assert await database.read(left, ME) == dict.fromkeys(LEFT, 0)
    await database.close()
