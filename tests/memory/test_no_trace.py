"""Forgetting to the last trace: no table, index, file or export holds the words any more."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from tests.memory.canary import FILLER, KEPT, ME, SAYS, WORD, Nest, open_nest
from tests.memory.house import Counted, Killed
from tests.provider import Script
from tests.web.house import Event, Page

from polyvox.interop import jsonl
from polyvox.interop.conversation import store_whole
from polyvox.memory.forget import Kind, Target, forget
from polyvox.memory.values import Partition
from polyvox.store.database import Tx
from polyvox.values import REDACTED

EVERYWHERE = {
    "answers", "claims", "companion_sessions", "conversations", "daily_analyses", "episodes",
    "events", "facts", "loop_sightings", "passages", "profile_entries", "receipts", "shelf_words",
    "spans", "summaries", "turns",
}  # fmt: skip


@pytest.fixture
async def nest(database_url: str, tmp_path: Path) -> AsyncIterator[Nest]:
    url = "" if database_url.startswith("sqlite") else database_url
    async with open_nest(url, tmp_path / "home") as found:
        await found.everywhere()
        before = await found.traces()
        shadow = {"passages"} if "passage_words_content" in before else set()
        assert set(before) >= EVERYWHERE - shadow, "or this would test nothing"
        if shadow:
            assert {"passage_words_content", "passage_words_data", "episode_words_data"} <= set(
                before
            )
        yield found


async def named(nest: Nest, kind: Kind) -> str:
    """What to forget: a thing of this kind that the secret is in."""
    house = nest.house
    if kind == "fact":
        return str((await house.get("/api/memory/facts")).json()[0]["id"])
    if kind == "loop":
        found = await house.get("/memory/loops?tenantId=polyvox&userId=local&limit=5")
        return str(found.json()["items"][0]["id"])
    if kind == "profile":
        rows = await nest.polyvox.database.read(
            lambda tx: tx.all("SELECT id FROM profile_entries WHERE field = 'key_relationships'"),
            ME,
        )
        return str(rows[0][0])
    return nest.ids["session"] if kind == "session" else f"{nest.ids['session']}#0"


async def exports(nest: Nest, conversation: str) -> dict[str, str]:
    found = {}
    for form in ("jsonl", "markdown", "html"):
        reply = await nest.house.get(f"/api/conversations/{conversation}/export?format={form}")
        assert reply.status == 200, reply.text
        found[form] = reply.text
    return found


async def seen(nest: Nest, conversation: str) -> Any:
    return (await nest.house.get(f"/api/conversations/{conversation}")).json()


@pytest.mark.parametrize("kind", ["fact", "loop", "profile", "message", "session"])
async def test_nothing_holds_it_any_more(nest: Nest, kind: Kind) -> None:
    house = nest.house
    target = {"kind": kind, "id": await named(nest, kind)}
    before = await nest.traces()
    last = (await seen(nest, nest.ids["conversation"]))["last_number"]
    query = f"/api/memory/forget?kind={kind}&id={target['id'].replace('#', '%23')}"
    shown = (await house.get(query)).json()
    assert await nest.traces() == before, "a preview changes nothing"
    assert shown["conversations"] == [nest.ids["conversation"]]
    assert {one["id"] for one in shown["answers"]} >= {nest.ids["answer"], nest.ids["echo"]}
    assert any(WORD in one["text"].lower() for one in shown["answers"])
    assert [one["id"] for one in shown["titles"]] == [nest.ids["conversation"]]
    assert shown["receipts"] >= 1
    assert all(shown["elsewhere"].values())

    went = await house.post("/api/memory/forget", target)

    assert went.status == 200, went.text
    assert went.json() == {**shown, "scrubbed": True}, "what was shown, no more and no less"
    assert await nest.traces() == {}
    await nest.work()
    assert await nest.traces() == {}, "nor does background work bring it back"

    for conversation in (nest.ids["conversation"], nest.ids["companion"]):
        for form, text in (await exports(nest, conversation)).items():
            assert WORD not in text.lower(), form
            assert REDACTED in text, form
    assert (await house.get(f"/api/search?q={WORD}")).json() == []
    view = await seen(nest, nest.ids["conversation"])
    first = view["messages"][0]
    assert (first["content"], first["redacted"], first["excluded"]) == (REDACTED, True, True)
    assert WORD not in view["title"].lower()
    changed = [
        one.data["what"]
        for one in await house.stored(nest.ids["conversation"], last)
        if one.kind == "conversation.changed"
    ]
    assert {"message", "answer", "details"} <= set(changed), "open tabs are told"
    told = (await house.get(f"/api/answers/{nest.ids['echo']}")).json()
    assert told["redacted"]
    assert told["text"].endswith(KEPT), "only the passages go"
    if kind != "session":
        assert any(FILLER in one["content"] for one in view["messages"])

    receipt = (await house.get(f"/api/answers/{nest.ids['echo']}/receipt")).json()
    assert not receipt["exact"]
    told = [one["text"] for one in receipt["description"]["spans"] if one["kind"] == "memory"]
    assert REDACTED in told
    assert any(text != REDACTED for text in told), "what tells nothing of it stays"


async def test_a_deleted_conversation_is_gone_from_the_others_too(nest: Nest) -> None:
    house = nest.house
    reply = await house.delete(f"/api/conversations/{nest.ids['conversation']}")
    assert reply.status == 204, reply.text
    assert await nest.traces() == {}
    await nest.work()
    assert await nest.traces() == {}
    left = await seen(nest, nest.ids["companion"])
    assert left["messages"][0]["answers"][0]["text"].endswith(KEPT)


async def test_the_mark_is_sent_to_nobody(nest: Nest) -> None:
    house, conversation = nest.house, nest.ids["conversation"]
    await house.post("/api/memory/forget", {"kind": "message", "id": f"{nest.ids['session']}#0"})
    await house.say(conversation, "Shall we go on?")
    sent = house.provider.requests("echo")[-1].json()["messages"]
    assert REDACTED not in [one["content"] for one in sent]
    assert WORD not in repr(sent).lower()
    assert FILLER in repr(sent)
    first = (await seen(nest, conversation))["messages"][0]
    for path, body in (
        (f"/api/messages/{first['id']}", {"excluded": False}),
        (f"/api/answers/{nest.ids['answer']}/regenerate", None),
    ):
        reply = await (house.patch(path, body) if body else house.post(path))
        assert reply.status == 409, reply.text
        assert "forgotten" in reply.error["message"]
    again = await house.patch(f"/api/messages/{first['id']}", {"content": "Something else."})
    assert again.status == 200, "it can be said anew"


async def test_open_pages_are_told_and_replays_agree(nest: Nest) -> None:
    house, conversation = nest.house, nest.ids["conversation"]
    last = (await seen(nest, conversation))["last_number"]
    told = asyncio.create_task(_first(nest, conversation, last))
    target = {"kind": "message", "id": f"{nest.ids['session']}#0"}
    assert (await house.post("/api/memory/forget", target)).status == 200
    assert (await told).kind == "conversation.changed", "whoever watches reads it again"
    page = Page()
    for event in await house.stored(conversation):
        page.take(event)
    for answer_id, text in (await house.texts(conversation)).items():
        assert page.text.get(answer_id, "") == text, "what is replayed is what is left"


async def _first(nest: Nest, conversation: str, after: int) -> Event:
    async with aclosing(nest.house.events(conversation, after)) as events:
        async for event in events:
            return event
    raise AssertionError("the stream has ended")


async def test_a_message_is_forgotten_by_its_own_id_before_it_is_remembered(nest: Nest) -> None:
    house = nest.house
    advisor = await house.advisor(script=None)
    conversation = await house.conversation(advisor)
    await house.say(conversation, "The zibeline coat is in the attic.")
    message = (await seen(nest, conversation))["messages"][0]["id"]
    went = await house.post("/api/memory/forget", {"kind": "message", "id": message})
    assert went.json()["conversations"] == [conversation]
    assert went.json()["messages"] == []
    session = await nest.close_session(conversation)
    found = await nest.polyvox.database.read(
        lambda tx: tx.all("SELECT text FROM episodes WHERE text LIKE ?", ("%zibeline%",)), ME
    )
    assert found == []
    assert session
    again = await house.post("/api/memory/forget", {"kind": "message", "id": message})
    assert again.status == 404


async def test_what_the_person_says_elsewhere_too_stays(nest: Nest) -> None:
    """Only what came with the message goes: words of other messages are nobody's to take out."""
    house = nest.house
    model = house.model(Script(text="Yes, Quillabamba has the seven herons."))
    other = await house.conversation(await house.advisor(model))
    await house.say(other, "Quillabamba has the seven herons.")
    await house.post("/api/memory/forget", {"kind": "message", "id": f"{nest.ids['session']}#0"})
    (message,) = (await seen(nest, other))["messages"]
    assert message["content"] == "Quillabamba has the seven herons."
    assert message["answers"][0]["text"] == "Yes, Quillabamba has the seven herons."
    assert SAYS not in repr(await seen(nest, nest.ids["conversation"]))


