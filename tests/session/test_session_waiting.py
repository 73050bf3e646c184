"""Who waits for whom: later messages, retries, and the end of a conversation or the program."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.provider import Script
from tests.session.room import HELD, ME, Room, open_room, sent, states

from polyvox.errors import Conflict, NotFound
from polyvox.events import (
    AnswerStarted,
    Event,
    TextDelta,
    TurnCompleted,
    TurnStarted,
)

# -- waiting -------------------------------------------------------------------------------------


async def test_later_messages_wait_and_then_see_the_earlier_answers(room: Room) -> None:
    ann = await room.advisor("Ann", Script(text="Answer {n}.", gates={1: "hold"}))
    talk = await room.conversation(ann)
    await room.send(talk, "First")
    await room.provider.arrived(1)
    await room.send(talk, "Second")
    await room.send(talk, "Third")
    await room.quiet()
    assert len(room.provider.log) == 1
    room.provider.gate("hold").set()
    await room.settled()
    assert sent(room, 2) == [
        ("user", "First"),
        ("assistant", "Answer 1."),
        ("user", "Second"),
        ("assistant", "Answer 2."),
        ("user", "Third"),
    ]
    view = await room.polyvox.view(ME, talk)
    assert [turn.state for turn, _ in view.turns] == ["completed"] * 3


async def test_a_message_waits_for_a_retry_and_sees_it(room: Room) -> None:
    """The retried answer is one of the answers that run; the message must not miss it."""
    ann, bob = await room.advisor("Ann"), await room.advisor("Bob", Script(text="Bob."))
    slow = Script(text="Better.", hold="retry")
    room.provider.queue(str(ann.model)[4:], Script(status=500), slow)
    talk = await room.conversation(ann, bob)
    _, (failed, _) = await room.say(talk, "First")
    await room.polyvox.turns.again(ME, failed.id, retry=True)
    await room.provider.arrived(3)
    begun = await room.send(talk, "Second")
    assert begun.turn.state == "queued"
    await room.quiet()
    assert len(room.provider.log) == 3
    room.provider.gate("retry").set()
    await room.settled()
    bodies = {request.model: request for request in room.provider.log[3:]}
    of_ann = bodies[str(ann.model)[4:]].json()["messages"]
    assert of_ann[2] == {"role": "assistant", "content": "Better."}
    assert "Ann: Better." in bodies[str(bob.model)[4:]].body.decode()


async def test_a_synthesis_holds_nobody_up_and_hides_nothing(room: Room) -> None:
    """While it is written, its turn's words are still the reference of the next one."""
    ann, bob = await room.advisor("Ann", Script(text="A{n}.")), await room.advisor("Bob")
    talk = await room.conversation(ann, bob)
    await room.say(talk, "Before")
    turn, (newest, _) = await room.say(talk, "First")
    room.provider.script("default", Script(hold="synthesis"))
    synthesis = await room.polyvox.turns.synthesize(ME, turn.id)
    await room.provider.arrived(5)
    begun = await room.send(talk, "Second")
    await room.seen(talk, lambda got: TurnCompleted(begun.turn.id) in got)
    of_bob = room.provider.requests(str(bob.model)[4:])[-1].body.decode()
    assert f"Ann: {newest.text}" in of_bob
    assert (await room.answer(synthesis.id)).state == "pending"
    room.provider.gate("synthesis").set()
    await room.settled()


async def test_only_so_many_messages_may_wait(tmp_path: Path) -> None:
    async with open_room(tmp_path, limits={"queue": 1}) as room:
        ann = await room.advisor(script=HELD)
        talk = await room.conversation(ann)
        await room.send(talk, "First")
        await room.send(talk, "Second")
        with pytest.raises(Conflict, match="waiting"):
            await room.send(talk, "Third")
        elsewhere = await room.conversation(ann)
        assert (await room.send(elsewhere, "Third")).turn.state == "running"
        room.provider.gate("hold").set()
        await room.settled()
        await room.say(talk, "Third")


async def test_conversations_do_not_wait_for_each_other(room: Room) -> None:
    ann, bob = await room.advisor(script=HELD), await room.advisor(script=Script(text="Quick."))
    slow, quick = await room.conversation(ann), await room.conversation(bob)
    await room.send(slow, "Take your time")
    begun = await room.send(quick, "Hurry")
    await room.seen(quick, lambda got: TurnCompleted(begun.turn.id) in got)
    room.provider.gate("hold").set()
    await room.settled()


