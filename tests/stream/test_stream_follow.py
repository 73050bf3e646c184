"""From any number on: first what is stored, then what happens, without a hole or a double."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest
from tests.stream.desk import ME, Desk, lay, shown

from polyvox.errors import Invalid, NotFound
from polyvox.events import Numbered, TextDelta, TurnCompleted
from polyvox.store import events, turns
from polyvox.store.database import Database, Tx
from polyvox.stream import hub
from polyvox.stream.follow import check, follow, stored, watch
from polyvox.stream.hub import BEHIND


async def note(desk: Desk, name: str) -> int:
    """One more event; its number."""
    _, (item,) = await desk.journal.do(
        ME, desk.conversation, lambda tx: (None, [TurnCompleted(name)]), now=True
    )
    return item.number


async def elsewhere(desk: Desk, name: str) -> None:
    """One more event, written by another process: nobody here is told."""
    await desk.database.write(
        lambda tx: events.append(tx, desk.conversation, [TurnCompleted(name)], 0), ME
    )


async def listen(desk: Desk, last: int, after: int = 0) -> list[Numbered]:
    """What a listener gets up to a number."""
    listener = desk.hub.listen(desk.conversation)
    got: list[Numbered] = []
    seen = watch(desk.database, listener, ME, desk.conversation, after)
    async with asyncio.timeout(60), aclosing(seen) as items:
        async for item in items:
            got.append(item)
            if item.number >= last:
                break
    return got


async def test_stored_then_live(database: Database) -> None:
    desk = await lay(database)
    before = await note(desk, "before")
    listening = asyncio.create_task(listen(desk, before + 3))
    for number in range(3):
        await note(desk, f"live{number}")
    got = await listening
    assert [item.number for item in got] == list(range(1, before + 4))
    assert len(desk.hub) == 0, "whoever stops listening is forgotten"


async def test_a_listener_that_falls_behind_catches_up_from_the_store(
    sqlite_database: Database,
) -> None:
    desk = await lay(sqlite_database)
    listener = desk.hub.listen(desk.conversation)
    seen = watch(desk.database, listener, ME, desk.conversation, 0)
    got = [await anext(seen)]
    last = 0
    for number in range(BEHIND + 20):
        last = await note(desk, f"{number}")
    assert listener.behind
    async with asyncio.timeout(60), aclosing(seen):
        while got[-1].number < last:
            got.append(await anext(seen))
    assert [item.number for item in got] == list(range(1, last + 1))


async def test_what_another_process_wrote_is_read_when_a_hole_shows(database: Database) -> None:
    desk = await lay(database)
    first = await note(desk, "mine")
    listening = asyncio.create_task(listen(desk, first + 4))
    await asyncio.sleep(0)
    await elsewhere(desk, "theirs1")
    await elsewhere(desk, "theirs2")
    await note(desk, "mine again")
    await note(desk, "and again")
    got = await listening
    assert [item.number for item in got] == list(range(1, first + 5))
    names = [item.event.turn_id for item in got if isinstance(item.event, TurnCompleted)]
    assert names == ["mine", "theirs1", "theirs2", "mine again", "and again"]


async def test_what_another_process_wrote_is_read_with_the_next_beat(database: Database) -> None:
    desk = await lay(database)
    first = await note(desk, "mine")
    listener = desk.hub.listen(desk.conversation)
    seen = watch(desk.database, listener, ME, desk.conversation, first)
    waiting = asyncio.ensure_future(anext(seen))
    await desk.database.read(lambda tx: tx.one("SELECT 1"), ME)
    await elsewhere(desk, "theirs")
    desk.hub.beat()
    async with asyncio.timeout(60):
        item = await waiting
    assert (item.number, item.event) == (first + 1, TurnCompleted("theirs"))
    await seen.aclose()


async def test_bytes_and_values_tell_the_same(sqlite_database: Database) -> None:
    desk = await lay(sqlite_database)
    for number in range(3):
        desk.add(number, f"answer {number}")
    await asyncio.gather(*(desk.end(number) for number in range(3)))
    page = await desk.page()
    listener = desk.hub.listen(desk.conversation)
    parts = follow(desk.database, listener, ME, desk.conversation, 0)
    assert await anext(parts) == hub.replay(page.stretches)
    desk.hub.beat()
    assert await anext(parts) == hub.COMMENT
    number = await note(desk, "live")
    assert await anext(parts) == hub.frame(number, TurnCompleted("live"))
    desk.hub.end(desk.conversation)
    with pytest.raises(StopAsyncIteration):
        await anext(parts)
    values = await listen(desk, number)
    assert hub.frames(values[:-1]) == hub.replay(page.stretches)
    only = [part async for part in stored(desk.database, ME, desk.conversation, 0)]
    assert only == [hub.frames(values)]
    assert shown(values)


async def test_every_number_of_a_replay_is_one_to_come_back_with(
    sqlite_database: Database,
) -> None:
    """Long answers that were written at the same time are replayed condensed. Whoever stops in the
    middle and comes back with the last number has lost nothing."""
    desk = await lay(sqlite_database)

    def write(tx: Tx) -> None:
        for number in range(120):
            answer = desk.answers[number % 3]
            delta = TextDelta(answer, f"{number:03} ", number // 3 * 4)
            (item,) = events.append(tx, desk.conversation, [delta], 0)
            turns.set_streaming(tx, answer, item.number, 0)

    await desk.database.write(write, ME)
    await asyncio.gather(*(desk.end(number) for number in range(3)))
    last = (await desk.page()).upto
    whole = await listen(desk, last)
    assert len(whole) < 20, "condensed"
    for cut in range(1, len(whole)):
        rest = await listen(desk, last, after=whole[cut - 1].number)
        assert shown(whole[:cut] + rest) == shown(whole)


async def test_numbers_that_cannot_be(database: Database) -> None:
    desk = await lay(database)
    last = await note(desk, "x")
    await check(database, ME, desk.conversation, last)
    with pytest.raises(Invalid, match="beyond the last event"):
        await check(database, ME, desk.conversation, last + 1)
    with pytest.raises(NotFound):
        await check(database, ME, "nothing", 0)
