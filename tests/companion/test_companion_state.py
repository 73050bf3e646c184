"""What a companion keeps, when an answer is written again, a message edited, memory changed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.companion.lounge import Lounge, Told, open_lounge, reading_text
from tests.companion.situations import ASKED, BARE, FULL, LONG, NOON, STORY, TUESDAY
from tests.provider import Script
from tests.web.house import House

from polyvox.companion.tell import State
from polyvox.memory.remembering import Start
from polyvox.memory.tables import companions
from polyvox.values import Scope

ME = Scope()
SOON = timedelta(minutes=1)
WRONG: dict[str, Any] = {"correction": True}
IDEAS: dict[str, Any] = {"posture": "IDEATION", "posture_confidence": 0.9}


@pytest.fixture
async def lounge(tmp_path: Path) -> AsyncIterator[Lounge]:
    async with open_lounge(tmp_path) as found:
        yield found


async def messages(lounge: Lounge) -> tuple[str, list[Any]]:
    """The only conversation, and what was said in it."""
    (talk,) = (await lounge.house.get("/api/conversations")).json()["items"]
    found = await lounge.house.get(f"/api/conversations/{talk['id']}")
    return talk["id"], found.json()["messages"]


async def traced(lounge: Lounge, talk: str, turn: str) -> Any:
    await lounge.house.ended(talk, turn)
    return (await lounge.house.get(f"/api/turns/{turn}/trace")).json()


async def again(lounge: Lounge, number: int, gate: Mapping[str, Any] | Script) -> Any:
    """Have the answer to a message written again."""
    script = gate if isinstance(gate, Script) else Script(text=reading_text(gate))
    lounge.house.provider.script("gate", script)
    talk, said = await messages(lounge)
    answer = said[number]["answers"][-1]["answer_id"]
    assert (await lounge.house.post(f"/api/answers/{answer}/regenerate")).status == 202
    return await traced(lounge, talk, said[number]["turn_id"])


async def edited(lounge: Lounge, number: int, text: str, gate: Mapping[str, Any]) -> Any:
    """Say something else in place of a message."""
    lounge.house.provider.script("gate", Script(text=reading_text(gate)))
    talk, said = await messages(lounge)
    reply = await lounge.house.patch(f"/api/messages/{said[number]['id']}", {"content": text})
    assert reply.status == 200, reply.text
    return await traced(lounge, talk, reply.json()["turn"]["turn_id"])


async def newest(lounge: Lounge) -> State:
    row = await lounge.house.polyvox.database.read(
        lambda tx: tx.one("SELECT state FROM companion_states"), ME
    )
    assert row is not None
    return msgspec.json.decode(row[0], type=State)


async def test_an_older_answer_written_again_starts_from_before_its_turn(lounge: Lounge) -> None:
    lounge.remember(Told(BARE))
    persona = await lounge.house.advisor("lab:talker")
    first = await lounge.say(persona, LONG, at=TUESDAY)
    assert first.trace["overlay"] == "daily_focus"
    await lounge.say(persona, LONG, at=TUESDAY + SOON, gate=IDEAS)
    third = await lounge.say(persona, LONG, at=TUESDAY + 2 * SOON, gate=STORY)
    before = await newest(lounge)
    trace = await again(lounge, 0, {})
    assert trace["overlay"] == "daily_focus"
    assert trace["posture"] == first.trace["posture"]
    assert await newest(lounge) == before
    trace = await again(lounge, 2, STORY)
    assert (trace["overlay"], trace["posture"]) == ("curiosity_spiral", third.trace["posture"])
    assert await newest(lounge) == before, "the same again, from where it started"
    assert [one.spiral_turns for one in before.rites.sessions] == [1]


async def test_a_first_message_that_is_edited_has_its_ritual_again(lounge: Lounge) -> None:
    lounge.remember(Told(BARE))
    persona = await lounge.house.advisor("lab:talker")
    await lounge.say(persona, LONG, at=TUESDAY)
    await lounge.say(persona, LONG, at=TUESDAY + SOON, gate=IDEAS)
    trace = await edited(lounge, 0, "Something else is on my mind this morning.", {})
    assert (trace["overlay"], trace["overlay_reason"]) == ("daily_focus", "session start")
    assert trace["posture"]["posture"] == "COMPANION"
    assert (await newest(lounge)).stance.posture == "COMPANION"


async def test_a_correction_that_was_edited_away_no_longer_counts(lounge: Lounge) -> None:
    lounge.remember(Told(FULL))
    persona = await lounge.house.advisor("lab:talker")
    for _ in range(2):
        await lounge.say(persona, LONG, at=NOON)
    await lounge.say(persona, "That's wrong", at=NOON, gate=WRONG)
    heard = await lounge.say(persona, LONG, at=NOON, gate=ASKED)
    assert heard.trace["startbrief_runtime"]["startbrief_fetch"] == "invalidated"
    trace = await again(lounge, 1, {})
    assert trace["startbrief_runtime"]["startbrief_fetch"] == "cached", "it came later"
    trace = await edited(lounge, 2, "What did we talk about before?", ASKED)
    assert trace["startbrief_runtime"]["startbrief_fetch"] == "cached"
    assert trace["handover_reason"] == "asked for"


async def test_a_correction_that_was_misread_is_taken_back(lounge: Lounge) -> None:
    lounge.remember(Told(FULL))
    persona = await lounge.house.advisor("lab:talker")
    await lounge.say(persona, LONG, at=NOON, gate=WRONG)
    trace = await again(lounge, 0, Script(status=500))
    assert trace["startbrief_runtime"]["startbrief_fetch"] == "invalidated", "as it was read before"
    trace = await again(lounge, 0, {})
    assert trace["startbrief_runtime"]["startbrief_fetch"] == "cached"
    assert "handover" in trace["system_blocks"]
    heard = await lounge.say(persona, LONG, at=NOON)
    assert heard.trace["startbrief_runtime"]["startbrief_fetch"] == "cached"


async def test_a_handover_is_brought_back_once_on_each_branch(lounge: Lounge) -> None:
    lounge.remember(Told(FULL))
    persona = await lounge.house.advisor("lab:talker")
    for _ in range(2):
        await lounge.say(persona, LONG, at=NOON)
    heard = await lounge.say(persona, LONG, at=NOON, gate=ASKED)
    assert heard.trace["handover_reason"] == "asked for"
    trace = await edited(lounge, 2, "And before that?", ASKED)
    assert trace["handover_reason"] == "asked for"
    assert trace["startbrief_runtime"]["reinjection_used"]
    heard = await lounge.say(persona, LONG, at=NOON, gate=ASKED)
    assert heard.trace["handover_reason"] == "said already"


@pytest.mark.parametrize("began", [True, False])
async def test_a_change_of_memory_during_a_turn_is_not_undone(lounge: Lounge, began: bool) -> None:
    """Whether what the session started with is kept already, or is being fetched."""
    house, memory = lounge.house, lounge.remember(Told(FULL))
    persona = await house.advisor("lab:talker")
    await lounge.say(persona, LONG, at=NOON)
    at = NOON if began else NOON + timedelta(days=1)  # by then that session is over
    talk, _ = await messages(lounge)
    lounge.set(at)
    house.provider.script("gate", Script(text=reading_text({}), hold="wait"))
    asked = len(house.provider.log)
    sent = await house.post(f"/api/conversations/{talk}/turns", {"content": LONG})
    await house.provider.arrived(asked + 1)
    await house.polyvox.database.write(lambda tx: companions.drop_packets(tx), ME)
    house.provider.gate("wait").set()
    await house.ended(talk, sent.json()["turn_id"])
    starts = memory.starts
    heard = await lounge.say(persona, LONG, at=at)
    assert (heard.trace["startbrief_runtime"]["startbrief_fetch"], memory.starts) == (
        "fetched",
        starts + 1,
    )
    heard = await lounge.say(persona, LONG, at=at)
    assert heard.trace["startbrief_runtime"]["startbrief_fetch"] == "cached"


@dataclass
class Changing(Told):
    """A memory that is changed while it is read."""

    house: House | None = None

    async def start(self, *args: Any, **more: Any) -> Start:
        found = await super().start(*args, **more)
        if self.house is not None:
            database, self.house = self.house.polyvox.database, None
            await database.write(lambda tx: companions.drop_packets(tx), ME)
        return found


async def test_nor_is_it_in_a_council(lounge: Lounge) -> None:
    house = lounge.house
    memory = lounge.remember(Changing(FULL, house=house))
    lounge.set(NOON)
    advisor = await house.advisor("lab:talker")
    made = await house.post("/api/conversations", {"advisors": [advisor["id"]]})
    talk, fetched = made.json()["id"], []
    for _ in range(3):
        sent = await house.post(f"/api/conversations/{talk}/turns", {"content": LONG})
        trace = await traced(lounge, talk, sent.json()["turn_id"])
        fetched.append(trace["startbrief_runtime"]["startbrief_fetch"])
    assert (fetched, memory.starts) == (["fetched", "fetched", "cached"], 2)
