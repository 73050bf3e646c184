"""The session-start strip: what will be told, and the veto, looked for in the provider's log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.companion.lounge import Lounge, Told, open_lounge, reading_text
from tests.companion.situations import ASKED, FULL, NOON, found, recalled
from tests.provider import Script

from polyvox.memory import profile
from polyvox.memory.packets import Brief
from polyvox.memory.tables import statements
from polyvox.memory.tables.statements import Plan, Statement
from polyvox.memory.transcript import ingest
from polyvox.memory.values import Message, Partition
from polyvox.memory.veto import Veto, foreign_without
from polyvox.values import Scope

ME = Scope()
OWN = Partition.own(ME)
BANK = "I will call the bank about the mortgage tomorrow."
ROOF = "I have to fix the roof of the shed this week."
BEES = "My sister Rosalind keeps bees in Porto."
WISH = "Always answer in short sentences."


@pytest.fixture(name="lounge")
async def own_lounge(tmp_path: Path) -> AsyncIterator[Lounge]:
    """A day after a session of which two loops were noted."""
    async with open_lounge(tmp_path, models={"memory": "", "default": "lab:talker"}) as lounge:
        polyvox = lounge.house.polyvox
        polyvox.services.choose()
        lounge.house.provider.script("gate", Script(text=reading_text({})))
        lounge.set(NOON - timedelta(days=1))
        now = lounge.clock[0]
        words = [BEES, WISH, "The tram was late.", "It rained on the hills.", ROOF, BANK]
        messages = [Message("user", text, now + at) for at, text in enumerate(words)]
        await polyvox.database.write(
            lambda tx: ingest(tx, OWN, "before", None, now, now + 9, messages), ME
        )
        loops = [
            Statement(
                text, "loop", "user", "", text, now + at, session_id="before", message_index=at,
                role="user", quote=text, plan=Plan(),
            )
            for at, text in enumerate(words)
            if text in (ROOF, BANK)
        ]  # fmt: skip
        await polyvox.database.write(lambda tx: statements.add(tx, OWN, loops), ME)
        change = {"current_focus": "the bakery", "instructions": [WISH]}
        await polyvox.database.write(lambda tx: profile.patch(tx, OWN, change, now), ME)
        lounge.set(NOON)
        yield lounge


async def look(lounge: Lounge, query: str = "recipe=council") -> Any:
    reply = await lounge.house.get(f"/api/memory/start?{query}")
    assert reply.status == 200, reply.text
    return reply.json()


def by_kind(start: Any, kind: str) -> list[Any]:
    return [one for one in start["items"] if one["kind"] == kind]


def naming(start: Any, words: str, kind: str = "") -> str:
    kinds = (kind,) if kind else ("instruction", "profile", "loop")
    (item,) = [o["id"] for o in start["items"] if words in o["text"] and o["kind"] in kinds]
    return str(item)


async def council(lounge: Lounge) -> tuple[Any, str]:
    persona = await lounge.house.advisor("lab:talker")
    lounge.house.provider.script("talker", Script(text="I see."))
    return persona, await lounge.house.conversation(persona)


async def say(lounge: Lounge, talk: str, text: str, **more: Any) -> str:
    """A turn; every system text that the provider got."""
    reply = await lounge.house.post(f"/api/conversations/{talk}/turns", {"content": text, **more})
    assert reply.status == 202, reply.text
    await lounge.house.ended(talk, reply.json()["turn_id"])
    return told(lounge)


def told(lounge: Lounge) -> str:
    messages = lounge.house.provider.requests("talker")[-1].json()["messages"]
    return "\n\n".join(one["content"] for one in messages if one["role"] == "system")


async def test_it_says_what_a_council_will_be_told_and_that_is_told(lounge: Lounge) -> None:
    start = await look(lounge)
    assert (start["session"], start["session_id"]) == ("new", None)
    assert (start["memory"], start["recall"], start["degrades"]) == (True, "auto", [])
    assert {one["kind"] for one in start["items"]} == {"handover", "instruction", "profile", "loop"}
    assert not any(one["vetoed"] for one in start["items"])
    (handover,) = by_kind(start, "handover")
    loop = next(one for one in by_kind(start, "loop") if "bank" in one["text"])
    assert loop["source"]["quote"] == BANK
    assert loop["source"]["session_id"] == "before"
    assert loop["source"]["said_at"] == lounge.clock[0] - 86_400_000_000 + 5
    _, talk = await council(lounge)
    text = await say(lounge, talk, "I want to think about the garden today.")
    assert handover["text"] in text
    assert "mortgage" in text
    assert WISH in text
    running = await look(lounge, f"conversation={talk}")
    assert running["session"] == "running"
    assert running["items"] == start["items"]


async def test_a_pinned_loop_is_told_first(lounge: Lounge) -> None:
    house = lounge.house
    assert "mortgage" in by_kind(await look(lounge), "handover")[0]["text"], "it is more pressing"
    every = (await house.get("/api/memory/loops")).json()
    roof = next(one["id"] for one in every if "roof" in one["text"])
    await house.patch(f"/api/memory/loops/{roof}", {"pinned": True})
    start = await look(lounge)
    assert ["roof" in one["text"] for one in by_kind(start, "loop")] == [True, False]
    (handover,) = by_kind(start, "handover")
    assert "roof" in handover["text"]
    _, talk = await council(lounge)
    text = await say(lounge, talk, "I want to think about the garden today.")
    assert handover["text"] in text

    await house.patch(f"/api/memory/loops/{roof}", {"status": "done"})
    left = await look(lounge)
    assert not any("roof" in one["text"] for one in by_kind(left, "loop"))
    assert "mortgage" in by_kind(left, "handover")[0]["text"]


async def test_a_companion_is_told_more(lounge: Lounge) -> None:
    lounge.set(NOON - timedelta(days=1) + timedelta(minutes=10))
    kinds = [one["kind"] for one in (await look(lounge, "recipe=companion"))["items"]]
    assert list(dict.fromkeys(kinds)) == ["handover", "bridge", "instruction", "profile", "loop"]


async def test_somebody_new_is_told_nothing(tmp_path: Path) -> None:
    async with open_lounge(tmp_path) as lounge:
        polyvox = lounge.house.polyvox
        polyvox.services.choose()
        assert (await look(lounge))["items"] == []


async def test_what_is_vetoed_comes_back_nowhere(lounge: Lounge) -> None:
    start = await look(lounge)
    veto = [naming(start, "bank"), naming(start, WISH)]
    _, talk = await council(lounge)
    text = await say(lounge, talk, "Do I owe the bank a call on the mortgage?", veto=veto)
    assert "mortgage" not in text
    assert "short sentences" not in text
    assert "the bakery" in text, "what was not vetoed is told"
    assert "shed" in text, "the handover is composed of something else"
    running = await look(lounge, f"conversation={talk}")
    assert {one["id"] for one in running["items"] if one["vetoed"]} == set(veto)
    (handover,) = by_kind(running, "handover")
    assert handover["text"] in text
    assert "mortgage" not in handover["text"]
    lounge.clock[0] += 60_000_000
    assert "mortgage" not in await say(lounge, talk, "The mortgage at the bank, once more?")


async def test_a_veto_can_be_changed_while_the_session_runs(lounge: Lounge) -> None:
    start = await look(lounge)
    bank = naming(start, "bank")
    _, talk = await council(lounge)
    place = f"/api/conversations/{talk}/memory/veto"
    refused = await lounge.house.put(place, {"items": [bank]})
    assert (refused.status, bool(refused.error["hint"])) == (409, True)
    question = "Do I owe the bank a call on the mortgage?"
    assert "mortgage" not in await say(lounge, talk, question, veto=[bank])
    lounge.clock[0] += 60_000_000
    changed = await lounge.house.put(place, {"items": [naming(start, WISH), "loop:gone"]})
    assert changed.status == 200
    kept = [one["id"] for one in changed.json()["items"] if one["vetoed"]]
    assert kept == [naming(start, WISH)]
    text = await say(lounge, talk, question)
    assert "mortgage" in text
    assert "short sentences" not in text
    lounge.clock[0] += 3_600_000_000
    assert (await look(lounge, f"conversation={talk}"))["session"] == "new"
    assert "short sentences" in await say(lounge, talk, question), "a veto is its session's"
    assert (
        await lounge.house.put("/api/conversations/none/memory/veto", {"items": []})
    ).status == 404
    assert (await lounge.house.put(place, {"items": "all"})).status in (400, 422)


async def test_a_companion_keeps_to_it_too(lounge: Lounge) -> None:
    lounge.set(NOON - timedelta(days=1) + timedelta(minutes=10))
    start = await look(lounge, "recipe=companion")
    veto = [naming(start, "bank", "loop"), "bridge", naming(start, "bakery")]
    persona = await lounge.house.advisor("lab:talker")
    lounge.house.provider.script("talker", Script(text="I see."))
    lounge.house.provider.script("gate", Script(text=reading_text(ASKED | {"intent": "momentum"})))
    body = {"personaId": persona["id"], "text": "What of the mortgage call to the bank?"}
    said = await lounge.house.post("/api/chat", {**body, "veto": ",".join(veto)})
    assert said.status == 200, said.text
    text = told(lounge)
    sought = "“mortgage bank”"
    assert "mortgage" not in text.replace("mortgage call", "").replace(sought, "")
    assert "A moment ago" not in text
    assert "bakery" not in text
    trace = (await lounge.house.get(f"/api/turns/{said.json()['requestId']}/trace")).json()
    assert "bridge" not in trace["system_blocks"]
    assert "handover" in trace["system_blocks"]
    many = await lounge.house.post("/api/chat", {**body, "veto": "x" * 501})
    assert (many.status, many.error["param"]) == (400, "veto")


async def test_the_whole_handover_can_be_vetoed(lounge: Lounge) -> None:
    _, talk = await council(lounge)
    text = await say(lounge, talk, "I want to think about the garden today.", veto=["handover"])
    assert "It is Tuesday" not in text
    (handover,) = by_kind(await look(lounge, f"conversation={talk}"), "handover")
    assert handover["vetoed"]
    assert "It is Tuesday" in handover["text"], "shown, so that it can be taken back"


async def test_it_is_off_where_memory_is(lounge: Lounge) -> None:
    await lounge.house.patch("/api/recipes/council", {"memory": "off"})
    start = await look(lounge)
    assert (start["memory"], start["items"]) == (False, [])
    _, talk = await council(lounge)
    changed = await lounge.house.patch(f"/api/conversations/{talk}", {"recall": "off"})
    assert changed.json()["recall"] == "off"
    assert (await look(lounge, f"conversation={talk}"))["recall"] == "off"
    assert (await lounge.house.get("/api/memory/start?conversation=none")).status == 404
    assert (await lounge.house.get("/api/memory/start?recipe=none")).status in (400, 422)


def test_a_foreign_service_has_no_sources_so_its_words_decide() -> None:
    plain = foreign_without(FULL, Veto())
    ids = {one.text: one.id for one in plain.items}
    assert set(ids) >= {"call the bank", "runs a clinic", "Maria: her sister"}
    told_more = (
        replace(FULL.startbrief, handover_text="It is Tuesday. Left open: “Call the  bank”.")
        if FULL.startbrief
        else None
    )
    left = foreign_without(
        replace(FULL, startbrief=told_more, brief=Brief(facts=("call the bank",))),
        Veto(frozenset([ids["call the bank"], ids["runs a clinic"], "bridge"])),
    )
    assert left.startbrief is not None
    assert left.startbrief.handover_text is None, "it cannot be composed anew"
    assert left.startbrief.resume is not None
    assert not left.startbrief.resume.use_bridge
    assert left.loops == ()
    assert left.brief is None
    assert left.user_model is not None
    assert left.user_model.work_context is None
    assert left.user_model.tone is not None
    assert {one.text for one in left.items} >= {"call the bank", "runs a clinic"}


async def test_a_service_that_does_not_answer_shows_why(tmp_path: Path) -> None:
    async with open_lounge(tmp_path, memory={"budget": 0.05}) as lounge:
        lounge.remember(Told(silent=True, found=found(recalled("x"))))
        reply = await lounge.house.get("/api/memory/start?recipe=companion")
        assert reply.json()["items"] == []
        assert reply.json()["degrades"] == ["startbrief: timeout (0.05 s)"]
