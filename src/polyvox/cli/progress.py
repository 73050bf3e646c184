"""Follow a run of durable work to its end: work on it here, show how far it is, Ctrl-C calls it
off.

Invariant: the end of the work is asked for before the run is looked at. So a run that ends
between the two is seen ended at the next look, and never taken for one that is stuck.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Self

from rich.console import Console
from rich.progress import Progress

from polyvox.app import Polyvox
from polyvox.cli.lookup import SCOPE
from polyvox.cli.output import note
from polyvox.errors import Conflict, Unavailable
from polyvox.evaluation.runs import Runs
from polyvox.evaluation.tables.runs import R
from polyvox.store import jobs

LOOK = 0.1
"""Seconds between two looks at how far a run is."""


@dataclass(frozen=True, slots=True)
class Run(Generic[R]):
    """A run, and what can be done with it from here."""

    app: Polyvox
    runs: Runs[R]
    id: str

    async def work(self) -> bool:
        """Work on it to its end; False where another process does."""
        return await self.app.worker.run_one(SCOPE, self.runs.table.noun, self.id)

    async def look(self) -> R:
        """The run as it is now."""
        return await self.app.database.read(lambda tx: self.runs.table.get(tx, self.id), SCOPE)

    async def call_off(self) -> None:
        """Call it off, unless it has ended."""
        with contextlib.suppress(Conflict):
            await self.runs.cancel(SCOPE, self.id)
            note(f"called off; {self.runs.kept} in {self.id}")

    async def failure(self) -> str:
        """Why the work on it had to stop, where that is known."""
        name = f"{self.runs.table.noun}:{self.id}"
        job = await self.app.database.read(lambda tx: jobs.get(tx, name), SCOPE)
        return job.failure or ""


async def follow(run: Run[R], show: Callable[[R], None], *, every: float = LOOK) -> R:
    """Work on a run (unless another process does), show how far it is, wait for its end."""
    working = asyncio.create_task(run.work())
    try:
        while True:
            worked = working.done()
            now = await run.look()
            show(now)
            if now.ended:
                await working
                return now
            if not worked:
                await asyncio.wait([working], timeout=every)
            elif working.result():
                raise Unavailable(
                    f"The run {run.id} had to stop: {await run.failure() or 'nobody knows why'}",
                    "It goes on by itself where `polyvox serve` or `polyvox worker` runs.",
                )
            else:
                await asyncio.sleep(every)  # another process is at it
    except asyncio.CancelledError:
        await asyncio.shield(run.call_off())
        raise
    finally:
        if not working.done():
            working.cancel()
            await asyncio.wait([working])


class Bar:
    """Progress of a run: a bar on a terminal's stderr, elsewhere a line for each new step."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._said = ""
        self._progress = None
        if sys.stderr.isatty():
            self._progress = Progress(console=Console(stderr=True), transient=True)
            self._task = self._progress.add_task(title, total=None)

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(self, done: int, total: int, step: str = "", more: str = "") -> None:
        """So many of so many. `more` changes too often to be a line."""
        if self._progress is not None:
            words = f"{step}{more}" or self._title
            self._progress.update(self._task, completed=done, total=total, description=words)
        elif step != self._said:
            self._said = step
            note(step)
