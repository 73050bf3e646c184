"""POST /api/chat, the trace and the debug headers, beside what the table of situations shows."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from tests.companion.lounge import Lounge, Told, open_lounge, reading_text, with_danger
from tests.companion.situations import ASKED, BRIDGE, FULL, HANDOVER, LONG, MOVING, NOON, TUESDAY
from tests.provider import Script

from polyvox.companion.personas import shipped
from polyvox.memory.remembering import OwnMemory
from polyvox.memory.tables import companions
from polyvox.memory.transcript import ingest
from polyvox.memory.values import Message, Partition
from polyvox.values import Scope

ME = Scope()


@pytest.fixture(name="lounge")
async def own_lounge(tmp_path: Path) -> AsyncIterator[Lounge]:
    async with open_lounge(tmp_path) as found:
        found.house.provider.script("gate", Script(text=reading_text({})))
        found.set(NOON)
        yield found


async def chat(lounge: Lounge, **fields: str) -> Any:
    return (await lounge.house.post("/api/chat", fields)).json()


async def test_a_shipped_persona_is_met_when_first_talked_to(lounge: Lounge) -> None:
    before = (await lounge.house.get("/api/advisors")).json()
    said = await chat(lounge, personaId="harbor", text="Good evening.")
    assert list(said) == ["transcript", "response", "audioUrl", "timing", "requestId"]
    assert said["transcript"] == "Good evening."
    assert said["response"].startswith("This is answer")
    assert said["audioUrl"] is None
    assert list(said["timing"]) == ["stt_ms", "llm_ms", "tts_ms", "total_ms"]
    system = lounge.house.provider.requests("talker")[-1].json()["messages"][0]
    assert system == {"role": "system", "content": with_danger(shipped()["harbor"])}
    after = (await lounge.house.get("/api/advisors")).json()
    (harbor,) = after[len(before) :]
    assert (harbor["slug"], harbor["name"], harbor["active"]) == ("harbor", "Harbor", False)


async def test_there_is_one_conversation_with_each_persona(lounge: Lounge) -> None:
    for name in ("harbor", "flint", "harbor", "@Harbor"):
        assert "response" in await chat(lounge, personaId=name, text="Good evening.")
    listed = (await lounge.house.get("/api/conversations")).json()["items"]
    assert sorted(one["title"] for one in listed) == ["Flint", "Harbor"]
    assert {one["recipe"] for one in listed} == {"companion"}
    chosen = await lounge.house.conversation(recipe="companion")
    await chat(lounge, personaId="flint", text="Here now.", conversationId=chosen)
    seen = (await lounge.house.get(f"/api/conversations/{chosen}")).json()
    assert [one["content"] for one in seen["messages"]] == ["Here now."]
    assert len(seen["messages"][0]["answers"]) == 1


async def test_a_persona_that_was_changed_is_the_persons_own(lounge: Lounge) -> None:
    await chat(lounge, personaId="harbor", text="Hello you.")
    await lounge.house.patch("/api/advisors/harbor", {"description": "You are a lighthouse."})
    await chat(lounge, personaId="harbor", text="Hello again.")
    first = lounge.house.provider.requests("talker")[-1].json()["messages"][0]["content"]
    assert first == with_danger("You are a lighthouse.")


@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({"text": "Hello"}, 400, "personaId"),
        ({"personaId": "harbor"}, 400, "text"),
        ({"personaId": "harbor", "text": " \n"}, 400, "text"),
        ({"personaId": "harbor", "text": 7}, 400, "text"),
        ({"personaId": "harbor", "text": "a\0b"}, 400, "text"),
        ({"personaId": "harbor", "text": "Hi", "conversationId": "\0"}, 400, "conversationId"),
        ({"personaId": "harbor", "text": "Hi", "language": "\0"}, 400, "language"),
        ({"personaId": "harbor", "text": "word " * 100_000}, 400, "text"),
        ({"personaId": "harbor", "audioBlob": "UklGRg=="}, 400, "audioBlob"),
        ({"personaId": "nobody", "text": "Hello"}, 404, None),
        ({"personaId": "harbor", "text": "Hello", "conversationId": "none"}, 404, None),
        (["harbor"], 400, None),
    ],
)
async def test_what_cannot_be_said(
    lounge: Lounge, fields: Any, status: int, param: str | None
) -> None:
    refused = await lounge.house.post("/api/chat", fields)
    assert (refused.status, refused.error["param"]) == (status, param)
    assert not lounge.house.provider.log
    assert (await lounge.house.get("/api/conversations")).json()["items"] == []


async def test_what_no_request_can_hold_is_refused_by_the_same_name(tmp_path: Path) -> None:
    async with open_lounge(tmp_path, limits={"context": "4000 chars"}) as small:
        body = {"personaId": "harbor", "text": "x" * 5_000}
        refused = await small.house.post("/api/chat", body)
        assert (refused.status, refused.error["param"]) == (400, "text")
        assert "4000 chars" in refused.error["hint"]


async def test_another_kind_of_conversation_is_refused(lounge: Lounge) -> None:
    other = await lounge.house.conversation()
    refused = await lounge.house.post(
        "/api/chat", {"personaId": "harbor", "text": "Hello", "conversationId": other}
    )
    assert (refused.status, refused.error["param"]) == (400, "conversationId")


async def test_the_fields_may_come_as_a_form(lounge: Lounge) -> None:
    url = f"{lounge.house.url}/api/chat"
    words = "Grüße, “you” & me = 1\nand a second line"
    plain = {"personaId": "harbor", "text": words}
    async with lounge.house.client.post(url, data=plain) as response:
        assert (await response.json())["transcript"] == words
    form = aiohttp.FormData(plain, default_to_multipart=True)
    async with lounge.house.client.post(url, data=form) as response:
        assert response.status == 200
        assert (await response.json())["transcript"].splitlines() == words.splitlines()
    form = aiohttp.FormData({"personaId": "harbor"})
    form.add_field("audioBlob", b"RIFF\x00\xff", filename="a.wav", content_type="audio/wav")
    async with lounge.house.client.post(url, data=form) as response:
        assert response.status == 400
        assert (await response.json())["error"]["param"] == "audioBlob"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/plain", b"hello"),
        ("application/json", b"{"),
        ("application/x-www-form-urlencoded", b"text=%ff"),
        ("multipart/form-data", b"no boundary"),
        ("multipart/form-data; boundary=x", b"--y\r\n\r\nhello"),
        ("multipart/form-data; boundary=x", b"--x\r\n\r\nnameless\r\n--x--\r\n"),
    ],
)
async def test_a_body_that_cannot_be_read(lounge: Lounge, kind: str, body: bytes) -> None:
    refused = await lounge.house.post("/api/chat", body=body, headers={"Content-Type": kind})
    assert refused.status == 400
    assert refused.error["hint"]


async def test_a_model_that_fails_is_an_error_and_the_message_is_kept(lounge: Lounge) -> None:
    lounge.house.provider.script("talker", Script(status=429))
    failed = await lounge.house.post("/api/chat", {"personaId": "harbor", "text": LONG})
    assert (failed.status, failed.error["code"]) == (429, "rate_limit")
    (kept,) = (await lounge.house.get("/api/conversations")).json()["items"]
    seen = (await lounge.house.get(f"/api/conversations/{kept['id']}")).json()
    assert seen["messages"][0]["content"] == LONG
    assert seen["messages"][0]["answers"][0]["state"] == "failed"


@pytest.mark.parametrize("words", [0, 3])
async def test_a_shutdown_says_that_it_was_one_and_how_to_go_on(lounge: Lounge, words: int) -> None:
    house = lounge.house
    house.provider.script("talker", Script(text="one two three four", gates={words: "never"}))
    asked = asyncio.create_task(house.post("/api/chat", {"personaId": "harbor", "text": LONG}))
    await house.provider.arrived(2)
    jobs = house.polyvox.turns.queue.jobs
    await house.until(lambda: bool(words == 0 or any(job.received for job in jobs.values())))
    (answer,) = jobs
    await house.polyvox.turns.queue.close()
    cut = await asked
    assert (cut.status, cut.error["code"]) == (503, "unavailable")
    said = "what it had said is kept" if words else "nothing of it had come"
    assert said in cut.error["message"]
    assert f"POST /api/answers/{answer}/retry" in cut.error["hint"]
    kept = await house.answer(answer)
    assert (kept["state"], bool(kept["text"])) == ("interrupted", bool(words))


async def test_without_a_token_nothing_is_said(tmp_path: Path) -> None:
    async with open_lounge(tmp_path, server={"token": "t0ken"}) as lounge:
        lounge.house.headers.clear()
        refused = await lounge.house.post("/api/chat", {"personaId": "harbor", "text": "Hello"})
        assert refused.status == 401


async def test_the_debug_headers_need_the_servers_consent(tmp_path: Path) -> None:
    asked = {"x-debug-context": "1", "x-debug-prompt": "1"}
    body = {"personaId": "harbor", "text": LONG}
    for consent in ("off", "debug"):
        async with open_lounge(tmp_path / consent, debug=consent) as lounge:
            lounge.set(NOON)
            lounge.remember(Told(FULL))
            plain = (await lounge.house.post("/api/chat", body)).json()
            told = (await lounge.house.post("/api/chat", body, headers=asked)).json()
            assert "debug" not in plain
            assert ("debug" in told) is (consent == "debug")
    names = [one["name"] for one in told["debug"]["context"]]
    assert names[:2] == ["persona", "posture"]
    wire = lounge.house.provider.requests("talker")[-1].json()
    assert told["debug"]["prompt"] == wire


@pytest.mark.parametrize("name", ["context", "prompt"])
async def test_each_debug_header_adds_its_own(tmp_path: Path, name: str) -> None:
    async with open_lounge(tmp_path, debug="debug") as lounge:
        lounge.set(NOON)
        lounge.remember(Told(FULL))
        lounge.house.provider.script("gate", Script(text=reading_text({})))
        body = {"personaId": "harbor", "text": LONG}
        asked = {f"x-debug-{name}": "1"}
        told = (await lounge.house.post("/api/chat", body, headers=asked)).json()
        assert list(told["debug"]) == [name]
        wire = lounge.house.provider.requests("talker")[-1].json()
        if name == "prompt":
            assert told["debug"][name] == wire
        else:
            system = [one["content"] for one in wire["messages"] if one["role"] == "system"]
            assert [one["text"] for one in told["debug"][name]] == system
        no = (await lounge.house.post("/api/chat", body, headers={f"x-debug-{name}": "0"})).json()
        assert "debug" not in no


async def test_times_are_measured_by_one_clock(lounge: Lounge) -> None:
    """The lounge's, which stands still until the model has begun to speak."""
    house = lounge.house
    house.provider.script("talker", Script(text="one two three four", gates={2: "wait"}))
    asked = asyncio.create_task(house.post("/api/chat", {"personaId": "harbor", "text": LONG}))
    jobs = house.polyvox.turns.queue.jobs
    await house.until(lambda: any(job.received for job in jobs.values()))
    lounge.set(NOON + timedelta(milliseconds=250))
    house.provider.gate("wait").set()
    said = (await asked).json()
    timing = said["timing"]
    assert (timing["llm_ms"], timing["stt_ms"], timing["tts_ms"]) == (250, 0, 0)
    assert timing["total_ms"] > 0
    told = (await house.get(f"/api/turns/{said['requestId']}/trace")).json()
    assert (told["timings"]["llm_ms"], told["timings"]["total_ms"]) == (250, 250)
    assert all(value is not None and value >= 0 for value in told["timings"].values())
    assert told["attempts"][0]["started_at"] == round(NOON.timestamp() * 1_000_000)


