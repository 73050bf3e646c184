"""Turns, answers and messages over HTTP: stop, retry, regenerate, exclude, instruct, edit,
synthesis, exchange, receipts."""

from __future__ import annotations

import hashlib
from contextlib import aclosing
from typing import Any

import msgspec
import pytest
from tests.provider import Logged, Script
from tests.web.house import House, bare

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]


def sent(request: Logged) -> str:
    """The whole request as text."""
    return request.body.decode()


def assistant_texts(request: Logged) -> list[str]:
    return [m["content"] for m in request.json()["messages"] if m["role"] == "assistant"]


async def until(house: House, conversation: str, kind: str, after: int = 0) -> Any:
    """Wait for the first event of that kind after a number; its data."""
    async with aclosing(house.events(conversation, after)) as events:
        async for event in events:
            if event.kind == kind:
                return event.data
    raise AssertionError(f"no {kind} came")


async def halfway(house: House, gate: str, *more: Any) -> tuple[str, Any, Any]:
    """A conversation whose advisor stands at a gate after two words of four."""
    script = Script(pieces=("One", " two", " three", " four"), gates={2: gate})
    advisor = await house.advisor(script=script)
    conversation = await house.conversation(advisor, *more)
    turn = await house.send(conversation, "Count?")
    async with aclosing(house.events(conversation)) as events:
        async for event in events:
            if event.kind == "answer.delta" and event.data["text"].endswith(" two"):
                break
    return conversation, advisor, turn


# -- stopping --------------------------------------------------------------------------------------


async def test_stop_closes_the_upstream_keeps_the_partial_and_counts_it(house: House) -> None:
    other = await house.advisor(script=Script(hold="others go on"))
    conversation, advisor, turn = await halfway(house, "never", other)
    mine, others = (a["answer_id"] for a in turn["answers"])
    (request,) = house.provider.requests(bare(advisor))
    stopped = await house.post(f"/api/answers/{mine}/stop")
    assert stopped.status == 200
    answer = stopped.json()
    assert answer["state"] == "stopped"
    assert answer["text"] == "One two"
    assert answer["error"] is None
    assert answer["usage"]["output_tokens"] > 0
    assert answer["usage"]["estimated"] is True
    await house.provider.gone(request)
    assert request.closed_at is not None
    assert request.ended_at is None
    assert request.tokens == 2
    # the other one does not notice
    assert (await house.answer(others))["state"] == "pending"
    house.provider.gate("others go on").set()
    await house.ended(conversation, turn["turn_id"])
    assert (await house.answer(others))["state"] == "completed"
    events = await house.stored(conversation)
    (told,) = [e.data for e in events if e.kind == "answer.stopped"]
    assert told == {"answer_id": mine, "usage": answer["usage"]}
    spent = (await house.get(f"/api/usage?by=advisor&conversation={conversation}")).json()
    by_advisor = {row["key"]: row for row in spent["rows"]}
    row = by_advisor[advisor["id"]]
    assert row["input_tokens"] == answer["usage"]["input_tokens"] > 0
    assert row["output_tokens"] == answer["usage"]["output_tokens"]


async def test_stop_before_the_first_word(house: House) -> None:
    advisor = await house.advisor(script=Script(hold="never"))
    conversation = await house.conversation(advisor)
    turn = await house.send(conversation, "Silent?")
    await house.provider.until(lambda: bool(house.provider.requests(bare(advisor))))
    (request,) = house.provider.requests(bare(advisor))
    answer = (await house.post(f"/api/answers/{turn['answers'][0]['answer_id']}/stop")).json()
    await house.provider.gone(request)
    assert (answer["state"], answer["text"]) == ("stopped", "")
    # what was sent was read, so it is counted
    assert answer["usage"]["input_tokens"] > 0
    assert answer["usage"]["output_tokens"] == 0
    follow_up = await house.say(conversation, "And now?", advisors=[(await house.advisor())["id"]])
    assert follow_up["state"] == "running"


async def test_stop_again_and_stop_what_is_complete_change_nothing(house: House) -> None:
    conversation = await house.conversation(await house.advisor())
    turn = await house.say(conversation, "Done?")
    answer_id = turn["answers"][0]["answer_id"]
    before = await house.answer(answer_id)
    for _ in range(2):
        again = await house.post(f"/api/answers/{answer_id}/stop")
        assert (again.status, again.json()) == (200, before)
    assert before["state"] == "completed"


