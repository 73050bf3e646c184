"""Who listens to a conversation, in this process.

The contract is small so that one across processes can take its place: `publish` what was
committed, `listen` from now on. A listener who falls behind is told so and reads the store.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence

from polyvox.events import Event, Numbered, payload
from polyvox.store.events import EventRange

BEHIND = 256
"""Batches a listener may leave unread before it has to read the store instead."""


class Batch:
    """Events of one commit. Their bytes are made once, however many listen."""

    __slots__ = ("_bytes", "events")

    def __init__(self, events: Sequence[Numbered]) -> None:
        self.events = events
        self._bytes: bytes | None = None

    @property
    def last(self) -> int:
        """The highest number in it."""
        return self.events[-1].number

    @property
    def bytes(self) -> bytes:
        """The batch as server-sent events."""
        if self._bytes is None:
            self._bytes = frames(self.events) or COMMENT
        return self._bytes

    def after(self, number: int) -> Batch | None:
        """What of it is newer than a number."""
        if self.events[0].number > number:
            return self
        newer = [item for item in self.events if item.number > number]
        return Batch(newer) if newer else None


BEAT = Batch(())
"""Nothing happened: sent now and then, so that no one takes silence for a lost connection."""


class Listener:
    """One reader of a conversation's events from the moment it was made."""

    __slots__ = ("_batches", "_conversation", "_hub", "_waiter", "behind", "ended")

    def __init__(self, hub: Hub, conversation: str) -> None:
        self._hub = hub
        self._conversation = conversation
        self._batches: deque[Batch] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self.behind = False
        self.ended = False

    def offer(self, batch: Batch) -> None:
        """Take a batch, or notice that there are too many."""
        if len(self._batches) >= BEHIND:
            self._batches.clear()
            self.behind = True
        if not self.behind:
            self._batches.append(batch)
        self._wake()

    def miss(self) -> None:
        """Notice that something was stored which nobody offered."""
        self._batches.clear()
        self.behind = True
        self._wake()

    def end(self) -> None:
        """No more will come: the program is ending or the conversation is gone."""
        self.ended = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def take(self) -> Batch | None:
        """The next batch. None when there is none to come (`ended`) or some were dropped
        (`behind`: read the store from the last number you have, then take again)."""
        while not self._batches:
            if self.behind or self.ended:
                self.behind = False
                return None
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._batches.popleft()

    def close(self) -> None:
        """Stop listening."""
        self._hub.leave(self._conversation, self)


class Hub:
    """Every listener of this process, by conversation."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[Listener]] = {}

    def listen(self, conversation: str) -> Listener:
        """A listener for whatever is published from now on."""
        listener = Listener(self, conversation)
        self._listeners.setdefault(conversation, set()).add(listener)
        return listener

    def leave(self, conversation: str, listener: Listener) -> None:
        """Forget a listener."""
        listeners = self._listeners.get(conversation)
        if listeners is not None:
            listeners.discard(listener)
            if not listeners:
                del self._listeners[conversation]

    def publish(self, conversation: str, events: Sequence[Numbered]) -> None:
        """Tell everybody who listens what was committed."""
        listeners = self._listeners.get(conversation)
        if listeners and events:
            batch = Batch(events)
            for listener in listeners:
                listener.offer(batch)

    def refresh(self, conversation: str) -> None:
        """Have everybody read the store again."""
        for listener in self._listeners.get(conversation, ()):
            listener.miss()

    def beat(self) -> None:
        """Let everybody's connection show that it is alive."""
        for listeners in self._listeners.values():
            for listener in listeners:
                listener.offer(BEAT)

    def end(self, conversation: str | None = None) -> None:
        """End the listeners of a conversation, or all of them."""
        for name, listeners in list(self._listeners.items()):
            if conversation is None or name == conversation:
                for listener in list(listeners):
                    listener.end()

    def __len__(self) -> int:
        return sum(len(listeners) for listeners in self._listeners.values())


# -- events as the bytes of a server-sent event stream ---------------------------------------------

COMMENT = b": still here\n\n"
"""Sent when nothing happens, so that neither side takes the silence for a lost connection."""


def frame(number: int, event: Event) -> bytes:
    """One event. `id` is the number to come back with after a lost connection."""
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (number, event.kind.encode(), payload(event))


def frames(batch: Iterable[Numbered]) -> bytes:
    """Events under the numbers they have; those of a live batch have their own."""
    return b"".join(frame(item.number, item.event) for item in batch)


def safe(stretches: Sequence[EventRange]) -> list[Numbered]:
    """Stored events, each under the highest number that is safe to come back with.

    A condensed delta stands for a range of numbers, and the ranges of parallel answers overlap. So
    an event's id is its own number only if nothing that follows reaches back before it; otherwise
    it is the number just before the earliest of what is still to come. Coming back with any id then
    gives everything that was not received, perhaps a piece again, never a gap; `at` tells.
    """
    found: list[Numbered] = []
    reach: int | None = None
    for item in reversed(stretches):
        number = item.last if reach is None else min(item.last, reach - 1)
        found.append(Numbered(number, item.event))
        reach = item.first if reach is None else min(reach, item.first)
    found.reverse()
    return found


def replay(stretches: Sequence[EventRange]) -> bytes:
    """Stored events as bytes, each under a number that is safe to come back with."""
    return frames(safe(stretches))
