"""A conversation's events from any number on: first what is stored, then what happens.

Numbers have no holes, so a listener that meets one (it fell behind, or another process wrote)
simply reads the store again from the last number it has.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from polyvox.errors import Invalid
from polyvox.events import Numbered
from polyvox.store import events
from polyvox.store.database import Database
from polyvox.stream import hub
from polyvox.stream.hub import BEAT, Batch, Listener
from polyvox.values import Scope


async def check(database: Database, scope: Scope, conversation: str, after: int) -> None:
    """Refuse a conversation that does not exist, or a number that nothing has reached yet."""
    page = await _page(database, scope, conversation, after)
    if page.upto < after:
        raise Invalid(
            f"after={after} is beyond the last event, {page.upto}.",
            "Come back with the id of an event you have seen.",
            param="after",
        )


async def follow(
    database: Database, listener: Listener, scope: Scope, conversation: str, after: int
) -> AsyncIterator[bytes]:
    """The events as bytes, until the listener is ended. Closes the listener."""
    async with aclosing(_parts(database, listener, scope, conversation, after)) as parts:
        async for part in parts:
            yield part.bytes if isinstance(part, Batch) else hub.replay(part.stretches)


async def watch(
    database: Database, listener: Listener, scope: Scope, conversation: str, after: int
) -> AsyncGenerator[Numbered, None]:
    """The same as values, for the terminal and for library users: every number is one to come
    back with."""
    async with aclosing(_parts(database, listener, scope, conversation, after)) as parts:
        async for part in parts:
            for item in part.events if isinstance(part, Batch) else hub.safe(part.stretches):
                yield item


async def _parts(
    database: Database, listener: Listener, scope: Scope, conversation: str, after: int
) -> AsyncGenerator[events.LogPage | Batch, None]:
    try:
        last = after
        while not listener.ended:
            more = True
            while more:
                page = await _page(database, scope, conversation, last)
                if page.stretches:
                    yield page
                last, more = page.upto, page.more
            while (batch := await _next(listener, last)) is not None:
                yield batch
                if batch is BEAT:
                    break  # another process may have written something: look
                last = batch.last
    finally:
        listener.close()


async def stored(
    database: Database, scope: Scope, conversation: str, after: int
) -> AsyncIterator[bytes]:
    """Only what is stored, without waiting for more."""
    last, more = after, True
    while more:
        page = await _page(database, scope, conversation, last)
        if page.stretches:
            yield hub.replay(page.stretches)
        last, more = page.upto, page.more


async def _page(database: Database, scope: Scope, conversation: str, after: int) -> events.LogPage:
    return await database.read(lambda tx: events.since(tx, conversation, after), scope)


async def _next(listener: Listener, last: int) -> Batch | None:
    """The next batch that continues after `last`; None: read the store again, or it is over."""
    while (batch := await listener.take()) is not None:
        if batch is BEAT:
            return batch
        fresh = batch.after(last)
        if fresh is not None:
            return fresh if fresh.events[0].number == last + 1 else None
    return None