async def test_a_turn_that_is_written_again_stands_where_it_stood(lounge: Lounge) -> None:
    lounge.remember(Told(FULL))
    lounge.set(TUESDAY)
    lounge.house.provider.script("talker", Script(status=500))
    assert (
        await lounge.house.post("/api/chat", {"personaId": "harbor", "text": LONG})
    ).status > 400
    (kept,) = (await lounge.house.get("/api/conversations")).json()["items"]
    seen = (await lounge.house.get(f"/api/conversations/{kept['id']}")).json()
    (message,) = seen["messages"]
    lounge.house.provider.script("talker", Script(text="Now."))
    again = await lounge.house.post(f"/api/answers/{message['answers'][0]['answer_id']}/retry")
    assert again.status == 202
    await lounge.house.ended(kept["id"], message["turn_id"])
    told = (await lounge.house.get(f"/api/turns/{message['turn_id']}/trace")).json()
    assert (told["state"], told["overlay"]) == ("completed", "daily_focus")
    assert told["answer_id"] == again.json()["answer_id"]
    system = [
        one["content"]
        for one in lounge.house.provider.requests("talker")[-1].json()["messages"]
        if one["role"] == "system"
    ]
    assert HANDOVER in system
    assert BRIDGE in system


async def test_stopping_does_not_wait_for_the_gate(lounge: Lounge) -> None:
    lounge.house.provider.script("gate", Script(hold="never"))
    persona = await lounge.house.advisor("lab:talker")
    talk = await lounge.house.conversation(persona, recipe="companion")
    turn = await lounge.house.send(talk, LONG)
    await lounge.house.provider.arrived(1)
    stopped = await lounge.house.post(f"/api/turns/{turn['turn_id']}/stop")
    assert [one["state"] for one in stopped.json()["answers"]] == ["stopped"]
    assert [one.model for one in lounge.house.provider.log] == ["gate"]


