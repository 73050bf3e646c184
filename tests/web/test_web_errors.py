"""One error shape everywhere, with the right status, and nothing half done behind it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.provider import Script
from tests.web.house import House, open_house

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]

JSON = {"Content-Type": "application/json"}


async def messages(house: House, conversation: str) -> list[Any]:
    whole = (await house.get(f"/api/conversations/{conversation}")).json()
    found: list[Any] = whole["messages"]
    return found


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE", "PUT"])
async def test_an_unknown_path(house: House, method: str) -> None:
    reply = await house.ask(method, "/api/nowhere")
    assert reply.status == 404
    assert reply.error["code"] == "not_found"
    assert "/openapi.json" in reply.error["hint"]


async def test_a_method_that_is_not_there(house: House) -> None:
    for method, path in (("PUT", "/api/advisors"), ("GET", "/v1/chat/completions")):
        reply = await house.ask(method, path)
        assert reply.status == 405
        assert reply.error["code"] == "method_not_allowed"
        assert reply.headers["Allow"]
    assert set((await house.ask("PUT", "/api/advisors")).headers["Allow"].split(", ")) == {
        "GET",
        "POST",
    }


@pytest.mark.parametrize(
    "body", [b"", b"{", b"nonsense", b'{"name": "A",}', b"\xff\xfe", b'{"a":' * 5000, b"\x00"]
)
async def test_a_body_that_is_not_json(house: House, body: bytes) -> None:
    for path in ("/api/advisors", "/v1/chat/completions", "/api/advisors/order"):
        reply = await house.ask("POST", path, headers=JSON, body=body)
        assert reply.status == 400 or (reply.status == 422 and not body), reply.text
        assert reply.error["type"] == "invalid_request_error"


@pytest.mark.parametrize("body", [[], "text", 7, None, True, {"unknown": 1}])
async def test_a_body_of_the_wrong_kind(house: House, body: Any) -> None:
    conversation = await house.conversation(await house.advisor())
    for path in ("/api/advisors", f"/api/conversations/{conversation}/turns"):
        reply = await house.post(path, body)
        assert reply.status == 422
        assert reply.error["code"] == "invalid"


UNKNOWN = [
    ("GET", "/api/advisors/{}", None),
    ("PATCH", "/api/advisors/{}", {"name": "x"}),
    ("DELETE", "/api/advisors/{}", None),
    ("GET", "/api/advisors/{}/versions", None),
    ("POST", "/api/advisors/{}/rollback", {"version": 1}),
    ("GET", "/api/councils/{}", None),
    ("PATCH", "/api/councils/{}", {"name": "x"}),
    ("DELETE", "/api/councils/{}", None),
    ("GET", "/api/conversations/{}", None),
    ("PATCH", "/api/conversations/{}", {"title": "x"}),
    ("PATCH", "/api/conversations/{}", {"head": "x"}),
    ("DELETE", "/api/conversations/{}", None),
    ("POST", "/api/conversations/{}/turns", {"content": "x"}),
    ("POST", "/api/conversations/{}/estimate", {"content": "x"}),
    ("GET", "/api/conversations/{}/events", None),
    ("GET", "/api/answers/{}", None),
    ("POST", "/api/answers/{}/stop", None),
    ("POST", "/api/answers/{}/retry", None),
    ("POST", "/api/answers/{}/regenerate", None),
    ("POST", "/api/answers/{}/replay", None),
    ("POST", "/api/answers/{}/exclude", None),
    ("POST", "/api/answers/{}/include", None),
    ("POST", "/api/answers/{}/instruct", {"instruction": "x"}),
    ("GET", "/api/answers/{}/receipt", None),
    ("GET", "/api/answers/{}/request", None),
    ("POST", "/api/turns/{}/stop", None),
    ("POST", "/api/turns/{}/synthesize", None),
    ("POST", "/api/turns/{}/exchange", {"rounds": 1}),
    ("PATCH", "/api/messages/{}", {"content": "x"}),
    ("PATCH", "/api/messages/{}", {"excluded": True}),
    ("GET", "/api/recipes/{}", None),
    ("PATCH", "/api/recipes/{}", {"stamps": "none"}),
    ("DELETE", "/api/recipes/{}", None),
]


@pytest.mark.parametrize(("method", "path", "body"), UNKNOWN)
async def test_an_unknown_id(house: House, method: str, path: str, body: Any) -> None:
    for name in ("0190f5fe-7c00-7a00-8000-000000000000", "' OR 1=1 --", "%ED%A0%80", "🎈"):
        reply = await house.ask(method, path.format(name), body)
        assert reply.status == 404, reply.text
        assert reply.error["code"] == "not_found"
    for name in ("%00", "a%07b", "x" * 300):
        reply = await house.ask(method, path.format(name), body)
        assert reply.status in (404, 422), reply.text
        assert reply.error["message"]


@pytest.mark.parametrize("content", ["", "   \n\t ", "\x00", "a\x07b", "esc\x1b[31m", "\ud800"])
async def test_content_that_cannot_be_sent(house: House, content: str) -> None:
    advisor = await house.advisor()
    conversation = await house.conversation(advisor)
    for verb in ("turns", "estimate"):
        reply = await house.post(f"/api/conversations/{conversation}/{verb}", {"content": content})
        assert reply.status == 422
        assert reply.error["param"] == "content"
        assert reply.error["code"] == "invalid"
    assert await messages(house, conversation) == []


async def test_tabs_breaks_and_any_script_are_fine(house: House) -> None:
    conversation = await house.conversation(await house.advisor())
    content = "tab\there\r\nنص — 文字 🎈\u200d"
    await house.say(conversation, content)
    assert (await messages(house, conversation))[0]["content"] == content


async def test_five_megabytes_are_too_long(house: House) -> None:
    conversation = await house.conversation(await house.advisor())
    path = f"/api/conversations/{conversation}/turns"
    reply = await house.post(path, {"content": "word " * 1_000_000})
    assert reply.status == 422
    assert reply.error["param"] == "content"
    assert "5,000,000 characters" in reply.error["message"]
    assert "400,000" in reply.error["message"]
    assert await messages(house, conversation) == []


async def test_an_unknown_advisor_among_known_ones(house: House) -> None:
    advisor = await house.advisor()
    conversation = await house.conversation(advisor)
    path = f"/api/conversations/{conversation}/turns"
    reply = await house.post(path, {"content": "You?", "advisors": [advisor["id"], "nobody"]})
    assert reply.status == 422
    assert reply.error["param"] == "advisors"
    assert "'nobody'" in reply.error["message"]
    assert advisor["slug"] in reply.error["hint"]
    assert await messages(house, conversation) == []


# -- the same again --------------------------------------------------------------------------------


async def test_the_same_key_and_body_are_the_same_turn(house: House) -> None:
    advisor = await house.advisor(script=Script(hold="idem"))
    other = await house.advisor()
    conversation = await house.conversation(advisor)
    path = f"/api/conversations/{conversation}/turns"
    body = {"content": "Once?", "idempotency_key": "key-1"}
    first = await house.post(path, body)
    assert first.status == 202
    while_running = await house.post(path, body)
    assert (while_running.status, while_running.json()) == (202, first.json())
    for changed in ({"content": "Twice?"}, {"advisors": [other["id"]]}):
        reply = await house.post(path, {**body, **changed})
        assert reply.status == 409
        assert reply.error["code"] == "conflict"
        assert reply.error["param"] == "idempotency_key"
    house.provider.gate("idem").set()
    await house.ended(conversation, first.json()["turn_id"])
    after = await house.post(path, body)
    assert after.status == 202
    assert after.json() == {**first.json(), "state": "completed"}
    assert len(await messages(house, conversation)) == 1
    assert len(house.provider.requests(advisor["model"].partition(":")[2])) == 1
    # another conversation is another place
    second = await house.conversation(other)
    elsewhere = await house.post(f"/api/conversations/{second}/turns", body)
    assert elsewhere.json()["turn_id"] != first.json()["turn_id"]


async def test_the_same_key_at_the_same_time_is_one_turn(house: House) -> None:
    advisor = await house.advisor()
    conversation = await house.conversation(advisor)
    body = {"content": "All at once?", "idempotency_key": "key-2"}
    path = f"/api/conversations/{conversation}/turns"
    replies = await asyncio.gather(*(house.post(path, body) for _ in range(8)))
    assert {reply.status for reply in replies} == {202}
    (turn_id,) = {reply.json()["turn_id"] for reply in replies}
    await house.ended(conversation, turn_id)
    assert len(await messages(house, conversation)) == 1
    assert len(house.provider.requests(advisor["model"].partition(":")[2])) == 1


@pytest.mark.parametrize("key", ["", "x" * 201, "a\x00b", 7])
async def test_a_key_that_is_none(house: House, key: Any) -> None:
    conversation = await house.conversation(await house.advisor())
    path = f"/api/conversations/{conversation}/turns"
    reply = await house.post(path, {"content": "Well?", "idempotency_key": key})
    assert reply.status == 422
    assert reply.error["param"] == "idempotency_key"


# -- limits of the user's own ----------------------------------------------------------------------


async def test_too_long_for_every_advisor_stores_nothing(tmp_path: Path) -> None:
    async with open_house(tmp_path, limits={"context": "12000 chars"}) as house:
        advisors = [await house.advisor() for _ in range(2)]
        conversation = await house.conversation(*advisors)
        path = f"/api/conversations/{conversation}"
        for verb in ("turns", "estimate"):
            reply = await house.post(f"{path}/{verb}", {"content": "word " * 4000})
            assert reply.status == 422
            assert reply.error["param"] == "content"
            assert "too much" in reply.error["message"], "it says how much is over"
            assert "Shorten" in reply.error["hint"]
        whole = (await house.get(path)).json()
        assert (whole["messages"], whole["last_number"], whole["title"]) == ([], 0, "")
        assert house.provider.log == []


async def test_too_long_for_one_advisor_is_that_ones_failure(tmp_path: Path) -> None:
    known = {"lab:small": {"window": 3000, "max_tokens": 100}}
    async with open_house(tmp_path, models={"known": known}) as house:
        small, large = await house.advisor("lab:small"), await house.advisor()
        conversation = await house.conversation(small, large)
        turn = await house.say(conversation, "word " * 4000)
        first, second = [await house.answer(a["answer_id"]) for a in turn["answers"]]
        assert first["state"] == "failed"
        assert first["error"]["category"] == "context_too_long"
        assert "too much" in first["error"]["message"]
        assert second["state"] == "completed"
        assert house.provider.requests("small") == []


@pytest.mark.parametrize("cap", ["cost_per_turn", "cost_per_conversation", "cost_per_day"])
async def test_a_cap_that_is_reached(tmp_path: Path, cap: str) -> None:
    async with open_house(tmp_path, limits={cap: 0.001}, providers={}) as house:
        await _cap(house, cap)


async def _cap(house: House, cap: str) -> None:
    # Every answer costs what the provider says: 0.01 USD.
    price = '{"prompt_tokens":5,"completion_tokens":5,"total_tokens":10,"cost":0.01}'
    chunk = '{"choices":[{"index":0,"delta":{"content":"Dear."},"finish_reason":"stop"}]'
    raw = f'data: {chunk}}}\n\ndata: {chunk[:12]}],"usage":{price}}}\n\ndata: [DONE]\n\n'
    advisors = [await house.advisor(script=Script(raw=raw, hold="both")) for _ in range(2)]
    conversation = await house.conversation(*advisors)
    path = f"/api/conversations/{conversation}/turns"
    turn = await house.send(conversation, "How dear?")
    await house.provider.arrived(2)
    house.provider.gate("both").set()
    await house.ended(conversation, turn["turn_id"])
    answers = [await house.answer(a["answer_id"]) for a in turn["answers"]]
    assert [a["usage"]["cost"] for a in answers] == [0.01, 0.01], "those in flight are let through"
    if cap == "cost_per_turn":  # the next turn has its own
        again = await house.post(f"/api/answers/{answers[0]['answer_id']}/regenerate")
        more = await house.post(f"/api/turns/{turn['turn_id']}/synthesize")
    else:
        again = await house.post(path, {"content": "Once more?"})
        more = await house.post(f"/api/turns/{turn['turn_id']}/exchange", {"rounds": 1})
    asked = len(house.provider.log)
    for reply in (again, more):
        assert reply.status == 402
        assert reply.error["code"] == "cap_reached"
        assert f"limits.{cap}" in reply.error["message"]
        assert "0.02" in reply.error["message"]
        assert f"limits.{cap}" in reply.error["hint"]
    assert len(await messages(house, conversation)) == 1
    assert len(house.provider.log) == asked == 2
    other = await house.conversation(advisors[0])
    elsewhere = await house.post(f"/api/conversations/{other}/turns", {"content": "Here?"})
    assert elsewhere.status == (402 if cap == "cost_per_day" else 202)
    if elsewhere.status == 202:
        await house.ended(other, elsewhere.json()["turn_id"])


async def test_a_bug_of_ours_is_logged_and_not_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_house(tmp_path) as house:
        house.polyvox.advisors = None  # type: ignore[assignment]  # a bug, made here
        reply = await house.get("/api/advisors")
    assert reply.status == 500
    assert reply.error["code"] == "internal"
    assert reply.error["type"] == "server_error"
    assert "NoneType" not in reply.text
    assert "NoneType" in caplog.text
