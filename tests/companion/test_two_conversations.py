"""One persona in two conversations: its state is one, and what is done once is done once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.companion.lounge import Lounge, Told, open_lounge, reading_text
from tests.companion.situations import BARE, FULL, LONG, NOON, STORY, TUESDAY
from tests.provider import Script

pytestmark = pytest.mark.contract

SECOND = timedelta(seconds=1)


@pytest.fixture(name="lounge")
async def own_lounge(tmp_path: Path) -> AsyncIterator[Lounge]:
    async with open_lounge(tmp_path) as found:
        found.house.provider.script("talker", Script(text="Yes."))
        yield found


async def trace_of(lounge: Lounge, reply: Any) -> Any:
    path = f"/api/turns/{reply.json()['requestId']}/trace"
    return (await lounge.house.get(path)).json()


async def test_what_is_capped_by_session_is_kept_by_session(lounge: Lounge) -> None:
    lounge.remember(Told(BARE))
    persona = await lounge.house.advisor("lab:talker")
    here, there = [await lounge.house.conversation(persona, recipe="companion") for _ in "ab"]
    now: list[datetime] = [NOON]

    async def say(talk: str, gate: Mapping[str, Any]) -> str:
        now[0] += SECOND
        lounge.set(now[0])
        lounge.house.provider.script("gate", Script(text=reading_text(gate)))
        body = {"personaId": persona["id"], "text": LONG, "conversationId": talk}
        trace = await trace_of(lounge, await lounge.house.post("/api/chat", body))
        return str(trace["overlay"] or trace["overlay_reason"])

    spiral, none = "curiosity_spiral", "no open loop"
    assert [await say(here, one) for one in ({}, STORY, {})] == ["too young", spiral, none]
    assert [await say(there, one) for one in ({}, STORY)] == ["too young", spiral]
    assert await say(here, STORY) == none, "once in a session"
    wrong, quarrel = {"correction": True}, {"conflict": True}
    assert [await say(one, wrong) for one in (here, there)] == ["friction", "friction"]
    assert await say(here, quarrel) == "friction", "of its own correction"


async def test_two_first_messages_at_once_have_one_ritual(lounge: Lounge) -> None:
    house = lounge.house
    lounge.remember(Told(FULL))
    lounge.set(TUESDAY)
    persona = await house.advisor("lab:talker")
    house.provider.script("gate", Script(text=reading_text({}), hold="wait"))
    talks = [await house.conversation(persona, recipe="companion") for _ in "ab"]
    body = {"personaId": persona["id"], "text": LONG}
    asked = [
        asyncio.create_task(house.post("/api/chat", body | {"conversationId": talk}))
        for talk in talks
    ]
    await house.provider.arrived(2)
    house.provider.gate("wait").set()
    traces = [await trace_of(lounge, one) for one in await asyncio.gather(*asked)]
    overlays = [(one["overlay"], one["overlay_reason"]) for one in traces]
    assert sorted(overlays, key=str) == [("daily_focus", "session start"), (None, "too young")]
    rows = (await house.get("/api/usage?by=advisor")).json()["rows"]
    assert [row["answers"] for row in rows if row["key"] == "gate"] == [2], "each was read once"
