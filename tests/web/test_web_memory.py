"""Memory over HTTP: the contract as a client knows it, the person's own routes, partitions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.provider import Script
from tests.web.house import House, open_house

from polyvox.memory.tables import companions
from polyvox.memory.tables.companions import Kept
from polyvox.values import Scope

ANNA = {"tenantId": "acme", "userId": "anna"}
BERT = {"tenantId": "acme", "userId": "bert"}
SAYS = "I moved to Porto last week. I'll call the bank tomorrow. Always answer briefly."
NOTE = {
    "facts": [
        {"n": 0, "quote": "I moved to Porto", "subject": "user", "attribute": "home",
         "text": "Lives in Porto."}
    ],
    "loops": [
        {"n": 0, "quote": "I'll call the bank tomorrow", "type": "commitment",
         "text": "Call the bank", "due": "2024-05-11", "horizon": "today", "domain": "work"}
    ],
    "profile": [], "instructions": [{"n": 0, "quote": "Always answer briefly"}],
    "summary": "They moved.", "themes": ["moving"],
}  # fmt: skip


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path, models={"memory": "lab:notes"}) as house:
        house.provider.script("notes", Script(pieces=(json.dumps(NOTE),)))
        yield house


def where(path: str, whose: dict[str, str], **more: Any) -> str:
    return f"{path}?{urlencode({**whose, **more})}"


def session(whose: dict[str, str], name: str = "s1", text: str = SAYS, **more: Any) -> Any:
    return {
        **whose,
        "sessionId": name,
        "startedAt": "2024-05-10T09:00:00Z",
        "endedAt": "2024-05-10T09:05:00Z",
        "messages": [
            {"role": "user", "text": text, "timestamp": "2024-05-10T09:00:00Z"},
            {"role": "assistant", "text": "Porto is lovely.", "advisorId": "a1"},
        ],
        **more,
    }


async def remember(house: House, whose: dict[str, str]) -> None:
    reply = await house.post("/session/ingest", session(whose))
    assert (reply.status, reply.json()) == (200, {"status": "ingested", "sessionId": "s1"})
    await house.polyvox.worker.run_due()


async def ask(house: House, whose: dict[str, str], query: str, **more: Any) -> Any:
    reply = await house.post("/memory/query", {**whose, "query": query, **more})
    assert reply.status == 200, reply.text
    return reply.json()


async def test_a_session_is_found_as_soon_as_it_is_ingested(house: House) -> None:
    await house.post("/session/ingest", session(ANNA))
    found = await ask(house, ANNA, "Porto", referenceTime="2024-05-11T09:00:00Z", limit=5)
    first = found["factItems"][0]
    assert (first["source"], first["status"], first["text"]) == ("episode", "current", SAYS)
    assert first["evidence"][0] == {
        "sessionId": "s1", "messageIndex": 0, "role": "user", "quote": SAYS,
        "timestamp": "2024-05-10T09:00:00Z",
    }  # fmt: skip
    assert set(found) == {"facts", "factItems", "entities", "metadata"}
    assert found["metadata"]["limit"] == 5
    assert not any("lovely" in text for text in found["facts"]), "an advisor's own words"
    own = await ask(house, ANNA, "Porto", advisorId="a1")
    assert any("lovely" in text for text in own["facts"])


async def test_ingesting_twice_or_nothing(house: House) -> None:
    assert (await house.post("/session/ingest", session(ANNA))).json()["status"] == "ingested"
    assert (await house.post("/session/ingest", session(ANNA))).json()["status"] == "duplicate"
    empty = await house.post("/session/ingest", session(ANNA, "s2", messages=[]))
    assert empty.json() == {"status": "empty", "sessionId": "s2"}
    other = await house.post("/session/ingest", session(ANNA, text="Something else."))
    assert (other.status, other.error["code"]) == (409, "conflict")


async def test_what_follows_from_a_session(house: House) -> None:
    await remember(house, ANNA)
    found = await ask(house, ANNA, "where do I live, Porto?")
    fact = next(one for one in found["factItems"] if one["source"] == "fact")
    assert fact["text"] == "Lives in Porto."
    assert fact["evidence"][0]["quote"] == "I moved to Porto"

    loops = (await house.get(where("/memory/loops", ANNA, limit=5))).json()
    assert loops["items"] == [], "a loop of 2024 is stale by now"
    every = await house.get(where("/api/memory/loops", ANNA, status="stale"))
    (loop,) = every.json()
    assert {name: loop[name] for name in ("type", "text", "timeHorizon", "dueDate", "domain")} == {
        "type": "commitment", "text": "Call the bank", "timeHorizon": "today",
        "dueDate": "2024-05-11", "domain": "work",
    }  # fmt: skip
    done = await house.patch(where(f"/api/memory/loops/{loop['id']}", ANNA), {"status": "done"})
    assert done.json()["status"] == "done"

    model = (await house.get(where("/user/model", ANNA))).json()
    (rule,) = model["model"]["instructions"]
    assert (rule["text"], rule["source"]) == ("Always answer briefly", "user_stated")
    assert (model["exists"], model["stale"], model["version"]) == (True, True, 1), "of 2024"
    daily = (await house.get(where("/analysis/daily", ANNA, date="2024-05-10"))).json()
    assert (daily["exists"], daily["metadata"]["quality_flag"]) == (True, "insufficient_data")
    never = (await house.get(where("/analysis/daily", ANNA, date="2020-01-01"))).json()
    assert (never["exists"], never["analysisDate"]) == (False, "2020-01-01")
    (summary,) = (await house.get(where("/api/memory/summaries", ANNA))).json()
    assert (summary["text"], summary["covers"]) == ("They moved.", ["s1#0"])


async def test_changing_the_profile(house: House) -> None:
    change = {"north_star": {"work": "to teach"}, "preferences": {"tone": "dry"}}
    first = await house.patch("/user/model", {**ANNA, "model": change})
    assert first.status == 200
    told = first.json()["model"]
    assert (told["north_star"]["work"]["text"], told["north_star"]["health"]) == ("to teach", None)
    assert told["preferences"]["tone"]["source"] == "manual"
    bare = await house.patch(where("/user/model", ANNA), {"current_focus": "the exam"})
    assert bare.json()["model"]["current_focus"]["text"] == "the exam"
    assert bare.json()["completeness"]["work"] == 0.67
    wrong = await house.patch("/user/model", {**ANNA, "model": {"shoe": 1}})
    assert (wrong.status, wrong.error["param"]) == (422, "shoe")
    half = await house.patch("/user/model", {**ANNA, "model": {"current_focus": "a\ud800"}})
    assert (half.status, half.error["param"]) == (422, "current_focus")
    assert "cannot be stored" in half.error["message"]
    named = await house.patch("/user/model", {**ANNA, "model": {"a\ud800": "b"}})
    assert (named.status, named.error["param"]) == (422, "a?")
    nobody = await house.patch("/user/model", {"model": change})
    assert (nobody.status, nobody.error["param"]) == (422, "tenantId")


async def test_what_a_session_was_told_goes_when_memory_changes(house: House) -> None:
    database, me = house.polyvox.database, Scope()
    told = Kept("an old word")
    await database.write(lambda tx: companions.put_session(tx, "s", "c", told, 1), me)
    await house.patch("/user/model", {**ANNA, "model": {"current_focus": "rest"}})
    assert await database.read(lambda tx: companions.session(tx, "s"), me) == Kept("")


async def test_facts_are_corrected_pinned_excluded_and_forgotten(house: House) -> None:
    await remember(house, ANNA)
    (fact,) = (await house.get(where("/api/memory/facts", ANNA))).json()
    place = f"/api/memory/facts/{fact['id']}"
    pinned = await house.patch(where(place, ANNA), {"pinned": True})
    assert (pinned.json()["pinned"], pinned.json()["id"]) == (True, fact["id"])
    fixed = await house.patch(where(place, ANNA), {"text": "Lives in Braga."})
    assert (fixed.json()["source"], fixed.json()["over"]) == ("manual", None)
    whole = (await house.get(where(place, ANNA))).json()
    assert (whole["status"], [one["text"] for one in whole["history"]]) == (
        "superseded", ["Lives in Braga."],
    )  # fmt: skip
    listed = (await house.get(where("/api/memory/facts", ANNA, q="Braga"))).json()
    assert [one["text"] for one in listed] == ["Lives in Braga."]
    then = (await house.get(where("/api/memory/facts", ANNA, asOf="2024-06-01T00:00:00Z"))).json()
    assert [one["text"] for one in then] == ["Lives in Porto."]
    other = f"/api/memory/facts/{fixed.json()['id']}"
    await house.patch(where(other, ANNA), {"excluded": True})
    items = (await ask(house, ANNA, "Braga"))["factItems"]
    assert [one for one in items if one["source"] == "fact"] == []

    undone = await house.patch(where(place, ANNA), {"current": True})
    assert (undone.json()["status"], undone.json()["over"]) == ("current", None)

    message = {"kind": "message", "id": "s1#0"}
    preview = (await house.get(where("/api/memory/forget", ANNA, **message))).json()
    assert [one["id"] for one in preview["messages"]] == ["s1#0", "s1#1"]
    assert (len(preview["facts"]), len(preview["loops"]), len(preview["profile"])) == (2, 1, 1)
    assert (preview["summaries"], preview["days"]) == (["s1"], ["2024-05-10"])
    gone = await house.post(where("/api/memory/forget", ANNA), message)
    assert preview["scrubbed"] is None
    assert gone.json() == {**preview, "scrubbed": True}
    assert (await house.get(where(place, ANNA))).status == 404
    assert (await ask(house, ANNA, "Porto"))["factItems"] == []


async def test_a_fact_is_forgotten_at_its_own_address(house: House) -> None:
    await remember(house, ANNA)
    (fact,) = (await house.get(where("/api/memory/facts", ANNA))).json()
    place = f"/api/memory/facts/{fact['id']}"
    preview = (await house.get(where(f"{place}/forget", ANNA))).json()
    assert [one["id"] for one in preview["facts"]] == [fact["id"]]
    alone = ("messages", "loops", "profile", "summaries", "days", "answers", "receipts")
    assert not any(preview[name] for name in alone), "the statement alone"
    assert (await house.get(where(place, ANNA))).status == 200, "nothing was changed"
    assert (await house.post(where(f"{place}/forget", BERT), {})).status == 404
    gone = await house.delete(where(place, ANNA))
    assert (gone.status, gone.json()) == (200, {**preview, "scrubbed": True})
    assert (await house.get(where(place, ANNA))).status == 404
    assert (await house.post(where(f"{place}/forget", ANNA), {})).status == 404
    left = (await ask(house, ANNA, "Porto"))["factItems"]
    assert [one["text"] for one in left] == [SAYS], "the message stays"


async def test_a_fact_is_corrected_and_marked_at_once(house: House) -> None:
    await remember(house, ANNA)
    (fact,) = (await house.get(where("/api/memory/facts", ANNA))).json()
    place = f"/api/memory/facts/{fact['id']}"
    change = {"text": "Lives in Braga.", "excluded": True, "pinned": True}
    fixed = (await house.patch(where(place, ANNA), change)).json()
    assert (fixed["text"], fixed["excluded"], fixed["pinned"]) == ("Lives in Braga.", True, True)
    assert not any("Braga" in one for one in (await ask(house, ANNA, "Braga"))["facts"])


async def test_what_was_forgotten_in_part_is_the_same_session_when_it_is_sent_again(
    house: House,
) -> None:
    said = [
        {"role": "user", "text": "My passphrase is gnorfblatt."},
        {"role": "assistant", "text": "I will keep gnorfblatt in mind."},
        {"role": "user", "text": "Thanks."},
    ]
    await house.post("/session/ingest", session(ANNA, messages=said))
    await house.post(where("/api/memory/forget", ANNA), {"kind": "message", "id": "s1#0"})
    again = await house.post("/session/ingest", session(ANNA, messages=said))
    assert (again.status, again.json()["status"]) == (200, "duplicate")
    more = [*said, {"role": "user", "text": "The weather is fine in Braga."}]
    grown = await house.post("/session/ingest", session(ANNA, messages=more))
    assert (grown.status, grown.json()["status"]) == (200, "ingested")
    found = await ask(house, ANNA, "gnorfblatt passphrase mind", advisorId="a1")
    assert "gnorfblatt" not in repr(found["facts"])
    assert (await ask(house, ANNA, "weather in Braga"))["factItems"][0]["evidence"][0][
        "messageIndex"
    ] == 3


async def test_what_was_put_before_a_model_is_not_remembered(house: House) -> None:
    said = [
        {"role": "system", "text": "[OVERLAY] I will call Poseidon tomorrow."},
        {"role": "user", "text": "I repaired the lighthouse."},
        {"role": "tool", "text": "Poseidon has no telephone."},
        {"role": "assistant", "text": "Good."},
    ]
    reply = await house.post("/session/ingest", session(ANNA, messages=said))
    assert (reply.status, reply.json()["status"]) == (200, "ingested")
    await house.polyvox.worker.run_due()
    assert (await ask(house, ANNA, "Poseidon telephone"))["facts"] == []
    first = (await ask(house, ANNA, "lighthouse"))["factItems"][0]
    assert first["evidence"][0]["messageIndex"] == 0, "of what is remembered it is the first"
    only = await house.post("/session/ingest", session(ANNA, "s2", messages=said[:1]))
    assert only.json()["status"] == "empty"


async def test_whose_memory_it_is_stands_in_the_body_or_in_the_address(house: House) -> None:
    bare = session({})
    assert (await house.post(where("/session/ingest", ANNA), bare)).json()["status"] == "ingested"
    asked = {"query": "Porto", "limit": None, "includeContext": None, "includeHistory": None}
    found = await house.post(where("/memory/query", ANNA), asked)
    assert (found.status, found.json()["metadata"]["limit"]) == (200, 10)
    assert found.json()["factItems"]
    assert (await house.post("/memory/query", asked)).error["param"] == "tenantId"
    for call in (
        house.post(where("/memory/query", BERT), {**ANNA, **asked}),
        house.post(where("/session/ingest", BERT), session(ANNA)),
        house.patch(where("/user/model", BERT), {**ANNA, "model": {"name": "Anna"}}),
    ):
        refused = await call
        assert (refused.status, refused.error["param"]) == (422, "userId")
    assert (await ask(house, BERT, "Porto"))["factItems"] == []


async def test_messages_are_pinned_and_excluded(house: House) -> None:
    await remember(house, ANNA)
    marked = await house.patch(
        where("/api/memory/messages/s1/0", ANNA), {"excluded": True, "pinned": True}
    )
    assert (marked.json()["excluded"], marked.json()["pinned"]) == (True, True)
    items = (await ask(house, ANNA, "call the bank"))["factItems"]
    assert [one for one in items if one["source"] == "episode"] == []
    assert (await house.patch(where("/api/memory/messages/s1/9", ANNA), {})).status == 404


async def test_no_endpoint_crosses_a_partition(house: House) -> None:
    await remember(house, ANNA)
    (fact,) = (await house.get(where("/api/memory/facts", ANNA))).json()
    (loop,) = (await house.get(where("/api/memory/loops", ANNA, status="stale"))).json()
    await house.patch("/user/model", {**ANNA, "model": {"current_focus": "the exam"}})
    for whose in (BERT, {"tenantId": "other", "userId": "anna"}, {}):
        if whose:
            assert (await ask(house, whose, "Porto bank"))["factItems"] == []
            assert (await house.get(where("/memory/loops", whose))).json()["items"] == []
            model = (await house.get(where("/user/model", whose))).json()
            assert (model["exists"], model["version"]) == (False, 0)
            day = where("/analysis/daily", whose, date="2024-05-10")
            assert (await house.get(day)).json()["exists"] is False
        assert (await house.get(where("/api/memory/search", whose, q="Porto"))).json()[
            "factItems"
        ] == []
        assert (await house.get(where("/api/memory/facts", whose))).json() == []
        for path in (f"/api/memory/facts/{fact['id']}",):
            assert (await house.get(where(path, whose))).status == 404
            assert (await house.patch(where(path, whose), {"pinned": True})).status == 404
        done = await house.patch(
            where(f"/api/memory/loops/{loop['id']}", whose), {"status": "done"}
        )
        assert done.status == 404
        for kind, name in (("fact", fact["id"]), ("message", "s1#0"), ("session", "s1")):
            gone = await house.post(where("/api/memory/forget", whose), {"kind": kind, "id": name})
            assert gone.status == 404
    assert len((await house.get(where("/api/memory/facts", ANNA))).json()) == 1


async def test_what_must_not_go_to_a_cloud_model_is_the_persons_alone(house: House) -> None:
    await house.post("/session/ingest", session(ANNA, neverToCloud=True))
    await house.polyvox.worker.run_due()
    assert (await ask(house, ANNA, "Porto"))["factItems"] == []
    assert (await house.get(where("/user/model", ANNA))).json()["exists"] is False
    found = (await house.get(where("/api/memory/search", ANNA, q="Porto"))).json()
    assert found["factItems"]
    assert (await house.get(where("/api/memory/profile", ANNA))).json()["exists"] is True


@pytest.mark.parametrize(
    "change",
    [
        {"query": ""},
        {"limit": 0},
        {"limit": 101},
        {"userId": ""},
        {"referenceTime": "soon"},
        {"asOf": "0001-01-01T00:00:00Z"},
        {"maxTokens": 0},
    ],
)
async def test_a_bad_query_is_refused(house: House, change: dict[str, Any]) -> None:
    reply = await house.post("/memory/query", {**ANNA, "query": "Porto", **change})
    assert reply.status == 422
    assert reply.error["param"] in change


async def test_a_conversation_is_remembered_when_its_session_ends(house: House) -> None:
    """The whole way: talk, end the session, and find it in one's own memory, answers and all."""
    advisor = await house.advisor(script=Script(text="Porto has hills."))
    conversation = await house.conversation(advisor)
    await house.say(conversation, SAYS)
    (one,) = (await house.get("/api/sessions")).json()
    await house.post(f"/api/sessions/{one['id']}/end")
    await house.polyvox.worker.run_due()
    assert (await house.get("/api/jobs?state=failed")).json()["items"] == []
    (fact,) = (await house.get("/api/memory/facts")).json()
    assert (fact["text"], fact["evidence"][0]["sessionId"]) == ("Lives in Porto.", one["id"])
    found = (await house.get("/api/memory/search?q=hills")).json()
    assert "assistant" in {item["evidence"][0]["role"] for item in found["factItems"]}
    shown = await house.get(where("/api/memory/forget", {}, kind="session", id=one["id"]))
    assert shown.json()["conversations"] == [conversation]


