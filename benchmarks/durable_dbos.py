"""The dbos side of `durable`, run by a Python that has dbos and nothing of ours.

    python durable_dbos.py PLACE COUNT          measures, prints one line of JSON
    python durable_dbos.py PLACE COUNT --load   works without pause until its standard input closes

It keeps its state in a SQLite file of its own: sharing one with another writer costs that writer.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any


async def main(place: Path, count: int, load: bool) -> None:
    """Steps of one workflow, then as many workflows from a queue."""
    began = time.perf_counter()
    dbos: Any = importlib.import_module("dbos").DBOS
    took = {"import": time.perf_counter() - began}
    url = f"sqlite:///{place / 'dbos.db'}"
    config = {
        "name": "bench",
        "system_database_url": url,
        "application_version": "1",
        "run_admin_server": False,
        "log_level": "ERROR",
    }

    async def act(number: int) -> int:
        return number

    async def steps(number: int) -> int:
        for one in range(number):
            await step(one)
        return number

    async def job(number: int) -> int:
        result: int = await step(number)
        return result

    began = time.perf_counter()
    dbos(config=config)
    step = dbos.step()(act)
    many, single = dbos.workflow()(steps), dbos.workflow()(job)
    dbos.launch()
    took["start"] = time.perf_counter() - began
    await dbos.register_queue_async("bench", polling_interval_sec=0.01)
    if load:
        print("ready", flush=True)
        ended = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
        done = 0
        while not ended.done():
            await (await dbos.start_workflow_async(many, 10)).get_result()
            done += 10
        print(done, flush=True)
    else:
        began = time.perf_counter()
        await (await dbos.start_workflow_async(many, count)).get_result()
        took["steps"] = time.perf_counter() - began
        began = time.perf_counter()
        handles = [await dbos.enqueue_workflow_async("bench", single, n) for n in range(count)]
        for handle in handles:
            await handle.get_result()
        took["jobs"] = time.perf_counter() - began
        print(json.dumps(took), flush=True)
    dbos.destroy()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), "--load" in sys.argv))
