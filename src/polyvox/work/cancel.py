"""Work that can be called off from anywhere: in this process at once, from another one soon.

Whoever calls it off writes that down first and rings; the work's task is cancelled when its bell
rings or a look at the store, every second, shows that it is not wanted any more.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from polyvox.errors import StoreError

LOOK = 1.0
"""Seconds between two looks for a word from another process."""


@dataclass(slots=True, eq=False)
class Bells:
    """One bell for each piece of work under way in this process."""

    look: float = LOOK
    _bells: dict[str, asyncio.Event] = field(default_factory=dict)

    def ring(self, name: str) -> None:
        """Look now whether this is still wanted."""
        if (bell := self._bells.get(name)) is not None:
            bell.set()

    async def while_wanted(
        self, name: str, work: Coroutine[Any, Any, None], wanted: Callable[[], Awaitable[bool]]
    ) -> bool:
        """Do it for as long as it is wanted; answers whether it came to its own end. When it does
        not, its calls are closed by the time this returns. A failure of it is raised."""
        bell = self._bells[name] = asyncio.Event()
        doing = asyncio.create_task(work, name=name)
        watching = asyncio.create_task(self._watch(bell, wanted))
        try:
            await asyncio.wait((doing, watching), return_when=asyncio.FIRST_COMPLETED)
            ended = doing.done()
        finally:
            del self._bells[name]
            for task in (doing, watching):
                task.cancel()
            await asyncio.wait((doing, watching))
        if ended:
            doing.result()
            return True
        if not doing.cancelled():
            doing.exception()  # it was called off: how it took that is nobody's concern
        watching.result()
        return False

    async def _watch(self, bell: asyncio.Event, wanted: Callable[[], Awaitable[bool]]) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.look):  # `wait_for` loses an end at such a moment
                    await bell.wait()
            bell.clear()
            with contextlib.suppress(StoreError):  # the work itself will meet it
                if not await wanted():
                    return