# -- the end of a conversation, and of the program -----------------------------------------------


async def test_deleting_a_conversation_while_it_runs(both: Room) -> None:
    room = both
    ann = await room.advisor(script=HELD)
    talk = await room.conversation(ann)
    begun = await room.send(talk, "Go on")
    await room.spoken(talk, begun.answers[0].id)
    await room.send(talk, "And then")
    listening = asyncio.create_task(room.seen(talk, lambda _: False, after=1))
    await room.polyvox.delete_conversation(ME, talk)
    with pytest.raises((AssertionError, NotFound)):
        await listening
    await room.provider.gone(room.provider.log[0])
    await room.settled()
    with pytest.raises(NotFound):
        await room.polyvox.view(ME, talk)
    with pytest.raises(NotFound):
        await room.answer(begun.answers[0].id)
    assert len(room.polyvox.hub) == 0
    assert len(room.provider.log) == 1


async def test_a_conversation_that_vanishes_ends_its_turn_quietly(room: Room) -> None:
    """Deleted by another process: nobody here was told to stop first."""
    ann = await room.advisor(script=HELD)
    talk = await room.conversation(ann)
    begun = await room.send(talk, "Go on")
    await room.spoken(talk, begun.answers[0].id)
    await room.polyvox.conversations.delete(ME, talk)
    room.provider.gate("hold").set()
    await room.settled()
    assert room.polyvox.journal.trouble == ""
    assert not room.polyvox.turns.queue.busy
    _, (answer,) = await room.say(await room.conversation(ann), "Are you well?")
    assert answer.state == "completed"


async def test_closing_stores_what_came_and_calls_it_interrupted(
    tmp_path: Path, database_url: str
) -> None:
    async with open_room(tmp_path, database=database_url) as room:
        ann = await room.advisor("Ann", HELD)
        bob = await room.advisor("Bob", Script(hold="never"))
        talk = await room.conversation(ann, bob)
        begun = await room.send(talk, "Go on")
        queued = await room.send(talk, "And then")
        await room.spoken(talk, begun.answers[0].id)
        await room.provider.arrived(2)
    for request in room.provider.log:
        await room.provider.gone(request)

    async with open_room(tmp_path, database=database_url) as room:
        assert room.polyvox.recovered == 0, "nothing was left open"
        turn, answers = await room.turn(begun.turn.id)
        assert turn.state == "completed"
        assert [(a.state, a.text) for a in answers] == [("interrupted", "one"), ("interrupted", "")]
        turn, answers = await room.turn(queued.turn.id)
        assert (turn.state, states(answers)) == ("completed", ["interrupted", "interrupted"])
        assert len(room.provider.log) == 0
        again = await room.again(begun.answers[0].id)
        assert (again.state, again.version) == ("completed", 2)


async def test_closing_waits_for_what_may_be_drained(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        ann = await room.advisor(script=HELD)
        talk = await room.conversation(ann)
        begun = await room.send(talk, "Go on")
        await room.spoken(talk, begun.answers[0].id)
        asyncio.get_running_loop().call_soon(room.provider.gate("hold").set)
        await room.polyvox.turns.queue.drain(20)
        assert (await room.answer(begun.answers[0].id)).text == "one two three"


async def test_every_answer_ends_once(room: Room) -> None:
    """Whatever happens, an answer has one beginning and one end, and a turn is completed last."""
    ann, bob = await room.advisor(script=HELD), await room.advisor(script=Script(status=500))
    talk = await room.conversation(ann, bob)
    begun = await room.send(talk, "Go on")
    await room.spoken(talk, begun.answers[0].id)
    turns_ = room.polyvox.turns
    await asyncio.gather(
        turns_.stop_turn(ME, begun.turn.id),
        turns_.stop_answer(ME, begun.answers[0].id),
        turns_.stop_conversation(ME, talk),
    )
    await room.settled()
    events: list[Event] = [item.event for item in await room.log(talk)]
    ended = [e for e in events if not isinstance(e, TurnStarted | AnswerStarted | TextDelta)]
    assert sorted(event.kind for event in ended) == [
        "answer.failed",
        "answer.stopped",
        "turn.completed",
    ]
    assert ended[-1] == TurnCompleted(begun.turn.id)
