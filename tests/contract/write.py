"""Write the golden requests and the stored database: python -m tests.contract.write FOLDER

Both were written once, by the version before the rooms were rebuilt; they are written again only
when a prompt or an answer is meant to change.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sqlite3
import sys
import tempfile
from pathlib import Path

from tests.contract.life import Life, open_life, read


def shown(body: bytes) -> str:
    """A request as it was sent, key by key, so that a person can read the difference."""
    return json.dumps(json.loads(body), ensure_ascii=False, indent=1) + "\n"


async def write(folder: Path) -> None:
    """Live it, and keep what was sent, what is stored, and what the door answers for it."""
    with tempfile.TemporaryDirectory() as home:
        async with open_life(Path(home)) as life:
            await life.whole()
            _golden(life, folder / "golden")
            time = life.clock[0]
            ids = life.ids
        stored = folder / "stored"
        stored.mkdir(parents=True, exist_ok=True)
        _pack(Path(home) / "polyvox.db", stored / "polyvox.db.gz")
        async with open_life(Path(home), time) as life:
            answers = await read(life.app, ids)
        data = {"time": time, "ids": ids, "answers": answers}
        text = json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True)
        (stored / "answers.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def _golden(life: Life, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, request in life.asked.items():
        (folder / f"{name}.json").write_text(shown(request.body), encoding="utf-8")


def _pack(source: Path, target: Path) -> None:
    """The database in one file, without a log beside it."""
    with sqlite3.connect(source) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    target.write_bytes(gzip.compress(source.read_bytes(), 9, mtime=0))


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1])))
