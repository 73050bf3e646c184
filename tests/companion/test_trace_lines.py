"""One `chat.trace` line of the log for each answer of a turn, whatever is remembered."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.companion.lounge import Told, open_lounge
from tests.companion.situations import FULL, LONG, NOON

pytestmark = pytest.mark.contract


@pytest.mark.parametrize("remembers", [True, False])
async def test_a_council_has_a_line_for_each_advisor(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, remembers: bool
) -> None:
    def lines() -> list[Any]:
        told = [one for one in caplog.messages if one.startswith("chat.trace ")]
        return [msgspec.json.decode(one.removeprefix("chat.trace ")) for one in told]

    async with open_lounge(tmp_path, memory={"council": remembers}) as lounge:
        lounge.set(NOON)
        lounge.remember(Told(FULL))
        council = [await lounge.house.advisor("lab:talker", name=name) for name in ("Ann", "Ben")]
        talk = await lounge.house.conversation(*council)
        with caplog.at_level(logging.INFO, "polyvox.chat"):
            turn = await lounge.house.say(talk, LONG)
            await lounge.house.until(lambda: len(lines()) == 2)
        assert [one["advisor_id"] for one in lines()] == [one["id"] for one in council]
        for line in lines():
            path = f"/api/turns/{turn['turn_id']}/trace?answer={line['answer_id']}"
            shown = (await lounge.house.get(path)).json()
            assert shown.pop("words")["decisions"]
            assert shown == line
            assert ("handover" in line["system_blocks"]) is remembers
            assert line["startbrief_used"] is remembers
            assert line["attempts"][0]["status"] == 200
