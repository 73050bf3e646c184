"""What an audit of the turn found, each through the API and read in the provider's log."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.app import App, bare, open_app
from tests.companion.lounge import reading_text
from tests.provider import Script

pytestmark = pytest.mark.contract
NOON = 1_761_825_600_000_000  # 2025-10-30 12:00 UTC
ONGOING = {"phases": [{"name": "ongoing"}]}
PLAIN: dict[str, Any] = {"memory": {"council": False}, "recipes": {"council": ONGOING}}


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    async with open_app(tmp_path, clock=lambda: NOON, timezone="Asia/Tokyo", **PLAIN) as opened:
        yield opened


def last(app: App, advisor: Any) -> list[dict[str, str]]:
    """The messages of the newest request for an advisor."""
    messages: list[dict[str, str]] = app.provider.requests(bare(advisor))[-1].json()["messages"]
    return messages


def reference(app: App, advisor: Any) -> str:
    blocks = [m["content"] for m in last(app, advisor) if m["content"].startswith("[For reference")]
    assert len(blocks) <= 1
    return "".join(blocks)


async def same_bytes(app: App, turn: Any, advisor: Any) -> None:
    """The receipt of an advisor's answer is what its provider got."""
    (answer,) = [a for a in turn["answers"] if a["advisor_id"] == advisor["id"]]
    sent = await app.get(f"/api/answers/{answer['answer_id']}/request")
    assert sent.body == app.provider.requests(bare(advisor))[-1].body
    receipt = (await app.get(f"/api/answers/{answer['answer_id']}/receipt")).json()
    assert receipt["verified"], receipt


async def test_one_long_answer_does_not_cost_history(tmp_path: Path) -> None:
    limits = {"context": "8000 chars"}
    async with open_app(tmp_path, limits=limits, **PLAIN) as app:
        ann = await app.advisor(script=Script(text="Mine is brief."), name="Ann")
        ben = await app.advisor(script=Script(text="So is mine."), name="Ben")
        cid = await app.advisor(script=Script(text="A word."), name="Cid")
        talk = await app.conversation(ann, ben, cid)
        for number in range(4):
            await app.say(talk, f"Message {number}.")
        long = "A sentence of some length, for the record. " * 323
        app.provider.queue(bare(ben), Script(text=long))
        await app.say(talk, "Message 4.")
        turn = await app.say(talk, "Message 5.")
        texts = [message["content"] for message in last(app, ann)]
        for number in range(6):
            assert any(text.endswith(f"Message {number}.") for text in texts), number
        block = reference(app, ann)
        assert len(block) <= 0.35 * 8000
        assert "for the record. […]" in block
        assert "Cid: A word." in block
        await same_bytes(app, turn, ann)
        (answer,) = [a for a in turn["answers"] if a["advisor_id"] == ann["id"]]
        receipt = (await app.get(f"/api/answers/{answer['answer_id']}/receipt")).json()
        (span,) = [span for span in receipt["description"]["spans"] if span["kind"] == "reference"]
        assert "shortened" in span["reason"]
        assert f"of {len(long):,} characters" in span["reason"]


def history(app: App, advisor: Any) -> list[str]:
    """The person's messages in the newest request for an advisor, the current one left out."""
    texts = [m["content"] for m in last(app, advisor) if m["role"] == "user"]
    return [text for text in texts[:-1] if not text.startswith("[For reference")]


