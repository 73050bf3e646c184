"""One advisor fails in every way there is: the others differ by no byte, and the cause shows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.provider import Script
from tests.session.room import Room, open_room

from polyvox.events import AnswerCompleted, AnswerFailed, Event, TextDelta

WIRES = ("lab", "claude")
GOOD = "Grüße 👩‍👩‍👧 from {model}, word by word, whatever happens beside."
TEN = 10_000_000


@dataclass(frozen=True)
class Fault:
    """A way to fail, and what must be shown of it."""

    script: Script
    category: str
    words: str
    text: str = ""


FAULTS = {
    "401": Fault(Script(status=401), "authentication", "Incorrect API key"),
    "429": Fault(Script(status=429), "rate_limit", "Rate limit reached"),
    "500": Fault(Script(status=500, error="Kaputt"), "unavailable", "Kaputt"),
    "silence": Fault(Script(fault="silence"), "timeout", "sent nothing"),
    "stall": Fault(Script(fault="stall"), "timeout", "stopped sending", "This is"),
    "cut": Fault(Script(fault="cut"), "unavailable", "ended in the middle", "This is"),
    "garbage": Fault(Script(fault="garbage"), "protocol", "no event stream"),
    "empty": Fault(Script(empty=True), "empty", "without a word"),
    "malformed": Fault(Script(fault="malformed"), "protocol", "oops", "This is"),
    "error event": Fault(
        Script(fault="error_event", error="Out of order"), "unavailable", "Out of order", "This is"
    ),
    "reset": Fault(Script(fault="reset"), "unavailable", "closed the connection"),
    "refusal": Fault(Script(fault="refusal"), "refused", "ended the answer", "This is"),
    "too large": Fault(Script(size=TEN), "protocol", "", "x"),
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_is_its_advisors_own(name: str, wire: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    limits = {"first_byte": 0.3, "stall": 0.3, "answer_bytes": 9_000_000}
    async with open_room(tmp_path, limits=limits) as room:
        ann = await room.advisor("Ann", Script(text=GOOD), wire=wire)
        bad = await room.advisor("Bad", fault.script, wire=wire)
        cem = await room.advisor("Cem", Script(text=GOOD, split=1), wire=wire)
        talk = await room.conversation(ann, bad, cem)
        turn, (first, failed, last) = await room.say(talk, "Well?")

        assert turn.state == "completed"
        assert failed.state == "failed"
        assert failed.failure is not None
        assert failed.failure.category == fault.category
        assert fault.words in failed.failure.message
        assert failed.failure.hint
        assert failed.text.startswith(fault.text)
        assert bool(failed.text) == bool(fault.text)
        for answer, advisor in ((first, ann), (last, cem)):
            assert answer.state == "completed"
            name_on_wire = str(advisor.model).partition(":")[2]
            assert answer.text == GOOD.replace("{model}", name_on_wire)
        shown = [item.event for item in await room.log(talk)]
        assert failed.failure in [e.failure for e in shown if isinstance(e, AnswerFailed)]


async def test_the_others_complete_while_one_is_still_silent(room: Room) -> None:
    ann = await room.advisor("Ann", Script(text=GOOD))
    mute = await room.advisor("Mute", Script(hold="mute"))
    cem = await room.advisor("Cem", Script(text=GOOD))
    talk = await room.conversation(ann, mute, cem)
    begun = await room.send(talk, "Well?")

    def both(events: list[Event]) -> bool:
        return sum(isinstance(event, AnswerCompleted) for event in events) == 2

    got = await room.seen(talk, both)
    assert not any(
        isinstance(item.event, TextDelta) and item.event.answer_id == begun.answers[1].id
        for item in got
    )
    assert (await room.answer(begun.answers[1].id)).state == "pending"
    room.provider.gate("mute").set()
    await room.settled()
    assert (await room.answer(begun.answers[1].id)).state == "completed"


async def test_split_characters_and_ten_megabytes_beside_each_other(both: Room) -> None:
    room = both
    text = "Ünïcödé ✓ 𝄞 👩‍👩‍👧 שלום"
    ann = await room.advisor("Ann", Script(text=text, thinking="思考 🤔", split=1))
    large = await room.advisor("Large", Script(size=TEN))
    talk = await room.conversation(ann, large)
    _, (first, second) = await room.say(talk, "Well?")
    assert (first.text, first.thinking) == (text, "思考 🤔")
    assert (second.state, second.text) == ("completed", "x" * TEN)
    shown = "".join(
        item.event.text
        for item in await room.log(talk)
        if isinstance(item.event, TextDelta) and item.event.answer_id == second.id
    )
    assert shown == "x" * TEN


async def test_a_failed_answer_is_out_of_every_thread_and_one_retry_brings_it_back(
    room: Room,
) -> None:
    ann = await room.advisor("Ann")
    bob = await room.advisor("Bob", Script(text="Bob."))
    talk = await room.conversation(ann, bob)
    room.provider.queue("m1", Script(pieces=("half", " of it"), fault="cut", after=1))
    _, (failed, _) = await room.say(talk, "One")
    assert (failed.state, failed.text) == ("failed", "half")
    await room.say(talk, "Two")
    assert not any("half" in request.body.decode() for request in room.provider.log[2:])
    room.provider.queue("m1", Script(text="Whole."))
    assert (await room.again(failed.id)).text == "Whole."
    await room.say(talk, "Three")
    assert "Whole." in room.provider.requests("m1")[-1].body.decode()


async def test_a_program_error_ends_its_answers_and_nothing_else(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    """Even what nobody foresaw: the answer has failed, the log knows why, the road goes on."""
    ann = await room.advisor("Ann", Script(text="Fine.", hold="on"))
    talk = await room.conversation(ann)
    (answer,) = (await room.send(talk, "One")).answers
    second = await room.send(talk, "Two")
    queue = room.polyvox.turns.queue
    job = queue.jobs[second.answers[0].id]
    work, jobs = queue._lines[talk].waiting.popleft()

    async def broken() -> None:
        raise ZeroDivisionError

    queue._lines[talk].waiting.append((broken, jobs))
    queue._lines[talk].waiting.append((work, []))
    room.provider.gate("on").set()
    await room.settled()
    assert "ZeroDivisionError" in caplog.text
    caplog.clear()
    failed = await room.answer(job.answer_id)
    assert failed.failure is not None
    assert "Polyvox itself failed" in failed.failure.message
    assert (await room.answer(answer.id)).text == "Fine."
    assert (await room.again(failed.id)).text == "Fine."
