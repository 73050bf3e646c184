"""Who listens, in this process."""

from __future__ import annotations

import asyncio

from polyvox.events import Numbered, TurnCompleted
from polyvox.stream.hub import BEAT, BEHIND, COMMENT, Batch, Hub, frames


def batch(*numbers: int) -> list[Numbered]:
    return [Numbered(number, TurnCompleted(f"t{number}")) for number in numbers]


async def test_listeners_of_a_conversation_hear_it_and_nobody_else_does() -> None:
    hub = Hub()
    one, two, other = hub.listen("talk"), hub.listen("talk"), hub.listen("elsewhere")
    hub.publish("talk", batch(1, 2))
    hub.publish("talk", [])
    first, second = await one.take(), await two.take()
    assert first is second, "the bytes are made once, however many listen"
    assert first is not None
    assert first.bytes == frames(batch(1, 2))
    assert first.last == 2
    waiting = asyncio.create_task(other.take())
    await asyncio.sleep(0)
    assert not waiting.done()
    assert len(hub) == 3
    hub.publish("elsewhere", batch(9))
    heard = await waiting
    assert heard is not None
    assert heard.last == 9


async def test_one_who_falls_behind_is_told_and_then_hears_again() -> None:
    hub = Hub()
    listener = hub.listen("talk")
    for number in range(BEHIND + 5):
        hub.publish("talk", batch(number))
    assert await listener.take() is None
    assert not listener.ended
    hub.publish("talk", batch(1000))
    heard = await listener.take()
    assert heard is not None
    assert heard.last == 1000


async def test_the_end_comes_after_what_was_published() -> None:
    hub = Hub()
    listener, stays = hub.listen("talk"), hub.listen("elsewhere")
    hub.publish("talk", batch(1))
    hub.end("talk")
    assert (await listener.take()) is not None
    assert await listener.take() is None
    assert [listener.ended, stays.ended] == [True, False]
    hub.end()
    assert [listener.ended, stays.ended] == [True, True]
    assert await stays.take() is None
    listener.close()
    listener.close()
    stays.close()
    assert len(hub) == 0


async def test_a_beat_is_bytes_without_events() -> None:
    hub = Hub()
    listener = hub.listen("talk")
    hub.beat()
    heard = await listener.take()
    assert heard is BEAT
    assert heard.bytes == COMMENT


def test_what_of_a_batch_is_newer() -> None:
    whole = Batch(batch(4, 5, 6))
    assert whole.after(3) is whole
    part = whole.after(4)
    assert part is not None
    assert [item.number for item in part.events] == [5, 6]
    assert whole.after(6) is None
