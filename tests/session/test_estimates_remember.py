"""What a message would take, with what its advisors would be told of the past."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from tests.companion.lounge import Told, open_lounge
from tests.session.remembered import profile, remember, told
from tests.session.room import ME, Hand, Room, open_room

from polyvox.memory.remembering import MemoryService, NoMemory, OwnMemory, RemoteService
from polyvox.values import Advisor

BEES = "My sister Rosalind moved to Porto and keeps bees there."
ASKED = "Where does Rosalind keep her bees?"
NOON = datetime(2026, 5, 12, 12, tzinfo=UTC)


class Elsewhere(Told):
    """A memory that is not on this machine."""

    def here(self) -> MemoryService:
        return NoMemory()


async def _foreseen(room: Room, talk: str | None, advisor: Advisor) -> int:
    (found,) = await room.polyvox.turns.estimate(ME, talk, ASKED, advisors=[advisor.id])
    return found.input_tokens


async def test_an_estimate_counts_what_is_remembered(tmp_path: Path, database_url: str) -> None:
    clock = Hand()
    async with open_room(tmp_path, database=database_url, clock=clock) as room:
        ann = await room.advisor("Ann")
        await remember(room, "s1", [BEES], days=2)
        await profile(room, instructions=["Always answer briefly"])
        talk = await room.conversation(ann)
        for minutes in (0, 1, 600):  # a start, a second message, a start after a pause
            clock.on(minutes=minutes)
            asked, stored = len(room.provider.log), room.polyvox.database.commits
            expected = await _foreseen(room, talk, ann)
            unborn = await _foreseen(room, None, ann)
            assert len(room.provider.log) == asked, "no model is asked"
            assert room.polyvox.database.commits == stored, "nothing is stored"
            _, (answer,) = await room.say(talk, ASKED)
            held = told(room.provider.log[-1])
            assert "supplemental_context" in held
            assert "handover" in held or minutes == 1
            draft = (await room.receipt(answer.id)).receipt.draft
            # The message that follows a pause has the session before it remembered first.
            off = 0.05 if minutes == 600 else 0
            assert expected == pytest.approx(draft.input_tokens, rel=off)
            if minutes == 0:
                assert unborn == expected, "before there is a conversation, too"


async def test_a_companion_s_estimate_counts_its_blocks_and_asks_no_gate(tmp_path: Path) -> None:
    async with open_lounge(tmp_path) as lounge:
        persona = await lounge.house.advisor("lab:talker")
        lounge.set(NOON)
        body = {"content": ASKED, "advisors": [persona["id"]], "recipe": "companion"}

        async def foreseen() -> int:
            reply = await lounge.house.post("/api/estimate", body)
            assert reply.status == 200, reply.text
            (row,) = reply.json()["advisors"]
            return int(row["input_tokens"])

        lounge.remember(Told())
        bare = await foreseen()
        memory = lounge.remember(Told(wishes=("Always name the source. " * 10,)))
        assert await foreseen() >= bare + 50
        assert memory.lookups, "what it would look up is looked up"
        assert lounge.house.provider.log == []
        # In a session that is over, nothing of it would be sent.
        await lounge.say(persona, "A long story. " * 200, at=NOON)
        (kept,) = (await lounge.house.get("/api/conversations")).json()["items"]
        there = f"/api/conversations/{kept['id']}/estimate"
        sizes = []
        for at in (NOON + timedelta(minutes=1), NOON + timedelta(days=1)):
            lounge.set(at)
            reply = await lounge.house.post(there, {"content": ASKED})
            sizes.append(reply.json()["advisors"][0]["input_tokens"])
        assert sizes[0] > sizes[1] + 500


async def test_what_is_not_said_yet_stays_on_this_machine(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        ann = await room.advisor("Ann")
        away = Elsewhere(wishes=("Always name the source.",))
        room.polyvox.services.current = away
        await _foreseen(room, None, ann)
        assert (away.starts, away.lookups) == (0, [])
        unused = cast("Any", object())
        own = OwnMemory(room.polyvox.database, lambda: "", embeddings=unused, writer=unused)
        assert own.here() == OwnMemory(room.polyvox.database, own.timezone)
        assert isinstance(RemoteService(unused, lambda: "").here(), NoMemory)