async def test_every_block_is_a_system_part_for_anthropic_too(lounge: Lounge) -> None:
    lounge.remember(Told(FULL))
    persona = await lounge.house.advisor("claude:talker", description="You are Wren.")
    await chat(lounge, personaId=persona["id"], text=LONG)
    wire = lounge.house.provider.requests("talker")[-1].json()
    assert wire["system"][0]["text"] == with_danger("You are Wren.")
    assert HANDOVER in [one["text"] for one in wire["system"]]
    assert [one["role"] for one in wire["messages"]] == ["user"]


async def test_only_the_last_eight_messages_of_the_session_are_sent(lounge: Lounge) -> None:
    persona = await lounge.house.advisor("lab:talker")
    lounge.set(NOON)
    await lounge.say(persona, "from another session", at=NOON - timedelta(hours=2))
    for number in range(7):
        heard = await lounge.say(persona, f"message {number}", at=NOON, reply="Yes.")
    assert heard.sent == [
        *[text for n in range(2, 6) for text in (f"message {n}", "Yes.")],
        "message 6",
    ]


async def test_the_gate_sees_four_messages_and_the_current_one(lounge: Lounge) -> None:
    persona = await lounge.house.advisor("lab:talker")
    for number in range(4):
        await lounge.say(persona, f"message {number}", at=NOON, reply=f"reply {number}")
    asked = lounge.house.provider.requests("gate")[-1].json()
    shown = asked["messages"][-1]["content"]
    assert [f"message {n}" in shown for n in range(4)] == [False, True, True, True]
    assert asked["response_format"]["json_schema"]["schema"]["required"]
    assert asked["max_tokens"] >= 1000
    rows = (await lounge.house.get("/api/usage?by=advisor")).json()
    assert any(row["key"] == "gate" and row["answers"] == 4 for row in rows["rows"])


