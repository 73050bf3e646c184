"""No more at once and no faster than allowed; in order; and places always come back."""

from __future__ import annotations

import asyncio

import pytest
from tests.models.asking import REQUEST, MakeModels, hear
from tests.models.wrappers.stand_in import Sleeper, StandIn
from tests.provider import ProviderServer, Script

from polyvox.errors import Unavailable
from polyvox.models.reply import OpenReply
from polyvox.models.wrappers import Gate, Limit


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_places_are_given_in_order_and_back_at_the_end() -> None:
    gate = Gate(concurrency=2)
    order: list[int] = []
    replies: list[OpenReply] = []

    async def ask(number: int) -> None:
        replies.append(await Limit(StandIn(), (gate,)).stream(REQUEST))
        order.append(number)

    tasks = [asyncio.create_task(ask(number)) for number in range(4)]
    await settle()
    assert order == [0, 1]
    await replies[0].aclose()
    await settle()
    assert order == [0, 1, 2]
    async for _ in replies[1]:
        pass
    await settle()
    assert order == [0, 1, 2, 3]
    await asyncio.gather(*tasks)


async def test_a_failed_call_gives_its_place_back() -> None:
    gate = Gate(concurrency=1)
    limited = Limit(StandIn([Unavailable("x"), None]), (gate,))
    assert (await hear(limited)).category == "unavailable"
    assert (await hear(limited)).error is None


async def test_a_reply_closed_twice_gives_one_place_back() -> None:
    gate = Gate(concurrency=1)
    reply = await Limit(StandIn(), (gate,)).stream(REQUEST)
    await reply.aclose()
    await reply.aclose()
    first = await Limit(StandIn(), (gate,)).stream(REQUEST)
    second = asyncio.create_task(Limit(StandIn(), (gate,)).stream(REQUEST))
    await settle()
    assert not second.done()
    await first.aclose()
    await (await second).aclose()


async def test_waiting_for_a_place_can_be_stopped_and_takes_nothing() -> None:
    gate = Gate(concurrency=1)
    first = await Limit(StandIn(), (gate,)).stream(REQUEST)
    waiting = asyncio.create_task(Limit(StandIn(), (gate,)).stream(REQUEST))
    behind = asyncio.create_task(Limit(StandIn(), (gate,)).stream(REQUEST))
    await settle()
    waiting.cancel()
    await settle()
    assert waiting.cancelled()
    assert not behind.done()
    await first.aclose()
    await (await behind).aclose()


async def test_so_many_a_minute() -> None:
    clock = Sleeper()
    gate = Gate(requests_per_minute=3, clock=clock, sleep=clock.sleep)
    starts = []
    for _ in range(7):
        await gate.enter()
        starts.append(clock.now - 1000)
        clock.now += 5
    assert starts == [0, 5, 10, 60, 65, 70, 120]


async def test_less_than_one_a_minute() -> None:
    clock = Sleeper()
    gate = Gate(requests_per_minute=0.5, clock=clock, sleep=clock.sleep)
    await gate.enter()
    await gate.enter()
    assert clock.slept == [120]


async def test_a_delay_between_two() -> None:
    clock = Sleeper()
    gate = Gate(min_delay=2, clock=clock, sleep=clock.sleep)
    await gate.enter()
    clock.now += 0.5
    await gate.enter()
    clock.now += 5
    await gate.enter()
    assert clock.slept == [1.5]


async def test_being_stopped_while_pacing_gives_the_place_back() -> None:
    async def forever(seconds: float) -> None:
        await asyncio.Event().wait()

    clock = Sleeper()
    gate = Gate(concurrency=2, min_delay=5, clock=clock, sleep=forever)
    await gate.enter()
    waiting = asyncio.create_task(gate.enter())
    await settle()
    waiting.cancel()
    await settle()
    clock.now += 10
    await asyncio.wait_for(gate.enter(), 1)


async def test_a_provider_and_a_model_each_have_their_limit(
    provider: ProviderServer, make_models: MakeModels
) -> None:
    """Two at once for the provider, one for `slow`: the model's queue holds no provider's place."""
    models = make_models(
        None,
        models={"known": {"lab:slow": {"concurrency": 1}}},
        providers={"lab": {"base_url": provider.base_url, "concurrency": 2}},
    )
    for name in ("slow", "fast"):
        provider.script(name, Script(hold=name))
    asked = [
        asyncio.create_task(hear(models.get(f"lab:{n}"))) for n in ("slow", "slow", "fast", "fast")
    ]
    await provider.arrived(2)
    await settle()
    assert sorted(request.model for request in provider.log) == ["fast", "slow"]
    provider.gate("slow").set()
    provider.gate("fast").set()
    heard = await asyncio.gather(*asked)
    assert all(each.error is None for each in heard)
    assert len(provider.log) == 4


async def test_limits_of_two_providers_are_independent(
    provider: ProviderServer, make_models: MakeModels
) -> None:
    models = make_models(
        None,
        providers={
            "one": {"base_url": provider.base_url, "concurrency": 1},
            "two": {"base_url": provider.base_url, "concurrency": 1},
        },
    )
    provider.script("held", Script(hold="never"))
    stuck = asyncio.create_task(hear(models.get("one:held")))
    await provider.arrived(1)
    assert (await hear(models.get("two:m"))).error is None
    stuck.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stuck
    assert (await hear(models.get("one:m"))).error is None
