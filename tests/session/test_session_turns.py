"""A turn from the message to its stored answers: whom it goes to, how it is stopped."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from tests.provider import Script
from tests.session.room import HELD, ME, Hook, Room, sent, states, texts

from polyvox.errors import Invalid, NotFound
from polyvox.events import (
    AnswerStopped,
    TurnCompleted,
)
from polyvox.store import usage
from polyvox.values import ASSISTANT_ID

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
    """Cancelled at the very moment the message is stored: it is answered all the same."""
    ann = await room.advisor(script=Script(text="Still here."))
    talk = await room.conversation(ann)
    sending = asyncio.create_task(room.send(talk, "Are you there?"))
    Hook(room, talk, lambda _: sending.cancel())
    with pytest.raises(asyncio.CancelledError):
        await sending
    await room.settled()
    ((turn, answers),) = (await room.polyvox.view(ME, talk)).turns
    assert (turn.state, texts(answers)) == ("completed", ["Still here."])


@pytest.mark.parametrize("steps", range(4))
async def test_a_sender_who_leaves_early_has_sent_all_or_nothing(room: Room, steps: int) -> None:
    ann = await room.advisor(script=Script(text="Heard."))
    talk = await room.conversation(ann)
    sending = asyncio.create_task(room.send(talk, "Hello"))
    for _ in range(steps):
        await asyncio.sleep(0)
    sending.cancel()
    await asyncio.wait([sending])
    await room.settled()
    for turn, answers in (await room.polyvox.view(ME, talk)).turns:
        assert (turn.state, texts(answers)) == ("completed", ["Heard."])


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
    await room.polyvox.change_conversation(ME, talk, {"advisors": [ann.id, bob.id]})
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
    (total,) = await room.polyvox.database.read(lambda tx: usage.totals(tx), ME)
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
    job = room.polyvox.turns.queue.jobs[answer.id]
    while job.calling:  # noqa: ASYNC110 - the very next step is wanted
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
