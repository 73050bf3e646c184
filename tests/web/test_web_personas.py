"""Companion personas over HTTP: those there are, and the one conversation with each."""

from __future__ import annotations

import pytest
from tests.provider import Script
from tests.web.house import House

from polyvox.companion.personas import shipped

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def known(house: House) -> dict[str, dict[str, object]]:
    reply = await house.get("/api/personas")
    assert reply.status == 200, reply.text
    return {one["slug"]: one for one in reply.json()}


async def test_a_persona_is_met_talked_to_and_met_again(house: House) -> None:
    before = await known(house)
    assert set(shipped()) <= set(before)
    margin = before["margin"]
    assert (margin["name"], margin["shipped"]) == ("Margin", True)
    assert margin["about"]
    assert (margin["advisor_id"], margin["conversation_id"]) == (None, None), "not made unasked"
    met = await house.post("/api/personas/margin/conversation")
    assert met.status == 200, met.text
    talk = met.json()
    assert (talk["recipe"], talk["title"], talk["head"]) == ("companion", "Margin", None)
    again = (await house.post("/api/personas/margin/conversation")).json()
    assert again["id"] == talk["id"]
    margin = (await known(house))["margin"]
    assert margin["conversation_id"] == talk["id"]
    assert talk["advisors"] == [margin["advisor_id"]]
    (made,) = [one for one in (await house.get("/api/advisors")).json() if one["slug"] == "margin"]
    assert (made["active"], made["color"]) == (False, margin["color"]), "no council has it unasked"


async def test_it_speaks_from_its_kernel_on_the_ordinary_road(house: House) -> None:
    talk = (await house.post("/api/personas/flint/conversation")).json()
    model = house.model(Script(text="Begin with the door."))
    await house.patch("/api/advisors/flint", {"model": model})
    turn = await house.say(talk["id"], "I keep circling it.")
    assert list((await house.texts(talk["id"])).values()) == ["Begin with the door."]
    sent = house.provider.requests(model.partition(":")[2])[-1].json()["messages"]
    assert sent[0]["content"].startswith(shipped()["flint"])
    trace = (await house.get(f"/api/turns/{turn['turn_id']}/trace")).json()
    assert trace["system_blocks"][:2] == ["persona", "posture"]


async def test_an_advisor_one_talks_to_alone_is_one_of_them(house: House) -> None:
    one = await house.advisor(name="Quill", description="Writes it down. Then reads it back.")
    assert "quill" not in await known(house)
    talk = await house.conversation(one, recipe="companion")
    quill = (await known(house))["quill"]
    assert (quill["shipped"], quill["conversation_id"]) == (False, talk)
    assert quill["about"] == one["description"]
    assert list(await known(house))[: len(shipped())] == ["harbor", "flint", "margin"]


async def test_one_that_was_rewritten_says_who_it_is_now(house: House) -> None:
    await house.post("/api/personas/harbor/conversation")
    assert (await house.patch("/api/advisors/harbor", {"description": "A loud one."})).status == 200
    assert (await known(house))["harbor"]["about"] == "A loud one."


async def test_nobody_has_that_name(house: House) -> None:
    reply = await house.post("/api/personas/nobody/conversation")
    assert reply.status == 404
    assert "nobody" in reply.error["message"]
