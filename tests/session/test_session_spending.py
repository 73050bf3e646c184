"""What it costs: usage, caps that the server enforces, and the estimate before sending."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.provider import Script
from tests.session.room import ME, Hand, Room, open_room

from polyvox.errors import CapReached, Invalid
from polyvox.events import NANO
from polyvox.models.prices import cost_of
from polyvox.store import usage
from polyvox.values import Usage

PRICED = "openai:gpt-4o-mini"
"""A model whose price is in the table; the provider of the tests answers for it."""
DEAR = Script(text="Dear.", input_tokens=1_000_000, output_tokens=1_000_000)
PRICE = cost_of(PRICED, Usage(1_000_000, 1_000_000)) or 0
USD = PRICE / NANO


async def priced(room: Room, count: int = 1, **more: Any) -> str:
    """A conversation with so many advisors that cost something."""
    room.provider.script("gpt-4o-mini", DEAR)
    advisors = [await room.advisor(model=PRICED, **more) for _ in range(count)]
    return await room.conversation(*advisors)


async def test_an_answer_costs_what_the_table_says_and_the_sums_add_up(both: Room) -> None:
    room = both
    talk = await priced(room, 2)
    _, answers = await room.say(talk, "Well?")
    assert [a.usage and a.usage.cost for a in answers] == [PRICE, PRICE]
    database = room.polyvox.database
    (total,) = await database.read(lambda tx: usage.totals(tx), ME)
    assert (total.cost, total.answers, total.input_tokens) == (2 * PRICE, 2, 2_000_000)
    groups: tuple[usage.Group, ...] = ("conversation", "advisor", "model", "day")
    for by in groups:
        rows = await database.read(partial(usage.totals, by=by), ME)
        assert sum(row.cost for row in rows) == 2 * PRICE
    assert {row.key for row in await database.read(lambda tx: usage.totals(tx, "model"), ME)} == {
        PRICED
    }


async def test_an_unknown_price_is_unknown_and_never_nothing(room: Room) -> None:
    ann = await room.advisor("Ann")
    talk = await room.conversation(ann)
    _, (answer,) = await room.say(talk, "Well?")
    assert answer.usage is not None
    assert answer.usage.cost is None
    (total,) = await room.polyvox.database.read(lambda tx: usage.totals(tx), ME)
    assert (total.cost, total.unpriced) == (0, 1)
    (estimate,) = await room.polyvox.turns.estimate(ME, talk, "Well?")
    assert estimate.cost is None


async def test_a_provider_that_reports_nothing_is_estimated(room: Room) -> None:
    ann = await room.advisor("Ann", Script(text="x" * 400, usage=False))
    _, (answer,) = await room.say(await room.conversation(ann), "Well?")
    assert answer.usage is not None
    assert answer.usage.estimated
    assert answer.usage.output_tokens == 100
    draft = (await room.receipt(answer.id)).receipt.draft
    assert answer.usage.input_tokens == draft.input_tokens


async def test_the_estimate_is_about_what_it_then_takes(room: Room) -> None:
    room.provider.script("gpt-4o-mini", Script(text="Yes."))
    ann = await room.advisor("Ann", model=PRICED)
    talk = await room.conversation(ann)
    await room.say(talk, "First")
    (estimate,) = await room.polyvox.turns.estimate(ME, talk, "And then?")
    _, (answer,) = await room.say(talk, "And then?")
    assert answer.usage is not None
    assert estimate.input_tokens == answer.usage.input_tokens
    assert estimate.cost is not None
    assert answer.usage.cost is not None
    assert 0 < answer.usage.cost <= estimate.cost
    assert estimate.output_tokens == 2048
    assert len((await room.polyvox.view(ME, talk)).turns) == 2, "an estimate stores nothing"


async def test_an_estimate_follows_mentions_and_leaves_out_whom_it_does_not_fit(
    tmp_path: Path,
) -> None:
    known = {"known": {"lab:small": {"window": 2000, "max_tokens": 100}}}
    async with open_room(tmp_path, models=known) as room:
        ann, small = await room.advisor("Ann"), await room.advisor("Small", model="lab:small")
        talk = await room.conversation(ann, small)
        estimate = room.polyvox.turns.estimate
        assert [row.name for row in await estimate(ME, talk, "Hi")] == ["Ann", "Small"]
        assert [row.name for row in await estimate(ME, talk, "Hi @small")] == ["Small"]
        assert [row.name for row in await estimate(ME, talk, "word " * 2000)] == ["Ann"]
        with pytest.raises(Invalid, match="too much"):
            await estimate(ME, talk, "word " * 2000, ["small"])
        with pytest.raises(Invalid, match="empty"):
            await estimate(ME, talk, " ")


# -- caps ----------------------------------------------------------------------------------------


async def test_a_cap_on_a_conversation(tmp_path: Path) -> None:
    async with open_room(tmp_path, limits={"cost_per_conversation": USD * 1.5}) as room:
        talk = await priced(room)
        await room.say(talk, "One")
        await room.say(talk, "Two")
        with pytest.raises(CapReached, match="cost_per_conversation") as caught:
            await room.send(talk, "Three")
        assert "Raise limits.cost_per_conversation" in caught.value.hint
        assert len((await room.polyvox.view(ME, talk)).turns) == 2
        assert len(room.provider.log) == 2
        view = await room.polyvox.view(ME, talk)
        with pytest.raises(CapReached):
            await room.polyvox.turns.again(ME, view.turns[0][1][0].id, retry=False)
        with pytest.raises(CapReached):
            await room.polyvox.turns.synthesize(ME, view.turns[0][0].id)
        await room.say(await priced(room), "Elsewhere")


async def test_a_cap_on_a_day(tmp_path: Path) -> None:
    clock = Hand()
    async with open_room(tmp_path, clock=clock, limits={"cost_per_day": USD}) as room:
        talk = await priced(room)
        await room.say(talk, "One")
        with pytest.raises(CapReached, match="cost_per_day"):
            await room.send(await priced(room), "Elsewhere")
        clock.on(days=1)
        await room.say(talk, "Tomorrow")


async def test_a_cap_on_a_turn_holds_between_the_rounds_of_an_exchange(tmp_path: Path) -> None:
    """Two answers and a first round are four: the second round is not asked any more."""
    async with open_room(tmp_path, limits={"cost_per_turn": USD * 3.5}) as room:
        talk = await priced(room, 2)
        turn, _ = await room.say(talk, "Well?")
        await room.polyvox.turns.exchange(ME, turn.id, 3)
        await room.settled()
        turn, answers = await room.turn(turn.id)
        assert [(a.round, a.state) for a in answers] == [
            (0, "completed"),
            (0, "completed"),
            (1, "completed"),
            (1, "completed"),
        ]
        assert turn.state == "completed"
        assert len(room.provider.log) == 4
        with pytest.raises(CapReached, match="cost_per_turn"):
            await room.polyvox.turns.exchange(ME, turn.id, 1)
        again, _ = await room.say(talk, "The next turn has its own cap")
        assert again.state == "completed"


async def test_a_cap_that_is_reached_while_messages_wait_ends_their_answers(tmp_path: Path) -> None:
    """The second message was accepted before anything was spent; its call is not made."""
    async with open_room(tmp_path, limits={"cost_per_conversation": USD / 2}) as room:
        talk = await priced(room)
        room.provider.script("gpt-4o-mini", Script(text="Dear.", output_tokens=10**6, hold="on"))
        await room.send(talk, "One")
        second = await room.send(talk, "Two")
        room.provider.gate("on").set()
        await room.settled()
        _, (answer,) = await room.turn(second.turn.id)
        assert answer.state == "failed"
        assert answer.failure is not None
        assert answer.failure.category == "quota"
        assert "limits.cost_per_conversation" in answer.failure.message
        assert answer.attempts == ()
        assert len(room.provider.log) == 1


async def test_what_is_in_flight_may_overshoot_and_no_more(tmp_path: Path) -> None:
    async with open_room(tmp_path, limits={"cost_per_conversation": USD / 2}) as room:
        talk = await priced(room, 3)
        room.provider.script("gpt-4o-mini", Script(text="Dear.", output_tokens=10**6, hold="on"))
        begun = await room.send(talk, "All at once")
        await room.provider.arrived(3)
        room.provider.gate("on").set()
        await room.settled()
        _, answers = await room.turn(begun.turn.id)
        assert [a.state for a in answers] == ["completed"] * 3
        with pytest.raises(CapReached):
            await room.send(talk, "Once more")
        assert len(room.provider.log) == 3


async def test_a_cap_stops_no_repeat_of_what_was_sent(tmp_path: Path) -> None:
    async with open_room(tmp_path, limits={"cost_per_conversation": USD / 2}) as room:
        talk = await priced(room)
        first = await room.send(talk, "One", idempotency_key="k")
        await room.settled()
        again = await room.send(talk, "One", idempotency_key="k")
        assert again.turn.id == first.turn.id


async def test_unknown_prices_never_reach_a_cap(tmp_path: Path) -> None:
    async with open_room(tmp_path, limits={"cost_per_day": 0.0001}) as room:
        ann = await room.advisor("Ann")
        talk = await room.conversation(ann)
        for text in ("One", "Two"):
            await room.say(talk, text)


async def test_a_stopped_answer_is_paid_for(room: Room) -> None:
    script = Script(pieces=("word " * 40, "more"), gates={1: "never"})
    room.provider.script("gpt-4o-mini", script)
    ann = await room.advisor("Ann", model=PRICED)
    talk = await room.conversation(ann)
    begun = await room.send(talk, "Go on")
    await room.spoken(talk, begun.answers[0].id)
    (answer,) = await room.polyvox.turns.stop_turn(ME, begun.turn.id)
    assert answer.usage is not None
    assert answer.usage.cost is not None
    assert answer.usage.output_tokens == 50
    assert await room.polyvox.database.read(lambda tx: usage.spent(tx), ME) == answer.usage.cost