async def test_long_answers_share_the_block_and_history_returns(tmp_path: Path) -> None:
    limits = {"context": "8000 chars", "reference_share": 0.5}
    async with open_app(tmp_path, limits=limits, **PLAIN) as app:
        ann = await app.advisor(script=Script(text="Mine is brief."), name="Ann")
        ben = await app.advisor(script=Script(text="So is mine."), name="Ben")
        cid = await app.advisor(script=Script(text="A word."), name="Cid")
        talk = await app.conversation(ann, ben, cid)
        for number in range(7):
            await app.say(talk, f"Message {number}. {'Some detail. ' * 40}")
        long = "A sentence of some length, for the record. " * 323
        for advisor in (ben, cid):
            app.provider.queue(bare(advisor), Script(text=long))
        await app.say(talk, "Message 7.")
        assert len(history(app, ann)) == 7
        await app.say(talk, "Message 8.")
        block = reference(app, ann)
        assert 0.35 * 8000 < len(block) <= 0.5 * 8000, "the setting counts"
        bens, cids = block.partition("Ben: ")[2].split("Cid: ")
        assert bens.rstrip().endswith("for the record. […]")
        assert abs(len(bens) - len(cids)) <= 2 * len("A sentence of some length, for the record. ")
        assert 0 < len(history(app, ann)) < 8, "something had to go"
        await app.say(talk, "Message 9.")
        assert len(history(app, ann)) == 9, "it fits again, so it is back"


async def test_a_larger_limit_never_sends_less(app: App) -> None:
    ann = await app.advisor(script=Script(text="Mine is brief."), name="Ann")
    ben = await app.advisor(script=Script(text="A long one. " * 400), name="Ben")
    talk = await app.conversation(ann, ben)
    for number in range(6):
        turn = await app.say(talk, f"Message {number}. {'Some detail. ' * 40}")
    (answer,) = [a["answer_id"] for a in turn["answers"] if a["advisor_id"] == ann["id"]]
    sent = []
    for chars in (4_200, 5_200, 6_500, 8_500, 12_000, 20_000):
        await app.patch("/api/recipes/council", {"context": f"{chars} chars"})
        again = await app.make(f"/api/answers/{answer}/regenerate", {})
        await app.ended(talk, turn["turn_id"])
        answer = again["answer_id"]
        sent.append((len(history(app, ann)), len(reference(app, ann))))
    assert sent == sorted(sent), sent
    assert all(block for _, block in sent)
    assert sent[0][0] < sent[-1][0] == 5
    assert sent[-1][1] > 4_000, "whole"


async def test_a_model_that_demands_alternating_roles_is_given_them(app: App) -> None:
    strict = Script(text="In turn.", fault="alternate")
    ann, ben = await app.advisor(script=strict), await app.advisor(script=Script(text="Yes."))
    talk = await app.conversation(ann, ben)
    await app.say(talk, "One.")
    turn = await app.say(talk, "Two.")
    states = [(await app.answer(a["answer_id"]))["state"] for a in turn["answers"]]
    assert states == ["completed", "completed"]
    assert [m["role"] for m in last(app, ann)] == ["system", "user", "assistant", "user"]
    await same_bytes(app, turn, ann)
    before = len(app.provider.requests(bare(ann)))
    turn = await app.say(talk, "Three.")
    assert len(app.provider.requests(bare(ann))) == before + 1, "learned"
    await same_bytes(app, turn, ann)
    assert [m["role"] for m in last(app, ben)][-2:] == ["user", "user"], "nobody else is changed"


async def test_system_texts_are_joined_for_it(tmp_path: Path) -> None:
    async with open_app(tmp_path, models={"gate": "lab:gate"}) as app:
        app.provider.script("gate", Script(text=reading_text({})))
        ann = await app.advisor(script=Script(text="In turn.", fault="alternate"))
        talk = await app.conversation(ann, recipe="companion")
        for words in ("One.", "Two."):
            turn = await app.say(talk, words)
            assert (await app.answer(turn["answers"][0]["answer_id"]))["state"] == "completed"
        refused = app.provider.requests(bare(ann))[0].json()["messages"]
        assert [m["role"] for m in refused][:2] == ["system", "system"]
        assert [m["role"] for m in last(app, ann)] == ["system", "user", "assistant", "user"]
        assert refused[0]["content"] in last(app, ann)[0]["content"]
        await same_bytes(app, turn, ann)


