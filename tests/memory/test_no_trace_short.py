"""Short secrets, other forms, wrong clocks and other partitions: forgetting reaches them all."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.companion.lounge import reading_text
from tests.memory import canary
from tests.memory.canary import ASKING, FRIDAY, ME, MINUTE, OWN, Nest, forget, open_nest, talk
from tests.provider import Script

from polyvox.interop import jsonl
from polyvox.interop.conversation import store_whole
from polyvox.values import REDACTED

LATER = "Thanks, and what about the weather in general these days?"
BOB = {"tenantId": "acme", "userId": "bob"}


@pytest.fixture
async def nest(tmp_path: Path) -> AsyncIterator[Nest]:
    async with open_nest("", tmp_path / "home") as found:
        found.clock[0] = FRIDAY + 10 * 60 * MINUTE
        yield found


async def traces(nest: Nest, word: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Where a word is: every table, every file."""
    with monkeypatch.context() as patch:
        patch.setattr(canary, "WORD", word)
        return await nest.traces()


def iso(at: int) -> str:
    return datetime.fromtimestamp(at / 1_000_000, UTC).isoformat()


async def ingest(nest: Nest, session: str, at: int, *texts: str, **where: str) -> None:
    """A session from elsewhere, said and answered in turns, at times that it claims."""
    messages = [
        {"role": ("user", "assistant")[n % 2], "text": text, "timestamp": iso(at + n * MINUTE)}
        for n, text in enumerate(texts)
    ]
    body = {"sessionId": session, "startedAt": iso(at), "endedAt": iso(at + len(texts) * MINUTE)}
    reply = await nest.house.post("/session/ingest", {**where, **body, "messages": messages})
    assert reply.json()["status"] == "ingested"


@pytest.mark.parametrize(
    ("says", "answer", "left", "word"),
    [
        (
            "My bank PIN is 4821.",
            "Got it: your PIN, 4821, stays between us.",
            f"Got it: your {REDACTED}, stays between us.",
            "4821",
        ),
        ("I have HIV.", "HIV is treatable today.", f"{REDACTED} is treatable today.", "hiv"),
        ("I am gay.", "You are gay; so what?", f"You are {REDACTED}; so what?", " gay"),
        (
            "I am in love with Bo.",
            "Bo sounds fine. Who is Bo?",
            f"{REDACTED} sounds fine. Who is {REDACTED}?",
            "bo sounds",
        ),
        (
            "我的密码是熊猫。",
            "熊猫这个密码不安全。",
            f"{REDACTED}这个{REDACTED}不安全。",
            "熊猫",
        ),
        (
            "Das Projekt heisst Falkenhorst.",
            "Falkenhorsts Ziel ist mir klar.",
            f"{REDACTED} Ziel ist mir klar.",
            "falkenhorst",
        ),
    ],
)
async def test_a_short_secret_is_nowhere(
    nest: Nest, monkeypatch: pytest.MonkeyPatch, says: str, answer: str, left: str, word: str
) -> None:
    before = await traces(nest, word, monkeypatch)
    conversation, session = await talk(nest, (says, answer), (LATER, answer))
    assert {"answers", "episodes"} <= set(await traces(nest, word, monkeypatch))
    await forget(nest, "message", f"{session}#0")
    assert await traces(nest, word, monkeypatch) == before
    view = (await nest.house.get(f"/api/conversations/{conversation}")).json()
    said, later = view["messages"]
    assert [said["answers"][0]["text"], later["answers"][0]["text"]] == [left, left]
    assert (said["content"], later["content"]) == (REDACTED, LATER)