async def test_stop_a_whole_turn_also_one_that_waits(house: House) -> None:
    advisors = [await house.advisor(script=Script(hold="never")) for _ in range(3)]
    conversation = await house.conversation(*advisors)
    turn = await house.send(conversation, "All of you?")
    waiting = await house.send(conversation, "And then?")
    names = [bare(advisor) for advisor in advisors]
    await house.provider.until(lambda: all(house.provider.requests(name) for name in names))
    queued = await house.post(f"/api/turns/{waiting['turn_id']}/stop")
    assert {a["state"] for a in queued.json()["answers"]} == {"stopped"}
    stopped = await house.post(f"/api/turns/{turn['turn_id']}/stop")
    assert stopped.status == 200
    assert stopped.json()["turn_id"] == turn["turn_id"]
    assert [a["state"] for a in stopped.json()["answers"]] == ["stopped"] * 3
    for name in names:
        (request,) = house.provider.requests(name)
        await house.provider.gone(request)
    events = await house.stored(conversation)
    completed = [e.data["turn_id"] for e in events if e.kind == "turn.completed"]
    assert completed == [waiting["turn_id"], turn["turn_id"]]


async def test_a_stopped_answer_with_text_stays_in_its_thread(house: House) -> None:
    conversation, advisor, turn = await halfway(house, "never")
    await house.post(f"/api/turns/{turn['turn_id']}/stop")
    house.provider.script(bare(advisor), Script())
    await house.say(conversation, "Go on?")
    assert assistant_texts(house.provider.requests(bare(advisor))[1]) == ["One two"]


# -- again -----------------------------------------------------------------------------------------


async def test_retry_replaces_a_failed_answer_and_keeps_it_as_a_version(house: House) -> None:
    advisor = await house.advisor()
    house.provider.queue(bare(advisor), Script(status=500, error="Broken."), Script(text="Whole."))
    other = await house.advisor()
    conversation = await house.conversation(advisor, other)
    turn = await house.say(conversation, "Again?")
    old_id, other_id = (a["answer_id"] for a in turn["answers"])
    old = await house.answer(old_id)
    assert old["state"] == "failed"
    assert old["error"]["category"] == "unavailable"
    assert "Broken." in old["error"]["message"]
    assert old["error"]["hint"]
    untouched = await house.answer(other_id)
    reply = await house.post(f"/api/answers/{old_id}/retry")
    assert reply.status == 202
    new = reply.json()
    assert new["answer_id"] != old_id
    assert (new["replaces"], new["version"], new["state"]) == (old_id, 2, "pending")
    await house.ended(conversation, turn["turn_id"])
    new = await house.answer(new["answer_id"])
    assert (new["state"], new["text"], new["current"]) == ("completed", "Whole.", True)
    kept = await house.answer(old_id)
    assert kept == {**old, "current": False}
    assert await house.answer(other_id) == untouched
    whole = (await house.get(f"/api/conversations/{conversation}")).json()
    shown = [a["answer_id"] for a in whole["messages"][0]["answers"]]
    assert set(shown) == {old_id, new["answer_id"], other_id}
    events = await house.stored(conversation)
    started = [e.data for e in events if e.kind == "answer.started"]
    assert started[-1]["replaces"] == old_id
    assert [e.kind for e in events].count("turn.completed") == 2
    too_old = await house.post(f"/api/answers/{old_id}/retry")
    assert too_old.status == 409
    whole_already = await house.post(f"/api/answers/{new['answer_id']}/retry")
    assert whole_already.status == 409
    assert "regenerate" in whole_already.error["hint"]


async def test_regenerate_makes_a_new_version_that_later_turns_see(house: House) -> None:
    advisor = await house.advisor()
    house.provider.queue(
        bare(advisor), Script(text="First canary."), Script(text="Second canary."), Script()
    )
    conversation = await house.conversation(advisor)
    turn = await house.say(conversation, "Say it.")
    old_id = turn["answers"][0]["answer_id"]
    reply = await house.post(f"/api/answers/{old_id}/regenerate")
    assert reply.status == 202
    await house.ended(conversation, turn["turn_id"])
    assert (await house.answer(reply.json()["answer_id"]))["text"] == "Second canary."
    assert (await house.answer(old_id))["text"] == "First canary."
    first, second = house.provider.requests(bare(advisor))
    assert first.json()["messages"] == second.json()["messages"], "asked the same again"
    await house.say(conversation, "And further?")
    third = house.provider.requests(bare(advisor))[2]
    assert assistant_texts(third) == ["Second canary."]


