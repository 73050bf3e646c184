"""What a remote memory that hangs costs: its budget once in a turn, then nothing for a while."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.companion.lounge import Lounge, open_lounge
from tests.companion.situations import ASKED, LONG, NOON
from tests.companion.test_remote_start import ANSWERS, BRIEF, BUDGET, STARTBRIEF, Wire
from tests.provider import Script

from polyvox.companion.starting import TRIES
from polyvox.memory.remembering import RemoteService
from polyvox.memory.remote import REST

QUERY = "/memory/query"
IN_VAIN = "query: not asked (the session's start timed out)"
TIMED_OUT = "query: timeout (0.1 s)"
RESTING = "query: not asked (it timed out a moment ago)"


class Slow:
    """A lounge whose memory is elsewhere, with a clock for how long that one is left alone."""

    def __init__(self, lounge: Lounge) -> None:
        self.lounge, self.wire, self.now = lounge, Wire(silent=set(ANSWERS)), 100.0
        remote = replace(self.wire.service().remote, clock=lambda: self.now)
        lounge.house.polyvox.services.current = RemoteService(remote, lambda: "UTC")
        lounge.set(NOON)

    async def companion(self, persona: Any) -> tuple[Any, list[str]]:
        """A message to a companion that asks for the past: its trace, and what was asked for."""
        before = len(self.wire.asked)
        heard = await self.lounge.say(persona, LONG, gate=ASKED)
        assert heard.status == 200, heard.data
        return heard.trace, self.wire.asked[before:]

    async def council(self, talk: str, veto: list[str]) -> tuple[Any, list[str]]:
        """The same to a council."""
        house, before = self.lounge.house, len(self.wire.asked)
        body = {"content": LONG, "veto": veto}
        sent = await house.post(f"/api/conversations/{talk}/turns", body)
        await house.ended(talk, sent.json()["turn_id"])
        trace = await house.get(f"/api/turns/{sent.json()['turn_id']}/trace")
        return trace.json(), self.wire.asked[before:]


@pytest.fixture
async def slow(tmp_path: Path) -> AsyncIterator[Slow]:
    async with open_lounge(tmp_path, memory={"budget": BUDGET}) as lounge:
        yield Slow(lounge)


async def test_a_companion_waits_for_it_once_in_a_turn_and_then_leaves_it_alone(
    slow: Slow,
) -> None:
    persona = await slow.lounge.house.advisor("lab:talker")
    for pause, asked, why in (
        *[(0.0, False, IN_VAIN)] * TRIES,  # the start was waited for
        (0.0, True, TIMED_OUT),
        (0.0, False, RESTING),
        (REST - 1, False, RESTING),
        (2.0, True, TIMED_OUT),
    ):
        slow.now += pause
        trace, calls = await slow.companion(persona)
        assert (QUERY in calls) is asked
        assert trace["recall"]["decision"] in ("unreachable", "told already")
        assert trace["recall"]["degrade"] == trace["degrades"][-1] == why
    slow.wire.silent.clear()
    slow.now += REST + 1
    trace, _ = await slow.companion(persona)
    assert trace["recall"]["degrade"] is None


@pytest.mark.parametrize("silent", [{STARTBRIEF}, {"/analysis/daily"}])
async def test_a_service_that_told_something_is_asked(slow: Slow, silent: set[str]) -> None:
    slow.wire.silent = silent
    trace, calls = await slow.companion(await slow.lounge.house.advisor("lab:talker"))
    assert QUERY in calls
    assert trace["recall"]["degrade"] is None
    assert (BRIEF in calls) is (silent == {STARTBRIEF})


async def test_a_council_waits_for_both_at_once_and_then_leaves_it_alone(slow: Slow) -> None:
    house = slow.lounge.house
    house.provider.script("talker", Script(text="I see."))
    talk = await house.conversation(await house.advisor("lab:talker"))
    for why, asked in ((TIMED_OUT, True), (RESTING, False)):
        trace, calls = await slow.council(talk, [])
        assert (QUERY in calls) is asked
        assert trace["degrades"][-1] == why
    slow.now += REST + 1
    slow.wire.silent.clear()
    trace, calls = await slow.council(talk, [])
    assert QUERY in calls
    assert trace["recall"]["degrade"] is None


async def test_a_council_with_a_veto_waits_once_too(slow: Slow) -> None:
    house = slow.lounge.house
    house.provider.script("talker", Script(text="I see."))
    talk = await house.conversation(await house.advisor("lab:talker"))
    trace, calls = await slow.council(talk, ["handover"])
    assert QUERY not in calls
    assert trace["recall"]["degrade"] == trace["degrades"][-1] == IN_VAIN
    assert "I see." in json.dumps((await house.get(f"/api/conversations/{talk}")).json())