async def test_a_redacted_conversation_goes_through_a_file(nest: Nest) -> None:
    await nest.house.post("/api/memory/forget", {"kind": "session", "id": nest.ids["session"]})
    text = (await exports(nest, nest.ids["conversation"]))["jsonl"]
    whole = jsonl.parse(text.splitlines())
    assert [turn.redacted for turn in whole.turns] == [True] * len(whole.turns)
    await nest.house.delete(f"/api/conversations/{nest.ids['conversation']}")
    await store_whole(nest.polyvox.database, nest.polyvox.settings, ME, nest.clock[0], whole)
    view = await seen(nest, nest.ids["conversation"])
    assert all(one["redacted"] for one in view["messages"])


async def test_it_waits_for_an_answer_that_was_told_it(nest: Nest) -> None:
    house = nest.house
    house.provider.script("echo", Script(hold="door"))
    turn = await house.send(nest.ids["conversation"], "One more?")
    target = {"kind": "message", "id": f"{nest.ids['session']}#0"}
    reply = await house.post("/api/memory/forget", target)
    assert reply.status == 409
    assert "being written" in reply.error["message"]
    assert (await nest.traces()) != {}
    house.provider.gate("door").set()
    await house.ended(nest.ids["conversation"], turn["turn_id"])
    assert (await house.post("/api/memory/forget", target)).status == 200
    assert await nest.traces() == {}


