"""What was edited away is not remembered as if it had been meant; going back brings it back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.provider import Script
from tests.session.remembered import FILLER, OWN
from tests.session.room import ME, Hand, Room, open_room

from polyvox.memory import loops
from polyvox.memory.recall import recall
from polyvox.store.database import Tx
from polyvox.values import Turn

PLUMBER = "I will call the plumber about the boiler tomorrow."
DENTIST = "I will call the dentist about the tooth tomorrow."


async def known(room: Room, now: int) -> dict[str, set[str]]:
    """Which of the two is an open loop, and which is recalled."""

    def read(tx: Tx) -> dict[str, set[str]]:
        open_ = " ".join(one.text for one in loops.listed(tx, OWN, now))
        told = " ".join(
            item.text
            for item in recall(
                tx, OWN, "call plumber boiler dentist tooth", reference_time=now, limit=50
            )
        )
        names = ("plumber", "dentist")
        return {
            "loops": {name for name in names if name in open_},
            "recalled": {name for name in names if name in told},
        }

    return await room.polyvox.database.read(read, ME)


def noted(body: Any) -> Script:
    """Both are loops, where they were said."""
    lines = body["messages"][-1]["content"].splitlines()
    shown = [json.loads(line) for line in lines if line.startswith("{")]
    loops = [
        {"n": one["n"], "quote": one["text"], "text": one["text"]}
        for one in shown
        if one.get("text") in (PLUMBER, DENTIST) and "n" in one
    ]
    return Script(text=json.dumps({"facts": [], "loops": loops, "summary": "They called."}))


def only(*names: str) -> dict[str, set[str]]:
    return {"loops": set(names), "recalled": set(names)}


async def end(room: Room, turn: Turn) -> None:
    await room.polyvox.end_session(ME, turn.session_id or "")
    await room.polyvox.worker.run_due()


@pytest.mark.parametrize("when", ["before", "after", "judged"])
async def test_only_the_branch_that_was_taken_is_remembered(
    tmp_path: Path, database_url: str, when: str
) -> None:
    """Edited before the session is remembered, after that, or while each turn is at once."""
    clock = Hand()
    async with open_room(
        tmp_path,
        database=database_url,
        clock=clock,
        models={"default": "local:none", "memory": "lab:notes"},
        memory={"judge": when == "judged"},
    ) as room:
        polyvox = room.polyvox
        room.provider.made("notes", noted)
        ann = await room.advisor("Ann", Script(text="Noted."))
        talk = await room.conversation(ann)
        await room.say(talk, FILLER[0])
        old, _ = await room.say(talk, PLUMBER)
        for text in FILLER[1:4]:
            await room.say(talk, text)
        await polyvox.worker.run_due()
        if when == "after":
            await end(room, old)
            assert await known(room, clock()) == only("plumber")
        begun = await polyvox.turns.edit_message(ME, old.message_id, DENTIST)
        await room.settled()
        await end(room, begun.turn)
        assert await known(room, clock()) == only("dentist")

        await polyvox.change_conversation(ME, talk, {}, old.id)
        await polyvox.worker.run_due()
        assert await known(room, clock()) == only("plumber")

        await polyvox.change_conversation(ME, talk, {}, begun.turn.id)
        await polyvox.worker.run_due()
        assert await known(room, clock()) == only("dentist")
