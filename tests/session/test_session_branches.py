"""Nothing is destroyed: versions, branches, exclusion, and a message that is sent twice."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from tests.provider import Script
from tests.session.room import HELD, ME, Room, sent

from polyvox.errors import Conflict, NotFound
from polyvox.events import (
    AnswerStarted,
)

pytestmark = pytest.mark.contract

# -- again ---------------------------------------------------------------------------------------


async def test_retry_replaces_what_failed(both: Room) -> None:
    room = both
    ann = await room.advisor("Ann")
    room.provider.queue(str(ann.model)[4:], Script(status=500), Script(text="Better."))
    talk = await room.conversation(ann)
    turn, (failed,) = await room.say(talk, "Try")
    assert failed.state == "failed"
    new = await room.again(failed.id)
    assert (new.text, new.version, new.replaces_id) == ("Better.", 2, failed.id)
    turn, (old, current) = await room.turn(turn.id)
    assert (turn.state, old.current, current.current) == ("completed", False, True)
    assert old.failure == failed.failure
    assert room.provider.log[0].body == room.provider.log[1].body
    started = [i.event for i in await room.log(talk) if isinstance(i.event, AnswerStarted)]
    assert [event.replaces for event in started] == [None, failed.id]
    with pytest.raises(Conflict, match="newer version"):
        await room.polyvox.turns.again(ME, failed.id, retry=True)
    with pytest.raises(Conflict, match="is complete"):
        await room.polyvox.turns.again(ME, new.id, retry=True)


async def test_regenerate_keeps_every_version_and_sends_the_newest(room: Room) -> None:
    ann = await room.advisor("Ann", Script(text="Answer {n}."))
    talk = await room.conversation(ann)
    turn, (first,) = await room.say(talk, "One")
    second = await room.again(first.id, retry=False)
    third = await room.again(second.id, retry=False)
    _, answers = await room.turn(turn.id)
    assert [(a.version, a.text, a.current) for a in answers] == [
        (1, "Answer 1.", False),
        (2, "Answer 2.", False),
        (3, "Answer 3.", True),
    ]
    assert third.replaces_id == second.id
    await room.say(talk, "Two")
    assert sent(room) == [("user", "One"), ("assistant", "Answer 3."), ("user", "Two")]


async def test_two_retries_at_once_make_one(room: Room) -> None:
    ann = await room.advisor()
    room.provider.queue(str(ann.model)[4:], Script(status=500))
    talk = await room.conversation(ann)
    _, (failed,) = await room.say(talk, "Try")
    again = room.polyvox.turns.again
    results = await asyncio.gather(
        *(again(ME, failed.id, retry=True) for _ in range(3)), return_exceptions=True
    )
    await room.settled()
    assert sorted(type(one).__name__ for one in results) == ["Answer", "Conflict", "Conflict"]
    assert len(room.provider.log) == 2


async def test_an_answer_that_is_being_written_is_not_retried(room: Room) -> None:
    ann = await room.advisor(script=HELD)
    talk = await room.conversation(ann)
    begun = await room.send(talk, "Go")
    with pytest.raises(Conflict, match="still being written"):
        await room.polyvox.turns.again(ME, begun.answers[0].id, retry=True)
    room.provider.gate("hold").set()
    await room.settled()


# -- branches ------------------------------------------------------------------------------------


async def test_an_edit_makes_a_branch_and_destroys_nothing(both: Room) -> None:
    room = both
    ann = await room.advisor("Ann", Script(text="Answer {n}."))
    talk = await room.conversation(ann)
    one, _ = await room.say(talk, "One")
    two, _ = await room.say(talk, "Two")
    three, _ = await room.say(talk, "Three")

    begun = await room.polyvox.turns.edit_message(ME, two.message_id, "Two, better")
    await room.settled()
    assert sent(room) == [("user", "One"), ("assistant", "Answer 1."), ("user", "Two, better")]
    view = await room.polyvox.view(ME, talk)
    assert [turn.content for turn, _ in view.turns] == ["One", "Two, better"]
    assert view.branches == {one.id: (two.id, begun.turn.id)}
    assert view.conversation.head_id == begun.turn.id

    await room.polyvox.change_conversation(ME, talk, {}, three.id)
    view = await room.polyvox.view(ME, talk)
    assert [turn.content for turn, _ in view.turns] == ["One", "Two", "Three"]
    await room.say(talk, "Four")
    assert [text for _, text in sent(room)] == [
        "One",
        "Answer 1.",
        "Two",
        "Answer 2.",
        "Three",
        "Answer 3.",
        "Four",
    ]


async def test_going_on_from_an_earlier_turn_makes_a_branch_too(room: Room) -> None:
    ann = await room.advisor("Ann", Script(text="Answer {n}."))
    talk = await room.conversation(ann)
    one, _ = await room.say(talk, "One")
    await room.say(talk, "Two")
    await room.polyvox.change_conversation(ME, talk, {}, one.id)
    other, _ = await room.say(talk, "Two again")
    assert (other.parent_id, other.depth) == (one.id, 2)
    assert sent(room) == [("user", "One"), ("assistant", "Answer 1."), ("user", "Two again")]
    deep = await room.polyvox.turns.edit_message(ME, one.message_id, "One again")
    await room.settled()
    assert sent(room) == [("user", "One again")]
    view = await room.polyvox.view(ME, talk)
    assert view.branches[""] == (one.id, deep.turn.id)
    with pytest.raises(NotFound):
        await room.polyvox.change_conversation(ME, await room.conversation(ann), {}, one.id)


async def test_an_edit_asks_whom_the_first_one_asked_unless_it_mentions_others(room: Room) -> None:
    ann, bob = await room.advisor("Ann"), await room.advisor("Bob")
    talk = await room.conversation(ann, bob)
    turn, _ = await room.say(talk, "Well?", advisors=["ann"])
    begun = await room.polyvox.turns.edit_message(ME, turn.message_id, "Well then?")
    assert begun.turn.asked == (ann.id,)
    await room.settled()
    begun = await room.polyvox.turns.edit_message(ME, turn.message_id, "Well, @bob?")
    assert begun.turn.asked == (bob.id,)
    await room.settled()


# -- exclusion -----------------------------------------------------------------------------------


async def test_what_is_excluded_is_in_no_later_request_until_it_is_included(both: Room) -> None:
    room = both
    ann, bob = await room.advisor("Ann"), await room.advisor("Bob")
    for advisor in (ann, bob):
        room.provider.script(str(advisor.model)[4:], Script(text=f"{advisor.name} {{n}}."))
    talk = await room.conversation(ann, bob)
    turn, (of_ann, of_bob) = await room.say(talk, "One")
    await room.polyvox.turns.exclude_answer(ME, of_ann.id, True)
    await room.say(talk, "Two", advisors=["ann"])
    assert of_ann.text not in room.provider.log[-1].body.decode()
    assert f"Bob: {of_bob.text}" in sent(room)[1][1]
    await room.say(talk, "Three", advisors=["bob"])
    assert of_ann.text not in room.provider.log[-1].body.decode()

    await room.polyvox.turns.exclude_answer(ME, of_ann.id, False)
    await room.polyvox.turns.exclude_message(ME, turn.message_id, True)
    await room.say(talk, "Four", advisors=["ann"])
    body = room.provider.log[-1].body.decode()
    assert "One" not in body
    assert of_ann.text not in body

    await room.polyvox.turns.exclude_message(ME, turn.message_id, False)
    await room.say(talk, "Five", advisors=["ann"])
    assert sent(room)[:2] == [("user", "One"), ("assistant", of_ann.text)]


# -- idempotency ---------------------------------------------------------------------------------


async def test_the_same_key_and_body_is_the_same_turn(both: Room) -> None:
    room = both
    ann = await room.advisor("Ann")
    talk = await room.conversation(ann)
    made = await asyncio.gather(*(room.send(talk, "Once", idempotency_key="k1") for _ in range(5)))
    await room.settled()
    assert len({one.turn.id for one in made}) == 1
    assert len({answer.id for one in made for answer in one.answers}) == 1
    assert Counter(one.existing for one in made) == {False: 1, True: 4}
    assert len(room.provider.log) == 1
    with pytest.raises(Conflict, match="another message"):
        await room.send(talk, "Twice", idempotency_key="k1")
    with pytest.raises(Conflict):
        await room.send(talk, "Once", advisors=["ann"], idempotency_key="k1")
    other = await room.send(talk, "Once", idempotency_key="k2")
    assert not other.existing
    elsewhere = await room.send(await room.conversation(ann), "Once", idempotency_key="k1")
    assert not elsewhere.existing
    await room.settled()
