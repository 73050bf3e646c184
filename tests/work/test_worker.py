"""The worker: every job is seen to an end, whoever dies meanwhile."""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from polyvox.errors import StoreError, Unavailable
from polyvox.store import jobs
from polyvox.store.database import Database, Tx
from polyvox.store.jobs import Job
from polyvox.store.runners import Runner, register
from polyvox.values import Scope
from polyvox.work.worker import ATTEMPTS, Handler, Hopeless, Worker, wait_after

ME = Scope("anna")


class Clock:
    """Time as the test says."""

    now = 1_000_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
async def runner(database: Database) -> AsyncIterator[Runner]:
    made = await register(database)
    yield made
    await made.close()


async def want(database: Database, subject: str, now: int = 0) -> None:
    await database.write(lambda tx: jobs.enqueue(tx, "task", subject, now), ME)


async def job(database: Database, subject: str) -> Job:
    return await database.read(lambda tx: jobs.get(tx, f"task:{subject}"), ME)


def worker(database: Database, runner: Runner, clock: Clock, task: Handler) -> Worker:
    return Worker(database, runner, clock, {"task": task})


async def test_what_another_has_in_hand_is_waited_for(database: Database, runner: Runner) -> None:
    clock, begun, enough, quick = Clock(), asyncio.Event(), asyncio.Event(), asyncio.Event()
    done: list[str] = []

    async def task(job: Job) -> None:
        if job.subject == "slow":
            begun.set()
            await enough.wait()
        done.append(job.subject)
        quick.set()

    one, other = worker(database, runner, clock, task), worker(database, runner, clock, task)
    await want(database, "slow")
    under_way = asyncio.create_task(one.run_one(ME, "task", "slow"))
    await begun.wait()
    for subject, due in (("quick", 0), ("later", clock.now + 1)):
        await database.write(
            lambda tx, s=subject, d=due: jobs.enqueue(tx, "task", s, 0, due_at=d),  # type: ignore[misc]  # bound now
            ME,
        )
    await database.write(lambda tx: jobs.enqueue(tx, "task", "theirs", 0), Scope("bert"))
    seen = asyncio.create_task(other.run_all_due(ME, "task"))
    await quick.wait()
    assert not seen.done(), "one is still in hand"
    enough.set()
    await seen
    assert done == ["quick", "slow"], "what is not due, or another's, is not"
    await under_way


async def test_everything_that_is_due_is_done_once(database: Database, runner: Runner) -> None:
    done: list[str] = []

    async def task(job: Job) -> None:
        done.append(job.subject)

    for subject in ("a", "b", "c"):
        await want(database, subject)
    await want(database, "later", Clock.now + 1)
    work = worker(database, runner, Clock(), task)
    assert await work.run_due() == 3
    assert await work.run_due() == 0
    assert done == ["a", "b", "c"]
    assert (await job(database, "a")).state == "done"
    assert (await job(database, "later")).state == "pending"


async def test_a_job_that_failed_is_tried_again_when_its_time_has_come(
    database: Database, runner: Runner
) -> None:
    tried: list[bool] = []
    broken = True

    async def task(_: Job) -> None:
        tried.append(broken)
        if broken:
            raise Unavailable("The provider cannot be reached.", "Try later.")

    clock = Clock()
    await want(database, "a")
    work = worker(database, runner, clock, task)
    await work.run_due()
    failed = await job(database, "a")
    assert failed.state == "pending"
    assert failed.failure == "The provider cannot be reached. Try later."
    assert failed.due_at == clock.now + wait_after(1)
    broken = False
    clock.now = failed.due_at - 1
    assert await work.run_due() == 0
    clock.now = failed.due_at
    await work.run_due()
    assert tried == [True, False]
    assert (await job(database, "a")).state == "done"


async def test_it_waits_longer_each_time_and_then_asks_for_help(
    database: Database, runner: Runner
) -> None:
    async def task(job: Job) -> None:
        raise Unavailable("Away.")

    clock = Clock()
    await want(database, "a")
    work = worker(database, runner, clock, task)
    waits = []
    for _ in range(ATTEMPTS):
        await work.run_due()
        state = await job(database, "a")
        waits.append(state.due_at - clock.now)
        clock.now = state.due_at
    assert waits[:-1] == sorted(set(waits[:-1]))
    assert state.state == "failed"
    assert await work.run_due() == 0


async def test_a_hopeless_job_is_not_tried_again(database: Database, runner: Runner) -> None:
    async def task(job: Job) -> None:
        raise Hopeless("It does not exist any more.")

    await want(database, "a")
    await worker(database, runner, Clock(), task).run_due()
    assert (await job(database, "a")).state == "failed"


