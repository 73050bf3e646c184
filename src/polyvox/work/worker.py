"""The worker: takes the jobs that are due, one after another, and sees each of them to an end.

A job is a handler that takes steps. A step's result is kept before the next begins, so a job that
is taken up again after a crash repeats at most the step that was under way; handlers make that step
harmless to repeat. A failure waits longer each time and is then left for somebody to look at.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from polyvox.errors import PolyvoxError
from polyvox.ids import Clock
from polyvox.store import jobs
from polyvox.store.database import Database, Tx
from polyvox.store.jobs import Job
from polyvox.store.runners import Runner

log = logging.getLogger("polyvox.work")

MINUTE = 60_000_000
ATTEMPTS = 6
IDLE = 30.0
"""Seconds between looks where nothing rings: another process may have enqueued something."""


class Taking(Protocol):
    """What a handler is given to take its steps with."""

    @property
    def job(self) -> Job:
        """The job itself."""
        ...

    async def step(self, name: str, act: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401 - JSON
        """The result of a step: kept from before, or of taking it now."""
        ...


Handler = Callable[[Taking], Awaitable[None]]


class Hopeless(PolyvoxError):
    """A job that no further attempt can help."""


@dataclass(slots=True)
class Steps:
    """The steps of one job, kept in the database."""

    job: Job
    database: Database
    clock: Clock

    async def step(self, name: str, act: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401 - JSON
        """The result of a step: kept from before, or of taking it now."""
        kept = await self.database.read(lambda tx: jobs.step(tx, self.job, name))
        if kept is not None:
            return msgspec.json.decode(kept)
        result = await act()
        text = msgspec.json.encode(result).decode()
        now = self.clock()
        await self.database.write(lambda tx: jobs.keep_step(tx, self.job, name, text, now))
        return msgspec.json.decode(text)


def wait_after(attempts: int) -> int:
    """Microseconds until the next attempt: one minute, then four times as long each time."""
    return int(MINUTE * 4 ** (attempts - 1))


class Worker:
    """Does jobs in this process, one at a time, until it is closed."""

    def __init__(
        self,
        database: Database,
        runner: Runner,
        clock: Clock,
        handlers: Mapping[str, Handler],
    ) -> None:
        self._database = database
        self._runner = runner
        self._clock = clock
        self._handlers = dict(handlers)
        self._bell = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def ring(self) -> None:
        """Something may be due."""
        self._bell.set()

    def start(self) -> None:
        """Work in the background from now on."""
        if self._task is None and self._handlers:
            self._task = asyncio.create_task(self._work(), name="worker")

    async def close(self) -> None:
        """Stop where we are; what was under way waits for the next worker."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def run_due(self) -> int:
        """Do everything that is due now; answers how many jobs that were."""
        await self._take_over()
        done = 0
        while (job := await self._claim()) is not None:
            await self._do(job)
            done += 1
        return done

    async def _work(self) -> None:
        while True:
            self._bell.clear()
            try:
                await self.run_due()
            except PolyvoxError as error:
                log.warning("background work has to wait: %s %s", error.message, error.hint)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._bell.wait(), await self._rest())

    async def _rest(self) -> float:
        try:
            due = await self._database.read(lambda tx: jobs.next_due(tx, self._handlers))
        except PolyvoxError:
            return IDLE
        return IDLE if due is None else min(IDLE, max(0.05, (due - self._clock()) / 1e6))

    async def _take_over(self) -> None:
        """What runners that are gone had begun waits again."""
        held = await self._database.read(jobs.holders)
        gone = await self._runner.dead(held - {self._runner.id})
        if gone:
            now = self._clock()
            await self._database.write(lambda tx: [jobs.give_back(tx, one, now) for one in gone])

    async def _claim(self) -> Job | None:
        now = self._clock()
        due = await self._database.read(lambda tx: jobs.next_due(tx, self._handlers))
        if due is None or due > now:
            return None  # reading disturbs nobody; only what is due is worth a write
        return await self._database.write(
            lambda tx: jobs.claim(tx, self._handlers, self._runner.id, now)
        )

    async def _do(self, job: Job) -> None:
        try:
            await self._handlers[job.kind](Steps(job, self._database, self._clock))
        except asyncio.CancelledError:
            await asyncio.shield(
                self._database.write(lambda tx: jobs.give_back(tx, self._runner.id, self._clock()))
            )
            raise
        except Exception as error:  # noqa: BLE001 - whatever it was, it is this job's failure alone
            await self._failed(job, error)
        else:
            await self._database.write(
                lambda tx: jobs.finish(tx, job, self._runner.id, self._clock())
            )

    async def _failed(self, job: Job, error: Exception) -> None:
        if isinstance(error, PolyvoxError):
            failure = f"{error.message} {error.hint}".strip()
        else:
            failure = f"Polyvox itself failed: {type(error).__name__}."
            log.error("job %s failed", job.id, exc_info=error)
        hopeless = isinstance(error, Hopeless) or job.attempts >= ATTEMPTS

        def write(tx: Tx) -> None:
            now = self._clock()
            if hopeless:
                jobs.fail(tx, job, self._runner.id, failure, now)
            else:
                due = now + wait_after(job.attempts)
                jobs.postpone(tx, job, self._runner.id, failure, due, now)

        await self._database.write(write)