async def test_killed_at_any_step_it_leaves_all_or_nothing(tmp_path: Path) -> None:
    async with open_nest("", tmp_path / "home") as nest:
        await nest.everywhere()
        database, target = nest.polyvox.database, Target("session", nest.ids["session"])
        before = await nest.traces()

        def forgotten(tx: Tx, most: int) -> int:
            counted = Counted(tx, most)
            forget(counted, Partition.own(ME), target, nest.clock[0], None)
            return counted.statements

        for most in itertools.count():
            try:
                steps = await database.write(lambda tx, most=most: forgotten(tx, most), ME)  # type: ignore[misc]  # bound now
            except Killed:
                assert await database.read(_counts, ME) == (0, 0), f"killed at statement {most}"
            else:
                assert steps > 100
                break
            if most == 60:
                assert {
                    k: n for k, n in (await nest.traces()).items() if not k.startswith("p")
                } == {k: n for k, n in before.items() if not k.startswith("p")}
        # It is killed here, before the files are scrubbed.
        assert "polyvox.db-wal" in await nest.traces()
        again = await nest.house.post("/api/memory/forget", {"kind": "session", "id": target.id})
        assert again.status == 404
        assert await nest.traces() == {}, "doing it again completes it"


async def test_the_worker_completes_what_was_killed(tmp_path: Path) -> None:
    async with open_nest("", tmp_path / "home") as nest:
        await nest.everywhere()
        own, target = Partition.own(ME), Target("session", nest.ids["session"])
        await nest.polyvox.database.write(
            lambda tx: forget(tx, own, target, nest.clock[0], None), ME
        )
        assert "polyvox.db-wal" in await nest.traces()
        await nest.work()
        assert await nest.traces() == {}


def _counts(tx: Tx) -> tuple[int, int]:
    """How many turns and answers have a mark."""
    turns = tx.one("SELECT COUNT(*) FROM turns WHERE redacted = 1")
    answers = tx.one("SELECT COUNT(*) FROM answers WHERE redacted = 1")
    assert turns is not None
    assert answers is not None
    return turns[0], answers[0]
