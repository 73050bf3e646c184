"""Follow a run of durable work to its end: work on it here, show how far it is, Ctrl-C calls it
off.

Invariant: the end of the work is asked for before the run is looked at. So a run that ends
between the two is seen ended at the next look, and never taken for one that is stuck.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

from rich.console import Console
from rich.progress import Progress

from polyvox.app import Polyvox
from polyvox.cli.lookup import SCOPE
from polyvox.cli.output import note
from polyvox.errors import Conflict, Unavailable
from polyvox.store import jobs
from polyvox.store.database import Tx
from polyvox.values import Scope

LOOK = 0.1
"""Seconds between two looks at how far a run is."""


class RunSnapshot(Protocol):
    """A run at one moment."""

    @property
    def ended(self) -> bool:
        """True once nothing more will come of it."""
        ...


R = TypeVar("R", bound=RunSnapshot)


@dataclass(frozen=True, slots=True)
class Run(Generic[R]):
    """A run, and what can be done with it from here."""

    id: str
    work: Callable[[], Coroutine[Any, Any, bool]]
    """Works on it to its end; False where another process does."""
    look: Callable[[], Awaitable[R]]
    cancel: Callable[[], Awaitable[object]]
    """Calls it off; Conflict where it has ended."""
    failure: Callable[[], Awaitable[str]]
    """Why the work on it had to stop, where that is known."""
    kept: str
    """What is said to be kept of one that was called off."""


def run_of(
    app: Polyvox,
    kind: str,
    run_id: str,
    get: Callable[[Tx, str], R],
    cancel: Callable[[Scope, str], Awaitable[object]],
    kept: str,
) -> Run[R]:
    """A run as the app knows it; `kind` is that of its work."""

    async def failure() -> str:
        job = await app.database.read(lambda tx: jobs.get(tx, f"{kind}:{run_id}"), SCOPE)
        return job.failure or ""

    return Run(
        run_id,
        work=lambda: app.worker.run_one(SCOPE, kind, run_id),
        look=lambda: app.database.read(lambda tx: get(tx, run_id), SCOPE),
        cancel=lambda: cancel(SCOPE, run_id),
        failure=failure,
        kept=kept,
    )


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
        await asyncio.shield(_call_off(run))
        raise
    finally:
        if not working.done():
            working.cancel()
            await asyncio.wait([working])


async def _call_off(run: Run[R]) -> None:
    try:
        await run.cancel()
    except Conflict:
        return
    note(f"called off; {run.kept} in {run.id}")


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