async def test_the_packet_is_fetched_once_a_session_and_again_when_it_was_dropped(
    lounge: Lounge,
) -> None:
    memory = lounge.remember(Told(FULL))
    persona = await lounge.house.advisor("lab:talker")
    for minute in range(3):
        await lounge.say(persona, LONG, at=NOON + timedelta(minutes=minute))
    assert memory.starts == 1
    await lounge.house.polyvox.database.write(lambda tx: companions.drop_packets(tx), ME)
    heard = await lounge.say(persona, LONG, at=NOON + timedelta(minutes=3))
    assert memory.starts == 2
    assert heard.trace["startbrief_runtime"]["userTurnsSeen"] == 4


async def test_recall_that_is_switched_off_asks_nobody(tmp_path: Path) -> None:
    async with open_lounge(tmp_path, memory={"recall": "off"}) as lounge:
        memory = lounge.remember(Told(replace(FULL, startbrief=None, daily=None, loops=())))
        persona = await lounge.house.advisor("lab:talker")
        heard = await lounge.say(persona, LONG, at=NOON, gate=ASKED | MOVING)
        assert heard.trace["recall"]["decision"] == "off"
        assert list(heard.blocks) == ["persona", "posture"]
        assert not memory.lookups


async def test_our_own_memory_is_recalled_with_its_date(lounge: Lounge) -> None:
    polyvox = lounge.house.polyvox
    polyvox.services.current = OwnMemory(polyvox.database, lambda: "UTC")
    persona = await lounge.house.advisor("lab:talker")
    when = round((NOON - timedelta(days=10)).timestamp() * 1_000_000)
    words = (
        Message("user", "My aunt Rosalind moved to Porto and keeps bees there.", when),
        Message("assistant", "Bees in Porto, how lovely.", when + 1, persona["id"]),
        Message("assistant", "Another's words of Rosalind's bees.", when + 2, "somebody-else"),
        Message("user", "The tram was late again this morning.", when + 3),
        Message("user", "I bought a green lamp for the desk.", when + 4),
        Message("user", "Work was long and the coffee cold.", when + 5),
    )
    own = Partition.own(ME)
    await polyvox.database.write(
        lambda tx: ingest(tx, own, "s-before", persona["id"], when, when + 5, words), ME
    )
    heard = await lounge.say(
        persona, "Do you remember where Rosalind keeps her bees?", at=NOON, gate=ASKED
    )
    sheet = heard.blocks["supplemental_context"]
    assert "7 November 2026, they said: “My aunt Rosalind moved to Porto" in sheet
    assert "Another's words" not in sheet, "each persona's answers are its own"
    assert "10 days ago" in heard.blocks["handover"]


