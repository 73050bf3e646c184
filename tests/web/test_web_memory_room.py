"""One's own memory as it is looked through: pages, places, lines of the profile, days, a file."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.provider import Script
from tests.web.house import House, open_house

from polyvox.values import Scope

pytestmark = pytest.mark.contract

OWN = {"tenantId": "polyvox", "userId": Scope().user}
ANNA = {"tenantId": "acme", "userId": "anna"}


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path, models={"memory": "lab:notes"}, timezone="UTC") as house:
        yield house


def noted(quote_: str, text: str, attribute: str = "home", **more: Any) -> dict[str, Any]:
    return {"quote": quote_, "text": text, "subject": "user", "attribute": attribute, **more}


def reply(house: House, *facts: dict[str, Any], **more: Any) -> None:
    told = {
        "facts": list(facts), "loops": [], "profile": [], "instructions": [],
        "summary": "They talked.", "themes": ["talking"], **more,
    }  # fmt: skip
    house.provider.script("notes", Script(pieces=(json.dumps(told),)))


async def ingest(
    house: House, name: str, *texts: str, day: str = "2024-05-10", **more: Any
) -> None:
    """A session of one's own in which this is said, and is worked through."""
    at = [f"{day}T09:{minute:02}:00Z" for minute in range(len(texts) + 1)]
    messages = [
        {"role": "user", "text": text, "timestamp": time}
        for text, time in zip(texts, at, strict=False)
    ]
    body = {**OWN, "sessionId": name, "startedAt": at[0], "endedAt": at[-1], "messages": messages}
    told = await house.post("/session/ingest", {**body, **more})
    assert told.json()["status"] == "ingested", told.text
    await house.polyvox.worker.run_due()
    assert (await house.get("/api/jobs?state=failed")).json()["items"] == []


async def items(house: House, query: str = "") -> Any:
    got = await house.get(f"/api/memory/items{query}")
    assert got.status == 200, got.text
    return got.json()


async def texts(house: House, query: str = "") -> list[str]:
    return [(one["fact"] or one["message"])["text"] for one in (await items(house, query))["items"]]


async def many(house: House, count: int, day: str = "2024-05-10") -> None:
    """So many facts, each about something else, in one session."""
    said = [f"Thing {number} is number {number}." for number in range(count)]
    reply(
        house,
        *(noted(text, text, f"thing {number}") for number, text in enumerate(said)),
    )
    await ingest(house, f"many-{day}", *said, day=day)


async def test_pages_show_everything_once(house: House) -> None:
    for day in range(10, 13):
        await many(house, 40, f"2024-05-{day}")
    every = await texts(house, "?limit=100")
    assert len(every) == 40, "the same things, said three times, are one each"
    first = (await items(house, "?limit=1"))["items"][0]["fact"]
    assert first["validTo"] is None
    assert len(first["evidence"]) == 3
    found: list[str] = []
    after = ""
    while True:
        page = await items(house, f"?limit=7{after}")
        found += [one["fact"]["text"] for one in page["items"]]
        if page["next"] is None:
            break
        assert len(page["items"]) == 7
        after = f"&after={quote(page['next'])}"
    assert found == every
    assert await texts(house, "?only=superseded&limit=100") == []
    for wrong in ("x", "0.x.y", "0.1", "1.5."):
        got = await house.get(f"/api/memory/items?after={wrong}")
        assert (got.status, got.error["param"]) == (422, "after")


