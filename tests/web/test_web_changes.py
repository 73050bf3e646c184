"""What is set rather than said is told to everybody who watches: once, numbered, and only if so."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest
from tests.provider import Script
from tests.web.house import House

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def changes(house: House, conversation: str, after: int = 0) -> list[tuple[str, str]]:
    """What was told to have changed, in order."""
    events = await house.stored(conversation, after)
    return [(e.data["what"], e.data["id"]) for e in events if e.kind == "conversation.changed"]


async def whole(house: House, conversation: str) -> Any:
    return (await house.get(f"/api/conversations/{conversation}")).json()


async def test_details_are_told_once_each_time_they_change(house: House) -> None:
    one, two = await house.advisor(), await house.advisor()
    council = await house.council(one, two, recipe="agent")
    conversation = await house.conversation(one)
    path = f"/api/conversations/{conversation}"
    bodies: list[dict[str, Any]] = [
        {"title": "Moving"},
        {"advisors": [two["id"], one["id"]]},
        {"advisors": None},
        {"council": council["id"]},
        {"recipe": "council"},
        {"title": "Staying", "advisors": [one["id"]], "recipe": "agent"},
    ]
    for number, body in enumerate(bodies, 1):
        patched = await house.patch(path, body)
        assert patched.status == 200
        assert patched.json()["last_number"] == number
        again = await house.patch(path, body)  # it is so already: there is nothing to tell
        assert again.json() == patched.json()
        assert await changes(house, conversation) == [("details", conversation)] * number
    assert (await house.patch(path, {})).json()["last_number"] == len(bodies)


async def test_a_conversation_that_is_changed_stays_in_its_place(house: House) -> None:
    advisor = await house.advisor()
    older = await house.conversation(advisor)
    said = await house.say(older, "Well?")
    newer = await house.conversation(advisor)
    before = await whole(house, older)
    answer = said["answers"][0]["answer_id"]
    await house.patch(f"/api/conversations/{older}", {"title": "Another"})
    await house.post(f"/api/answers/{answer}/exclude")
    await house.patch(f"/api/messages/{said['message_id']}", {"excluded": True})
    after = await whole(house, older)
    assert after["last_number"] == before["last_number"] + 3
    assert after["updated_at"] == before["updated_at"]
    ids = [one["id"] for one in (await house.get("/api/conversations")).json()["items"]]
    assert ids.index(newer) < ids.index(older)


async def test_excluding_is_told_and_so_is_including(house: House) -> None:
    advisor = await house.advisor()
    conversation = await house.conversation(advisor)
    said = await house.say(conversation, "Well?")
    answer, message = said["answers"][0]["answer_id"], said["message_id"]
    start = (await whole(house, conversation))["last_number"]
    for _ in range(2):  # the second time it is so already
        excluded = await house.post(f"/api/answers/{answer}/exclude")
        assert excluded.json()["excluded"]
        patched = await house.patch(f"/api/messages/{message}", {"excluded": True})
        assert patched.json()["message"]["excluded"]
    for _ in range(2):
        assert not (await house.post(f"/api/answers/{answer}/include")).json()["excluded"]
        await house.patch(f"/api/messages/{message}", {"excluded": False})
    assert await changes(house, conversation, start) == [
        ("answer", answer),
        ("message", message),
        ("answer", answer),
        ("message", message),
    ]


async def test_another_branch_is_told_by_the_turn_at_its_head(house: House) -> None:
    advisor = await house.advisor()
    conversation = await house.conversation(advisor)
    first = await house.say(conversation, "One")
    second = await house.say(conversation, "Two")
    assert await changes(house, conversation) == []
    start = (await whole(house, conversation))["last_number"]

    edited = await house.patch(f"/api/messages/{second['message_id']}", {"content": "Two again"})
    turn = edited.json()["turn"]
    await house.ended(conversation, turn["turn_id"])
    events = await house.stored(conversation, start)
    assert [e.kind for e in events[:3]] == [
        "conversation.changed",
        "turn.started",
        "answer.started",
    ]
    assert events[0].data == {"what": "head", "id": turn["turn_id"]}
    assert events[1].data["turn_id"] == turn["turn_id"]

    path = f"/api/conversations/{conversation}"
    start = (await whole(house, conversation))["last_number"]
    for _ in range(2):
        moved = await house.patch(path, {"head": first["turn_id"]})
        assert moved.json()["head"] == first["turn_id"]
        assert moved.json()["last_number"] == start + 1
    both = await house.patch(path, {"head": second["turn_id"], "title": "Both"})
    assert both.json()["last_number"] == start + 3
    assert await changes(house, conversation, start) == [
        ("head", first["turn_id"]),
        ("details", conversation),
        ("head", second["turn_id"]),
    ]


async def test_what_is_refused_changes_and_tells_nothing(house: House) -> None:
    advisor = await house.advisor()
    conversation = await house.conversation(advisor, title="Kept")
    said = await house.say(conversation, "Well?")
    elsewhere = await house.conversation(advisor)
    other = await house.say(elsewhere, "And here?")
    before = await whole(house, conversation)
    path = f"/api/conversations/{conversation}"
    refused: list[dict[str, Any]] = [
        {"title": "New", "head": other["turn_id"]},
        {"title": "New", "head": "nowhere"},
        {"title": "New", "council": "nowhere"},
        {"head": said["turn_id"], "advisors": ["nobody"], "title": "New"},
    ]
    for body in refused:
        assert (await house.patch(path, body)).status in (404, 422)
    for wrong in ("/api/answers/nowhere/exclude", "/api/answers/nowhere/include"):
        assert (await house.post(wrong)).status == 404
    assert (await house.patch("/api/messages/nowhere", {"excluded": True})).status == 404
    assert await whole(house, conversation) == before


async def test_every_tab_hears_it_while_an_answer_is_being_written(house: House) -> None:
    """Live and in a replay from any number alike; the answer's own words are not disturbed."""
    advisor = await house.advisor(script=Script(pieces=("one ", "two"), gates={1: "changed"}))
    conversation = await house.conversation(advisor)
    turn = await house.send(conversation, "Well?")
    answer = turn["answers"][0]["answer_id"]

    async def listen() -> list[tuple[int, str, Any]]:
        heard = []
        async with aclosing(house.events(conversation)) as events:
            async for event in events:
                heard.append((event.id, event.kind, event.data))
                if event.kind == "turn.completed":
                    return heard
        raise AssertionError("the stream ended")

    tabs = [asyncio.create_task(listen()) for _ in range(2)]
    await house.until(lambda: len(house.polyvox.hub) >= 2)
    async with aclosing(house.events(conversation)) as events:
        async for event in events:
            if event.kind == "answer.delta":
                break
    await house.patch(f"/api/conversations/{conversation}", {"title": "While it runs"})
    excluded = await house.post(f"/api/answers/{answer}/exclude")
    assert excluded.json()["state"] == "streaming"
    assert excluded.json()["text"] == "one "
    house.provider.gate("changed").set()
    first, second = await asyncio.gather(*tabs)
    assert first == second
    assert [data for _, kind, data in first if kind == "conversation.changed"] == [
        {"what": "details", "id": conversation},
        {"what": "answer", "id": answer},
    ]
    assert [number for number, _, _ in first] == list(range(1, len(first) + 1))
    for number, _, _ in first:
        rest = await house.stored(conversation, number)
        assert [(e.id, e.kind, e.data) for e in rest] == first[number:]
    found = await house.answer(answer)
    assert (found["text"], found["excluded"]) == ("one two", True)


async def test_every_version_of_an_answer_comes_with_the_conversation(house: House) -> None:
    advisor = await house.advisor()
    conversation = await house.conversation(advisor)
    said = await house.say(conversation, "Well?")
    ids = [said["answers"][0]["answer_id"]]
    for _ in range(2):
        new = (await house.post(f"/api/answers/{ids[-1]}/regenerate")).json()
        await house.ended(conversation, said["turn_id"])
        ids.append(new["answer_id"])
    (message,) = (await whole(house, conversation))["messages"]
    assert [a["answer_id"] for a in message["answers"]] == ids
    assert [a["version"] for a in message["answers"]] == [1, 2, 3]
    assert [a["current"] for a in message["answers"]] == [False, False, True]
    assert [a["replaces"] for a in message["answers"]] == [None, *ids[:2]]
    assert len({a["text"] for a in message["answers"]}) == 3
