"""The queue of turns: one runs per conversation, the next messages wait, every task is owned.

Tasks live here, not in requests. Stopping, and the end of the program, go through here too.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from polyvox.errors import NotFound, PolyvoxError
from polyvox.events import Event
from polyvox.resources import Resources
from polyvox.session.answer import INTERNAL, AnswerJob
from polyvox.store import endings
from polyvox.store.database import Tx
from polyvox.store.endings import Ending
from polyvox.values import AnswerState, Scope

log = logging.getLogger("polyvox.turn")

T = TypeVar("T")
Work = Callable[[], Awaitable[None]]


class _Line:
    """The turns of one conversation, one after another."""

    def __init__(self) -> None:
        self.waiting: deque[tuple[Work, list[AnswerJob]]] = deque()
        self.task: asyncio.Task[None] | None = None


class TurnQueue:
    """Every answer under way in this process."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._lines: dict[str, _Line] = {}
        self._side: set[asyncio.Task[Any]] = set()
        self._ahead: dict[str, set[asyncio.Task[Any]]] = {}
        self.jobs: dict[str, AnswerJob] = {}
        self.closing = False
        resources.journal.gone = self.forget

    def in_turn(self, conversation_id: str, jobs: list[AnswerJob], work: Work) -> None:
        """Run `work` when the conversation's earlier turns are over."""
        self.remember(jobs)
        line = self._lines.setdefault(conversation_id, _Line())
        line.waiting.append((work, jobs))
        if line.task is None:
            line.task = asyncio.create_task(
                self._walk(conversation_id, line), name=f"conversation {conversation_id}"
            )

    def beside(self, jobs: list[AnswerJob], work: Work, *, heard: bool) -> None:
        """Run `work` now, beside whatever else the conversation does. What can be `heard` (a
        retry; not a synthesis) is waited for by every message that has not begun yet."""
        self.remember(jobs)
        task = self._own(self._guarded(work, jobs))
        if heard:
            conversation_id = jobs[0].turn.conversation_id
            ahead = self._ahead.setdefault(conversation_id, set())
            ahead.add(task)
            task.add_done_callback(lambda done: self._heard(conversation_id, done))

    def _heard(self, conversation_id: str, task: asyncio.Task[Any]) -> None:
        ahead = self._ahead[conversation_id]
        ahead.discard(task)
        if not ahead:
            del self._ahead[conversation_id]

    async def see_through(self, work: Coroutine[Any, Any, T]) -> T:
        """Finish what was begun though whoever asked for it goes away: between a message that is
        stored and its answers being written nothing may come."""
        task = self._own(work)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(task)

    def _own(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._side.add(task)
        task.add_done_callback(self._side.discard)
        return task

    def remember(self, jobs: Sequence[AnswerJob]) -> None:
        """From now on these answers can be stopped; while the program ends, they are."""
        for job in jobs:
            self.jobs[job.answer_id] = job
            if self.closing:
                job.end_early("interrupted")

    async def _walk(self, conversation_id: str, line: _Line) -> None:
        while line.waiting:
            if ahead := self._ahead.get(conversation_id):
                await asyncio.wait(ahead)
            else:
                work, jobs = line.waiting.popleft()
                await self._guarded(work, jobs)
        del self._lines[conversation_id]

    async def _guarded(self, work: Work, jobs: list[AnswerJob]) -> None:
        """Run work; whatever goes wrong in it, its answers end and the line goes on."""
        state: AnswerState = "interrupted"
        try:
            await work()
        except NotFound:
            self.forget(jobs[0].turn.conversation_id)
        except Exception:
            log.exception("a turn failed")
            state = "failed"
        finally:
            left = [job for job in jobs if job.task is None and not job.ended.is_set()]
            if left:
                await self.end_unstarted(left, state)
            for job in jobs:
                self.jobs.pop(job.answer_id, None)

    async def end_unstarted(self, jobs: Sequence[AnswerJob], state: AnswerState) -> None:
        """End answers whose task never began."""
        for job in jobs:

            def act(tx: Tx, job: AnswerJob = job) -> tuple[object, list[Event]]:
                ended = job.halt or state
                failure = INTERNAL if ended == "failed" else None
                ending = Ending(job.answer_id, ended, failure)
                return endings.end(tx, ending, self._resources.clock())

            try:
                await self._resources.journal.do(
                    job.scope, job.turn.conversation_id, act, ends=job.answer_id
                )
            except PolyvoxError as error:  # as in `answer`: deleted, or ending on a broken store
                log.warning("answer %s: its end was not stored: %s", job.answer_id, error.message)
            job.ended.set()
            self.jobs.pop(job.answer_id, None)

    def forget(self, conversation_id: str) -> None:
        """End what is under way in a conversation that is gone: nobody will ever see it."""
        for job in list(self.jobs.values()):
            if job.turn.conversation_id == conversation_id:
                job.end_early("stopped")

    async def stop(self, scope: Scope, answer_ids: Sequence[str]) -> None:
        """Stop answers now and return once their partial texts are stored."""
        jobs = [self.jobs[answer_id] for answer_id in answer_ids if answer_id in self.jobs]
        jobs = [job for job in jobs if job.scope == scope]
        for job in jobs:
            job.end_early("stopped")
        await self._settled(jobs)

    async def _settled(self, jobs: Sequence[AnswerJob]) -> None:
        """Wait until these answers have ended: running ones by themselves, waiting ones here."""
        waiting = {
            id(job) for line in self._lines.values() for _, group in line.waiting for job in group
        }
        unstarted = [job for job in jobs if id(job) in waiting]
        for line in self._lines.values():
            line.waiting = deque(
                entry for entry in line.waiting if not all(job.halt is not None for job in entry[1])
            )
        await self.end_unstarted(unstarted, "stopped")
        for job in jobs:
            await job.ended.wait()

    @property
    def busy(self) -> bool:
        """True while any answer is under way or waiting."""
        return bool(self.jobs)

    def _tasks(self) -> list[asyncio.Task[Any]]:
        return [line.task for line in self._lines.values() if line.task] + list(self._side)

    async def drain(self, seconds: float) -> None:
        """Let what runs come to its end, but no longer than this."""
        if (tasks := self._tasks()) and seconds > 0:
            await asyncio.wait(tasks, timeout=seconds)

    async def close(self) -> None:
        """End everything as interrupted, keeping what came."""
        self.closing = True
        self._resources.journal.patient = False
        jobs = list(self.jobs.values())
        for job in jobs:
            job.end_early("interrupted")
        await self._settled(jobs)
        while tasks := self._tasks():
            await asyncio.wait(tasks)