async def test_what_is_pinned_stands_first_and_what_is_excluded_stays(house: House) -> None:
    await many(house, 3)
    known = {one["fact"]["text"]: one["fact"] for one in (await items(house))["items"]}
    old = known["Thing 0 is number 0."]
    await house.patch(f"/api/memory/facts/{old['id']}", {"pinned": True})
    out = known["Thing 1 is number 1."]
    await house.patch(f"/api/memory/facts/{out['id']}", {"excluded": True})
    assert await texts(house) == [
        "Thing 0 is number 0.", "Thing 2 is number 2.", "Thing 1 is number 1.",
    ]  # fmt: skip
    assert await texts(house, "?limit=1") == ["Thing 0 is number 0."]
    following = (await items(house, "?limit=1"))["next"]
    assert await texts(house, f"?limit=9&after={quote(following)}") == [
        "Thing 2 is number 2.", "Thing 1 is number 1.",
    ]  # fmt: skip
    assert await texts(house, "?only=pinned") == ["Thing 0 is number 0."]
    await house.patch("/api/memory/messages/many-2024-05-10/2", {"pinned": True})
    await house.patch("/api/memory/messages/many-2024-05-10/0", {"excluded": True})
    pinned = (await items(house, "?only=pinned"))["items"]
    assert [one["kind"] for one in pinned] == ["fact", "message"]
    assert pinned[1]["message"]["messageIndex"] == 2
    assert await texts(house, "?only=pinned&limit=1") == ["Thing 0 is number 0."]
    behind = (await items(house, "?only=pinned&limit=1"))["next"]
    assert await texts(house, f"?only=pinned&after={quote(behind)}") == ["Thing 2 is number 2."]
    kept_out = (await items(house, "?only=excluded"))["items"]
    assert kept_out[0]["fact"]["text"] == "Thing 1 is number 1."
    assert kept_out[-1]["message"]["text"] == "Thing 0 is number 0."
    assert len([one for one in kept_out if one["message"]]) == 1


async def test_a_correction_shows_what_was_there_before(house: House) -> None:
    reply(house, noted("I live in Porto", "Lives in Porto."))
    await ingest(house, "s1", "I live in Porto.")
    (one,) = (await items(house))["items"]
    assert (one["before"], one["others"]) == (None, 0)
    made = await house.patch(
        f"/api/memory/facts/{one['fact']['id']}", {"text": "Lives near Porto."}
    )
    (now,) = (await items(house))["items"]
    assert now["fact"] == made.json()
    assert (now["before"]["text"], now["others"]) == ("Lives in Porto.", 1)
    (old,) = (await items(house, "?only=superseded"))["items"]
    assert (old["fact"]["text"], old["before"]) == ("Lives in Porto.", None)


async def test_what_was_taken_back_is_in_no_list(house: House) -> None:
    reply(house, noted("I live in Porto", "Lives in Porto."))
    await ingest(house, "s1", "I live in Porto.")
    reply(house, noted("I left Porto", "Lives in Porto no more.", ended=True))
    await ingest(house, "s2", "I left Porto.", day="2024-05-12")
    assert await texts(house) == []
    assert await texts(house, "?only=superseded") == ["Lives in Porto."]


async def test_a_search_finds_facts_and_words_with_their_marks(house: House) -> None:
    long = "Nothing here. " * 90 + "The tax office moved to Braga. " + "Nothing there. " * 90
    reply(house, noted("I live in Porto", "Lives in Porto."))
    await ingest(house, "s1", "I live in Porto.", long)
    await house.patch("/api/memory/messages/s1/0", {"pinned": True})
    found = (await items(house, "?q=Porto"))["items"][:2]
    assert {one["kind"]: one[one["kind"]]["pinned"] for one in found} == {
        "fact": False, "message": True,
    }  # fmt: skip
    assert all(0 < one["relevance"] <= 1 for one in found)
    tax = (await items(house, f"?q={quote('tax office')}"))["items"][0]
    assert tax["message"]["text"] == long, "all of it"
    assert "The tax office moved to Braga." in tax["message"]["excerpt"]
    assert len(tax["message"]["excerpt"]) < 900
    old = next(one["fact"] for one in found if one["fact"])
    await house.patch(f"/api/memory/facts/{old['id']}", {"text": "Lives in Faro."})
    history = (await items(house, "?q=Porto"))["items"]
    assert ("Lives in Porto.", "superseded") in [
        (one["fact"]["text"], one["fact"]["status"]) for one in history if one["fact"]
    ]


async def test_nothing_crosses_into_ones_own_memory(house: House) -> None:
    reply(house, noted("I live in Porto", "Lives in Porto."))
    await house.post(
        "/session/ingest",
        {**ANNA, "sessionId": "s1", "startedAt": "2024-05-10T09:00:00Z",
         "endedAt": "2024-05-10T09:05:00Z",
         "messages": [{"role": "user", "text": "I live in Porto."}]},
    )  # fmt: skip
    await house.polyvox.worker.run_due()
    assert await texts(house) == []
    assert await texts(house, "?q=Porto") == []
    assert (await house.get("/api/memory/places?at=s1%230")).json() == []
    assert (await house.get("/api/memory/days")).json() == {"items": [], "next": None}
    told = (await house.get("/api/memory/export")).json()
    assert (told["facts"], told["summaries"], told["days"]) == ([], [], [])
    seen = (await house.get("/api/memory/overview")).json()
    assert seen == {
        "sessions": 0,
        "statements": 0,
        "keptLocal": 0,
        "share": "ask",
        "model": "lab:notes",
    }


