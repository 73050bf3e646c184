"""A companion is one voice at every door, also where nobody was named."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.companion.lounge import Lounge, open_lounge, reading_text, with_danger
from tests.companion.situations import LONG, NOON
from tests.provider import Script

from polyvox.companion.personas import shipped


@pytest.fixture
async def lounge(tmp_path: Path) -> AsyncIterator[Lounge]:
    async with open_lounge(tmp_path) as found:
        found.house.provider.script("gate", Script(text=reading_text({})))
        found.set(NOON)
        yield found


async def named(lounge: Lounge, talk: str) -> list[list[str]]:
    """Who answered each message of a conversation."""
    seen = (await lounge.house.get(f"/api/conversations/{talk}")).json()
    return [[one["name"] for one in message["answers"]] for message in seen["messages"]]


async def slugs(lounge: Lounge) -> list[str]:
    return [one["slug"] for one in (await lounge.house.get("/api/advisors")).json()]


async def test_where_nobody_is_named_it_is_the_first_persona(lounge: Lounge) -> None:
    talk = await lounge.house.conversation(recipe="companion")
    for _ in range(2):
        await lounge.house.say(talk, LONG)
    assert await named(lounge, talk) == [["Harbor"], ["Harbor"]]
    first = lounge.house.provider.requests("talker")[-1].json()["messages"][0]["content"]
    assert first == with_danger(shipped()["harbor"])
    assert (await slugs(lounge)).count("harbor") == 1


async def test_it_is_the_one_that_is_met_elsewhere(lounge: Lounge) -> None:
    said = await lounge.house.post("/api/chat", {"personaId": "harbor", "text": LONG})
    assert said.status == 200
    talk = await lounge.house.conversation(recipe="companion")
    await lounge.house.say(talk, LONG)
    assert await named(lounge, talk) == [["Harbor"]]
    assert (await slugs(lounge)).count("harbor") == 1


async def test_several_first_messages_make_it_once(lounge: Lounge) -> None:
    talks = [await lounge.house.conversation(recipe="companion") for _ in range(5)]
    await asyncio.gather(*(lounge.house.say(talk, LONG) for talk in talks))
    assert (await slugs(lounge)).count("harbor") == 1


async def test_whoever_was_named_answers(lounge: Lounge) -> None:
    house = lounge.house
    one = await house.advisor("lab:talker", name="Pal")
    other = await house.advisor("lab:talker", name="Pel")
    talk = await house.conversation(recipe="companion")
    await house.say(talk, LONG, advisors=[one["id"], other["id"]])
    await house.say(talk, f"@{other['slug']} {LONG}")
    assert await named(lounge, talk) == [["Pal", "Pel"], ["Pel"]]
    chosen = await house.conversation(one, other, recipe="companion")
    await house.say(chosen, LONG)
    assert await named(lounge, chosen) == [["Pal", "Pel"]]
    assert "harbor" not in await slugs(lounge), "nobody met it"


async def test_an_estimate_is_for_the_same_voice_and_makes_nobody(lounge: Lounge) -> None:
    house = lounge.house
    talk = await house.conversation(recipe="companion")

    async def foreseen(path: str, **more: Any) -> list[tuple[str, int]]:
        reply = await house.post(path, {"content": LONG, **more})
        assert reply.status == 200, reply.text
        return [(row["name"], row["input_tokens"]) for row in reply.json()["advisors"]]

    before = await foreseen(f"/api/conversations/{talk}/estimate")
    assert [name for name, _ in before] == ["Harbor"]
    assert await foreseen("/api/estimate", recipe="companion") == before
    assert "harbor" not in await slugs(lounge)
    await house.say(await house.conversation(recipe="companion"), LONG)
    assert await foreseen(f"/api/conversations/{talk}/estimate") == before


async def test_the_council_is_still_everybody(lounge: Lounge) -> None:
    talk = await lounge.house.conversation()
    await lounge.house.say(talk, LONG)
    ((*names,),) = await named(lounge, talk)
    assert len(names) == 6
    assert "Harbor" not in names