async def test_a_deleted_conversation_is_not_remembered(house: House, tmp_path: Path) -> None:
    """Neither what was ingested of it nor what was to be, in no file."""
    secret = "zanzibarx"
    note = {
        **NOTE,
        "facts": [
            {"n": 0, "quote": f"I met {secret}", "text": f"Met {secret}.", "subject": "user"}
        ],
    }
    house.provider.script("notes", Script(pieces=(json.dumps(note),)))
    advisor = await house.advisor(script=Script(text="Good."))
    conversation = await house.conversation(advisor)
    for text in (f"I met {secret}.", f"Again I met {secret}."):
        await house.say(conversation, text)
        newest = (await house.get("/api/sessions")).json()[0]
        await house.post(f"/api/sessions/{newest['id']}/end")
        if len((await house.get("/api/memory/facts")).json()) == 0:
            await house.polyvox.worker.run_due()
    assert len((await house.get("/api/memory/facts")).json()) == 1
    assert (await house.delete(f"/api/conversations/{conversation}")).status == 204
    assert (await house.get("/api/memory/facts?history=true")).json() == []
    await house.polyvox.worker.run_due()
    assert (await house.get(f"/api/memory/search?q={secret}")).json()["factItems"] == []
    assert (await house.get("/api/memory/summaries")).json() == []
    raw = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert secret.encode() not in raw
