"""Recipes over HTTP: what is changed of them is what the provider gets next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.provider import Script
from tests.web.house import House, bare, open_house

from polyvox.context.recipe import BUILT_IN, as_data
from polyvox.context.words import prompt_set

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.asyncio(loop_scope="function")
async def test_recipes_are_shown_as_they_are(own: House) -> None:
    listed = (await own.get("/api/recipes")).json()
    assert [one["name"] for one in listed] == ["council", "agent", "companion"]
    for one in listed:
        assert one["recipe"] == as_data(BUILT_IN[one["name"]])
        assert one["standard"] == one["recipe"]
        assert one["changed"] == {}
        assert (await own.get(f"/api/recipes/{one['name']}")).json() == one


@pytest.mark.asyncio(loop_scope="function")
async def test_a_changed_phase_is_what_the_provider_gets_next(own: House) -> None:
    advisor = await own.advisor()
    conversation = await own.conversation(advisor)

    async def system() -> str:
        turn = await own.say(conversation, "Well?")
        assert turn["answers"]
        messages = own.provider.requests(bare(advisor))[-1].json()["messages"]
        return str(messages[0]["content"])

    first = await system()
    assert "1 of 3" in first
    phases = [
        {"name": "early", "answers": 2, "text": "Only ask. This is {k} of {n}."},
        {"name": "ongoing", "text": "Speak your mind."},
    ]
    changed = await own.patch("/api/recipes/council", {"phases": phases})
    assert changed.status == 200
    assert changed.json()["changed"] == {"phases": phases}
    assert changed.json()["recipe"]["phases"][0]["answers"] == 2
    assert "Only ask. This is 2 of 2." in await system()
    assert "Speak your mind." in await system()
    reset = await own.delete("/api/recipes/council")
    assert reset.status == 204
    assert (await own.get("/api/recipes/council")).json()["changed"] == {}
    ongoing = await system()
    assert "Speak your mind." not in ongoing
    assert "Only ask." not in ongoing


@pytest.mark.asyncio(loop_scope="function")
async def test_changes_add_up_and_null_undoes_one(own: House) -> None:
    path = "/api/recipes/council"
    await own.patch(path, {"window": {"kind": "recent"}, "stamps": "none"})
    both = (await own.patch(path, {"window": {"last_messages": 4}})).json()
    assert both["changed"] == {"window": {"kind": "recent", "last_messages": 4}, "stamps": "none"}
    assert both["recipe"]["window"]["kind"] == "recent"
    assert both["recipe"]["window"]["last_messages"] == 4
    less = (await own.patch(path, {"window": None})).json()
    assert less["changed"] == {"stamps": "none"}
    assert less["recipe"]["window"] == as_data(BUILT_IN["council"])["window"]
    assert (await own.get("/api/recipes/agent")).json()["changed"] == {}


@pytest.mark.asyncio(loop_scope="function")
async def test_null_undoes_one_key_of_a_table(own: House) -> None:
    path = "/api/recipes/council"
    texts = {"rules": "Be brief.", "shared": "You are among friends."}
    await own.patch(path, {"texts": texts, "params": {"temperature": 0.5}})
    less = (await own.patch(path, {"texts": {"rules": None}})).json()
    assert less["recipe"]["texts"] == {"shared": texts["shared"]}
    none = (await own.patch(path, {"texts": {"shared": None}, "params": {"top_p": None}})).json()
    assert none["changed"] == {"params": {"temperature": 0.5}}


@pytest.mark.asyncio(loop_scope="function")
async def test_a_changed_recipe_still_says_how_it_was_and_our_wording(own: House) -> None:
    change = {"stamps": "none", "texts": {"rules": "Be brief."}}
    shown = (await own.patch("/api/recipes/council", change)).json()
    assert shown["standard"] == as_data(BUILT_IN["council"])
    assert shown["recipe"]["stamps"] == "none"
    for size in ("full", "compact"):
        ours = shown["wording"][size]
        assert ours["rules"] == prompt_set(size).text("rules")
        assert "{k} of {n}" in ours["early"]
        assert ours["ongoing"]
        assert "synthesis" not in ours, "no block or phase of that name"
    assert "shared" not in shown["wording"]["compact"], "small models go without"


@pytest.mark.asyncio(loop_scope="function")
async def test_the_standard_is_what_the_configuration_made_of_it(tmp_path: Path) -> None:
    configured = {"council": {"stamps": "history", "window": {"last_messages": 5}}}
    async with open_house(tmp_path, recipes=configured) as own:
        changed = {"window": {"last_messages": 6}}
        shown = (await own.patch("/api/recipes/council", changed)).json()
        assert shown["changed"] == changed
        assert shown["standard"]["stamps"] == shown["recipe"]["stamps"] == "history"
        assert shown["standard"]["window"]["last_messages"] == 5
        undone = (
            await own.patch("/api/recipes/council", {"window": {"last_messages": None}})
        ).json()
        assert undone["recipe"] == undone["standard"]


@pytest.mark.asyncio(loop_scope="function")
async def test_stamps_and_visibility_reach_the_next_request(own: House) -> None:
    first = await own.advisor(script=Script(text="Canary."))
    second = await own.advisor()
    conversation = await own.conversation(first, second)
    await own.say(conversation, "One?")
    change = {"stamps": "none", "visibility": {"default": "none"}}
    await own.patch("/api/recipes/council", change)
    await own.say(conversation, "Two?")
    before, after = own.provider.requests(bare(second))
    assert before.json()["messages"][-1]["content"].startswith("[20")
    assert [m["content"] for m in after.json()["messages"] if m["role"] == "user"] == [
        "One?",
        "Two?",
    ]
    assert b"Canary." not in after.body


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"fases": []}, "fases"),
        ({"name": "mine"}, "name"),
        ({"stamps": "sometimes"}, "stamps"),
        ({"window": {"max_messages": 0}}, "window"),
        ({"window": {"max_messages": 10**40}}, None),
        ({"window": {"wide": 1}}, None),
        ({"phases": [{"name": "late"}]}, "phases"),
        ({"phases": "none"}, "phases"),
        ({"phases": [{"name": "early", "answers": -1}]}, "phases"),
        ({"visibility": {"pairs": [{"viewer": "a"}]}}, None),
        ({"params": {"temperature": "hot"}}, None),
        ({"model": "nobody:knows"}, "model"),
        ({"context": "much"}, "context"),
        ({"texts": {"rules": "\ud800"}}, None),
        ({"texts": {"rules": "a\x00b"}}, None),
        ({"params": {"temperature": float("nan")}}, None),
    ],
)
async def test_a_change_that_cannot_be(house: House, change: Any, param: str | None) -> None:
    reply = await house.patch("/api/recipes/council", change)
    assert reply.status == 422, reply.text
    if param is not None:
        assert reply.error["param"] == param
    assert reply.error["message"]
    assert (await house.get("/api/recipes/council")).json()["changed"] == {}
