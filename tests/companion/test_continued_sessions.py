"""Sessions that continue: a conversation goes on with its own last exchange, never with another's;
a start that timed out is tried again."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.companion.lounge import Lounge, Told, open_lounge
from tests.companion.situations import FULL, LONG, NOON
from tests.companion.talks import BREAD, LOAF, POT, ROOF, talks
from tests.provider import Script

pytestmark = pytest.mark.contract

MINUTES = timedelta(minutes=1)
COUNT = "That makes 3 buckets already."


@pytest.fixture(name="lounge", params=["", "lab:notes"], ids=["no model", "a model"])
async def own_lounge(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Lounge]:
    """The embedded memory, with and without a model to write handovers."""
    async with open_lounge(tmp_path, models={"memory": request.param}) as found:
        found.house.polyvox.services.choose()
        found.house.provider.script(
            "notes", Script(text='{"facts": [], "summary": "They talked."}')
        )
        yield found


@pytest.fixture(name="wren")
async def persona(lounge: Lounge) -> Any:
    return await lounge.house.advisor("lab:talker")


def quotes(text: str) -> list[str]:
    return [one.strip("…").rstrip(".?!…") for one in re.findall(r"“([^”]*)”", text)]


async def test_the_last_exchange_is_told_when_the_conversation_goes_on(
    lounge: Lounge, wren: Any
) -> None:
    (talk,) = await talks(lounge, wren, 1)
    await talk.say(ROOF, NOON)
    await talk.say(COUNT, NOON + MINUTES, POT)
    back = await talk.say("I am back.", NOON + 9 * MINUTES)
    assert back.sent == ["I am back."], "nothing is carried over as messages"
    assert back.blocks["handover"] == (
        "It is Tuesday afternoon. The last talk ended 8 minutes ago; 1 earlier talk today. Last"
        " said: “That makes 3 buckets already.” Reply ended: “…helps for one night. Who else could"
        " look at the roof?”"
    )
    assert back.blocks["bridge"] == (
        f"The conversation goes on after 8 minutes. Before that they said: “{ROOF}”"
    )
    assert not [one for one in back.trace["degrades"] if "handover" in one]


async def test_each_of_several_conversations_goes_on_with_its_own(
    lounge: Lounge, wren: Any
) -> None:
    roof, bread, new = await talks(lounge, wren, 3)
    await roof.say(ROOF, NOON, POT)
    await bread.say(BREAD, NOON + MINUTES, LOAF)
    await new.say("Good day to you, it is sunny here.", NOON + 6 * MINUTES)
    again = await roof.say("Here I am.", NOON + 7 * MINUTES)
    told = again.blocks["handover"] + again.blocks["bridge"]
    assert "The last talk ended 7 minutes ago" in told
    assert "roof" in told
    assert "look at the roof?”" in told
    assert "bakery" not in told
    assert "sunny" not in told
    other = await bread.say("Here I am.", NOON + 8 * MINUTES)
    told = other.blocks["handover"] + other.blocks["bridge"]
    assert "The last talk ended 7 minutes ago" in told
    assert "bakery" in told
    assert "roof" not in told


async def test_a_quote_is_never_older_than_the_gap(lounge: Lounge, wren: Any) -> None:
    old, here, new = await talks(lounge, wren, 3)
    await old.say(BREAD, NOON - timedelta(days=2), LOAF)
    await lounge.house.polyvox.worker.run_due()
    await here.say(ROOF, NOON, POT)
    begun = await new.say("Good day to you.", NOON + timedelta(seconds=20))
    text = begun.blocks["handover"]
    assert "The last talk ended 2 days ago" in text, "the other one has not ended"
    assert "bakery" in text
    later = await here.say("Hello.", NOON + 10 * MINUTES)
    assert "bakery" not in later.blocks["handover"]


async def test_bridge_and_handover_never_quote_the_same_sentence(lounge: Lounge, wren: Any) -> None:
    (talk,) = await talks(lounge, wren, 1)
    at = NOON
    for words in ([ROOF], [ROOF, BREAD], [f"{ROOF} {BREAD}", ROOF], [COUNT, COUNT]):
        for one in words:
            await talk.say(one, at)
            at += MINUTES
        at += 6 * MINUTES
        back = await talk.say("Well then, here I am again today.", at)
        handover, bridge = back.blocks["handover"], back.blocks["bridge"]
        assert handover.count("“") >= 1
        for quote in quotes(bridge):
            assert quote not in handover
            assert not [one for one in quotes(handover) if one in bridge]
        at += 40 * MINUTES


async def test_after_the_continuation_gap_the_whole_memory_speaks(
    lounge: Lounge, wren: Any
) -> None:
    roof, bread = await talks(lounge, wren, 2)
    await roof.say(ROOF, NOON, POT)
    await bread.say(BREAD, NOON + 10 * MINUTES, LOAF)
    later = await roof.say("Here I am.", NOON + 45 * MINUTES)
    assert "The last talk ended 35 minutes ago" in later.blocks["handover"]
    assert "bridge" not in later.blocks
    assert "Reply ended" not in later.blocks["handover"]


async def test_nobody_else_is_told_what_the_persona_replied(lounge: Lounge, wren: Any) -> None:
    (talk,) = await talks(lounge, wren, 1)
    await talk.say(ROOF, NOON, POT)
    other = await lounge.house.advisor("lab:talker", name="Other")
    talk.wren = other
    back = await talk.say("Here I am.", NOON + 9 * MINUTES)
    assert "plumber" in back.blocks["handover"]
    assert "look at the roof" not in "\n".join(back.system)


# -- a start that times out ------------------------------------------------------------------------


async def test_a_start_that_timed_out_is_tried_again(tmp_path: Path) -> None:
    async with open_lounge(tmp_path, memory={"budget": 0.05}) as lounge:
        memory = lounge.remember(Told(FULL, silent=True))
        wren = await lounge.house.advisor("lab:talker")
        first = await lounge.say(wren, LONG, at=NOON)
        assert "handover" not in first.blocks
        assert first.trace["startbrief_runtime"]["startbrief_fetch"] == "failed"
        memory.silent = False
        second = await lounge.say(wren, "And now it is there.", at=NOON + MINUTES)
        assert second.trace["startbrief_runtime"]["startbrief_fetch"] == "fetched"
        assert second.blocks["handover"].startswith("It is Tuesday.")
        third = await lounge.say(wren, "And on it goes for us.", at=NOON + 2 * MINUTES)
        assert third.trace["startbrief_runtime"]["startbrief_fetch"] == "cached"
        assert "handover" not in third.blocks


async def test_a_start_is_tried_a_few_times_only(tmp_path: Path) -> None:
    async with open_lounge(tmp_path, memory={"budget": 0.05}) as lounge:
        memory = lounge.remember(Told(FULL, silent=True))
        wren = await lounge.house.advisor("lab:talker")
        for number in range(5):
            await lounge.say(wren, f"{LONG} {number}", at=NOON + number * MINUTES)
        assert memory.starts == 3