async def test_places_lead_to_the_turn(house: House) -> None:
    advisor = await house.advisor(script=Script(text="Porto has hills."), name="Walker")
    conversation = await house.conversation(advisor, title="Moving")
    reply(house)
    first = await house.say(conversation, "I moved to Porto.")
    second = await house.say(conversation, "I like its hills.")
    (session,) = (await house.get("/api/sessions")).json()
    await house.post(f"/api/sessions/{session['id']}/end")
    await house.polyvox.worker.run_due()
    at = "&".join(f"at={session['id']}%23{index}" for index in (0, 1, 2, 99))
    found = (await house.get(f"/api/memory/places?{at}")).json()
    assert [
        (one["role"], one["turnId"], one["title"], one["advisorName"]) for one in found
    ] == [
        ("user", first["turn_id"], "Moving", None),
        ("assistant", first["turn_id"], "Moving", "Walker"),
        ("user", second["turn_id"], "Moving", None),
    ]  # fmt: skip
    assert {one["conversationId"] for one in found} == {conversation}
    await ingest(house, "elsewhere", "I moved to Faro.")
    (other,) = (await house.get("/api/memory/places?at=elsewhere%230")).json()
    assert (other["conversationId"], other["turnId"]) == (None, None)
    for wrong in ("x", "s%23", "s%23-1", "s%231x", "s%2312345678901"):
        got = await house.get(f"/api/memory/places?at={wrong}")
        assert got.status == 422, wrong


async def profile(house: House) -> Any:
    return (await house.get("/api/memory/profile")).json()["model"]


LINES = "/api/memory/profile/lines"


async def test_lines_are_added_reworded_and_taken_back(house: House) -> None:
    for place, item, text in (
        ("name", "", "Ana"), ("north_star", "work", "to teach"), ("patterns", "", "Walks late."),
        ("patterns", "", "Starts too much."), ("preferences.avoid", "", "emojis"),
        ("key_relationships", "Rui", "brother"), ("instructions", "", "Be brief"),
    ):  # fmt: skip
        made = await house.post(LINES, {"place": place, "item": item, "text": text})
        assert made.status == 201, made.text
    told = await profile(house)
    assert (told["name"]["text"], told["north_star"]["work"]["text"]) == ("Ana", "to teach")
    assert [one["text"] for one in told["patterns"]] == ["Walks late.", "Starts too much."]
    (rui,) = told["key_relationships"]
    assert (rui["name"], rui["text"], rui["source"]) == ("Rui", "brother", "manual")

    late = told["patterns"][0]["id"]
    changed = await house.patch(f"{LINES}/{late}", {"text": "Walks at dawn."})
    lines = [one["text"] for one in changed.json()["model"]["patterns"]]
    assert sorted(lines) == ["Starts too much.", "Walks at dawn."]
    again = await house.patch(f"{LINES}/{late}", {"text": "Walks never."})
    assert (again.status, again.error["code"]) == (404, "not_found")
    gone = await house.delete(f"{LINES}/{rui['id']}")
    assert gone.json()["model"]["key_relationships"] == []
    twice = await house.post(LINES, {"place": "instructions", "text": "be brief"})
    assert (twice.status, twice.error["code"]) == (409, "conflict")
    for place, item, wrong in (
        ("shoe", "", "place"), ("north_star", "sports", "item"), ("key_relationships", " ", "item"),
    ):  # fmt: skip
        refused = await house.post(LINES, {"place": place, "item": item, "text": "x"})
        assert (refused.status, refused.error["param"]) == (422, wrong)