async def test_our_own_mistake_fails_one_job_only(
    database: Database, runner: Runner, caplog: pytest.LogCaptureFixture
) -> None:
    async def task(job: Job) -> None:
        if job.subject == "a":
            raise ZeroDivisionError

    await want(database, "a")
    await want(database, "b")
    assert await worker(database, runner, Clock(), task).run_due() == 2
    assert (await job(database, "a")).failure == "Polyvox itself failed: ZeroDivisionError."
    assert (await job(database, "b")).state == "done"
    assert "task:a" in caplog.text


async def test_what_the_dead_held_is_taken_over_and_what_the_living_hold_is_not(
    database: Database, runner: Runner
) -> None:
    done: list[str] = []

    async def task(job: Job) -> None:
        done.append(job.subject)

    alive = await register(database)
    await want(database, "theirs")
    await database.write(lambda tx: jobs.claim(tx, ["task"], alive.id, 1), ME)
    await want(database, "orphan")
    await database.write(lambda tx: jobs.claim(tx, ["task"], "long dead", 1), ME)
    await worker(database, runner, Clock(), task).run_due()
    assert done == ["orphan"]
    await alive.close()
    await worker(database, runner, Clock(), task).run_due()
    assert done == ["orphan", "theirs"]


class Away:
    """A database that can be away when something is written: before it is, or just behind it."""

    def __init__(self, inner: Database) -> None:
        self.inner, self.dialect, self.commits = inner, inner.dialect, 0
        self.away, self.behind = 0, False

    async def write(self, work: Any, scope: Scope | None = None) -> Any:
        away, self.away = self.away > 0, max(0, self.away - 1)
        if away and not self.behind:
            raise StoreError("The database is away.")
        done = await self.inner.write(work, scope)
        if away:
            raise StoreError("The database went away.")
        return done

    async def read(self, work: Any, scope: Scope | None = None) -> Any:
        return await self.inner.read(work, scope)

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("how", ["done", "failed", "claimed"])
async def test_what_is_ours_in_no_hand_is_taken_up_again(
    database: Database, runner: Runner, how: str
) -> None:
    """Where its end, or that it was claimed at all, could not be told."""
    away, begun = Away(database), 0

    async def task(job: Job) -> None:
        nonlocal begun
        begun += 1
        if begun == 1 and how != "claimed":
            away.away = 1
            if how == "failed":
                raise Unavailable("Not now.")

    await want(database, "a")
    work = worker(away, runner, Clock(), task)
    if how == "claimed":
        away.away, away.behind = 1, True
    with pytest.raises(StoreError):
        await work.run_due()
    assert (await job(database, "a")).runner_id == runner.id
    assert await work.run_due() == 1
    assert (await job(database, "a")).state == "done"
    assert begun == (1 if how == "claimed" else 2)


async def test_what_is_in_another_hand_is_not_taken_up_again(
    database: Database, runner: Runner
) -> None:
    away, begun, held = Away(database), asyncio.Event(), asyncio.Event()
    seen: list[str] = []

    async def long(job: Job) -> None:
        seen.append("long")
        begun.set()
        await held.wait()

    async def task(job: Job) -> None:
        seen.append("task")
        away.away = int(seen.count("task") == 1)

    await database.write(lambda tx: jobs.enqueue(tx, "long", "a", 0), ME)
    work = Worker(away, runner, Clock(), {"task": task, "long": long}, apart={"long": 1})
    other = asyncio.create_task(work.run_due(["long"]))
    await asyncio.wait_for(begun.wait(), 20)
    await want(database, "b")
    with pytest.raises(StoreError):
        await work.run_due()
    assert await asyncio.wait_for(work.run_due(), 20) == 1
    held.set()
    assert await other == 1
    assert seen == ["long", "task", "task"]


async def test_it_can_be_closed_while_the_database_is_away(
    database: Database, runner: Runner
) -> None:
    away, begun = Away(database), asyncio.Event()

    async def task(job: Job) -> None:
        begun.set()
        await asyncio.Event().wait()

    await want(database, "a")
    work = worker(away, runner, Clock(), task)
    work.start()
    await asyncio.wait_for(begun.wait(), 20)
    away.away = 1
    await asyncio.wait_for(work.close(), 20)
    assert (await job(database, "a")).state == "running"
    assert await work.run_one(ME, "task", "b") is False
    assert (await job(database, "a")).state == "pending"


async def test_closing_gives_back_what_is_under_way(database: Database, runner: Runner) -> None:
    begun = asyncio.Event()

    async def task(job: Job) -> None:
        begun.set()
        await asyncio.Event().wait()

    await want(database, "a")
    work = worker(database, runner, Clock(), task)
    work.start()
    await begun.wait()
    await work.close()
    waiting = await job(database, "a")
    assert (waiting.state, waiting.runner_id) == ("pending", None)