async def test_replay_sends_the_very_request_again_whatever_has_changed(house: House) -> None:
    advisor = await house.advisor(script=Script(text="Answer {n}."))
    conversation = await house.conversation(advisor)
    turn = await house.say(conversation, "Once?")
    old_id = turn["answers"][0]["answer_id"]
    await house.patch(f"/api/advisors/{advisor['id']}", {"prompt": "Quite another."})
    replayed = await house.post(f"/api/answers/{old_id}/replay")
    assert replayed.status == 202
    assert (replayed.json()["replaces"], replayed.json()["version"]) == (old_id, 2)
    await house.ended(conversation, turn["turn_id"])
    first, second = house.provider.requests(bare(advisor))
    assert first.body == second.body
    new = await house.get(f"/api/answers/{replayed.json()['answer_id']}/receipt")
    assert new.json()["verified"] is True
    written = (await house.post(f"/api/turns/{turn['turn_id']}/synthesize")).json()["answer_id"]
    await house.ended(conversation, turn["turn_id"])
    other = await house.post(f"/api/answers/{written}/replay")
    assert other.status == 409
    assert "Regenerate" in other.error["hint"]


async def test_an_answer_under_way_cannot_be_written_again(house: House) -> None:
    _, _, turn = await halfway(house, "again")
    answer_id = turn["answers"][0]["answer_id"]
    for verb in ("retry", "regenerate", "replay"):
        reply = await house.post(f"/api/answers/{answer_id}/{verb}")
        assert reply.status == 409
        assert reply.error["code"] == "conflict"
        assert "Stop it" in reply.error["hint"]
    house.provider.gate("again").set()


# -- what later requests hold ----------------------------------------------------------------------


async def test_an_excluded_answer_is_left_out_until_it_is_included(house: House) -> None:
    advisor = await house.advisor(script=Script(text="Confused canary."))
    conversation = await house.conversation(advisor)
    turn = await house.say(conversation, "One?")
    answer_id = turn["answers"][0]["answer_id"]
    excluded = await house.post(f"/api/answers/{answer_id}/exclude")
    assert (excluded.status, excluded.json()["excluded"]) == (200, True)
    await house.say(conversation, "Two?", advisors=[advisor["id"]])
    request = house.provider.requests(bare(advisor))[-1]
    assert "Confused canary." not in sent(request)
    included = await house.post(f"/api/answers/{answer_id}/include")
    assert included.json()["excluded"] is False
    await house.say(conversation, "Three?")
    request = house.provider.requests(bare(advisor))[-1]
    assert assistant_texts(request)[0] == "Confused canary."


async def test_an_excluded_message_is_left_out_with_its_answers(house: House) -> None:
    advisor = await house.advisor(script=Script(text="An answer canary."))
    conversation = await house.conversation(advisor)
    turn = await house.say(conversation, "A message canary.")
    path = f"/api/messages/{turn['message_id']}"
    patched = await house.patch(path, {"excluded": True})
    assert patched.status == 200
    assert patched.json()["message"]["excluded"] is True
    assert patched.json()["turn"] is None
    await house.say(conversation, "Two?")
    assert "canary" not in sent(house.provider.requests(bare(advisor))[-1])
    await house.patch(path, {"excluded": False})
    await house.say(conversation, "Three?")
    request = sent(house.provider.requests(bare(advisor))[-1])
    assert "A message canary." in request
    assert "An answer canary." in request


async def test_an_edited_message_makes_a_branch(house: House) -> None:
    advisor = await house.advisor()
    name = bare(advisor)
    house.provider.queue(name, Script(text="On the old branch."), Script(), Script())
    conversation = await house.conversation(advisor)
    root = await house.say(conversation, "Root?")
    old = await house.say(conversation, "Old wording")
    path = f"/api/messages/{old['message_id']}"
    edited = await house.patch(path, {"content": "New wording"})
    assert edited.status == 200
    new = edited.json()["turn"]
    assert edited.json()["message"]["content"] == "Old wording", "the old one stays"
    await house.ended(conversation, new["turn_id"])
    whole = (await house.get(f"/api/conversations/{conversation}")).json()
    assert [m["content"] for m in whole["messages"]] == ["Root?", "New wording"]
    assert whole["messages"][1]["parent"] == root["turn_id"]
    assert whole["branches"] == {root["turn_id"]: [old["turn_id"], new["turn_id"]]}
    assert whole["head"] == new["turn_id"]
    request = house.provider.requests(name)[-1]
    assert "Old wording" not in sent(request)
    assert assistant_texts(request) == ["On the old branch."]
    for content in ("", "  ", "\x00"):
        refused = await house.patch(path, {"content": content})
        assert refused.status == 422
    nothing = await house.patch(path, {})
    assert nothing.status == 422