async def test_other_lines_keep_their_source(house: House) -> None:
    """What was inferred stays so when something else is added; and what must not go to a cloud
    model stays so in other words."""
    note = {"field": "patterns", "quote": "I walk every night", "text": "Walks at night."}
    rows = [{**note, "place": "patterns", "stated": False, "confidence": 0.6}]
    reply(house, profile=rows)
    await ingest(house, "s1", "I walk every night.")
    (before,) = (await profile(house))["patterns"]
    assert before["evidence"][0]["quote"] == "I walk every night"
    await house.post(LINES, {"place": "patterns", "text": "Starts too much."})
    assert before in (await profile(house))["patterns"]

    await ingest(house, "s2", "Always answer briefly.", day="2024-05-12", neverToCloud=True)
    (rule,) = (await profile(house))["instructions"]
    await house.patch(f"{LINES}/{rule['id']}", {"text": "Answer in one line"})
    (mine,) = (await profile(house))["instructions"]
    assert mine["text"] == "Answer in one line"
    outside = (await house.get(f"/user/model?tenantId=polyvox&userId={Scope().user}")).json()
    assert outside["model"]["instructions"] == []


async def test_days_with_their_sessions(house: House) -> None:
    reply(house)
    for number in range(1, 6):
        await ingest(house, f"s{number}", f"Said on day {number}.", day=f"2024-05-0{number}")
    await ingest(house, "late", "Said later that day.", day="2024-05-05")
    page = (await house.get("/api/memory/days?limit=2")).json()
    assert [(one["day"], len(one["summaries"])) for one in page["items"]] == [
        ("2024-05-05", 2), ("2024-05-04", 1),
    ]  # fmt: skip
    assert page["items"][0]["analysis"]["exists"] is True
    rest = (await house.get(f"/api/memory/days?limit=9&before={page['next']}")).json()
    assert [one["day"] for one in rest["items"]] == ["2024-05-03", "2024-05-02", "2024-05-01"]
    assert rest["next"] is None
    for wrong in ("0", "1715299200", "0001-01-01", "9999-12-31", "2024-13-01", "soon"):
        refused = await house.get(f"/api/memory/days?before={wrong}")
        assert refused.status == 422, wrong


async def test_a_loop_is_put_rightly(house: House) -> None:
    reply(
        house,
        loops=[{"quote": "I'll call the bank tomorrow", "type": "commitment",
                "text": "Call the bank", "horizon": "today"}],
    )  # fmt: skip
    await ingest(house, "s1", "I'll call the bank tomorrow.")
    (loop,) = (await house.get("/api/memory/loops?status=stale")).json()
    path = f"/api/memory/loops/{loop['id']}"
    fixed = await house.patch(path, {"text": "Call the other bank", "dueDate": "2099-01-31"})
    told = fixed.json()
    assert (told["id"], told["text"], told["dueDate"]) == (
        loop["id"], "Call the other bank", "2099-01-31",
    )  # fmt: skip
    assert (told["status"], told["timeHorizon"]) == ("open", "ongoing")
    assert told["evidence"] == loop["evidence"], "it was said once"
    assert told["salience"] == loop["salience"]
    undated = (await house.patch(path, {"dueDate": None})).json()
    assert (undated["dueDate"], undated["text"]) == (None, "Call the other bank")
    assert (await house.patch(path, {"status": "done"})).json()["status"] == "done"
    for wrong in (0, "9999-12-31", "soon"):
        assert (await house.patch(path, {"dueDate": wrong})).status == 422, wrong
    over = await house.patch(path, {"text": "Call nobody"})
    assert (over.status, over.error["code"]) == (409, "conflict")
    both = await house.patch(path, {"status": "open", "text": "Call nobody"})
    assert (both.json()["status"], both.json()["text"]) == ("open", "Call nobody")
    last = await house.patch(path, {"status": "dropped", "text": "Call anybody"})
    assert (last.json()["status"], last.json()["text"]) == ("dropped", "Call anybody")
    assert (await house.patch("/api/memory/loops/none", {})).status == 404
    gone = await house.post("/api/memory/forget", {"kind": "loop", "id": loop["id"]})
    assert gone.status == 200
    every = "status=open&status=stale&status=needs_review&status=done&status=dropped"
    assert (await house.get(f"/api/memory/loops?{every}")).json() == []