async def test_every_turn_has_a_trace_and_only_its_own_words_are_missing_in_it(
    lounge: Lounge, caplog: pytest.LogCaptureFixture
) -> None:
    lounge.remember(Told(FULL))
    persona = await lounge.house.advisor("lab:talker")
    with caplog.at_level(logging.INFO, "polyvox.chat"):
        heard = await lounge.say(persona, LONG, at=TUESDAY, gate=ASKED | {"mood": "wistful"})
        await lounge.house.until(lambda: bool(caplog.messages))
    (line,) = [text for text in caplog.messages if text.startswith("chat.trace ")]
    logged = msgspec.json.decode(line.removeprefix("chat.trace "))
    assert heard.trace.pop("words")["decisions"]
    assert logged == heard.trace
    for words in (LONG, HANDOVER, "wistful", "call the bank"):
        assert words not in line
    assert {"session_ms", "gate_ms", "brief_ms", "recall_ms", "context_ms", "llm_ms"} <= set(
        heard.trace["timings"]
    )
    assert heard.trace["attempts"][0]["status"] == 200
    council = await lounge.house.conversation(persona)
    turn = await lounge.house.say(council, "Is it so?")
    plain = (await lounge.house.get(f"/api/turns/{turn['turn_id']}/trace")).json()
    stable = ["identity", "shared", "protocol", "rules", "danger", "clock"]
    assert plain["system_blocks"] == [*stable, "user_context", "handover"]
    assert (plain["gate"], plain["posture"]) == ("none", None)
    assert (await lounge.house.get("/api/turns/none/trace")).status == 404
