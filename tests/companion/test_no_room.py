"""Where a request has no room for all the blocks: which go first, and that nothing claims them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.companion.lounge import Heard, Lounge, Told, open_lounge
from tests.companion.situations import ASKED, FULL, HANDOVER, LONG, MOVING, TUESDAY, found, recalled

pytestmark = pytest.mark.contract

ROOM, DANGER = 3_500, 425
HOUR = timedelta(hours=1)


@pytest.fixture
async def lounge(tmp_path: Path) -> AsyncIterator[Lounge]:
    async with open_lounge(tmp_path, limits={"context": f"{ROOM} chars"}) as found_:
        yield found_


async def wren(lounge: Lounge) -> Any:
    return await lounge.house.advisor("lab:talker", description="You are Wren. You listen.")


def long(left: int) -> str:
    """A message that leaves about so many characters for the blocks."""
    return ("x" * 9 + " ") * ((ROOM - DANGER - left) // 10)


def run(heard: Heard) -> Any:
    return heard.trace["startbrief_runtime"]


async def test_what_was_not_sent_is_not_claimed_and_a_ritual_comes_later(lounge: Lounge) -> None:
    lounge.remember(Told(FULL, wishes=("Call me Ada.",)))
    persona = await wren(lounge)
    heard = await lounge.say(persona, long(60), at=TUESDAY, gate=MOVING)
    assert list(heard.blocks) == ["persona"]
    assert not any(run(heard)[f"{name}_injected"] for name in ("handover", "bridge", "ops"))
    assert run(heard)["ops_source"] is None
    assert (heard.trace["overlay"], heard.trace["overlay_reason"]) == (None, "no room")
    assert heard.trace["handover_reason"] == heard.trace["ops_reason"] == "no room"
    every = "standing_instructions, posture, overlay, bridge, handover, daily_steering, ops"
    assert heard.trace["degrades"] == [f"context: no room for {every}"]
    heard = await lounge.say(persona, LONG, at=TUESDAY + HOUR)
    assert heard.trace["overlay"] == "daily_focus", "it is still to be done today"
    assert "overlay" in heard.blocks
    assert heard.trace["degrades"] == []
    heard = await lounge.say(persona, LONG, at=TUESDAY + 2 * HOUR)
    assert heard.trace["overlay"] is None, "now it was"


async def test_instructions_and_posture_are_the_last_to_go(lounge: Lounge) -> None:
    lounge.remember(Told(FULL, wishes=("Call me Ada.",)))
    heard = await lounge.say(await wren(lounge), long(450), at=TUESDAY)
    assert list(heard.blocks)[:3] == ["persona", "standing_instructions", "posture"]
    (degrade,) = heard.trace["degrades"]
    gone = degrade.removeprefix("context: no room for ").split(", ")
    assert gone
    every = ["overlay", "bridge", "handover", "daily_steering"]
    assert sorted([*gone, *list(heard.blocks)[3:]]) == sorted(every)
    assert (heard.trace["overlay"] is None) is ("overlay" in gone)
    assert run(heard)["handover_injected"] is ("handover" in heard.blocks)
    assert run(heard)["bridge_injected"] is ("bridge" in heard.blocks)
    receipt = await lounge.house.get(f"/api/answers/{heard.trace['answer_id']}/receipt")
    left = [one for one in receipt.json()["description"]["spans"] if not one["included"]]
    assert [one["sources"] for one in left] == [[name] for name in gone]
    assert {one["role"] for one in left} == {"system"}
    assert (receipt.json()["verified"], receipt.json()["exact"]) == (True, True)


async def test_a_handover_that_had_no_room_can_still_be_brought_back(lounge: Lounge) -> None:
    lounge.remember(Told(FULL))
    persona = await wren(lounge)
    for minute in range(2):
        await lounge.say(persona, LONG, at=TUESDAY + minute * HOUR / 60)
    crowded = await lounge.say(persona, long(60), at=TUESDAY + HOUR / 20, gate=ASKED)
    assert not run(crowded)["reinjection_used"]
    heard = await lounge.say(persona, LONG, at=TUESDAY + HOUR / 15, gate=ASKED)
    assert run(heard)["reinjection_used"]
    assert heard.blocks["handover"] == HANDOVER


async def test_a_sheet_that_was_not_sent_told_nothing(lounge: Lounge) -> None:
    lounge.remember(Told(FULL, found=found(recalled("The aunt lives in Lisbon. " * 8))))
    persona = await wren(lounge)
    heard = await lounge.say(persona, f"{long(500)} my aunt in Lisbon", at=TUESDAY, gate=ASKED)
    assert "supplemental_context" not in heard.blocks
    assert (heard.trace["recall"]["decision"], heard.trace["recall"]["found"]) == ("found", 0)


async def test_nor_does_a_council_claim_it(lounge: Lounge) -> None:
    house = lounge.house
    lounge.remember(Told(FULL, wishes=("Call me Ada.",)))
    lounge.set(TUESDAY)
    advisor = await wren(lounge)
    await house.say(await house.conversation(advisor), LONG)
    own = house.provider.requests("talker")[-1].json()["messages"][0]["content"]
    turn = await house.say(await house.conversation(advisor), "x" * (ROOM - len(own) - 180))
    trace = (await house.get(f"/api/turns/{turn['turn_id']}/trace")).json()
    assert trace["degrades"][-1].startswith("context: no room for ")
    for name in ("handover", "user_context", "standing_instructions"):
        assert (name in trace["degrades"][-1]) is (name not in trace["system_blocks"])
    assert trace["startbrief_runtime"]["handover_injected"] is (
        "handover" in trace["system_blocks"]
    )