async def test_a_loop_is_pinned(house: House) -> None:
    """It comes first in both lists, stays open though it is years old, and the export says so."""
    plans = [("I'll call the bank", "Call the bank"), ("I'll mend the roof", "Mend the roof")]
    reply(
        house,
        loops=[
            {"quote": quote, "type": "commitment", "text": text, "horizon": "today"}
            for quote, text in plans
        ],
    )
    await ingest(house, "s1", "I'll call the bank. I'll mend the roof.")
    stale = (await house.get("/api/memory/loops?status=stale")).json()
    assert [one["pinned"] for one in stale] == [False, False]
    first, last = (f"/api/memory/loops/{one['id']}" for one in stale)

    told = (await house.patch(last, {"pinned": True})).json()
    assert (told["id"], told["pinned"], told["status"]) == (stale[1]["id"], True, "open")
    every = "status=open&status=stale&status=needs_review&status=done&status=dropped"
    listed = (await house.get(f"/api/memory/loops?{every}")).json()
    assert [one["id"] for one in listed] == [stale[1]["id"], stale[0]["id"]]
    contract = (await house.get("/memory/loops?tenantId=polyvox&userId=local")).json()["items"]
    assert [(one["id"], one["pinned"]) for one in contract] == [(stale[1]["id"], True)]
    kept = (await house.get("/api/memory/export")).json()["loops"]
    assert [(one["id"], one["pinned"]) for one in kept] == [
        (stale[1]["id"], True), (stale[0]["id"], False),
    ]  # fmt: skip

    both = (await house.patch(last, {"pinned": False, "text": "Mend the whole roof"})).json()
    assert (both["pinned"], both["text"]) == (False, "Mend the whole roof")
    assert (await house.patch(last, {})).json()["pinned"] is False, "what is left out stays"
    over = (await house.patch(first, {"pinned": True, "status": "done"})).json()
    assert (over["pinned"], over["status"]) == (True, "done")
    assert (await house.get("/memory/loops?tenantId=polyvox&userId=local")).json()["items"] == [
        (await house.get("/api/memory/loops")).json()[0]
    ], "what is done is done"
    refused = await house.patch(first, {"pinned": True})
    assert (refused.status, refused.error["code"]) == (409, "conflict")
    assert refused.error["hint"] == "Take it up again first."
    again = (await house.patch(first, {"pinned": True, "status": "open"})).json()
    assert (again["pinned"], again["status"]) == (True, "open")
    for wrong in (1, "yes"):
        assert (await house.patch(first, {"pinned": wrong})).status == 422, wrong
    assert (await house.patch("/api/memory/loops/none", {"pinned": True})).status == 404
    elsewhere = await house.patch(f"{first}?tenantId=polyvox&userId=bert", {"pinned": False})
    assert elsewhere.status == 404


async def test_the_export_holds_what_is_remembered_and_nothing_that_was_forgotten(
    house: House,
) -> None:
    reply(
        house,
        noted("I live in Porto", "Lives in Porto."),
        loops=[{"quote": "I'll call the zanzibank", "type": "commitment",
                "text": "Call the zanzibank", "horizon": "today"}],
        summary="They live in Porto.",
    )  # fmt: skip
    await ingest(house, "s1", "I live in Porto.")
    await ingest(house, "s2", "I'll call the zanzibank.", day="2024-05-11")
    await house.post(LINES, {"place": "name", "text": "Ana"})
    got = await house.get("/api/memory/export")
    assert 'filename="polyvox-memory-' in got.headers["Content-Disposition"]
    assert got.headers["Cache-Control"] == "no-store"
    told = got.json()
    assert (told["format"], told["version"]) == ("polyvox-memory", 1)
    assert [one["text"] for one in told["facts"]] == ["Lives in Porto."]
    assert told["facts"][0]["evidence"][0]["quote"] == "I live in Porto"
    assert [one["text"] for one in told["loops"]] == ["Call the zanzibank"]
    assert told["profile"]["model"]["name"]["text"] == "Ana"
    assert (len(told["summaries"]), len(told["days"])) == (2, 2)
    (loop,) = told["loops"]
    await house.post("/api/memory/forget", {"kind": "loop", "id": loop["id"]})
    after = await house.get("/api/memory/export")
    assert "zanzibank" not in after.text
    assert "Lives in Porto." in after.text
