"""What a person can ask of the road: stop, retry, regenerate, edit, exclude, @mention, queue."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from tests.provider import Script
from tests.session.room import ME, Room, open_room

from polyvox.errors import Conflict, Invalid, NotFound
from polyvox.events import (
    AnswerStarted,
    AnswerStopped,
    Event,
    TextDelta,
    TurnCompleted,
    TurnStarted,
)
from polyvox.store import usage
from polyvox.values import ASSISTANT_ID, Answer

HELD = Script(pieces=("one", " two", " three"), gates={1: "hold"})
"""Says one word and then waits."""


def texts(answers: tuple[Answer, ...]) -> list[str]:
    return [answer.text for answer in answers if answer.current]


def states(answers: tuple[Answer, ...]) -> list[str]:
    return [answer.state for answer in answers if answer.current]


def sent(room: Room, number: int = -1) -> list[tuple[str, str]]:
    """The messages of a logged request, without stamps."""
    messages = room.provider.log[number].json()["messages"]
    plain = [(one["role"], one["content"]) for one in messages if one["role"] != "system"]
    return [(role, text[19:] if text[:2] == "[2" else text) for role, text in plain]


# -- a whole turn --------------------------------------------------------------------------------


async def test_a_turn_from_message_to_stored_answers(both: Room) -> None:
    room = both
    ann, bob = await room.advisor("Ann", Script(text="Yes.")), await room.advisor("Bob")
    talk = await room.conversation(ann, bob)
    begun = await room.send(talk, "Is it so?")
    assert [answer.state for answer in begun.answers] == ["pending", "pending"]
    await room.settled()

    turn, answers = await room.turn(begun.turn.id)
    assert (turn.state, turn.content, turn.asked) == ("completed", "Is it so?", (ann.id, bob.id))
    assert states(answers) == ["completed", "completed"]
    assert answers[0].text == "Yes."
    assert answers[0].model == ann.model
    assert answers[0].usage is not None
    assert not answers[0].usage.estimated
    assert [one.status for one in answers[0].attempts] == [200]
    kinds = [item.event.kind for item in await room.log(talk)]
    assert kinds[:3] == ["turn.started", "answer.started", "answer.started"]
    assert kinds[-1] == "turn.completed"
    assert Counter(kinds)["answer.completed"] == 2


async def test_everyone_is_asked_at_the_same_time(room: Room) -> None:
    """Each waits for a gate that opens only once all of them have been asked."""
    advisors = [await room.advisor(script=Script(hold="all")) for _ in range(4)]
    talk = await room.conversation(*advisors)
    begun = await room.send(talk, "Now?")
    await room.provider.arrived(4)
    room.provider.gate("all").set()
    await room.settled()
    _, answers = await room.turn(begun.turn.id)
    assert states(answers) == ["completed"] * 4


async def test_nobody_active_means_the_plain_assistant(room: Room) -> None:
    await room.nobody()
    talk = await room.conversation()
    _, (answer,) = await room.say(talk, "Hello?")
    assert (answer.advisor_id, answer.advisor_name) == (ASSISTANT_ID, "Assistant")
    ann = await room.advisor("Ann")
    await room.say(talk, "And you?")
    assert [role for role, _ in sent(room)] == ["user", "user", "user"]
    assert f"Assistant: {answer.text}" in sent(room)[1][1]

    await room.polyvox.advisors.update(ME, ann.id, active=False)
    await room.say(talk, "Again?")
    assert ("assistant", answer.text) in sent(room)
    assert "Ann: " in sent(room)[-2][1]


async def test_a_turn_goes_on_though_nobody_listens_and_the_sender_has_left(room: Room) -> None:
    ann = await room.advisor(script=Script(text="Still here."))
    talk = await room.conversation(ann)
    sending = asyncio.create_task(room.send(talk, "Are you there?"))
    listener = room.polyvox.hub.listen(talk)
    stored = asyncio.create_task(listener.take())
    await asyncio.wait([sending, stored], return_when=asyncio.FIRST_COMPLETED)
    sending.cancel()
    await asyncio.wait([sending])
    await room.settled()
    view = await room.polyvox.view(ME, talk)
    assert [texts(answers) for _, answers in view.turns] == [["Still here."]]
    assert view.turns[0][0].state == "completed"


@pytest.mark.parametrize("steps", range(6))
async def test_a_sender_who_leaves_at_any_moment_loses_all_or_nothing(
    room: Room, steps: int
) -> None:
    """Cancelled after any number of steps: the message is not there, or it is answered."""
    ann = await room.advisor(script=Script(text="Heard."))
    talk = await room.conversation(ann)
    sending = asyncio.create_task(room.send(talk, "Hello"))
    for _ in range(steps):
        await asyncio.sleep(0)
    sending.cancel()
    await asyncio.wait([sending])
    await room.settled()
    view = await room.polyvox.view(ME, talk)
    assert all(
        turn.state == "completed" and texts(answers) == ["Heard."] for turn, answers in view.turns
    )


# -- whom it goes to -----------------------------------------------------------------------------


async def test_a_mention_asks_only_those(room: Room) -> None:
    ann, bob, cem = [await room.advisor(name) for name in ("Ann", "Bob", "Cem")]
    talk = await room.conversation(ann, bob)
    turn, _ = await room.say(talk, "What do you say, @bob and @CEM? (mail@ann is nobody)")
    assert turn.asked == (bob.id, cem.id)
    turn, _ = await room.say(talk, "And @everyone?")
    assert turn.asked == (ann.id, bob.id)
    turn, _ = await room.say(talk, "No, @bob!", advisors=[ann.slug])
    assert turn.asked == (ann.id,)
    with pytest.raises(Invalid, match="no advisor 'dan'"):
        await room.send(talk, "Hm", advisors=["dan"])


async def test_an_advisor_added_later_starts_its_own_thread(room: Room) -> None:
    ann = await room.advisor("Ann", Script(text="Ann one."))
    talk = await room.conversation(ann)
    await room.say(talk, "First")
    bob = await room.advisor("Bob", Script(text="Bob one."))
    await room.polyvox.conversations.update(ME, talk, advisors=[ann.id, bob.id])
    await room.say(talk, "Second")
    of_bob = next(r for r in room.provider.log if f"lab:{r.model}" == bob.model)
    messages = of_bob.json()["messages"]
    assert [one["role"] for one in messages] == ["system", "user", "user", "user"]
    assert "Ann: Ann one." in messages[2]["content"]
    assert "turn 1 of 3" in messages[0]["content"]


async def test_an_advisor_that_was_removed_is_not_asked_again(room: Room) -> None:
    ann, bob = await room.advisor("Ann", Script(status=500)), await room.advisor("Bob")
    talk = await room.conversation(ann, bob)
    _, (failed, _) = await room.say(talk, "First")
    await room.polyvox.advisors.remove(ME, ann.id)
    turn, _ = await room.say(talk, "Second")
    assert turn.asked == (bob.id,)
    with pytest.raises(NotFound, match="'Ann' was removed"):
        await room.polyvox.turns.again(ME, failed.id, retry=True)


# -- stopping ------------------------------------------------------------------------------------


async def test_stop_one_keeps_its_partial_and_leaves_the_others(both: Room) -> None:
    room = both
    ann, bob = await room.advisor(script=HELD), await room.advisor(script=HELD)
    talk = await room.conversation(ann, bob)
    begun = await room.send(talk, "Go on")
    first, second = begun.answers
    await room.spoken(talk, first.id, second.id)
    stopped = await room.polyvox.turns.stop_answer(ME, first.id)
    assert (stopped.state, stopped.text) == ("stopped", "one")
    assert stopped.usage is not None
    assert stopped.usage.estimated
    assert stopped.usage.output_tokens == 1
    await room.provider.gone(room.provider.requests(str(ann.model)[4:])[0])
    assert (await room.answer(second.id)).state == "streaming"

    room.provider.gate("hold").set()
    await room.settled()
    turn, answers = await room.turn(begun.turn.id)
    assert turn.state == "completed"
    assert texts(answers) == ["one", "one two three"]
    assert states(answers) == ["stopped", "completed"]
    (total,) = await usage.summary(room.polyvox.database, ME)
    assert (total.answers, total.estimated) == (2, 1)


async def test_stop_all_before_and_after_the_first_word(room: Room) -> None:
    ann = await room.advisor(script=HELD)
    bob = await room.advisor(script=Script(hold="never"))
    talk = await room.conversation(ann, bob)
    begun = await room.send(talk, "Go on")
    await room.spoken(talk, begun.answers[0].id)
    await room.provider.arrived(2)
    answers = await room.polyvox.turns.stop_turn(ME, begun.turn.id)
    assert [(one.state, one.text) for one in answers] == [("stopped", "one"), ("stopped", "")]
    assert answers[1].usage is not None, "the provider has read the request"
    assert answers[1].usage.input_tokens > 0
    assert [one.message for one in answers[1].attempts] == ["stopped before the first word"]
    for request in room.provider.log:
        await room.provider.gone(request)
    turn, _ = await room.turn(begun.turn.id)
    assert turn.state == "completed"
    log = [item.event for item in await room.log(talk)]
    assert sum(isinstance(event, AnswerStopped) for event in log) == 2
    assert sum(isinstance(event, TurnCompleted) for event in log) == 1


async def test_stop_at_once_after_sending(room: Room) -> None:
    """Before the tasks have taken their first step."""
    ann = await room.advisor()
    talk = await room.conversation(ann)
    begun = await room.send(talk, "Never mind")
    (answer,) = await room.polyvox.turns.stop_turn(ME, begun.turn.id)
    assert answer.state in ("stopped", "completed")
    await room.settled()
    assert (await room.turn(begun.turn.id))[0].state == "completed"


async def test_stop_while_the_end_is_being_stored_finds_it_stored(room: Room) -> None:
    """The text is whole, its end waits for the next commit: stop returns the stored answer."""
    ann = await room.advisor(script=Script(pieces=("one", " two"), gates={1: "end"}))
    talk = await room.conversation(ann)
    (answer,) = (await room.send(talk, "Go on")).answers
    await room.spoken(talk, answer.id)
    room.provider.gate("end").set()
    job = room.polyvox.turns.conductor.jobs[answer.id]
    while job.calling:
        await asyncio.sleep(0)
    assert not job.ended.is_set()
    ended = await room.polyvox.turns.stop_answer(ME, answer.id)
    assert (ended.state, ended.text) == ("completed", "one two")


async def test_what_has_ended_stays_as_it_is(room: Room) -> None:
    ann = await room.advisor()
    talk = await room.conversation(ann)
    _, (answer,) = await room.say(talk, "Hello")
    assert (await room.polyvox.turns.stop_answer(ME, answer.id)) == answer
    with pytest.raises(NotFound):
        await room.polyvox.turns.stop_answer(ME, "nothing")


async def test_stop_a_queued_turn_and_a_queued_answer(room: Room) -> None:
    ann, bob = await room.advisor(script=HELD), await room.advisor(script=HELD)
    talk = await room.conversation(ann, bob)
    first = await room.send(talk, "First")
    second = await room.send(talk, "Second")
    third = await room.send(talk, "Third")
    assert [one.turn.state for one in (first, second, third)] == ["running", "queued", "queued"]
    await room.polyvox.turns.stop_turn(ME, second.turn.id)
    stopped = await room.polyvox.turns.stop_answer(ME, third.answers[0].id)
    assert stopped.state == "stopped"
    turn, answers = await room.turn(second.turn.id)
    assert (turn.state, states(answers)) == ("completed", ["stopped", "stopped"])

    room.provider.gate("hold").set()
    await room.settled()
    turn, answers = await room.turn(third.turn.id)
    assert (turn.state, states(answers)) == ("completed", ["stopped", "completed"])
    assert len(room.provider.log) == 3, "nobody was asked for what was stopped"
    assert [text for role, text in sent(room) if role == "user" and "[For" not in text] == [
        "First",
        "Second",
        "Third",
    ]


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

    await room.polyvox.move_head(ME, talk, three.id)
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
    await room.polyvox.move_head(ME, talk, one.id)
    other, _ = await room.say(talk, "Two again")
    assert (other.parent_id, other.depth) == (one.id, 2)
    assert sent(room) == [("user", "One"), ("assistant", "Answer 1."), ("user", "Two again")]
    deep = await room.polyvox.turns.edit_message(ME, one.message_id, "One again")
    await room.settled()
    assert sent(room) == [("user", "One again")]
    view = await room.polyvox.view(ME, talk)
    assert view.branches[""] == (one.id, deep.turn.id)
    with pytest.raises(NotFound):
        await room.polyvox.move_head(ME, await room.conversation(ann), one.id)


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
    made = await asyncio.gather(
        *(room.send(talk, "Once", idempotency_key="k1") for _ in range(5))
    )
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


# -- waiting -------------------------------------------------------------------------------------


async def test_later_messages_wait_and_then_see_the_earlier_answers(room: Room) -> None:
    ann = await room.advisor("Ann", Script(text="Answer {n}.", gates={1: "hold"}))
    talk = await room.conversation(ann)
    await room.send(talk, "First")
    await room.provider.arrived(1)
    await room.send(talk, "Second")
    await room.send(talk, "Third")
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
    turn, (failed, _) = await room.say(talk, "First")
    await room.polyvox.turns.again(ME, failed.id, retry=True)
    await room.provider.arrived(3)
    begun = await room.send(talk, "Second")
    assert begun.turn.state == "queued"
    assert len(room.provider.log) == 3
    room.provider.gate("retry").set()
    await room.settled()
    bodies = {request.model: request for request in room.provider.log[3:]}
    of_ann = bodies[str(ann.model)[4:]].json()["messages"]
    assert of_ann[2] == {"role": "assistant", "content": "Better."}
    assert "Ann: Better." in bodies[str(bob.model)[4:]].body.decode()


async def test_a_synthesis_holds_nobody_up_and_hides_nothing(room: Room) -> None:
    """While it is written, its turn's words are still the reference of the next one."""
    ann, bob = await room.advisor("Ann", Script(text="A1.")), await room.advisor("Bob")
    talk = await room.conversation(ann, bob)
    await room.say(talk, "Before")
    turn, _ = await room.say(talk, "First")
    room.provider.script("default", Script(hold="synthesis"))
    await room.polyvox.turns.synthesize(ME, turn.id)
    await room.provider.arrived(5)
    begun = await room.send(talk, "Second")
    await room.seen(
        talk, lambda got: TurnCompleted(begun.turn.id) in got
    )
    of_bob = room.provider.requests(str(bob.model)[4:])[-1].body.decode()
    assert "Ann: A1." in of_bob
    room.provider.gate("synthesis").set()
    await room.settled()


async def test_only_so_many_messages_may_wait(tmp_path: Path) -> None:
    async with open_room(tmp_path, limits={"queue": 1}) as room:
        ann = await room.advisor(script=HELD)
        talk = await room.conversation(ann)
        await room.send(talk, "First")
        await room.send(talk, "Second")
        with pytest.raises(Conflict, match="already waiting"):
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


# -- the end of a conversation, and of the program --------------------------------------------------


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
    assert not room.polyvox.turns.conductor.busy
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
        await room.polyvox.turns.conductor.drain(20)
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
