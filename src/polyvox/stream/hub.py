"""Who listens to a conversation, in this process.

The contract is small so that one across processes can take its place: `publish` what was
committed, `listen` from now on. A listener who falls behind is told so and reads the store.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from polyvox.events import Numbered
from polyvox.stream import sse

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
            self._bytes = sse.frames(self.events) or sse.COMMENT
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
