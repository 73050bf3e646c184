"""Conversations over HTTP: their lives, whom they ask, sending, estimating."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.provider import Script
from tests.web.house import House, bare, open_house

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]


async def test_a_conversation_from_beginning_to_end(house: House) -> None:
    made = await house.make("/api/conversations", {"title": "Moving"})
    path = f"/api/conversations/{made['id']}"
    assert made["title"] == "Moving"
    assert made["recipe"] == "council"
    assert made["advisors"] is None
    assert made["last_number"] == 0
    whole = (await house.get(path)).json()
    assert whole == {**made, "messages": [], "branches": {}, "tips": {}, "more": False}
    renamed = await house.patch(path, {"title": "Staying"})
    assert renamed.status == 200
    assert renamed.json()["title"] == "Staying"
    assert (await house.delete(path)).status == 204
    for gone in (await house.get(path), await house.patch(path, {}), await house.delete(path)):
        assert gone.status == 404
        assert made["id"] in gone.error["message"]


async def test_the_list_is_paged_newest_first(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        advisor = await house.advisor()
        ids = [await house.conversation(advisor, title=f"c{n}") for n in range(5)]
        await house.say(ids[1], "This one is the newest now.")
        expected = [ids[1], ids[4], ids[3], ids[2], ids[0]]
        seen: list[str] = []
        after = ""
        for size in (2, 2, 1):
            page = (await house.get(f"/api/conversations?limit=2{after}")).json()
            assert len(page["items"]) == size
            seen += [one["id"] for one in page["items"]]
            after = f"&after={page['next']}"
        assert seen == expected
        assert page["next"] is None
        wrong = await house.get("/api/conversations?after=nonsense")
        assert wrong.status == 422
        assert wrong.error["param"] == "after"


async def test_a_turn_is_stored_before_anybody_answers(house: House) -> None:
    advisors = [await house.advisor(script=Script(hold="stored")) for _ in range(2)]
    conversation = await house.conversation(*advisors)
    begun = await house.send(conversation, "Is it kept?")
    assert set(begun) == {"turn_id", "message_id", "session_id", "state", "answers"}
    assert begun["state"] == "running"
    assert [a["advisor_id"] for a in begun["answers"]] == [a["id"] for a in advisors]
    assert all(set(a) == {"answer_id", "advisor_id"} for a in begun["answers"])
    whole = (await house.get(f"/api/conversations/{conversation}")).json()
    (message,) = whole["messages"]
    assert message["content"] == "Is it kept?"
    assert message["id"] == begun["message_id"]
    assert message["role"] == "user"
    assert message["state"] == "running"
    assert [a["state"] for a in message["answers"]] == ["pending", "pending"]
    assert whole["title"] == "Is it kept?"
    house.provider.gate("stored").set()
    await house.ended(conversation, begun["turn_id"])
    whole = (await house.get(f"/api/conversations/{conversation}")).json()
    (message,) = whole["messages"]
    assert message["state"] == "completed"
    for answer, advisor in zip(message["answers"], advisors, strict=True):
        assert answer["state"] == "completed"
        assert answer["advisor_id"] == advisor["id"]
        assert answer["model"] == advisor["model"]
        assert answer["text"].endswith(f"of {bare(advisor)}.")
        assert answer["usage"]["input_tokens"] > 0
        assert answer["usage"]["cost"] is None, "an unknown price is not 0"
        assert [attempt["status"] for attempt in answer["attempts"]] == [200]


async def test_a_partial_text_is_shown_while_it_is_written(house: House) -> None:
    script = Script(pieces=("Half", " of", " it"), gates={2: "partial"})
    conversation = await house.conversation(await house.advisor(script=script))
    begun = await house.send(conversation, "Well?")
    answer_id = begun["answers"][0]["answer_id"]
    async for event in house.events(conversation):
        if event.kind == "answer.delta" and event.data["at"] + len(event.data["text"]) == 7:
            break
    whole = (await house.get(f"/api/conversations/{conversation}")).json()
    (answer,) = whole["messages"][0]["answers"]
    assert (answer["state"], answer["text"]) == ("streaming", "Half of")
    alone = await house.answer(answer_id)
    assert (alone["state"], alone["text"]) == ("streaming", "Half of")
    house.provider.gate("partial").set()
    await house.ended(conversation, begun["turn_id"])
    assert (await house.answer(answer_id))["text"] == "Half of it"


async def test_named_and_mentioned_advisors(house: House) -> None:
    first, second, outsider = [await house.advisor() for _ in range(3)]
    conversation = await house.conversation(first, second)

    def asked(turn: Any) -> list[str]:
        return [a["advisor_id"] for a in turn["answers"]]

    assert asked(await house.say(conversation, "All?")) == [first["id"], second["id"]]
    by_id = await house.say(conversation, "One?", advisors=[second["id"]])
    assert asked(by_id) == [second["id"]]
    by_slug = await house.say(conversation, "One?", advisors=[second["slug"]])
    assert asked(by_slug) == [second["id"]]
    mentioned = await house.say(conversation, f"@{outsider['slug']} and you?")
    assert asked(mentioned) == [outsider["id"]]
    nobody = await house.say(conversation, "mail@example.org and @nobody-at-all?")
    assert asked(nobody) == [first["id"], second["id"]]


async def test_no_advisors_at_all_is_the_plain_assistant(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        for advisor in (await house.get("/api/advisors")).json():
            await house.patch(f"/api/advisors/{advisor['id']}", {"active": False})
        conversation = await house.conversation()
        turn = await house.say(conversation, "Anybody?")
        (answer,) = turn["answers"]
        assert answer["advisor_id"] == "assistant"
        assert (await house.answer(answer["answer_id"]))["state"] == "completed"


async def test_without_a_council_every_active_advisor_is_asked(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        starters = (await house.get("/api/advisors")).json()
        assert len(starters) == 6
        await house.patch(f"/api/advisors/{starters[2]['id']}", {"active": False})
        conversation = await house.conversation()
        turn = await house.say(conversation, "Everybody?")
        expected = [one["id"] for one in starters if one is not starters[2]]
        assert [a["advisor_id"] for a in turn["answers"]] == expected


async def test_a_council_by_its_slug(house: House) -> None:
    first, second = await house.advisor(), await house.advisor()
    council = await house.council(second, first, recipe="agent")
    conversation = await house.make("/api/conversations", {"council": council["slug"]})
    assert conversation["council"] == council["id"]
    assert conversation["advisors"] == [second["id"], first["id"]]
    assert conversation["recipe"] == "agent"
    turn = await house.say(conversation["id"], "In your order?")
    assert [a["advisor_id"] for a in turn["answers"]] == [second["id"], first["id"]]
    unknown = await house.post("/api/conversations", {"council": "nobody"})
    assert unknown.status == 404
    assert "nobody" in unknown.error["message"]


async def test_an_advisor_added_later_answers_from_then_on(house: House) -> None:
    early = await house.advisor(script=Script(text="Canary of the early one."))
    late = await house.advisor()
    conversation = await house.conversation(early)
    await house.say(conversation, "First question?")
    path = f"/api/conversations/{conversation}"
    changed = await house.patch(path, {"advisors": [early["id"], late["slug"]]})
    assert changed.status == 200
    assert changed.json()["advisors"] == [early["id"], late["id"]]
    turn = await house.say(conversation, "Second question?")
    assert [a["advisor_id"] for a in turn["answers"]] == [early["id"], late["id"]]
    (request,) = house.provider.requests(bare(late))
    messages = request.json()["messages"]
    users = [m["content"] for m in messages if m["role"] == "user"]
    assert any("First question?" in text for text in users)
    assert "Second question?" in users[-1]
    assert not [m for m in messages if m["role"] == "assistant"]
    assert [text for text in users if "Canary of the early one." in text], "as a reference"
    whole = (await house.get(path)).json()
    assert [len(m["answers"]) for m in whole["messages"]] == [1, 2]
    alone = (await house.patch(path, {"advisors": [late["id"]]})).json()
    assert alone["advisors"] == [late["id"]]
    everyone = (await house.patch(path, {"advisors": None})).json()
    assert everyone["advisors"] is None
    unknown = await house.patch(path, {"advisors": [late["id"], "nobody"]})
    assert unknown.status == 422
    assert unknown.error["param"] == "advisors"


async def test_a_second_message_waits_and_then_sees_the_answers(house: House) -> None:
    advisor = await house.advisor()
    name = bare(advisor)
    house.provider.queue(name, Script(text="The first answer.", hold="waits"), Script())
    conversation = await house.conversation(advisor)
    first = await house.send(conversation, "One?")
    await house.provider.until(lambda: len(house.provider.requests(name)) == 1)
    second = await house.send(conversation, "Two?")
    assert second["state"] == "queued"
    whole = (await house.get(f"/api/conversations/{conversation}")).json()
    assert [m["state"] for m in whole["messages"]] == ["running", "queued"]
    assert len(house.provider.requests(name)) == 1
    house.provider.gate("waits").set()
    await house.ended(conversation, first["turn_id"])
    await house.ended(conversation, second["turn_id"])
    messages = house.provider.requests(name)[1].json()["messages"]
    assert {"role": "assistant", "content": "The first answer."} in messages


async def test_too_many_waiting_messages_are_refused(tmp_path: Path) -> None:
    async with open_house(tmp_path, limits={"queue": 1}) as house:
        conversation = await house.conversation(await house.advisor(script=Script(hold="q")))
        first = await house.send(conversation, "One?")
        await house.send(conversation, "Two?")
        path = f"/api/conversations/{conversation}/turns"
        third = await house.post(path, {"content": "Three?"})
        assert third.status == 409
        assert "waiting" in third.error["message"]
        house.provider.gate("q").set()
        await house.ended(conversation, first["turn_id"])
        whole = (await house.get(f"/api/conversations/{conversation}")).json()
        assert [m["content"] for m in whole["messages"]] == ["One?", "Two?"]


async def test_older_messages_are_paged_back(house: House) -> None:
    conversation = await house.conversation(await house.advisor())
    for n in range(1, 6):
        await house.say(conversation, f"Message {n}")
    path = f"/api/conversations/{conversation}"
    newest = (await house.get(f"{path}?limit=2")).json()
    assert [m["content"] for m in newest["messages"]] == ["Message 4", "Message 5"]
    assert newest["more"] is True
    older = (await house.get(f"{path}?limit=3&before=4")).json()
    assert [m["content"] for m in older["messages"]] == ["Message 1", "Message 2", "Message 3"]
    assert older["more"] is False
    assert [m["depth"] for m in newest["messages"]] == [4, 5], "what `before` is counted in"


async def test_an_estimate_stores_and_asks_nothing(house: House) -> None:
    known = await house.advisor(model="openai:gpt-4o-mini", params={"max_tokens": 1000})
    unknown = await house.advisor(params={"max_tokens": 10})
    conversation = await house.conversation(known, unknown)
    before = len(house.provider.log)
    path = f"/api/conversations/{conversation}/estimate"
    reply = await house.post(path, {"content": "How much would it be?"})
    assert reply.status == 200
    told = reply.json()
    priced, free = told["advisors"]
    assert priced["advisor_id"] == known["id"]
    assert priced["max_output_tokens"] == 1000
    assert priced["cost"] == pytest.approx(0.0006 + 0.15e-6 * priced["input_tokens"], rel=0.01)
    assert free["cost"] is None
    assert told["cost"] == priced["cost"]
    assert told["unpriced"] == 1
    assert told["input_tokens"] == priced["input_tokens"] + free["input_tokens"] > 50
    assert told["max_output_tokens"] == 1010
    longer = (await house.post(path, {"content": "How much would it be? " * 100})).json()
    assert longer["input_tokens"] > told["input_tokens"] + 900
    one = (await house.post(path, {"content": "You?", "advisors": [unknown["slug"]]})).json()
    assert [row["advisor_id"] for row in one["advisors"]] == [unknown["id"]]
    assert one["cost"] is None
    assert len(house.provider.log) == before
    assert (await house.get(f"/api/conversations/{conversation}")).json()["messages"] == []


async def test_the_first_message_of_a_new_conversation_is_estimated_alike(house: House) -> None:
    known = await house.advisor(model="openai:gpt-4o-mini", params={"max_tokens": 1000})
    conversation = await house.conversation(known)
    listed = (await house.get("/api/conversations")).json()
    body = {"content": "How much would it be?", "advisors": [known["id"]]}
    first = await house.post("/api/estimate", body)
    there = await house.post(f"/api/conversations/{conversation}/estimate", body)
    assert first.status == 200
    assert first.json() == there.json()
    agent = await house.post("/api/estimate", {**body, "recipe": "agent"})
    assert agent.json()["input_tokens"] < first.json()["input_tokens"], "no protocol, no rules"
    for wrong in ({"content": ""}, {**body, "recipe": "nobody"}, {**body, "advisors": ["nobody"]}):
        assert (await house.post("/api/estimate", wrong)).status in (404, 422)
    assert (await house.get("/api/conversations")).json() == listed, "nothing was begun"


async def test_the_head_can_be_moved_back_to_another_branch(house: House) -> None:
    conversation = await house.conversation(await house.advisor())
    first = await house.say(conversation, "Root")
    second = await house.say(conversation, "Left")
    path = f"/api/conversations/{conversation}"
    moved = await house.patch(path, {"head": first["turn_id"]})
    assert moved.status == 200
    assert moved.json()["head"] == first["turn_id"]
    third = await house.say(conversation, "Right")
    whole = (await house.get(path)).json()
    assert [m["content"] for m in whole["messages"]] == ["Root", "Right"]
    assert whole["branches"] == {first["turn_id"]: [second["turn_id"], third["turn_id"]]}
    further = await house.say(conversation, "Further right")
    await house.patch(path, {"head": second["turn_id"]})
    whole = (await house.get(path)).json()
    assert [m["content"] for m in whole["messages"]] == ["Root", "Left"]
    tips = {second["turn_id"]: second["turn_id"], third["turn_id"]: further["turn_id"]}
    assert whole["tips"] == tips, "where each branch goes on"
    await house.patch(path, {"head": whole["tips"][third["turn_id"]]})
    whole = (await house.get(path)).json()
    assert [m["content"] for m in whole["messages"]] == ["Root", "Right", "Further right"]
    other = await house.conversation(await house.advisor())
    change = {"title": "Changed", "head": first["turn_id"]}
    foreign = await house.patch(f"/api/conversations/{other}", change)
    assert foreign.status == 404
    left = (await house.get(f"/api/conversations/{other}")).json()
    assert (left["title"], left["head"]) == ("", None), "all of it or nothing"


async def test_a_deleted_conversation_ends_its_answers_and_listeners(house: House) -> None:
    advisor = await house.advisor(script=Script(pieces=("a", "b", "c"), gates={1: "never"}))
    conversation = await house.conversation(advisor)
    turn = await house.send(conversation, "Soon gone?")
    seen = []
    async for event in house.events(conversation):
        seen.append(event.kind)
        if event.kind == "answer.delta":
            assert (await house.delete(f"/api/conversations/{conversation}")).status == 204
    assert seen[-1] in ("turn.completed", "answer.stopped", "answer.delta")
    (request,) = house.provider.requests(bare(advisor))
    await house.provider.gone(request)
    assert (await house.get(f"/api/answers/{turn['answers'][0]['answer_id']}")).status == 404