async def test_it_can_be_closed_while_it_looks_when_the_next_job_is_due(
    database: Database, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that was begun is left lying: a warning of it would fail this test."""
    looking, may_go_on = threading.Event(), threading.Event()
    looks = itertools.count(1)

    def slow(tx: Tx, kinds: Sequence[str]) -> int | None:
        if next(looks) == 2:  # first whether anything is due now, then how long it may rest
            looking.set()
            may_go_on.wait(20)
        return next_due(tx, kinds)

    async def task(job: Job) -> None:
        pass

    next_due = jobs.next_due
    monkeypatch.setattr(jobs, "next_due", slow)
    work = worker(database, runner, Clock(), task)
    work.start()
    assert await asyncio.to_thread(looking.wait, 20)
    closing = asyncio.create_task(work.close())
    await asyncio.sleep(0)
    may_go_on.set()
    await closing
    gc.collect()


async def test_it_can_be_closed_just_when_it_is_rung(
    database: Database, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: asyncio.Queue[None] = asyncio.Queue()
    loop, next_due = asyncio.get_running_loop(), jobs.next_due

    def seen(tx: Tx, kinds: Sequence[str]) -> int | None:
        loop.call_soon_threadsafe(looks.put_nowait, None)
        return next_due(tx, kinds)

    async def task(job: Job) -> None:
        pass

    monkeypatch.setattr(jobs, "next_due", seen)
    work = worker(database, runner, Clock(), task)
    work.start()
    for _ in range(2):  # whether anything is due, and how long it may rest
        await looks.get()
    for _ in range(5):
        await database.read(lambda tx: None, ME)  # by now it rests
    work.bell.ring()
    closing = asyncio.create_task(work.close())
    ended, _ = await asyncio.wait({closing}, timeout=10)
    closing.cancel()
    assert ended, "it goes on resting"


async def test_ringing_wakes_it(database: Database, runner: Runner) -> None:
    done = asyncio.Event()

    async def task(job: Job) -> None:
        done.set()

    work = worker(database, runner, Clock(), task)
    work.start()
    await want(database, "a")
    work.bell.ring()
    await asyncio.wait_for(done.wait(), 20)
    await work.close()


async def test_long_work_has_hands_of_its_own(database: Database, runner: Runner) -> None:
    """Two jobs of the long kind are under way at once, and nothing waits behind them."""
    going: list[str] = []
    held, both, quick = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def long(job: Job) -> None:
        going.append(job.subject)
        if len(going) == 2:
            both.set()
        await held.wait()

    async def task(job: Job) -> None:
        quick.set()

    subjects = ("a", "b", "c")
    await database.write(lambda tx: [jobs.enqueue(tx, "long", one, 0) for one in subjects], ME)
    work = Worker(database, runner, Clock(), {"task": task, "long": long}, apart={"long": 2})
    work.start()
    await asyncio.wait_for(both.wait(), 20)
    await want(database, "quick")
    work.bell.ring()
    await asyncio.wait_for(quick.wait(), 20)
    assert len(going) == 2
    await work.close()
    left = await database.read(lambda tx: jobs.list_jobs(tx, ["pending"]), ME)
    assert [one.subject for one in left if one.kind == "long"] == ["a", "b", "c"]


async def test_a_hand_that_ends_gives_back_only_its_own(database: Database, runner: Runner) -> None:
    begun, held = asyncio.Event(), asyncio.Event()

    async def task(job: Job) -> None:
        begun.set()
        await held.wait()

    await want(database, "a")
    await want(database, "b")
    other = await database.write(lambda tx: jobs.claim_one(tx, "task:b", runner.id, Clock.now), ME)
    assert other is not None
    work = worker(database, runner, Clock(), task)
    work.start()
    await asyncio.wait_for(begun.wait(), 20)
    await work.close()
    assert (await job(database, "a")).state == "pending"
    assert (await job(database, "b")).state == "running"


async def test_one_job_is_done_here_and_now(database: Database, runner: Runner) -> None:
    done: list[str] = []

    async def task(job: Job) -> None:
        done.append(job.subject)

    await want(database, "a")
    await want(database, "b")
    await want(database, "later", Clock.now + 1)
    work = worker(database, runner, Clock(), task)
    assert await work.run_one(ME, "task", "b")
    assert not await work.run_one(ME, "task", "b")
    assert not await work.run_one(ME, "task", "later")
    assert not await work.run_one(ME, "task", "nothing")
    assert done == ["b"]
    assert (await job(database, "a")).state == "pending"


async def test_one_job_is_taken_from_the_dead(database: Database, runner: Runner) -> None:
    done: list[str] = []

    async def task(job: Job) -> None:
        done.append(job.subject)

    await want(database, "a")
    await database.write(lambda tx: jobs.claim_one(tx, "task:a", "nobody", Clock.now), ME)
    assert await worker(database, runner, Clock(), task).run_one(ME, "task", "a")
    assert done == ["a"]
