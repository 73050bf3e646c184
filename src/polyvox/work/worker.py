"""The worker: takes the jobs that are due, one after another, and sees each of them to an end.

Jobs that may take long have hands of their own, by their kind, so that nothing waits behind them.
A handler stores what it has done as it goes, so a job that is taken up again after a crash goes on
where it was; whatever it repeats is harmless to repeat. A failure waits longer each time, and is
then left for somebody to look at.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from polyvox.errors import PolyvoxError
from polyvox.ids import Clock
from polyvox.store import jobs
from polyvox.store.database import Database, Tx
from polyvox.store.jobs import Job
from polyvox.store.runners import Runner
from polyvox.values import Scope

log = logging.getLogger("polyvox.work")

MINUTE = 60_000_000
ATTEMPTS = 6
WAIT = 0.02
"""Seconds between looks at what somebody else is doing."""
IDLE = 30.0
"""Seconds between looks where nothing rings: another process may have enqueued something."""


Handler = Callable[[Job], Awaitable[None]]


class Hopeless(PolyvoxError):
    """A job that no further attempt can help."""


def wait_after(attempts: int) -> int:
    """Microseconds until the next attempt: one minute, then four times as long each time."""
    return int(MINUTE * 4 ** (attempts - 1))


class Bell:
    """Rung when a job may be due; every hand of a worker listens to it."""

    def __init__(self) -> None:
        self._listeners: list[asyncio.Event] = []

    def listen(self) -> asyncio.Event:
        """An event that is set by every ring from now on; the listener clears it."""
        heard = asyncio.Event()
        self._listeners.append(heard)
        return heard

    def ring(self) -> None:
        """Wake the workers: something may be due."""
        for heard in self._listeners:
            heard.set()


@dataclass(slots=True, eq=False)
class _Hand:
    """Does one job at a time, of these kinds only."""

    kinds: tuple[str, ...]
    bell: asyncio.Event
    task: asyncio.Task[None] | None = None


class Worker:
    """Does jobs in this process until it is closed: one at a time, and of the kinds that are named
    in `apart` so many at once, beside all others."""

    def __init__(
        self,
        database: Database,
        runner: Runner,
        clock: Clock,
        handlers: Mapping[str, Handler],
        apart: Mapping[str, int] | None = None,
        bell: Bell | None = None,
    ) -> None:
        self.bell = bell or Bell()
        self._database = database
        self._runner = runner
        self._clock = clock
        self._handlers = dict(handlers)
        self._in_hand: set[tuple[str, str]] = set()
        self._claiming = asyncio.Lock()
        self._unsure = False
        """True if a job may be ours though nobody works on it: a write about one has failed."""
        own = {kind: most for kind, most in (apart or {}).items() if kind in handlers}
        lanes = [(tuple(kind for kind in handlers if kind not in own), 1)]
        lanes += [((kind,), most) for kind, most in own.items()]
        self._hands = [
            _Hand(kinds, self.bell.listen()) for kinds, most in lanes if kinds for _ in range(most)
        ]

    @property
    def working(self) -> bool:
        """True while jobs are done in the background here."""
        return any(hand.task is not None for hand in self._hands)

    def start(self) -> None:
        """Work in the background from now on."""
        for hand in self._hands:
            if hand.task is None:
                name = f"worker {' '.join(hand.kinds)}"
                hand.task = asyncio.create_task(self._work(hand), name=name)

    async def close(self) -> None:
        """Stop where we are; what was under way waits for the next worker."""
        tasks = [hand.task for hand in self._hands if hand.task is not None]
        for task in tasks:
            task.cancel()
        for hand in self._hands:
            if hand.task is not None:
                with contextlib.suppress(asyncio.CancelledError):
                    await hand.task
                hand.task = None

    async def run_due(self, kinds: Iterable[str] | None = None) -> int:
        """Do everything that is due now, one after another; answers how many jobs that were."""
        wanted = tuple(self._handlers if kinds is None else kinds)
        await self._take_over()
        done = 0
        while (job := await self._claim(wanted)) is not None:
            await self._do(job)
            done += 1
        return done

    async def run_one(self, scope: Scope, kind: str, subject: str) -> bool:
        """Do this one job here and now; False where it is not due, or in living hands."""
        await self._take_over()
        now = self._clock()
        job = await self._take(
            lambda tx: jobs.claim_one(tx, f"{kind}:{subject}", self._runner.id, now), scope
        )
        if job is not None:
            await self._do(job)
        return job is not None

    async def run_all_due(self, scope: Scope, kind: str) -> None:
        """Run all due jobs of this kind for this user; wait for those another worker claimed."""
        while True:
            now = self._clock()
            left = await self._database.read(lambda tx, n=now: jobs.unfinished(tx, kind, n), scope)  # type: ignore[misc]  # bound now
            if not left:
                return
            if not any([await self.run_one(scope, kind, subject) for subject in left]):
                await asyncio.sleep(WAIT)

    async def _work(self, hand: _Hand) -> None:
        while True:
            hand.bell.clear()
            try:
                await self.run_due(hand.kinds)
            except PolyvoxError as error:
                log.warning("background work has to wait: %s %s", error.message, error.hint)
            rest = await self._rest(hand.kinds)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(rest):  # `wait_for` loses an end that comes with a bell
                    await hand.bell.wait()

    async def _rest(self, kinds: Sequence[str]) -> float:
        try:
            due = await self._database.read(lambda tx: jobs.next_due(tx, kinds))
        except PolyvoxError:
            return IDLE
        return IDLE if due is None else min(IDLE, max(0.05, (due - self._clock()) / 1e6))

    async def _take_over(self) -> None:
        """Let jobs of runners that are gone wait again, and jobs of ours that nobody works on."""
        held = await self._database.read(jobs.holders)
        mine, now = self._runner.id, self._clock()
        gone = await self._runner.dead(held - {mine})
        if gone:
            await self._database.write(
                lambda tx: [jobs.release_all(tx, runner_id, now) for runner_id in gone]
            )
        if self._unsure and mine in held:
            async with self._claiming:  # what is being claimed is in a hand only afterwards
                kept = tuple(self._in_hand)
                await self._database.write(lambda tx: jobs.release_all(tx, mine, now, kept))
                self._unsure = False

    async def _claim(self, kinds: Sequence[str]) -> Job | None:
        now = self._clock()
        due = await self._database.read(lambda tx: jobs.next_due(tx, kinds)) if kinds else None
        if due is None or due > now:
            return None  # reading disturbs nobody; only what is due is worth a write
        return await self._take(lambda tx: jobs.claim(tx, kinds, self._runner.id, now))

    async def _take(
        self, claim: Callable[[Tx], Job | None], scope: Scope | None = None
    ) -> Job | None:
        """Claim a job; it is in a hand from then on."""
        async with self._claiming:
            try:
                job = await self._database.write(claim, scope)
            except BaseException:
                self._unsure = True  # it may have been stored all the same
                raise
            if job is not None:
                self._in_hand.add((job.scope.user, job.id))
        return job

    async def _do(self, job: Job) -> None:
        try:
            await self._see_through(job)
        except BaseException:
            self._unsure = True  # its end may not have been stored
            raise
        finally:
            self._in_hand.discard((job.scope.user, job.id))

    async def _see_through(self, job: Job) -> None:
        try:
            await self._handlers[job.kind](job)
        except asyncio.CancelledError:
            # Only this one: other hands of this runner may still be at theirs. Where the database
            # is away, we end all the same.
            with contextlib.suppress(PolyvoxError):
                await asyncio.shield(
                    self._database.write(
                        lambda tx: jobs.release(tx, job, self._runner.id, self._clock())
                    )
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
