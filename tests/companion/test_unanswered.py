"""A message whose answer never came has begun nothing: what belongs to the start of a session, and
what is done once, is still to come. What the person said in it counts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.companion.lounge import Lounge, Told, open_lounge, reading_text
from tests.companion.situations import ASKED, FULL, HANDOVER, LONG, NOON, OPENING, TUESDAY
from tests.provider import Script

pytestmark = pytest.mark.contract

SOON = timedelta(minutes=1)


@pytest.fixture(name="lounge")
async def own_lounge(tmp_path: Path) -> AsyncIterator[Lounge]:
    async with open_lounge(tmp_path) as found:
        found.remember(Told(FULL))
        yield found


async def say_in_vain(
    lounge: Lounge,
    persona: Mapping[str, Any],
    at: datetime,
    gate: Mapping[str, Any] | None = None,
    text: str = LONG,
) -> None:
    lounge.set(at)
    lounge.house.provider.script("gate", Script(text=reading_text(gate or {})))
    lounge.house.provider.script("talker", Script(status=401))
    body = {"personaId": persona["id"], "text": text}
    assert (await lounge.house.post("/api/chat", body)).status >= 400


async def test_the_next_message_is_the_first(lounge: Lounge) -> None:
    persona = await lounge.house.advisor("lab:talker")
    await say_in_vain(lounge, persona, TUESDAY, text="hi")
    heard = await lounge.say(persona, LONG, at=TUESDAY + SOON)
    assert heard.trace["overlay"] == "daily_focus"
    assert list(heard.blocks) == ["persona", "posture", "overlay", *OPENING.split()]
    heard = await lounge.say(persona, LONG, at=TUESDAY + 2 * SOON)
    assert heard.trace["handover_reason"] == "continued", "the first one that counts said much"


async def test_a_handover_is_still_to_be_brought_back(lounge: Lounge) -> None:
    persona = await lounge.house.advisor("lab:talker")
    for minute in range(2):
        await lounge.say(persona, LONG, at=NOON + minute * SOON)
    await say_in_vain(lounge, persona, NOON + 2 * SOON, ASKED)
    heard = await lounge.say(persona, LONG, at=NOON + 3 * SOON, gate=ASKED)
    assert heard.trace["handover_reason"] == "asked for"
    assert heard.blocks["handover"] == HANDOVER
    heard = await lounge.say(persona, LONG, at=NOON + 4 * SOON, gate=ASKED)
    assert heard.trace["handover_reason"] == "said already"


async def test_a_loop_is_still_to_be_brought_up(lounge: Lounge) -> None:
    persona = await lounge.house.advisor("lab:talker")
    await lounge.say(persona, LONG, at=NOON)
    await say_in_vain(lounge, persona, NOON + SOON)
    heard = await lounge.say(persona, LONG, at=NOON + 2 * SOON)
    assert heard.trace["overlay"] == "accountability_tug"


async def test_what_the_person_said_counts(lounge: Lounge) -> None:
    persona = await lounge.house.advisor("lab:talker")
    await lounge.say(persona, LONG, at=NOON)
    await say_in_vain(lounge, persona, NOON + SOON, {"correction": True})
    heard = await lounge.say(persona, LONG, at=NOON + 2 * SOON)
    assert heard.trace["overlay_reason"] == "friction"
    assert heard.trace["startbrief_runtime"]["startbrief_fetch"] == "invalidated"


async def test_an_answer_written_again_in_vain_was_heard_before(lounge: Lounge) -> None:
    persona = await lounge.house.advisor("lab:talker")
    first = await lounge.say(persona, LONG, at=TUESDAY)
    lounge.house.provider.script("talker", Script(status=401))
    answer = first.trace["answer_id"]
    assert (await lounge.house.post(f"/api/answers/{answer}/regenerate")).status == 202
    await lounge.house.ended(first.trace["conversation_id"], first.trace["turn_id"])
    heard = await lounge.say(persona, LONG, at=TUESDAY + SOON)
    assert heard.trace["startbrief_runtime"]["userTurnsSeen"] == 2
    later = await lounge.say(persona, LONG, at=TUESDAY + timedelta(hours=1))
    assert later.trace["overlay"] != "daily_focus"


async def test_a_council_starts_with_its_handover_then_too(lounge: Lounge) -> None:
    persona = await lounge.house.advisor("lab:talker")
    council = await lounge.house.conversation(persona)
    lounge.set(NOON)
    lounge.house.provider.script("talker", Script(status=401))
    await lounge.house.say(council, LONG)
    lounge.house.provider.script("talker", Script(text="Yes."))
    turn = await lounge.house.say(council, LONG)
    trace = (await lounge.house.get(f"/api/turns/{turn['turn_id']}/trace")).json()
    assert trace["startbrief_runtime"]["userTurnsSeen"] == 1
    assert "handover" in trace["system_blocks"]
