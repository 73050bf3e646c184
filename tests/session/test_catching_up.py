"""What ended before a session begins is remembered before it is told anything."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from tests.session.remembered import told
from tests.session.room import ME, Hand, open_room

from polyvox.companion.council import CouncilMemory
from polyvox.errors import StoreError
from polyvox.memory.tell import Telling
from polyvox.session.commands import Turns
from polyvox.store import jobs
from polyvox.store.sessions import INGEST
from polyvox.values import Scope

LOAN = "I promised to call the bank about the loan on Friday."
BACK = "What was it about the bank and the loan?"


async def test_the_message_that_closes_a_session_knows_of_it(
    tmp_path: Path, database_url: str
) -> None:
    """Whether or not anybody works in the background."""
    clock = Hand()
    async with open_room(tmp_path, database=database_url, clock=clock) as room:
        ann = await room.advisor("Ann")
        for works in (False, True):
            if works:
                room.polyvox.work()
            talk = await room.conversation(ann)
            await room.say(talk, LOAN)
            clock.on(minutes=6)
            await room.say(talk, BACK)
            held = told(room.provider.requests("m1")[-1])
            assert "“I promised to call the bank about the loan on Friday" in held["handover"]
            clock.on(minutes=60 * 24)


async def test_a_session_of_another_conversation_is_over_too(tmp_path: Path) -> None:
    """Where nobody works in the background, as in a terminal, whoever begins sees to it."""
    clock = Hand()
    async with open_room(tmp_path, clock=clock) as room:
        ann = await room.advisor("Ann")
        await room.say(await room.conversation(ann), LOAN)
        clock.on(minutes=60)
        await room.say(await room.conversation(ann), BACK)
        assert LOAN[:-1] in told(room.provider.requests("m1")[-1])["handover"]
        left = await room.polyvox.database.read(lambda tx: jobs.unfinished(tx, INGEST, clock()), ME)
        assert left == []


@pytest.mark.parametrize("hangs", [False, True])
async def test_what_cannot_be_remembered_in_time_costs_no_turn(
    tmp_path: Path, hangs: bool, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Hand()
    async with open_room(tmp_path, clock=clock, memory={"budget": 0.05}) as room:
        ann = await room.advisor("Ann")
        talk = await room.conversation(ann)

        async def fail(_: Scope, __: bool) -> None:
            if hangs:
                await asyncio.Event().wait()
            raise StoreError("The disk is full.")

        polyvox = room.polyvox
        council = CouncilMemory(polyvox.resources, polyvox.services)
        telling = Telling(polyvox.resources, {"council": council}, fail)
        polyvox.turns = Turns(polyvox.resources, telling, polyvox.evaluations.want_badges)
        with caplog.at_level(logging.WARNING, "polyvox.session"):
            _, (answer,) = await room.say(talk, LOAN)
        assert answer.state == "completed"
        assert "before the last one is remembered" in caplog.text
