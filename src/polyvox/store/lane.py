"""A lane: work handed from the event loop to threads that may block, and answers handed back.

Each thread owns one connection for its whole life. An item that was accepted is always
run, even if nobody waits for it any more, and its outcome is delivered exactly once. Handing over
is one queue put and one wake-up of the loop per batch, because this hop is paid for every commit.
Work goes to the thread that was the last to fall idle: what its connection holds (pages, prepared
statements, plans) is warm, where taking turns would keep all of them lukewarm.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from polyvox.errors import StoreError
from polyvox.store.database import Tx
from polyvox.values import Scope

T = TypeVar("T")


class WorkItem(Generic[T]):
    """Work on its way through a lane, and later its outcome."""

    __slots__ = ("error", "future", "loop", "result", "scope", "work")

    def __init__(
        self, work: Callable[[Tx], T], scope: Scope | None, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.work = work
        self.scope = scope
        self.loop = loop
        self.future: asyncio.Future[T] = loop.create_future()
        self.result: T | None = None
        self.error: BaseException | None = None


class Connection(Protocol):
    """One connection, owned by a thread of a lane."""

    def run(self, items: list[WorkItem[Any]]) -> None:
        """Run every item and note its result or its error in it."""
        ...

    def rest(self) -> None:
        """Do the work that can wait until the outcomes are delivered."""
        ...

    def close(self) -> None:
        """Let go of the connection."""
        ...


Mailbox = queue.SimpleQueue[WorkItem[Any] | None]
"""The inbox of an idle thread; None: there will be nothing more."""


class Lane:
    """A queue of work and the threads that serve it, started as they are needed."""

    def __init__(
        self, name: str, connect: Callable[[], Connection], *, threads: int = 1, batch: int = 1
    ) -> None:
        self._name = name
        self._connect = connect
        self._most = threads
        self._batch = batch
        self._threads: list[threading.Thread] = []
        self._waiting = 0
        # Under the lock, for every thread has a hand in it:
        self._lock = threading.Lock()
        self._backlog: deque[WorkItem[Any]] = deque()
        self._idle: list[Mailbox] = []
        self._closed = False

    async def run(self, work: Callable[[Tx], T], scope: Scope | None = None) -> T:
        """Have `work` run on a thread of this lane; answers what it answers, raises what it
        raises. Work handed over by one task is begun in the order it was handed over."""
        if self._closed:
            raise StoreError("The database is closed.", "Start Polyvox again.")
        item = WorkItem(work, scope, asyncio.get_running_loop())
        self._waiting += 1
        self._hand_over(item)
        if self._waiting > len(self._threads) and len(self._threads) < self._most:
            self._start()
        try:
            return await item.future
        finally:
            self._waiting -= 1

    async def close(self) -> None:
        """Let the threads finish what is queued, then end them."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for mailbox in idle:
            mailbox.put(None)
        for thread in self._threads:
            # What is queued may take as long as a busy timeout, which the loop must not wait for.
            await asyncio.to_thread(thread.join)
        self._threads.clear()

    def _hand_over(self, item: WorkItem[Any]) -> None:
        with self._lock:
            if self._idle:
                self._idle.pop().put(item)
            else:
                self._backlog.append(item)

    def _start(self) -> None:
        # Daemon: a program that ends without closing must not hang. Whatever was acknowledged
        # is committed by then.
        name = f"polyvox-{self._name}-{len(self._threads)}"
        thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _serve(self) -> None:
        connection: Connection | None = None
        mailbox: Mailbox = queue.SimpleQueue()
        while items := self._take(mailbox):
            try:
                if connection is None:
                    connection = self._connect()
                connection.run(items)
            except BaseException as error:  # noqa: BLE001 - it is raised again where it is awaited
                for item in items:
                    item.error = item.error or error
            _deliver(items)
            del items
            if connection is not None:
                connection.rest()
        if connection is not None:
            connection.close()

    def _take(self, mailbox: Mailbox) -> list[WorkItem[Any]]:
        """Wait for the next items; an empty list at the end."""
        with self._lock:
            if self._backlog:
                return self._some()
            if self._closed:
                return []
            self._idle.append(mailbox)
        item = mailbox.get()
        if item is None:
            return []
        with self._lock:
            return [item, *self._some(1)]

    def _some(self, taken: int = 0) -> list[WorkItem[Any]]:
        """Take items of the backlog until a batch is full; `taken` counts those it has already."""
        count = min(len(self._backlog), self._batch - taken)
        return [self._backlog.popleft() for _ in range(count)]


class Lanes:
    """A lane for work that writes and one for work that only reads: the base of both databases."""

    def __init__(self, writers: Lane, readers: Lane) -> None:
        self._writers = writers
        self._readers = readers
        self._commits = 0

    @property
    def commits(self) -> int:
        """Transactions committed by `write` so far."""
        return self._commits

    def committed(self) -> None:
        """Count a commit (the writers call this)."""
        self._commits += 1

    async def write(self, work: Callable[[Tx], T], scope: Scope | None = None) -> T:
        """Run `work` in a transaction that may write. All of it is stored, or nothing."""
        return await self._writers.run(work, scope)

    async def read(self, work: Callable[[Tx], T], scope: Scope | None = None) -> T:
        """Run `work` in a snapshot that only reads. Readers never wait for a writer."""
        return await self._readers.run(work, scope)

    async def close(self) -> None:
        """Finish what is queued, then let go of every connection."""
        await self._readers.close()
        await self._writers.close()


def _deliver(items: list[WorkItem[Any]]) -> None:
    """Hand outcomes back, with one wake-up for each loop that waits (nearly always one)."""
    loops = {item.loop for item in items}
    for loop in loops:
        mine = items if len(loops) == 1 else [item for item in items if item.loop is loop]
        try:
            loop.call_soon_threadsafe(_settle, mine)
        except RuntimeError:
            # The loop is closed: nobody is left who could be told.
            continue


def _settle(items: list[WorkItem[Any]]) -> None:
    for item in items:
        if item.future.done():
            continue
        if item.error is None:
            item.future.set_result(item.result)
        elif isinstance(item.error, StopIteration):
            # A future refuses to carry it.
            item.future.set_exception(RuntimeError(f"work raised {item.error!r}"))
        else:
            item.future.set_exception(item.error)
