"""What a persona is told of its memory, through the door: topics, and the memory itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.companion.lounge import Lounge, open_lounge
from tests.companion.situations import ASKED, TUESDAY

from polyvox.memory.transcript import ingest
from polyvox.memory.values import Message, Partition
from polyvox.values import Scope

ME = Scope()
DAY = 86_400_000_000
SAID = round(TUESDAY.timestamp() * 1_000_000)
SHEET = "supplemental_context"


@pytest.fixture(name="lounge")
async def own_lounge(tmp_path: Path) -> AsyncIterator[Lounge]:
    """Its own memory holds two talks of the days before."""
    async with open_lounge(tmp_path) as lounge:
        lounge.house.polyvox.services.choose()
        for days, words in ((9, "Jana moved to Porto."), (2, "I planted a walnut tree.")):
            await remember(lounge, days, words)
        yield lounge


async def remember(lounge: Lounge, days: int, words: str, reply: str = "I see.") -> None:
    at = SAID - days * DAY
    said = [Message("user", words, at), Message("assistant", reply, at)]
    await lounge.house.polyvox.resources.database.write(
        lambda tx: ingest(tx, Partition.own(ME), f"days{days}", None, at, at, said), ME
    )


async def sheet(lounge: Lounge, text: str, **gate: Any) -> str:
    """The recall sheet of a first message, asked for in so many words."""
    persona = await lounge.house.advisor("lab:talker")
    heard = await lounge.say(persona, text, at=TUESDAY, gate=ASKED | gate)
    return heard.blocks.get(SHEET, "")


async def test_the_gate_says_who_is_meant(lounge: Lounge) -> None:
    """ "Her" is Jana: the words of the message say nothing, the reading does."""
    asked = {"kind": "topic", "entities": ["Jana"], "topics": [], "time": "", "intent": "recall"}

    told = await sheet(lounge, "What did I tell you about her?", recall=asked)

    assert "Looked up: “Jana”" in told
    assert "they said: “Jana moved to Porto.”" in told


async def test_last_time_is_told_with_its_date(lounge: Lounge) -> None:
    told = await sheet(lounge, "What did we talk about last time?", recall={"kind": "last_time"})

    first, second = told.splitlines()[2:]
    assert "they said: “I planted a walnut tree.”" in first
    assert "they said: “Jana moved to Porto.”" in second
    assert "2026" in first or "2025" in first or "2024" in first


@pytest.mark.parametrize("kind", ["about_me", "open_loops", "instructions"])
async def test_what_is_not_known_is_no_order_to_deny(lounge: Lounge, kind: str) -> None:
    told = await sheet(lounge, "What do you know about me?", recall={"kind": kind})

    assert len(told.splitlines()) == 2
    assert "Use what stands above, or ask." in told
    assert "know" not in told.splitlines()[1].replace("known", "")


async def test_the_profile_answers_who_they_are(lounge: Lounge) -> None:
    model = {
        "work_context": "Paints boats.",
        "key_relationships": [{"name": "Jana", "about": "their sister"}],
    }
    own = {"tenantId": Partition.own(ME).tenant, "userId": Partition.own(ME).user}
    assert (await lounge.house.patch("/user/model", {**own, "model": model})).status == 200

    told = await sheet(lounge, "Who am I?", recall={"kind": "about_me"})

    assert "Paints boats." in told
    assert "Jana" in told


async def test_asked_without_a_topic_the_memory_itself_answers(lounge: Lounge) -> None:
    told = await sheet(lounge, "Who am I?")

    assert "I planted a walnut tree." in told


async def test_the_newer_statement_of_the_same_matter_comes_first(lounge: Lounge) -> None:
    await remember(lounge, 20, "My rowing coach is called Otto.")
    await remember(lounge, 5, "My rowing coach is now called Birgit.")

    told = await sheet(lounge, "Who is my rowing coach?")

    assert told.index("Birgit") < told.index("Otto")


async def test_the_persons_words_come_before_the_assistants(lounge: Lounge) -> None:
    await remember(lounge, 30, "My harbour permit ends in June.", "A harbour permit ends in May.")

    told = await sheet(lounge, "When does my harbour permit end?")

    assert "they said: “My harbour permit ends in June.”" in told
    assert "in May" not in told.split("in June")[0]


async def test_a_sheet_keeps_no_books(lounge: Lounge) -> None:
    told = await sheet(lounge, "Where did Jana move to?")

    assert "Jana moved to Porto." in told
    assert "named in" not in told


async def test_another_language(lounge: Lounge) -> None:
    await remember(lounge, 3, "Ich habe meinen Hund gestern zum Tierarzt gebracht.")

    told = await sheet(lounge, "Was war mit dem Hund beim Tierarzt?")

    assert "they said: “Ich habe meinen Hund gestern zum Tierarzt gebracht.”" in told


async def test_what_the_window_dropped_of_this_talk_is_found(lounge: Lounge) -> None:
    persona = await lounge.house.advisor("lab:talker")
    await lounge.say(persona, "My locker code is tangerine.", at=TUESDAY)
    for minute in range(1, 7):
        at = TUESDAY + timedelta(minutes=minute)
        await lounge.say(persona, f"Something else, number {minute}.", at=at)

    at = TUESDAY + timedelta(minutes=8)
    heard = await lounge.say(persona, "What is my locker code?", at=at, gate=ASKED)

    assert "My locker code is tangerine." in heard.blocks[SHEET]
