"""Following a run: whatever happens between two looks, it is told truly; Ctrl-C calls it off."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from polyvox.cli.progress import Bar, Run, follow
from polyvox.errors import Conflict, Unavailable
from polyvox.evaluation.tables.runs import RunFacts
from polyvox.values import Scope


def moment(*, ended: bool) -> RunFacts:
    """A run as it is at one look."""
    return RunFacts("r1", "", (), 0, ended_at=1 if ended else None)


@dataclass
class Work:
    """A run whose end, and whose looks, are in the hands of a test."""

    ours: bool = True
    ended: bool = False
    stops: bool = False
    """The work on it ends, and it does not."""
    reason: str = ""
    over: bool = False
    """It has ended by the time it is called off."""
    happened: list[str] = field(default_factory=list)
    end: asyncio.Event = field(default_factory=asyncio.Event)
    looked: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[object] | None = None

    async def work(self) -> bool:
        self.task = asyncio.current_task()
        if not self.ours:
            return False
        try:
            await self.end.wait()
        except asyncio.CancelledError:
            self.happened.append("work closed")
            raise
        self.ended = not self.stops
        return True

    async def look(self) -> RunFacts:
        now = moment(ended=self.ended)
        self.looked.set()
        return now

    async def cancel(self, scope: Scope, run_id: str) -> None:
        if self.over:
            raise Conflict("This one is finished.")
        self.happened.append("called off")

    async def failure(self) -> str:
        return self.reason

    kept = "its words are kept"

    def run(self) -> Run[RunFacts]:
        return Seen(cast("Any", None), cast("Any", self), "r1", self)


@dataclass(frozen=True)
class Seen(Run[RunFacts]):
    """The run as the command sees it."""

    hand: Work

    async def work(self) -> bool:
        return await self.hand.work()

    async def look(self) -> RunFacts:
        return await self.hand.look()

    async def failure(self) -> str:
        return await self.hand.failure()


class EndsMeanwhile(Work):
    """What is read is the state before the work's end; when it is told, the work is done."""

    async def look(self) -> RunFacts:
        now = await super().look()
        if not now.ended and self.task is not None:
            self.end.set()
            await asyncio.wait([self.task])
        return now


async def test_a_run_that_ends_between_two_looks_is_not_stuck() -> None:
    work, seen = EndsMeanwhile(), list[bool]()
    found = await follow(work.run(), lambda now: seen.append(now.ended), every=0)
    assert found.ended
    assert seen[-2:] == [False, True], "the last look but one still saw it under way"
    assert work.happened == []


async def test_work_that_stops_before_the_end_is_told_with_its_reason() -> None:
    for reason, said in (("The disk is full.", "The disk is full."), ("", "nobody knows why")):
        work = Work(stops=True, reason=reason)
        work.end.set()
        with pytest.raises(Unavailable, match=f"r1 had to stop: {said}") as caught:
            await follow(work.run(), lambda _: None, every=0)
        assert "polyvox worker" in caught.value.hint
        assert work.happened == [], "it waits for another try: nobody calls it off"


async def test_another_process_at_work_is_waited_for() -> None:
    work, looks = Work(ours=False), list[bool]()

    def show(now: RunFacts) -> None:
        looks.append(now.ended)
        work.ended = len(looks) == 5

    assert (await follow(work.run(), show, every=0)).ended
    assert looks == [False] * 5 + [True]


@pytest.mark.parametrize("over", [False, True])
async def test_ctrl_c_calls_it_off(capsys: pytest.CaptureFixture[str], over: bool) -> None:
    work = Work(over=over)
    following = asyncio.create_task(follow(work.run(), lambda _: None))
    await work.looked.wait()
    following.cancel()  # what Ctrl-C does to the loop's main task
    with pytest.raises(asyncio.CancelledError):
        await following
    assert work.happened == (["work closed"] if over else ["called off", "work closed"])
    said = "" if over else "called off; its words are kept in r1\n"
    assert capsys.readouterr().err == said


async def test_a_failure_of_the_work_itself_is_raised() -> None:
    @dataclass
    class Breaks(Work):
        async def work(self) -> bool:
            raise Unavailable("The database is away.")

    work = Breaks(ended=True)
    with pytest.raises(Unavailable, match="database is away"):
        await follow(work.run(), lambda _: None, every=0)


def test_beside_a_pipe_every_step_is_a_line_once(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar("optimising") as bar:
        for step, more in (("one", " a"), ("one", " b"), ("two", " b")):
            bar.show(1, 2, step, more)
    with Bar("evaluating") as bar:
        bar.show(1, 2)
    assert capsys.readouterr().err == "one\ntwo\n"