@pytest.mark.parametrize(
    ("habit", "state", "calls"), [("always", "completed", 2), ("never", "failed", 2)]
)
async def test_alternation_can_be_set(tmp_path: Path, habit: str, state: str, calls: int) -> None:
    async with open_app(tmp_path, **PLAIN) as lab:
        url = lab.provider.base_url
        strict = {"base_url": url, "api_key": "k-1234567", "alternate": habit}
        async with open_app(tmp_path / "more", providers={"strict": strict}, **PLAIN) as app:
            model = app.model(wire="strict")
            lab.provider.script(model.partition(":")[2], Script(text="Well.", fault="alternate"))
            ann = await app.advisor(model)
            ben = await app.advisor(script=Script(text="Yes."))
            talk = await app.conversation(ann, ben)
            await app.say(talk, "One.")
            turn = await app.say(talk, "Two.")
            assert (await app.answer(turn["answers"][0]["answer_id"]))["state"] == state
            assert len(lab.provider.requests(bare(ann))) == calls


async def test_the_others_are_heard_after_a_silent_turn(app: App) -> None:
    ann = await app.advisor(script=Script(text="Ann speaks."), name="Ann")
    ben = await app.advisor(script=Script(text="Ben speaks."), name="Ben")
    talk = await app.conversation(ann, ben)
    await app.say(talk, "One.")
    await app.say(talk, "Only you.", advisors=[ann["id"]])
    await app.say(talk, "Both.")
    assert "Ben: Ben speaks." in reference(app, ann), "after an @mention"
    app.provider.queue(bare(ann), Script(status=400, error="No."))
    app.provider.queue(bare(ben), Script(status=400, error="No."))
    await app.say(talk, "This fails.")
    await app.say(talk, "And now?")
    assert "Ben: Ben speaks." in reference(app, ann), "after a failed turn"
    for number in range(3):
        await app.say(talk, f"Alone {number}.", advisors=[ann["id"]])
    await app.say(talk, "Ben alone.", advisors=[ben["id"]])
    assert "Ann: Ann speaks." in reference(app, ben)


async def test_the_others_are_heard_after_a_crash(tmp_path: Path) -> None:
    async with open_app(tmp_path, **PLAIN) as app:
        ann = await app.advisor(script=Script(text="Ann speaks."), name="Ann")
        ben = await app.advisor(script=Script(text="Ben speaks."), name="Ben")
        talk = await app.conversation(ann, ben)
        await app.say(talk, "One.")
        for advisor in (ann, ben):
            app.provider.queue(bare(advisor), Script(hold="never"))
        await app.send(talk, "Two.")
        await app.provider.arrived(4)
    async with open_app(tmp_path, **PLAIN) as app:
        whole = (await app.get(f"/api/conversations/{talk}")).json()
        assert {a["state"] for a in whole["messages"][-1]["answers"]} == {"interrupted"}
        turn = await app.say(talk, "And now?")
        assert "Ben: Ben speaks." in reference(app, ann)
        assert "Ann: Ann speaks." in reference(app, ben)
        await same_bytes(app, turn, ann)


async def test_same_names_are_told_apart(app: App) -> None:
    first = await app.advisor(script=Script(text="First."), name="Sam")
    second = await app.advisor(script=Script(text="Second."), name="Sam")
    third = await app.advisor(script=Script(text="Third."), name="Eve")
    talk = await app.conversation(first, second, third)
    await app.say(talk, "One.")
    turn = await app.say(talk, "Two.")
    assert "Sam (1): First." in reference(app, third)
    assert "Sam (2): Second." in reference(app, third)
    assert "Sam (2): Second." in reference(app, first)
    begun = await app.make(f"/api/turns/{turn['turn_id']}/exchange", {"rounds": 1})
    await app.ended(talk, begun["turn_id"])
    await app.provider.arrived(9)
    assert "Sam (1): First." in last(app, third)[-1]["content"]
    await app.make(f"/api/turns/{turn['turn_id']}/synthesize", {})
    await app.provider.arrived(10)
    assert "Sam (2) (sam-2): Second." in app.provider.log[-1].json()["messages"][-1]["content"]


