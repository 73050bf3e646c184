"""A companion's turns, counted and told through the door: which message of its session one is, and
what its request does not say twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.companion.lounge import Lounge, Told, open_lounge
from tests.companion.situations import (
    AMBIENT,
    ASKED,
    BARE,
    FULL,
    HANDOVER,
    LONG,
    MOVING,
    NOON,
    TUESDAY,
    found,
    recalled,
)

from polyvox.companion import tell as companion
from polyvox.memory.packets import QueryReply
from polyvox.memory.remembering import Lookup, OwnMemory, Start
from polyvox.memory.remote import Degrade, Got
from polyvox.memory.transcript import ingest
from polyvox.memory.values import Message, Partition
from polyvox.store import threads
from polyvox.values import Scope

ME = Scope()
MINUTE = timedelta(minutes=1)


@pytest.fixture(name="lounge")
async def own_lounge(tmp_path: Path) -> AsyncIterator[Lounge]:
    async with open_lounge(tmp_path) as found:
        yield found


async def test_what_was_excluded_still_counts(lounge: Lounge) -> None:
    lounge.remember(Told(FULL))
    persona = await lounge.house.advisor("lab:talker")
    for minute in range(2):
        await lounge.say(persona, LONG, at=TUESDAY + minute * MINUTE)
    (kept,) = (await lounge.house.get("/api/conversations")).json()["items"]
    seen = (await lounge.house.get(f"/api/conversations/{kept['id']}")).json()["messages"]
    for one in seen:
        path = f"/api/messages/{one['id']}"
        assert (await lounge.house.patch(path, {"excluded": True})).status == 200
    heard = await lounge.say(persona, LONG, at=TUESDAY + 2 * MINUTE)
    assert heard.trace["startbrief_runtime"]["userTurnsSeen"] == 3
    assert heard.sent == [LONG], "they are not sent"
    assert list(heard.blocks) == ["persona", "posture"], "the start does not come again"


async def test_a_first_message_that_was_excluded_was_the_first_all_the_same(
    lounge: Lounge,
) -> None:
    lounge.remember(Told(FULL))
    persona = await lounge.house.advisor("lab:talker")
    first = await lounge.say(persona, LONG, at=NOON)
    seen = (await lounge.house.get(f"/api/conversations/{first.trace['conversation_id']}")).json()[
        "messages"
    ]
    await lounge.house.patch(f"/api/messages/{seen[0]['id']}", {"excluded": True})
    heard = await lounge.say(persona, "ok fine", at=NOON + MINUTE)
    assert heard.trace["handover_reason"] == "continued"


@pytest.mark.parametrize("whole", [True, False])
async def test_a_memory_that_hangs_everywhere_costs_one_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    """In the turn that waits for its start."""

    class Hanging(Told):
        async def standing(self, scope: Scope, *, cloud: bool) -> tuple[str, ...]:
            standing.append(scope)
            await asyncio.Event().wait()
            return await super().standing(scope, cloud=cloud)

    standing: list[Scope] = []
    monkeypatch.setattr(Hanging, "starts_whole", whole)
    async with open_lounge(tmp_path, memory={"budget": 0.1}) as lounge:
        memory = lounge.remember(Hanging(FULL, silent=True))
        persona = await lounge.house.advisor("lab:talker")
        heard = await lounge.say(persona, LONG, at=NOON, gate=ASKED)
        start, told, query = heard.trace["degrades"]
        assert start.startswith("startbrief: timeout")
        assert told.startswith("standing: not asked" if whole else "standing: timeout")
        assert query == "query: not asked (the session's start timed out)"
        assert (len(standing), memory.lookups) == (0 if whole else 1, [])


async def test_turns_count_on_where_the_session_is_not_read_so_far(
    lounge: Lounge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "STRIDE", 2)
    monkeypatch.setattr(companion, "REACH", 1)
    lounge.remember(Told(BARE))
    persona = await lounge.house.advisor("lab:talker")
    numbers, overlays = [], []
    for turn in range(1, 9):
        gate = {"correction": True} if turn == 5 else {"conflict": True}
        heard = await lounge.say(persona, LONG, at=NOON + timedelta(seconds=turn), gate=gate)
        numbers.append(heard.trace["startbrief_runtime"]["userTurnsSeen"])
        overlays.append(heard.trace["overlay"] or heard.trace["overlay_reason"])
    assert numbers == list(range(1, 9))
    calm, friction = "conflict_regulation", "friction"
    assert overlays[3:] == [calm, friction, friction, friction, calm]


async def test_the_second_look_has_no_time_of_its_own(tmp_path: Path) -> None:
    class Silent(Told):
        async def look_up(self, scope: Scope, wanted: Lookup) -> Got[QueryReply]:
            self.lookups.append(wanted)
            await asyncio.Event().wait()
            raise AssertionError

    async with open_lounge(tmp_path, memory={"recall_seconds": 0.1}) as lounge:
        memory = lounge.remember(Silent(Start()))
        persona = await lounge.house.advisor("lab:talker")
        heard = await lounge.say(persona, LONG, at=NOON, gate=AMBIENT | MOVING)
        assert len(memory.lookups) == 1
        assert heard.trace["degrades"] == ["query: timeout"]
        assert heard.trace["ops_reason"] == "no thread to anchor on"


async def test_what_went_wrong_in_the_second_look_is_in_the_trace(lounge: Lounge) -> None:
    memory = lounge.remember(Told(Start(), found=Got(None, Degrade("query", "unreachable"))))
    persona = await lounge.house.advisor("lab:talker")
    heard = await lounge.say(persona, LONG, at=NOON, gate=MOVING)
    assert len(memory.lookups) == 1
    assert heard.trace["recall"]["decision"] == "none"
    assert heard.trace["degrades"] == ["query: unreachable"]


async def test_an_instruction_that_does_not_fit_is_in_the_trace(lounge: Lounge) -> None:
    lounge.remember(Told(Start(), wishes=("Call me Ada.", "x" * 2000)))
    persona = await lounge.house.advisor("lab:talker")
    heard = await lounge.say(persona, LONG, at=NOON)
    assert heard.blocks["standing_instructions"].endswith("- “Call me Ada.”")
    assert heard.trace["degrades"] == ["standing: 1 of 2 left out, too long"]


@pytest.mark.parametrize("text", [HANDOVER, "call the bank", "Her sister.", "Be brief!", LONG])
async def test_recall_does_not_say_again_what_the_request_says(lounge: Lounge, text: str) -> None:
    """In the handover, the overlay, the profile, the instructions, the messages before."""
    depth = replace(FULL.startbrief, handover_depth="yesterday") if FULL.startbrief else None
    memory = lounge.remember(Told(replace(FULL, startbrief=depth), wishes=("Be brief.",)))
    persona = await lounge.house.advisor("lab:talker")
    await lounge.say(persona, LONG, at=NOON)
    memory.found = found(recalled(text))
    heard = await lounge.say(persona, "And Maria, remember?", at=NOON, gate=AMBIENT)
    assert heard.trace["recall"]["decision"] == "told already"
    assert "supplemental_context" not in heard.blocks
    memory.found = found(recalled(text), recalled("Maria plays the cello."))
    heard = await lounge.say(persona, "And Maria, remember?", at=NOON, gate=AMBIENT)
    assert "cello" in heard.blocks["supplemental_context"]


async def test_our_own_memory_names_who_is_in_what_it_found(lounge: Lounge) -> None:
    polyvox = lounge.house.polyvox
    own = OwnMemory(polyvox.database, lambda: "UTC")
    polyvox.services.current = own
    persona = await lounge.house.advisor("lab:talker")
    when = round((NOON - timedelta(days=10)).timestamp() * 1_000_000)
    texts = (
        "My aunt Rosalind moved to Porto and keeps bees there.",
        "The tram was late again this morning.",
        "I bought a green lamp for the desk.",
        "I will call the plumber.",
    )
    words = [Message("user", text, when + n) for n, text in enumerate(texts)]
    part = Partition.own(ME)
    await polyvox.database.write(
        lambda tx: ingest(tx, part, "s-before", persona["id"], when, when + 5, words), ME
    )
    asked = "Do you remember where Rosalind keeps her bees?"
    heard = await lounge.say(persona, asked, at=NOON, gate=ASKED)
    sheet = heard.blocks["supplemental_context"]
    assert "they said: “My aunt Rosalind" in sheet
    assert "- about: “Rosalind, last spoken of on 2026-11-07”" in sheet
    assert heard.trace["recall"]["entities"] == sheet.count("- about: ") > 0
    look = Lookup("Rosalind keeps bees", when + 100)
    alone = await own.look_up(ME, look)
    (quick,) = await own.look_up_all(ME, [look])
    assert alone.value is not None
    assert quick.value is not None
    assert alone.value.entities
    assert not quick.value.entities, "a council is quick"


@pytest.mark.parametrize("far", [False, True])
async def test_what_left_the_window_of_a_session_that_goes_on_is_found(
    lounge: Lounge, monkeypatch: pytest.MonkeyPatch, far: bool
) -> None:
    """Also what is so long ago that it was not read for the request."""
    if far:
        monkeypatch.setattr(threads, "STRIDE", 2)
        monkeypatch.setattr(companion, "REACH", 1)
    bees = "My aunt Rosalind moved to Porto and keeps bees there."
    lounge.remember(Told(BARE))
    persona = await lounge.house.advisor("lab:talker")
    await lounge.say(persona, bees, at=TUESDAY)
    for minute in range(1, 8):
        await lounge.say(persona, f"{LONG} It is number {minute}.", at=TUESDAY + minute * MINUTE)

    heard = await lounge.say(
        persona, "Where does Rosalind keep her bees?", gate=ASKED, at=TUESDAY + 9 * MINUTE
    )

    assert bees not in heard.sent
    assert bees in heard.blocks["supplemental_context"]
    assert heard.trace["recall"]["decision"] == "found"
