"""Advisors and councils over HTTP: made, changed, put in order, rolled back, removed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.web.house import House

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]

WHOLE = {
    "name": "Cassandra",
    "description": "Sees what can go wrong.",
    "prompt": "You warn before it is too late.",
    "model": "lab:any",
    "color": "#AABBcc",
    "voice": "low",
    "active": False,
    "params": {"max_tokens": 77, "temperature": 0.5, "top_p": 0.9, "reasoning": 0},
}


async def test_an_advisor_is_kept_as_it_was_given(house: House) -> None:
    made = await house.make("/api/advisors", WHOLE)
    assert {name: made[name] for name in WHOLE} == WHOLE
    assert made["slug"] == "cassandra"
    by_id = await house.get(f"/api/advisors/{made['id']}")
    by_slug = await house.get("/api/advisors/cassandra")
    assert by_id.json() == by_slug.json() == made
    listed = (await house.get("/api/advisors")).json()
    assert made in listed
    active = (await house.get("/api/advisors?active=true")).json()
    assert active
    assert all(one["active"] for one in active)
    assert made["id"] not in [one["id"] for one in active]


async def test_slugs_are_unique(house: House) -> None:
    first, second = await house.advisor(name="Same Name"), await house.advisor(name="Same Name")
    assert first["slug"] == "same-name"
    assert second["slug"] == "same-name-2"
    taken = await house.post(
        "/api/advisors", {"name": "x", "description": "y", "slug": first["slug"]}
    )
    assert taken.status == 409
    assert taken.error["code"] == "conflict"
    assert taken.error["param"] == "slug"
    moved = await house.patch(f"/api/advisors/{second['id']}", {"slug": first["slug"]})
    assert moved.status == 409


async def test_a_change_leaves_the_rest_alone_and_null_empties(house: House) -> None:
    made = await house.make("/api/advisors", {**WHOLE, "name": "Before"})
    path = f"/api/advisors/{made['id']}"
    renamed = await house.patch(path, {"name": "After"})
    assert renamed.status == 200
    changed: set[str] = {key for key, value in renamed.json().items() if value != made[key]}
    assert changed == {"name", "updated_at"}
    emptied = (await house.patch(path, {"model": None, "voice": None, "params": None})).json()
    assert emptied["model"] is None
    assert emptied["voice"] is None
    assert set(emptied["params"].values()) == {None}
    kept = (await house.patch(path, {"name": None, "active": None, "color": None})).json()
    assert kept["name"] == "After"
    assert kept["color"] == WHOLE["color"]
    assert kept["active"] is False


async def test_versions_and_rollback(house: House) -> None:
    advisor = await house.advisor(description="First words.")
    path = f"/api/advisors/{advisor['id']}"
    await house.patch(path, {"description": "Second words."})
    third = (await house.patch(path, {"prompt": "Third words."})).json()
    await house.patch(path, {"name": "A name is no version"})
    versions = (await house.get(f"{path}/versions")).json()
    told = [(v["number"], v["field"], v["text"]) for v in versions]
    assert told == [
        (3, "prompt", "Third words."),
        (2, "description", "Second words."),
        (1, "description", "First words."),
    ]
    assert versions[0]["id"] == third["version_id"]
    assert versions[0]["parent_id"] == versions[1]["id"]
    by_number = await house.post(f"{path}/rollback", {"version": 1})
    assert by_number.status == 200
    assert by_number.json()["description"] == "First words."
    assert by_number.json()["prompt"] is None
    by_id = (await house.post(f"{path}/rollback", {"version": versions[0]["id"]})).json()
    assert by_id["prompt"] == "Third words."
    numbers = [v["number"] for v in (await house.get(f"{path}/versions")).json()]
    assert numbers == [5, 4, 3, 2, 1]
    missing = await house.post(f"{path}/rollback", {"version": 99})
    assert missing.status == 404
    assert "99" in missing.error["message"]


async def test_order(house: House) -> None:
    first, second = await house.advisor(), await house.advisor()
    reply = await house.post("/api/advisors/order", {"advisors": [second["id"], first["slug"]]})
    assert reply.status == 200
    ids = [one["id"] for one in reply.json()]
    assert ids[:2] == [second["id"], first["id"]]
    assert [one["position"] for one in reply.json()] == list(range(len(ids)))
    assert [one["id"] for one in (await house.get("/api/advisors")).json()] == ids
    twice = await house.post("/api/advisors/order", {"advisors": [first["id"], first["id"]]})
    assert twice.status == 422
    unknown = await house.post("/api/advisors/order", {"advisors": ["nobody"]})
    assert unknown.status == 404


async def test_a_removed_advisor_is_gone_but_its_answers_stay(house: House) -> None:
    advisor = await house.advisor()
    conversation = await house.conversation(advisor)
    turn = await house.say(conversation, "Before you go?")
    removed = await house.delete(f"/api/advisors/{advisor['id']}")
    assert (removed.status, removed.body) == (204, b"")
    assert (await house.get(f"/api/advisors/{advisor['id']}")).status == 404
    assert (await house.delete(f"/api/advisors/{advisor['id']}")).status == 404
    answer = await house.answer(turn["answers"][0]["answer_id"])
    assert answer["name"] == advisor["name"]
    assert answer["text"]


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"name": ""}, "name"),
        ({"name": "   "}, "name"),
        ({"name": "x" * 121}, "name"),
        ({"name": "bell\x07"}, "name"),
        ({"name": 7}, "name"),
        ({"description": ""}, "description"),
        ({"color": "red"}, "color"),
        ({"model": "no-colon"}, "model"),
        ({"model": "nobody:knows"}, "model"),
        ({"params": {"temperature": 3}}, "params.temperature"),
        ({"params": {"max_tokens": 0}}, "params.max_tokens"),
        ({"params": {"temprature": 1}}, "params.temprature"),
        ({"slug": "Not A Slug"}, "slug"),
        ({"colour": "#aabbcc"}, "colour"),
        ({"active": "perhaps"}, "active"),
    ],
)
async def test_what_an_advisor_cannot_be(house: House, change: dict[str, Any], param: str) -> None:
    before = (await house.get("/api/advisors")).json()
    for reply in (
        await house.post("/api/advisors", {"name": "A", "description": "B", **change}),
        await house.patch(f"/api/advisors/{before[0]['id']}", change),
    ):
        assert reply.status == 422
        assert reply.error["param"] == param
        assert param.split(".")[-1] in reply.error["message"] or "provider" in reply.text
    assert (await house.get("/api/advisors")).json() == before


async def test_councils(house: House) -> None:
    first, second = await house.advisor(), await house.advisor()
    made = await house.make(
        "/api/councils", {"name": "The Few", "advisors": [second["slug"], first["id"]]}
    )
    assert made["slug"] == "the-few"
    assert made["advisors"] == [second["id"], first["id"]]
    assert made["recipe"] == "council"
    assert (await house.get("/api/councils/the-few")).json() == made
    assert made in (await house.get("/api/councils")).json()
    path = f"/api/councils/{made['id']}"
    changed = await house.patch(path, {"name": "The One", "advisors": [first["id"]]})
    assert changed.status == 200
    assert changed.json()["name"] == "The One"
    assert changed.json()["advisors"] == [first["id"]]
    assert changed.json()["slug"] == "the-few"
    taken = await house.post("/api/councils", {"name": "x", "slug": "the-few"})
    assert taken.status == 409
    unknown = await house.post("/api/councils", {"name": "x", "advisors": ["nobody"]})
    assert unknown.status == 422
    assert unknown.error["param"] == "advisors"
    assert (await house.delete(path)).status == 204
    assert (await house.get(path)).status == 404


async def test_removing_an_advisor_takes_it_out_of_councils(house: House) -> None:
    first, second = await house.advisor(), await house.advisor()
    council = await house.council(first, second)
    await house.delete(f"/api/advisors/{first['id']}")
    left = (await house.get(f"/api/councils/{council['id']}")).json()
    assert left["advisors"] == [second["id"]]
