"""Around the conversation: usage, search."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.provider import Script
from tests.web.house import KEY, House, open_house

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]


# -- usage -----------------------------------------------------------------------------------------


@pytest.mark.asyncio(loop_scope="function")
async def test_usage_is_summed_and_an_unknown_price_is_not_zero(own: House) -> None:
    priced = await own.advisor("openai:gpt-4o-mini")
    plain = await own.advisor(script=Script(input_tokens=100, output_tokens=10))
    guessed = await own.advisor(script=Script(usage=False))
    own.provider.script("gpt-4o-mini", Script(input_tokens=1000, output_tokens=100))
    first = await own.conversation(plain, guessed)
    second = await own.conversation(plain)
    await own.say(first, "One?")
    await own.say(second, "Two?")
    everything = (await own.get("/api/usage")).json()
    assert everything["total"]["answers"] == 3
    assert everything["total"]["cost"] is None
    assert everything["total"]["unpriced"] == 3
    assert everything["total"]["estimated"] == 1
    assert len(everything["rows"]) == 1, "one day"
    by_advisor = (await own.get("/api/usage?by=advisor")).json()["rows"]
    rows = {row["key"]: row for row in by_advisor}
    assert rows[plain["id"]]["input_tokens"] == 200
    assert rows[plain["id"]]["output_tokens"] == 20
    assert priced["id"] not in rows
    by_model = {row["key"]: row for row in (await own.get("/api/usage?by=model")).json()["rows"]}
    assert by_model[plain["model"]]["answers"] == 2
    by_conversation = (await own.get("/api/usage?by=conversation")).json()["rows"]
    assert {row["key"]: row["answers"] for row in by_conversation} == {first: 2, second: 1}
    one = (await own.get(f"/api/usage?by=advisor&conversation={second}")).json()
    assert one["total"]["input_tokens"] == 100
    assert (await own.get("/api/usage?by=nothing")).status == 422
    empty = (await own.get("/api/usage?conversation=nowhere")).json()
    assert empty["total"]["answers"] == 0
    assert empty["rows"] == []


async def test_known_prices_are_summed(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        ours = {"openai": {"base_url": house.provider.base_url, "api_key": KEY}}
        async with open_house(tmp_path / "priced", providers=ours) as priced:
            house.provider.script("gpt-4o-mini", Script(input_tokens=1000, output_tokens=100))
            advisors = [await priced.advisor("openai:gpt-4o-mini"), await priced.advisor()]
            conversation = await priced.conversation(*advisors)
            await priced.say(conversation, "How dear?")
            total = (await priced.get("/api/usage")).json()["total"]
            assert total["cost"] == pytest.approx(1000 * 0.15e-6 + 100 * 0.6e-6)
            assert total["unpriced"] == 1


# -- search ----------------------------------------------------------------------------------------


async def test_search_finds_messages_answers_and_titles(house: House) -> None:
    advisor = await house.advisor(script=Script(text="A zyzzogeton is a leafhopper."))
    conversation = await house.conversation(advisor, title="About quokkas")
    turn = await house.say(conversation, "What is the last word, numbat or?")
    (hit,) = (await house.get("/api/search?q=zyzzogeton")).json()
    assert hit["kind"] == "answer"
    assert hit["id"] == turn["answers"][0]["answer_id"]
    assert hit["conversation_id"] == conversation
    assert hit["turn_id"] == turn["turn_id"]
    assert hit["advisor_name"] == advisor["name"]
    assert hit["title"] == "About quokkas"
    ((start, end),) = hit["marks"]
    assert hit["snippet"][start:end] == "zyzzogeton"
    (message,) = (await house.get("/api/search?q=NUMBAT")).json()
    assert message["kind"] == "message"
    (title,) = (await house.get("/api/search?q=quokka")).json()
    assert title["kind"] == "title"
    assert (await house.get("/api/search?q=zyzzogeton&limit=1")).json() == [hit]
    for nothing in ("", "%20", "*", '"', "a%20AND%20(", "NEAR(", "%00"):
        reply = await house.get(f"/api/search?q={nothing}")
        assert reply.status in (200, 422), nothing
        if reply.status == 200:
            assert reply.json() == []
    assert (await house.get("/api/search")).status == 422
    assert (await house.get("/api/search?q=x&limit=0")).status == 422
