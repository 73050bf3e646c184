"""Who leaves the door closes what was opened for it; whatever is used is counted, and capped."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import openai
import pytest
from tests.provider import Script
from tests.web.caller import client_of, door_rows, streamed, user, whole
from tests.web.house import House, open_house

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_who_leaves_in_the_middle_closes_the_upstream(
    house: House, client: openai.AsyncOpenAI
) -> None:
    model = house.model(Script(pieces=("One", " two", " three"), gates={2: "never"}))
    stream = await client.chat.completions.create(model=model, messages=user(), stream=True)
    heard = ""
    async for chunk in stream:
        heard += chunk.choices[0].delta.content or ""
        if heard == "One two":
            break
    await stream.close()
    (request,) = house.provider.requests(model.partition(":")[2])
    await house.provider.gone(request)
    assert request.ended_at is None
    await _counted(house, model)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_who_leaves_before_the_first_word_closes_the_upstream(
    house: House, client: openai.AsyncOpenAI, stream: bool
) -> None:
    model = house.model(Script(hold="never"))
    name = model.partition(":")[2]
    asking = asyncio.create_task(
        client.chat.completions.create(model=model, messages=user(), stream=stream)
    )
    await house.provider.until(lambda: bool(house.provider.requests(name)))
    asking.cancel()
    (request,) = house.provider.requests(name)
    await house.provider.gone(request)


async def test_who_leaves_a_whole_answer_in_the_middle_closes_the_upstream(
    house: House, client: openai.AsyncOpenAI
) -> None:
    model = house.model(Script(pieces=("One", " two"), gates={1: "never"}))
    name = model.partition(":")[2]
    asking = asyncio.create_task(client.chat.completions.create(model=model, messages=user()))
    await house.until(lambda: any(request.tokens for request in house.provider.requests(name)))
    asking.cancel()
    await house.provider.gone(house.provider.requests(name)[0])
    await _counted(house, model)


async def test_who_leaves_a_council_closes_every_upstream(
    house: House, client: openai.AsyncOpenAI
) -> None:
    script = Script(pieces=("One", " two"), gates={1: "never"})
    advisors = [await house.advisor(script=script) for _ in range(3)]
    council = await house.council(*advisors)
    stream = await client.chat.completions.create(
        model=f"council:{council['slug']}", messages=user(), stream=True
    )
    await anext(aiter(stream))
    names = [advisor["model"].partition(":")[2] for advisor in advisors]
    await house.until(
        lambda: all(any(r.tokens for r in house.provider.requests(name)) for name in names)
    )
    await stream.close()
    for name in names:
        await house.provider.gone(house.provider.requests(name)[0])
    for advisor in advisors:
        await _counted(house, advisor["model"])


async def _counted(house: House, model: str) -> None:
    """Wait until what a call used, though nobody heard its end, is noted."""
    async with asyncio.timeout(60):
        while True:
            found = [row for row in await door_rows(house) if row[0] == model]
            if found:
                break
    ((_, _, sent, got, estimated),) = found
    assert sent > 0
    assert got > 0
    assert estimated == 1


async def test_usage_is_recorded_for_the_door(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house, client_of(house) as client:
        script = Script(input_tokens=20, output_tokens=4)
        advisors = [await house.advisor(script=script) for _ in range(2)]
        council = await house.council(*advisors)
        model = house.model(script)
        await client.chat.completions.create(model=model, messages=user())
        await streamed(client, f"advisor:{advisors[0]['slug']}")
        await streamed(client, f"council:{council['slug']}")
        first, second = advisors
        assert await door_rows(house) == [
            (model, "door", 20, 4, 0),
            (first["model"], first["id"], 20, 4, 0),
            (first["model"], first["id"], 20, 4, 0),
            (second["model"], second["id"], 20, 4, 0),
        ]
        total = (await house.get("/api/usage")).json()["total"]
        assert (total["answers"], total["input_tokens"]) == (4, 80)
        assert (await house.get("/api/conversations")).json()["items"] == [], "nothing else kept"


@pytest.mark.parametrize("ask", [whole, streamed], ids=["whole", "stream"])
async def test_the_end_is_told_when_the_usage_is_stored(
    tmp_path: Path, ask: Callable[[openai.AsyncOpenAI, str], Coroutine[Any, Any, Any]]
) -> None:
    """Otherwise who asks again at once would meet a cap that does not count the call before."""
    async with open_house(tmp_path) as house, client_of(house) as client:
        model, free = house.model(Script(text="All of it.")), threading.Event()
        blocked = asyncio.create_task(house.polyvox.database.write(lambda _: free.wait(20)))
        try:
            asking = asyncio.create_task(ask(client, model))
            await house.provider.until(
                lambda: any(request.ended_at for request in house.provider.log)
            )
            for _ in range(20):
                await house.get("/healthz")
            assert not asking.done()
        finally:
            free.set()
        await asking
        assert len(await door_rows(house)) == 1
        assert await blocked


async def test_a_cap_holds_at_the_door(tmp_path: Path) -> None:
    price = '{"prompt_tokens":5,"completion_tokens":5,"total_tokens":10,"cost":0.01}'
    chunk = '{"choices":[{"index":0,"delta":{"content":"Dear."},"finish_reason":"stop"}]'
    raw = f'data: {chunk}}}\n\ndata: {{"choices":[],"usage":{price}}}\n\ndata: [DONE]\n\n'
    async with (
        open_house(tmp_path, limits={"cost_per_day": 0.005}) as house,
        client_of(house) as client,
    ):
        model = house.model(Script(raw=raw))
        await client.chat.completions.create(model=model, messages=user())
        for stream in (False, True):
            with pytest.raises(openai.APIStatusError) as raised:
                await client.chat.completions.create(model=model, messages=user(), stream=stream)
            assert raised.value.status_code == 402
            assert raised.value.code == "cap_reached"
        assert len(house.provider.log) == 1


async def test_the_token_is_the_clients_key(tmp_path: Path) -> None:
    async with open_house(tmp_path, server={"token": "tok-door"}) as house:
        model = house.model(Script(text="Come in."))
        async with client_of(house) as stranger:
            with pytest.raises(openai.AuthenticationError) as raised:
                await stranger.chat.completions.create(model=model, messages=user())
            assert raised.value.code == "not_authorized"
        async with client_of(house).with_options(api_key="tok-door") as friend:
            whole = await friend.chat.completions.create(model=model, messages=user())
        assert whole.choices[0].message.content == "Come in."