async def test_stamps_are_in_the_persons_zone(app: App) -> None:
    ann = await app.advisor(script=Script(text="Yes."))
    turn = await app.say(await app.conversation(ann), "What time is it?")
    local = datetime.fromtimestamp(NOON / 1e6, ZoneInfo("Asia/Tokyo"))
    system, *_, message = last(app, ann)
    assert message["content"] == f"[{local:%Y-%m-%dT%H:%M}] What time is it?"
    assert system["content"].count("Asia/Tokyo") == 1
    await same_bytes(app, turn, ann)
    start = (await app.get("/session/startbrief?tenantId=local&userId=me&sessionId=new")).json()
    assert start["handover_text"].startswith(f"It is {local:%A} evening."), start
    assert local.hour == 21


async def test_the_clock_of_the_memory_is_that_of_the_stamps(tmp_path: Path) -> None:
    clock = [NOON]
    async with open_app(
        tmp_path,
        clock=lambda: clock[0],
        timezone="Asia/Tokyo",
        recipes={"council": {**ONGOING, "stamps": "all"}},
    ) as app:
        ann = await app.advisor()
        talk = await app.conversation(ann)
        begun = await app.say(talk, "Tomorrow I will call the bank about the loan.")
        await app.post(f"/api/sessions/{begun['session_id']}/end")
        await app.polyvox.worker.run_due()
        clock[0] += 3 * 3_600_000_000
        await app.say(talk, "Back again.")
        texts = [m["content"] for m in last(app, ann) if m["role"] == "system"]
        whole = "\n".join(texts)
        assert "It is Friday night" in whole, whole
        assert last(app, ann)[-1]["content"] == "[2025-10-31T00:00] Back again."
        assert whole.count("Asia/Tokyo") == 1


async def test_an_exchange_before_any_position_asks_further(tmp_path: Path) -> None:
    async with open_app(tmp_path, memory={"council": False}) as app:
        ann = await app.advisor(script=Script(text="How long?"))
        ben = await app.advisor(script=Script(text="With whom?"))
        talk = await app.conversation(ann, ben)
        turn = await app.say(talk, "I may move.")
        await app.make(f"/api/turns/{turn['turn_id']}/exchange", {"rounds": 1})
        await app.provider.arrived(4)
        await app.ended(talk, turn["turn_id"])
        body = last(app, ann)
        assert "ONE short question" in body[0]["content"]
        assert "You know enough" not in body[0]["content"]
        assert "Nobody has taken a position yet" in body[-1]["content"]
        notices = [e.data for e in await app.stored(talk) if e.kind == "exchange.notice"]
        assert [notice["reason"] for notice in notices] == ["early"]
        whole = (await app.get(f"/api/conversations/{talk}")).json()
        assert whole["messages"][-1]["notice"].startswith(notices[0]["message"])


async def test_an_exchange_cut_by_a_cap_says_so(tmp_path: Path) -> None:
    script = Script(text="Well.", input_tokens=1_000_000, output_tokens=10)
    limits = {"cost_per_conversation": 0.8}
    providers = {"openai": {"base_url": "", "api_key": "k-12345678"}}
    async with open_app(tmp_path, limits=limits, **PLAIN) as lab:
        providers["openai"]["base_url"] = lab.provider.base_url
        lab.provider.default = script
        async with open_app(tmp_path / "x", limits=limits, providers=providers, **PLAIN) as app:
            ann = await app.advisor("openai:gpt-4o-mini")
            ben = await app.advisor("openai:gpt-4o-mini")
            talk = await app.conversation(ann, ben)
            turn = await app.say(talk, "Go.")
            await app.make(f"/api/turns/{turn['turn_id']}/exchange", {"rounds": 4})
            async with aclosing(app.events(talk)) as events:
                notice = await anext(e.data async for e in events if e.kind == "exchange.notice")
            assert notice["reason"] == "cut"
            assert "cap" in notice["message"]
            whole = (await app.get(f"/api/conversations/{talk}")).json()
            assert whole["messages"][-1]["notice"].startswith(notice["message"])