@pytest.mark.parametrize(
    "says",
    ["I have HIV.", "I am gay.", "Bo left me.", "我的密码是熊猫。", "Me too.", "My PIN is 4821."],
)
async def test_a_title_goes_with_the_message_it_was_taken_from(
    nest: Nest, monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    house = nest.house
    conversation, session = await talk(nest, (says, "I see."))
    for kind, name, shown in (
        ("message", f"{session}#0", [{"id": conversation, "text": says}]),
        ("session", session, []),
    ):
        assert (await forget(nest, kind, name))["titles"] == shown
        view = (await house.get(f"/api/conversations/{conversation}")).json()
        assert (view["title"], view["messages"][0]["content"]) == ("", REDACTED)
        for form in ("markdown", "jsonl"):
            told = await house.get(f"/api/conversations/{conversation}/export?format={form}")
            assert says not in told.text
    assert await traces(nest, says.lower(), monkeypatch) == {}


async def test_the_title_stays_while_another_message_says_it(nest: Nest) -> None:
    conversation, session = await talk(nest, ("I am gay.", "I see."), ("I am gay.", "You are gay."))
    await forget(nest, "message", f"{session}#2")
    view = (await nest.house.get(f"/api/conversations/{conversation}")).json()
    assert view["title"] == "I am gay."
    assert view["messages"][1]["answers"][0]["text"] == "You are gay.", "it is said there too"


async def test_what_is_partly_marked_is_not_marked_again(nest: Nest) -> None:
    conversation, session = await talk(nest, ("I have HIV.", "I see."), ("Well.", "Fine then."))
    await nest.house.patch(f"/api/conversations/{conversation}", {"title": "About HIV."})
    await forget(nest, "message", f"{session}#0")
    await forget(nest, "session", session)
    view = (await nest.house.get(f"/api/conversations/{conversation}")).json()
    assert view["title"] == f"About {REDACTED}."


async def test_ordinary_answers_around_it_stay_whole(nest: Nest) -> None:
    answers = (
        "I have an idea: let me see it first, then we can go on. Am I right? So it is!",
        "You may have to wait until 12; I am with you. It left me curious, too.",
        "On it! Do have a look: 3 of 10 say so, in 2024 as in 2023.",
    )
    conversation, session = await talk(
        nest,
        ("How was it in 2023 and in 2024?", answers[0]),
        ("I have HIV. Bo left me, and it was 2024. So I am here.", answers[1]),
        ("Is it so? I have to go on.", answers[2]),
    )
    await forget(nest, "message", f"{session}#2")
    view = (await nest.house.get(f"/api/conversations/{conversation}")).json()
    assert tuple(one["answers"][0]["text"] for one in view["messages"]) == answers
    assert view["title"] == "How was it in 2023 and in 2024?"


SAYS = "The safe combination for the boathouse is Quillabamba."
ECHO = "The boathouse combination is Quillabamba, you told me."


@pytest.mark.parametrize("wrong", [-1200 * MINUTE, 0, 120 * MINUTE])
async def test_a_wrong_clock_hides_nothing(nest: Nest, wrong: int) -> None:
    house = nest.house
    await ingest(nest, "ext", nest.clock[0] + wrong, SAYS, "Noted.", **OWN)
    await ingest(nest, "next", nest.clock[0] - 300 * MINUTE, "Is it so?", ECHO, **OWN)
    house.provider.script("talker", Script(text=ECHO))
    reading = {**ASKING, "topics": ["safe combination"]}
    house.provider.script("gate", Script(text=reading_text(reading)))
    nest.clock[0] += MINUTE
    said = await house.post(
        "/api/chat", {"personaId": "harbor", "text": "What was the boathouse safe combination?"}
    )
    assert said.status == 200, said.text
    before = await nest.traces()
    assert {"answers", "spans", "episodes", "shelf_words"} <= set(before), "or it tests nothing"
    await forget(nest, "session", "ext")
    assert await nest.traces() == {}
    trace = (await house.get(f"/api/turns/{said.json()['requestId']}/trace")).json()
    told = (await house.get(f"/api/answers/{trace['answer_id']}")).json()
    assert told["text"].startswith("The boathouse combination ["), "they asked for it"


async def test_an_older_answer_is_still_older(nest: Nest) -> None:
    house = nest.house
    old, _ = await talk(nest, ("Any names?", "Quillabamba is one."))
    await ingest(nest, "ext", FRIDAY - 9000 * MINUTE, SAYS, "Quillabamba, then.", **OWN)
    nest.clock[0] += MINUTE
    await forget(nest, "message", "ext#0")
    view = (await house.get(f"/api/conversations/{old}")).json()
    assert view["messages"][0]["answers"][0]["text"] == "Quillabamba is one."


async def test_the_times_of_an_imported_conversation_are_no_bound(nest: Nest) -> None:
    """Its file says that all of it happened an hour from now."""
    nest.clock[0] += 60 * MINUTE
    conversation, session = await talk(nest, (SAYS, "Noted."))
    file = (await nest.house.get(f"/api/conversations/{conversation}/export?format=jsonl")).text
    await nest.house.delete(f"/api/conversations/{conversation}")
    nest.clock[0] -= 50 * MINUTE
    whole = jsonl.parse(file.splitlines())
    await store_whole(nest.polyvox.database, nest.polyvox.settings, ME, nest.clock[0], whole)
    house, text = nest.house, "What did I say?"
    await ingest(nest, "next", nest.clock[0], "Is it so?", ECHO, **OWN)
    message = (await house.get(f"/api/conversations/{conversation}")).json()["messages"][0]
    await house.say(conversation, text)
    await forget(nest, "message", message["id"])
    assert await nest.traces() == {}
    assert session


@pytest.mark.parametrize("where", [OWN, BOB], ids=["own", "other"])
async def test_why_a_job_failed_is_forgotten_in_any_partition(
    nest: Nest, monkeypatch: pytest.MonkeyPatch, where: dict[str, str]
) -> None:
    house = nest.house
    refused = json.dumps({"error": {"message": "policy: 'zyzzyva weevil' is not allowed"}})
    house.provider.script("notes", Script(status=400, body=refused))
    other = {"tenantId": "acme", "userId": "bob2"}
    for part in (where, other) if where == BOB else (where,):
        await ingest(nest, "s1", FRIDAY, "I must feed the zyzzyva weevil tomorrow.", **part)
    await nest.work()
    assert "jobs" in await traces(nest, "zyzzyva", monkeypatch)
    await forget(nest, "message", "s1#0", where)
    rows = await nest.polyvox.database.read(
        lambda tx: tx.all("SELECT subject, failure FROM jobs WHERE failure IS NOT NULL"), ME
    )
    told = {subject: "zyzzyva" in failure for subject, failure in rows}
    mine = json.dumps([where["tenantId"], where["userId"], "s1"])
    assert not told.pop(mine, False)
    assert all(told.values()), "what is another partition's is left alone"
    if where == OWN:
        assert await traces(nest, "zyzzyva", monkeypatch) == {}
