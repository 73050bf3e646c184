"""An exchange: rounds that answer the round before, within bounds, until somebody stops it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.provider import Script
from tests.session.room import ME, Hook, Room, open_room

from polyvox.errors import Conflict, Invalid
from polyvox.events import AnswerCompleted, AnswerStarted, Event


async def two(room: Room) -> tuple[str, str]:
    """A conversation of Ann and Bob with one turn: (conversation, turn)."""
    ann = await room.advisor("Ann", Script(text="Ann's word."))
    bob = await room.advisor("Bob", Script(text="Bob's word."))
    talk = await room.conversation(ann, bob)
    turn, _ = await room.say(talk, "Is it so?")
    return talk, turn.id


async def test_rounds_answer_the_round_before(both: Room) -> None:
    room = both
    talk, turn_id = await two(room)
    for model, name in (("m1", "Ann"), ("m2", "Bob")):
        room.provider.script(model, Script(text=f"{name} round {{n}}."))
    _, pending = await room.polyvox.turns.exchange(ME, turn_id, 2)
    assert [(a.kind, a.round, a.state) for a in pending] == [("exchange", 1, "pending")] * 2
    await room.settled()
    _, answers = await room.turn(turn_id)
    assert [(a.advisor_name, a.round) for a in answers] == [
        ("Ann", 0),
        ("Bob", 0),
        ("Ann", 1),
        ("Bob", 1),
        ("Ann", 2),
        ("Bob", 2),
    ]
    by_id = {(a.advisor_name, a.round): a for a in answers}
    first, second = room.provider.requests("m1")[1:]
    said = first.json()["messages"]
    assert [m["role"] for m in said] == ["system", "user", "assistant", "user"]
    assert said[2]["content"] == "Ann's word."
    assert "Bob: Bob's word." in said[3]["content"]
    said = second.json()["messages"]
    assert [m["role"] for m in said] == ["system", "user", "assistant", "assistant", "user"]
    assert said[3]["content"] == by_id["Ann", 1].text
    assert f"Bob: {by_id['Bob', 1].text}" in said[4]["content"]
    assert "Bob's word." not in said[4]["content"]
    for answer in answers:
        assert (await room.receipt(answer.id)).verified

    await room.say(talk, "And now?")
    body = room.provider.requests("m1")[-1].json()["messages"]
    own = [m["content"] for m in body if m["role"] == "assistant"]
    assert own == ["Ann's word.", by_id["Ann", 1].text, by_id["Ann", 2].text]
    assert f"Bob: {by_id['Bob', 2].text}" in body[-2]["content"], "the last word"
    assert by_id["Bob", 1].text not in body[-2]["content"]


async def test_an_exchange_has_bounds(tmp_path: Path) -> None:
    async with open_room(tmp_path, limits={"exchange_rounds": 2}) as room:
        _, turn_id = await two(room)
        for rounds in (0, 3, -1):
            with pytest.raises(Invalid, match="1 to 2 rounds"):
                await room.polyvox.turns.exchange(ME, turn_id, rounds)
        alone = await room.advisor("Alone")
        turn, _ = await room.say(await room.conversation(alone), "Well?")
        with pytest.raises(Conflict, match="at least two"):
            await room.polyvox.turns.exchange(ME, turn.id, 1)


async def test_only_one_exchange_at_a_time(room: Room) -> None:
    _, turn_id = await two(room)
    room.provider.script("m1", Script(hold="on"))
    await room.polyvox.turns.exchange(ME, turn_id, 1)
    with pytest.raises(Conflict):
        await room.polyvox.turns.exchange(ME, turn_id, 1)
    room.provider.gate("on").set()
    await room.settled()
    assert len([a for a in (await room.turn(turn_id))[1] if a.kind == "exchange"]) == 2


async def test_a_failure_ends_it_and_a_round_that_nobody_spoke_in_is_had_again(room: Room) -> None:
    _, turn_id = await two(room)
    for model in ("m1", "m2"):
        room.provider.queue(model, Script(status=500))
    await room.polyvox.turns.exchange(ME, turn_id, 3)
    await room.settled()
    _, answers = await room.turn(turn_id)
    assert [(a.round, a.state) for a in answers if a.kind == "exchange"] == [(1, "failed")] * 2
    await room.polyvox.turns.exchange(ME, turn_id, 1)
    await room.settled()
    _, answers = await room.turn(turn_id)
    rounds = [(a.round, a.version, a.state, a.current) for a in answers if a.kind == "exchange"]
    assert rounds == [(1, 1, "failed", False), (1, 2, "completed", True)] * 2


async def test_stop_ends_the_rounds_that_are_still_to_come(room: Room) -> None:
    _, turn_id = await two(room)
    for model in ("m1", "m2"):
        room.provider.script(model, Script(pieces=("one", " two"), gates={1: "never"}))
    _, pending = await room.polyvox.turns.exchange(ME, turn_id, 4)
    await room.spoken((await room.turn(turn_id))[0].conversation_id, *(a.id for a in pending))
    await room.polyvox.turns.stop_turn(ME, turn_id)
    await room.settled()
    turn, answers = await room.turn(turn_id)
    assert turn.state == "completed"
    assert [(a.round, a.state) for a in answers if a.round] == [(1, "stopped")] * 2


async def test_a_message_waits_for_the_exchange_and_hears_it(room: Room) -> None:
    talk, turn_id = await two(room)
    for model, name in (("m1", "Ann"), ("m2", "Bob")):
        room.provider.script(model, Script(text=f"{name} {{n}}.", hold="on"))
    await room.polyvox.turns.exchange(ME, turn_id, 2)
    begun = await room.send(talk, "And now?")
    assert begun.turn.state == "queued"
    room.provider.gate("on").set()
    await room.settled()
    last = room.provider.requests("m1")[-1].json()["messages"]
    assert sum(m["role"] == "assistant" for m in last) == 3


def round_is_over(events: list[Event]) -> bool:
    """The two answers, and the two of the first round."""
    return sum(isinstance(event, AnswerCompleted) for event in events) == 4


async def test_stop_between_two_rounds_is_heard(room: Room) -> None:
    """The first round has ended, the second one is about to be stored: nobody is asked again."""
    talk, turn_id = await two(room)
    await room.polyvox.turns.exchange(ME, turn_id, 4)
    await room.seen(talk, round_is_over)
    await room.polyvox.turns.stop_turn(ME, turn_id)
    await room.settled()
    turn, answers = await room.turn(turn_id)
    assert turn.state == "completed"
    assert {a.state for a in answers if a.round > 1} <= {"stopped"}
    assert {a.round for a in answers} <= {0, 1, 2}
    assert len(room.provider.log) == 4


async def test_so_is_the_end_of_the_program(tmp_path: Path) -> None:
    """It comes at the very moment that the second round is stored."""
    async with open_room(tmp_path) as room:
        talk, turn_id = await two(room)
        closing: list[asyncio.Task[None]] = []

        def end(events: list[Event]) -> None:
            if any(isinstance(event, AnswerStarted) and event.round == 2 for event in events):
                closing.append(asyncio.create_task(room.polyvox.turns.queue.close()))

        await room.polyvox.turns.exchange(ME, turn_id, 4)
        Hook(room, talk, end)
        async with asyncio.timeout(60):
            await room.settled()
            await closing[0]
        turn, answers = await room.turn(turn_id)
        assert turn.state == "completed"
        assert {a.state for a in answers if a.round > 1} <= {"interrupted"}
        assert len(room.provider.log) == 4
