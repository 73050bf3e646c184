"""A session that starts with a remote memory: what one slow or broken call costs, and that the
profile is asked for once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
from tests.companion.lounge import Lounge, open_lounge, reading_text
from tests.companion.situations import LONG, NOON
from tests.provider import Script

from polyvox.companion import starting
from polyvox.companion.starting import Opened
from polyvox.memory.remembering import RemoteService
from polyvox.memory.remote import RemoteMemory
from polyvox.memory.session_start import Talk
from polyvox.memory.tables.companions import Kept
from polyvox.values import Scope

ME = Scope()
BUDGET = 0.1
STARTBRIEF, BRIEF = "/session/startbrief", "/session/brief"
MODEL, DAILY, LOOPS = "/user/model", "/analysis/daily", "/memory/loops"
START = {"handover_text": "It is Tuesday.", "handover_depth": "multi_day", "time_context": {}}
WHO = {
    "model": {
        "name": {"text": "Sam"},
        "preferences": {"avoid": [{"text": "emojis"}]},
        "instructions": [{"text": "Always answer briefly"}],
    }
}
WISHES = ("Call me Sam", "Avoid: emojis", "Always answer briefly")
ANSWERS: dict[str, Any] = {
    STARTBRIEF: START,
    BRIEF: {"facts": ["Owns a boat"], "openLoops": ["paint the hull"]},
    MODEL: WHO,
    DAILY: {"themes": ["boats"]},
    LOOPS: {"items": [{"text": "call the bank"}]},
    "/memory/query": {"facts": []},
}


@dataclass
class Answer:
    """An answer that is there at once."""

    status: int
    body: bytes

    async def read_all(self, limit: int) -> bytes:
        assert len(self.body) < limit
        return self.body

    def close(self) -> None:
        """Nothing is open."""


@dataclass
class Wire:
    """A service without a socket: it answers at once, fails or never answers, by path."""

    silent: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)

    async def get(self, url: str, headers: Mapping[str, str]) -> Answer:
        assert headers
        path = urlsplit(url).path
        self.asked.append(path)
        if path in self.silent:
            await asyncio.Event().wait()
        if path in self.broken:
            return Answer(500, b"{}")
        return Answer(200, json.dumps(ANSWERS[path]).encode())

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        assert body
        return await self.get(url, headers)

    def service(self) -> RemoteService:
        remote = RemoteMemory(cast("Any", self), "http://x", budget=BUDGET, recall_seconds=BUDGET)
        return RemoteService(remote, lambda: "UTC")


async def opened(wire: Wire, kept: Kept | None = None) -> tuple[Opened, tuple[str, ...]]:
    road = cast(
        "Any", SimpleNamespace(settings=SimpleNamespace(memory=SimpleNamespace(budget=BUDGET)))
    )
    service = wire.service()
    told = await starting.opened(
        road, service, ME, "s", 1_700_000_000_000_000, kept, Talk("c"), cloud=True
    )
    wishes, degrade = await starting.standing(road, service, ME, told, cloud=True)
    assert degrade == ""
    return told, told.allowed(wishes)


@pytest.mark.parametrize(
    ("path", "what"), [(MODEL, "user_model"), (DAILY, "daily"), (LOOPS, "loops")]
)
async def test_one_silent_call_is_all_that_is_lost(path: str, what: str) -> None:
    told, wishes = await opened(Wire(silent={path}))
    assert told.how == "fetched"
    assert told.degrades == [f"{what}: timeout (0.1 s)"]
    start = told.start
    assert start.startbrief is not None
    assert start.startbrief.handover_text == "It is Tuesday."
    assert (start.user_model is None) == (path == MODEL)
    assert (start.daily is None) == (path == DAILY)
    assert (start.loops == ()) == (path == LOOPS)
    assert wishes == (() if path == MODEL else WISHES)


async def test_a_silent_startbrief_leaves_time_for_the_brief() -> None:
    told, wishes = await opened(Wire(silent={STARTBRIEF}))
    assert told.how == "brief"
    assert told.degrades == ["startbrief: timeout (0.07 s)"]
    assert told.start.brief is not None
    assert told.start.brief.facts == ("Owns a boat",)
    assert wishes == WISHES


async def test_a_service_that_is_silent_throughout_says_so_for_each_call() -> None:
    told, wishes = await opened(Wire(silent=set(ANSWERS)))
    assert (told.how, wishes) == ("failed", ())
    said = [one.split(" (")[0] for one in told.degrades]
    calls = ("startbrief", "brief", "user_model", "daily", "loops")
    assert said == [f"{one}: timeout" for one in calls]


async def test_what_is_kept_tells_the_instructions_again() -> None:
    wire = Wire()
    first, _ = await opened(wire)
    asked = list(wire.asked)
    again, wishes = await opened(wire, Kept(first.packet))
    assert (again.how, wishes, wire.asked) == ("cached", WISHES, asked)


async def test_an_instruction_is_vetoed_like_any_other_item() -> None:
    told, _ = await opened(Wire())
    shown = [one for one in told.start.items if one.kind == "instruction"]
    assert tuple(one.text for one in shown) == WISHES
    for gone in shown:
        _, wishes = await opened(Wire(), Kept(vetoed=(gone.id,)))
        assert wishes == tuple(one for one in WISHES if one != gone.text)


# -- the same through the door -------------------------------------------------------------------


async def say(lounge: Lounge, persona: Any, wire: Wire) -> tuple[Any, list[str]]:
    """A message to a companion: what came of it, and what the service was asked meanwhile."""
    before = len(wire.asked)
    heard = await lounge.say(persona, LONG)
    assert heard.status == 200, heard.data
    return heard, wire.asked[before:]


async def test_a_companion_asks_for_the_profile_once_in_a_session(tmp_path: Path) -> None:
    async with open_lounge(tmp_path, memory={"budget": BUDGET}) as lounge:
        wire = Wire()
        lounge.house.polyvox.services.current = wire.service()
        persona = await lounge.house.advisor("lab:talker")
        lounge.set(NOON)
        for number in (1, 2):
            heard, asked = await say(lounge, persona, wire)
            assert asked.count(MODEL) == (1 if number == 1 else 0)
            for wish in WISHES:
                assert wish in heard.blocks["standing_instructions"]
            assert heard.trace["degrades"] == []
        lounge.set(NOON + timedelta(hours=2))
        _, asked = await say(lounge, persona, wire)
        assert asked.count(MODEL) == 1, "another session"


@pytest.mark.parametrize("silent", [False, True])
async def test_a_profile_that_does_not_come_is_in_every_trace_and_waited_for_once(
    tmp_path: Path, silent: bool
) -> None:
    async with open_lounge(tmp_path, memory={"budget": BUDGET}) as lounge:
        wire = Wire(silent={MODEL}) if silent else Wire(broken={MODEL})
        lounge.house.polyvox.services.current = wire.service()
        persona = await lounge.house.advisor("lab:talker")
        lounge.set(NOON)
        why = "user_model: timeout (0.1 s)" if silent else "user_model: status (500)"
        for number in (1, 2):
            heard, asked = await say(lounge, persona, wire)
            assert asked.count(MODEL) == (1 if number == 1 else 0)
            assert "standing_instructions" not in heard.blocks
            assert heard.trace["degrades"] == [why]
            assert "It is Tuesday." in heard.blocks["handover"]


@pytest.mark.parametrize("broken", [False, True])
async def test_a_council_asks_for_it_once_too(tmp_path: Path, broken: bool) -> None:
    async with open_lounge(tmp_path, memory={"budget": BUDGET}) as lounge:
        house, wire = lounge.house, Wire(broken={MODEL} if broken else set())
        house.polyvox.services.current = wire.service()
        persona = await house.advisor("lab:talker")
        house.provider.script("talker", Script(text="I see."))
        talk = await house.conversation(persona)
        lounge.set(NOON)
        for _ in range(2):
            sent = await house.post(f"/api/conversations/{talk}/turns", {"content": LONG})
            turn = sent.json()["turn_id"]
            await house.ended(talk, turn)
            trace = (await house.get(f"/api/turns/{turn}/trace")).json()
            text = json.dumps(house.provider.requests("talker")[-1].json())
            assert wire.asked.count(MODEL) == 1
            assert ("Always answer briefly" in text) is not broken
            assert trace["degrades"] == (["user_model: status (500)"] if broken else [])


@pytest.mark.parametrize("vetoed", ["", "handover", "paint the hull"])
async def test_the_brief_that_stands_in_is_shown_and_can_be_vetoed(
    tmp_path: Path, vetoed: str
) -> None:
    async with open_lounge(tmp_path, memory={"budget": BUDGET}) as lounge:
        house = lounge.house
        house.polyvox.services.current = Wire(broken={STARTBRIEF}).service()
        house.provider.script("gate", Script(text=reading_text({})))
        house.provider.script("talker", Script(text="I see."))
        persona = await house.advisor("lab:talker")
        lounge.set(NOON)
        strip = (await house.get("/api/memory/start?recipe=companion")).json()
        ids = {one["text"]: one["id"] for one in strip["items"]}
        assert {"Owns a boat", "paint the hull"} <= set(ids)
        assert "handover" in ids.values()
        body = {"personaId": persona["id"], "text": LONG, "veto": ids.get(vetoed, vetoed)}
        said = await house.post("/api/chat", {name: one for name, one in body.items() if one})
        assert said.status == 200, said.text
        text = json.dumps(house.provider.requests("talker")[-1].json())
        assert ("Owns a boat" in text) == (vetoed != "handover")
        assert ("paint the hull" in text) == (vetoed == "")