async def test_small_refusals_and_limits(app: App) -> None:
    ann = await app.advisor(name="Ann", params={"reasoning": 4000, "max_tokens": 300})
    assert (await app.patch(f"/api/advisors/{ann['id']}", {"prompt": " \n "})).status == 422
    blank = {"name": "Ben", "description": "Ben.", "prompt": " "}
    assert (await app.post("/api/advisors", blank)).status == 422
    talk = await app.conversation(ann)
    asked = await app.post(f"/api/conversations/{talk}/turns", {"content": "@nobody, well?"})
    assert asked.status == 422
    assert "Whom do you mean by @nobody" in asked.error["message"]
    await app.say(talk, "Mail me @nobody later.")
    sent = app.provider.requests(bare(ann))[-1].json()["max_tokens"]
    estimate = (
        await app.post(f"/api/conversations/{talk}/estimate", {"content": "And now?"})
    ).json()
    assert estimate["max_output_tokens"] == sent == 4300


async def test_a_message_that_is_too_long_names_everyone(tmp_path: Path) -> None:
    async with open_app(tmp_path, limits={"context": "8000 chars"}, **PLAIN) as app:
        ann, ben = await app.advisor(name="Ann"), await app.advisor(name="Ben", prompt="p" * 9_000)
        talk = await app.conversation(ann, ben)
        reply = await app.post(f"/api/conversations/{talk}/turns", {"content": "x" * 9_000})
        assert reply.status == 422
        told = reply.error["message"]
        excess = re.findall(r"(Ann: the message|Ben: its prompt) is about ([\d,]+) char", told)
        over = {who: int(number.replace(",", "")) for who, number in excess}
        assert over["Ben: its prompt"] > 1_000
        fits = 9_000 - over["Ann: the message"]
        begun = await app.post(f"/api/conversations/{talk}/turns", {"content": "x" * fits})
        assert begun.status == 202, "the excess is the true one"
        beyond = {"content": "x" * (fits + 8)}
        assert (await app.post(f"/api/conversations/{talk}/turns", beyond)).status == 422
        only = await app.conversation(ben)
        reply = await app.post(f"/api/conversations/{only}/turns", {"content": "x"})
        assert reply.error["param"] == "prompt"


async def test_a_long_pause_is_told_and_thinking_may_take_longer(tmp_path: Path) -> None:
    limits = {"first_byte": 0.3, "retries": 1}
    async with open_app(tmp_path, limits=limits, **PLAIN) as app:
        busy = await app.advisor(script=Script(status=429, retry_after="600"))
        turn = await app.say(await app.conversation(busy), "Well?")
        answer = await app.answer(turn["answers"][0]["answer_id"])
        assert "about 10 minutes" in answer["error"]["hint"]
        slow = Script(text="At last.", delay=1)
        states = []
        for params in ({}, {"reasoning": 1000}):
            thinker = await app.advisor(script=slow, params=params)
            turn = await app.say(await app.conversation(thinker), "Think.")
            states.append((await app.answer(turn["answers"][0]["answer_id"]))["state"])
        assert states == ["failed", "completed"]


@pytest.mark.parametrize(
    "path",
    [
        "optimizations/x/accept",
        "optimizations/x/rollback",
        "optimizations/x/resume",
        "evaluations/x/bless",
    ],
)
async def test_a_decision_needs_no_body(app: App, path: str) -> None:
    assert (await app.post(f"/api/{path}")).status == 404, "not 422"


async def test_no_validator_speaks_to_people(app: App) -> None:
    reply = await app.post("/api/advisors", {"name": 7, "description": "d"})
    assert reply.error["message"] == "name: must be a text."
    reply = await app.patch("/api/recipes/council", {"stamps": "now"})
    assert "Input should" not in reply.text
    assert "must be one of" in reply.error["message"]
    ann = await app.advisor()
    path = f"/api/advisors/{ann['id']}/assertions/import"
    report = (await app.post(path, {"content": '{"assertions": [{"text": 5}]}'})).json()
    assert report["refused"] == ["number 1: 'text' is not what it should be."]