async def test_a_message_is_edited_while_its_answers_are_written(house: House) -> None:
    conversation, advisor, old = await halfway(house, "edited")
    edited = await house.patch(f"/api/messages/{old['message_id']}", {"content": "Rather this?"})
    assert edited.status == 200
    new = edited.json()["turn"]
    assert new["state"] == "queued"
    house.provider.script(bare(advisor), Script(text="Rather that."))
    house.provider.gate("edited").set()
    await house.ended(conversation, old["turn_id"])
    await house.ended(conversation, new["turn_id"])
    assert (await house.answer(old["answers"][0]["answer_id"]))["text"] == "One two three four"
    assert (await house.answer(new["answers"][0]["answer_id"]))["text"] == "Rather that."
    request = house.provider.requests(bare(advisor))[-1]
    assert "Count?" not in sent(request)
    assert assistant_texts(request) == []
    whole = (await house.get(f"/api/conversations/{conversation}")).json()
    assert [m["content"] for m in whole["messages"]] == ["Rather this?"]
    assert whole["branches"] == {"": [old["turn_id"], new["turn_id"]]}


async def test_instruct_adds_to_the_prompt_of_who_answered(house: House) -> None:
    advisor = await house.advisor(description="Looks at the numbers.")
    conversation = await house.conversation(advisor)
    turn = await house.say(conversation, "One?")
    path = f"/api/answers/{turn['answers'][0]['answer_id']}/instruct"
    reply = await house.post(path, {"instruction": "Always name a number."})
    assert reply.status == 200
    assert reply.json()["id"] == advisor["id"]
    assert reply.json()["prompt"] == "Looks at the numbers.\n\nAlways name a number."
    versions = (await house.get(f"/api/advisors/{advisor['id']}/versions")).json()
    assert versions[0]["reason"] == "instructed"
    await house.say(conversation, "Two?")
    first, second = house.provider.requests(bare(advisor))
    assert "Always name a number." not in sent(first)
    assert "Always name a number." in sent(second)
    empty = await house.post(path, {"instruction": " "})
    assert empty.status == 422


# -- together --------------------------------------------------------------------------------------


async def test_synthesis_is_streamed_stored_and_reaches_no_thread(house: House) -> None:
    first = await house.advisor(script=Script(text="Canary one."), name="Una Voce")
    second = await house.advisor(script=Script(text="Canary two."), name="Due Voci")
    conversation = await house.conversation(first, second)
    turn = await house.say(conversation, "Together?")
    house.provider.queue("default", Script(text="Canary of the synthesis."))
    reply = await house.post(f"/api/turns/{turn['turn_id']}/synthesize")
    assert reply.status == 202
    assert reply.json()["kind"] == "synthesis"
    assert reply.json()["advisor_id"] == "synthesis"
    await house.ended(conversation, turn["turn_id"])
    made = await house.answer(reply.json()["answer_id"])
    assert (made["state"], made["text"]) == ("completed", "Canary of the synthesis.")
    assert isinstance(made["points"], dict)
    request = house.provider.requests("default")[-1]
    for words in ("Canary one.", "Canary two.", "Una Voce", "Due Voci", "Together?"):
        assert words in sent(request)
    deltas = [
        e.data["text"]
        for e in await house.stored(conversation)
        if e.kind == "answer.delta" and e.data["answer_id"] == made["answer_id"]
    ]
    assert "".join(deltas) == made["text"]
    await house.say(conversation, "Next?")
    for advisor in (first, second):
        assert "Canary of the synthesis." not in sent(house.provider.requests(bare(advisor))[-1])
    house.provider.queue("default", Script(status=401, error="Wrong key."), Script(text="Again."))
    failing = (await house.post(f"/api/turns/{turn['turn_id']}/synthesize")).json()
    assert (failing["version"], failing["replaces"]) == (2, made["answer_id"])
    await house.ended(conversation, turn["turn_id"])
    failed = await house.answer(failing["answer_id"])
    assert failed["error"]["category"] == "authentication"
    assert "Wrong key." in failed["error"]["message"]
    retried = await house.post(f"/api/answers/{failing['answer_id']}/retry")
    assert retried.status == 202
    await house.ended(conversation, turn["turn_id"])
    assert (await house.answer(retried.json()["answer_id"]))["text"] == "Again."


