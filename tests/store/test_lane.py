from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from polyvox.errors import StoreError
from polyvox.store.database import Tx
from polyvox.store.lane import Lane, WorkItem


class Hands:
    """A worker that runs work without a database, and tells what it was given together."""

    made = 0

    def __init__(self) -> None:
        Hands.made += 1
        self.batches: list[int] = []
        self.closed = False

    def run(self, jobs: list[WorkItem[Any]]) -> None:
        self.batches.append(len(jobs))
        for job in jobs:
            job.result = job.work(None)  # type: ignore[arg-type]  # this work asks for no statements

    def rest(self) -> None:
        """Nothing is left to do."""

    def close(self) -> None:
        self.closed = True


async def test_threads_are_started_as_needed_and_no_more() -> None:
    Hands.made = 0
    lane = Lane("test", Hands, threads=3)
    meeting = threading.Barrier(3)
    names: set[str] = set()

    def alone(_: Tx) -> None:
        names.add(threading.current_thread().name)

    def together(_: Tx) -> None:
        meeting.wait(30)
        names.add(threading.current_thread().name)

    for _ in range(5):
        await lane.run(alone)
    assert names == {"polyvox-test-0"}
    await asyncio.gather(*(lane.run(together) for _ in range(9)))
    assert names == {"polyvox-test-0", "polyvox-test-1", "polyvox-test-2"}
    assert Hands.made == 3
    await lane.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("polyvox-test")]


async def test_work_goes_to_whoever_fell_idle_last() -> None:
    """So that few connections are warm rather than all of them lukewarm."""
    lane = Lane("test", Hands, threads=3)
    meeting = threading.Barrier(3)
    await asyncio.gather(*(lane.run(lambda _: meeting.wait(30)) for _ in range(3)))
    names: set[str] = set()
    for _ in range(20):
        # Also before the first: one that falls idle late would be the last one to have done so.
        while len(lane._idle) < 3:  # noqa: ASYNC110 - a thread says nobody that it fell idle
            await asyncio.sleep(0)
        names.add(await lane.run(lambda _: threading.current_thread().name))
    await lane.close()
    assert len(names) == 1


async def test_what_is_queued_is_done_before_the_end() -> None:
    lane = Lane("test", Hands, threads=2)
    go = threading.Event()
    done: list[int] = []
    busy = [asyncio.create_task(lane.run(lambda _: go.wait(30))) for _ in range(2)]
    rest = [asyncio.create_task(lane.run(lambda _, n=n: done.append(n))) for n in range(9)]  # type: ignore[misc]  # mypy infers no lambda with a default
    await asyncio.sleep(0)
    closing = asyncio.create_task(lane.close())
    await asyncio.sleep(0)
    with pytest.raises(StoreError, match="closed"):
        await lane.run(lambda _: 1)
    go.set()
    await asyncio.gather(closing, *busy, *rest)
    assert sorted(done) == list(range(9))
    assert not [t for t in threading.enumerate() if t.name.startswith("polyvox-test")]


async def test_what_waits_is_taken_together_in_its_order() -> None:
    hands = Hands()
    lane = Lane("test", lambda: hands, batch=4)
    go = threading.Event()
    order: list[int] = []
    first = asyncio.create_task(lane.run(lambda _: go.wait(30)))
    await asyncio.sleep(0)
    rest = [asyncio.create_task(lane.run(lambda _, n=n: order.append(n))) for n in range(10)]  # type: ignore[misc]  # mypy infers no lambda with a default
    await asyncio.sleep(0)
    go.set()
    await asyncio.gather(first, *rest)
    await lane.close()

    assert order == list(range(10))
    assert max(hands.batches) <= 4
    assert sum(hands.batches) == 11
    assert hands.closed


async def test_a_worker_that_cannot_be_made_is_tried_again() -> None:
    tries: list[int] = []

    def connect() -> Hands:
        tries.append(1)
        if len(tries) < 3:
            raise StoreError("not yet")
        return Hands()

    lane = Lane("test", connect)
    for _ in range(2):
        with pytest.raises(StoreError, match="not yet"):
            await lane.run(lambda _: 1)
    assert await lane.run(lambda _: 1) == 1
    await lane.close()


async def test_a_loop_that_ended_without_waiting_harms_nobody() -> None:
    lane = Lane("test", Hands)
    go = threading.Event()
    ran = threading.Event()

    def slow(_: Tx) -> None:
        go.wait(30)
        ran.set()

    async def leave() -> None:
        task = asyncio.ensure_future(lane.run(slow))
        await asyncio.sleep(0)
        task.cancel()

    await asyncio.to_thread(asyncio.run, leave())
    go.set()

    assert await lane.run(lambda _: 2) == 2
    assert ran.is_set()
    await lane.close()


async def test_nobody_waits_for_what_can_wait() -> None:
    tidied = threading.Event()
    heard = threading.Event()

    class Tidy(Hands):
        def rest(self) -> None:
            if heard.wait(30):
                tidied.set()

    lane = Lane("test", Tidy)
    assert await lane.run(lambda _: 1) == 1
    assert not tidied.is_set()
    heard.set()
    assert await lane.run(lambda _: tidied.is_set()), "the next work waits for it"
    await lane.close()