async def test_nothing_to_bring_together(house: House) -> None:
    advisor = await house.advisor(script=Script(status=500))
    conversation = await house.conversation(advisor)
    turn = await house.say(conversation, "Well?")
    reply = await house.post(f"/api/turns/{turn['turn_id']}/synthesize")
    assert reply.status == 409
    assert reply.error["hint"]
    alone = await house.post(f"/api/turns/{turn['turn_id']}/exchange")
    assert alone.status == 409
    assert "two" in alone.error["message"]


async def test_an_exchange_shows_each_the_others_words(house: House) -> None:
    first, second = await house.advisor(), await house.advisor()
    for advisor, words in ((first, "Una"), (second, "Due")):
        scripts = [Script(text=f"{words} canary {n}.") for n in range(3)]
        house.provider.queue(bare(advisor), *scripts)
    conversation = await house.conversation(first, second)
    turn = await house.say(conversation, "Discuss.")
    reply = await house.post(f"/api/turns/{turn['turn_id']}/exchange", {"rounds": 2})
    assert reply.status == 202
    assert reply.json()["turn_id"] == turn["turn_id"]
    assert [a["advisor_id"] for a in reply.json()["answers"]] == [first["id"], second["id"]]
    await house.provider.until(lambda: len(house.provider.requests(bare(second))) == 3)
    await house.provider.until(lambda: len(house.provider.requests(bare(first))) == 3)
    await house.ended(conversation, turn["turn_id"])
    whole = (await house.get(f"/api/conversations/{conversation}")).json()
    rounds = [(a["kind"], a["round"]) for a in whole["messages"][0]["answers"]]
    assert rounds == [("advisor", 0)] * 2 + [("exchange", 1)] * 2 + [("exchange", 2)] * 2
    request = house.provider.requests(bare(first))[2]
    assert "Due canary 1." in sent(request)
    assert "Due canary 0." not in sent(request)
    assert assistant_texts(request) == ["Una canary 0.", "Una canary 1."]
    too_many = await house.post(f"/api/turns/{turn['turn_id']}/exchange", {"rounds": 5})
    assert too_many.status == 422
    assert too_many.error["param"] == "rounds"
    default = await house.post(f"/api/turns/{turn['turn_id']}/exchange")
    assert default.status == 202
    await house.ended(conversation, turn["turn_id"])


async def test_a_running_turn_is_not_brought_together_yet(house: House) -> None:
    _, _, turn = await halfway(house, "together")
    for verb in ("synthesize", "exchange"):
        reply = await house.post(f"/api/turns/{turn['turn_id']}/{verb}")
        assert reply.status == 409
        assert "still being answered" in reply.error["message"]
    house.provider.gate("together").set()


# -- receipts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", ["lab", "claude"])
async def test_a_receipt_is_what_the_provider_received(house: House, wire: str) -> None:
    advisor = await house.advisor(house.model(wire=wire))
    other = await house.advisor()
    conversation = await house.conversation(advisor, other)
    for content in ("Eins?", "Zwei – ‘quoted’ 🎈?", "Drei?"):
        turn = await house.say(conversation, content)
    answer_id = turn["answers"][0]["answer_id"]
    logged = house.provider.requests(bare(advisor))[-1]
    raw = await house.get(f"/api/answers/{answer_id}/request")
    assert raw.status == 200
    assert raw.headers["Content-Type"] == "application/json"
    assert raw.body == logged.body
    receipt = (await house.get(f"/api/answers/{answer_id}/receipt")).json()
    assert receipt["answer_id"] == answer_id
    assert receipt["request"] == msgspec.json.decode(logged.body)
    assert receipt["verified"] is True
    assert receipt["exact"] is True
    assert receipt["wire_hash"] == hashlib.sha256(logged.body).hexdigest()
    told = receipt["description"]
    kinds = [span["kind"] for span in told["spans"] if span["included"]]
    assert kinds[-1] == "current"
    assert {"identity", "protocol", "rules", "user", "own", "reference"} <= set(kinds)
    assert [seat["id"] for seat in told["council"]] == [advisor["id"], other["id"]]


async def test_what_was_never_sent_has_no_request(house: House) -> None:
    advisor = await house.advisor(script=Script(hold="never"))
    conversation = await house.conversation(advisor)
    running = await house.send(conversation, "One?")
    waiting = await house.send(conversation, "Two?")
    answer_id = waiting["answers"][0]["answer_id"]
    await house.post(f"/api/answers/{answer_id}/stop")
    await house.post(f"/api/turns/{running['turn_id']}/stop")
    raw = await house.get(f"/api/answers/{answer_id}/request")
    assert raw.status == 404
    assert raw.error["code"] == "not_found"
    assert (await house.get(f"/api/answers/{answer_id}/receipt")).status == 404
