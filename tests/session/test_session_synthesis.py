"""Synthesis and thinking: stored, streamed, attributed, and kept out of every thread."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.provider import Script
from tests.session.room import ME, Room, open_room

from polyvox.errors import Conflict
from polyvox.events import TextDelta, ThinkingDelta
from polyvox.values import SYNTHESIS_ID, Params

pytestmark = pytest.mark.contract

MODELS = {"synthesis": "lab:synthesis"}


WRITTEN = """\
- Both say so. [Ann, bob, Zoe]
- Only one does. [Bob]

## Disagreements

- Which of them?
  - [Bob] This one.
  - [Ann] That one."""


async def two(room: Room) -> tuple[str, str]:
    """A conversation of Ann and Bob with one turn: (conversation, turn)."""
    ann = await room.advisor("Ann", Script(text="Ann's word."))
    bob = await room.advisor("Bob", Script(text="Bob's word."))
    talk = await room.conversation(ann, bob)
    turn, _ = await room.say(talk, "Is it so?")
    return talk, turn.id


# -- synthesis -----------------------------------------------------------------------------------


async def test_a_synthesis_is_stored_attributed_and_streamed(
    tmp_path: Path, database_url: str
) -> None:
    async with open_room(tmp_path, database=database_url, models=MODELS) as room:
        talk, turn_id = await two(room)
        room.provider.script("synthesis", Script(text=WRITTEN))
        made = await room.polyvox.turns.synthesize(ME, turn_id)
        await room.settled()
        answer = await room.answer(made.id)
        assert (answer.kind, answer.advisor_id, answer.state) == (
            "synthesis",
            SYNTHESIS_ID,
            "completed",
        )
        assert answer.text == WRITTEN
        points = msgspec.json.decode(answer.points or "")
        ann, bob, *_ = [a.advisor_id for a in (await room.turn(turn_id))[1]]
        assert points["points"] == [
            {"text": "Both say so.", "advisors": [ann, bob]},
            {"text": "Only one does.", "advisors": [bob]},
        ]
        (question,) = points["disagreements"]
        assert question["text"] == "Which of them?"
        assert [side["advisors"] for side in question["sides"]] == [[bob], [ann]]
        assert points["unknown"] == ["Zoe"]
        shown = [i.event for i in await room.log(talk) if isinstance(i.event, TextDelta)]
        assert "".join(e.text for e in shown if e.answer_id == made.id) == WRITTEN
        seen = await room.receipt(made.id)
        assert seen.verified
        assert seen.body == room.provider.requests("synthesis")[0].body
        body = room.provider.requests("synthesis")[0].body.decode()
        assert "Ann (ann): Ann's word." in body
        assert "Bob (bob): Bob's word." in body
        assert "Is it so?" in body


async def test_it_can_be_written_again_and_is_never_in_a_thread(room: Room) -> None:
    talk, turn_id = await two(room)
    room.provider.script("default", Script(text="synthesis {n}"))
    first = await room.polyvox.turns.synthesize(ME, turn_id)
    await room.settled()
    second = await room.polyvox.turns.synthesize(ME, turn_id)
    await room.settled()
    third = await room.again(second.id, retry=False)
    _, answers = await room.turn(turn_id)
    kept = [(a.id, a.version, a.current) for a in answers if a.kind == "synthesis"]
    assert kept == [(first.id, 1, False), (second.id, 2, False), (third.id, 3, True)]
    assert third.points is not None
    assert msgspec.json.decode(third.points)["prose"] == third.text
    before = len(room.provider.log)
    turn, _ = await room.say(talk, "And now?")
    await room.polyvox.turns.exchange(ME, turn.id, 1)
    await room.settled()
    for request in room.provider.log[before:]:
        assert "synthesis" not in request.body.decode()


async def test_two_of_one_name_are_told_apart(tmp_path: Path) -> None:
    async with open_room(tmp_path, models=MODELS) as room:
        one, two = await room.advisor("Ann"), await room.advisor("Ann")
        talk = await room.conversation(one, two)
        turn, _ = await room.say(talk, "Well?")
        room.provider.script("synthesis", Script(text="- So. [Ann (2)]"))
        made = await room.polyvox.turns.synthesize(ME, turn.id)
        await room.settled()
        points = msgspec.json.decode((await room.answer(made.id)).points or "")
        assert points["points"][0]["advisors"] == [two.id]


@pytest.mark.parametrize(
    ("script", "category", "words"),
    [
        (Script(status=401), "authentication", "Incorrect API key"),
        (Script(fault="error_event", error="Too tired"), "unavailable", "Too tired"),
        (Script(empty=True), "empty", "without a word"),
    ],
)
async def test_its_failure_shows_the_real_cause_and_a_retry_helps(
    tmp_path: Path, script: Script, category: str, words: str
) -> None:
    async with open_room(tmp_path, models=MODELS) as room:
        _, turn_id = await two(room)
        room.provider.queue("synthesis", script)
        made = await room.polyvox.turns.synthesize(ME, turn_id)
        await room.settled()
        failed = await room.answer(made.id)
        assert failed.state == "failed"
        assert failed.failure is not None
        assert failed.failure.category == category
        assert words in failed.failure.message
        turn, answers = await room.turn(turn_id)
        assert turn.state == "completed"
        assert [a.text for a in answers[:2]] == ["Ann's word.", "Bob's word."]
        assert (await room.again(made.id)).state == "completed"


async def test_too_much_to_bring_together_says_so(tmp_path: Path) -> None:
    async with open_room(tmp_path, models=MODELS, limits={"context": "9000 chars"}) as room:
        ann = await room.advisor("Ann", Script(text="word " * 2000))
        turn, _ = await room.say(await room.conversation(ann), "Well?")
        made = await room.polyvox.turns.synthesize(ME, turn.id)
        await room.settled()
        failed = await room.answer(made.id)
        assert failed.failure is not None
        assert failed.failure.category == "context_too_long"
        assert "Exclude an answer" in failed.failure.hint
        assert room.provider.requests("synthesis") == []


async def test_it_needs_answers_and_a_turn_that_is_complete(room: Room) -> None:
    ann = await room.advisor("Ann", Script(status=500))
    talk = await room.conversation(ann)
    turn, _ = await room.say(talk, "Well?")
    with pytest.raises(Conflict, match="no answer"):
        await room.polyvox.turns.synthesize(ME, turn.id)
    room.provider.script("m1", Script(hold="on"))
    begun = await room.send(talk, "And now?")
    with pytest.raises(Conflict, match="still being answered"):
        await room.polyvox.turns.synthesize(ME, begun.turn.id)
    room.provider.gate("on").set()
    await room.settled()


@pytest.mark.parametrize("advisors", [1, 2])
async def test_after_every_turn_where_the_recipe_says_so(tmp_path: Path, advisors: int) -> None:
    """With several answers; one alone needs no bringing together."""
    recipes = {"council": {"synthesis": "always"}}
    async with open_room(tmp_path, models=MODELS, recipes=recipes) as room:
        talk = await room.conversation(*[await room.advisor() for _ in range(advisors)])
        _, answers = await room.say(talk, "Well?")
        made = [a for a in answers if a.kind == "synthesis"]
        assert [a.state for a in made] == ["completed"] * (advisors - 1)
        await room.say(talk, "And now?")


async def test_an_automatic_one_that_a_cap_forbids_says_so(tmp_path: Path) -> None:
    recipes = {"council": {"synthesis": "always"}}
    async with open_room(
        tmp_path, models=MODELS, recipes=recipes, limits={"cost_per_turn": 0.01}
    ) as room:
        dear = Script(text="Dear.", output_tokens=10**6, hold="on")
        room.provider.script("gpt-4o-mini", dear)
        advisors = [await room.advisor(model="openai:gpt-4o-mini") for _ in range(2)]
        talk = await room.conversation(*advisors)
        begun = await room.send(talk, "Well?")
        await room.provider.arrived(2)
        room.provider.gate("on").set()
        await room.settled()
        turn, answers = await room.turn(begun.turn.id)
        (made,) = [a for a in answers if a.kind == "synthesis"]
        assert made.failure is not None
        assert made.failure.category == "quota"
        assert turn.state == "completed"


async def test_a_stopped_turn_is_not_brought_together_by_itself(tmp_path: Path) -> None:
    recipes = {"council": {"synthesis": "always"}}
    async with open_room(tmp_path, models=MODELS, recipes=recipes) as room:
        held = Script(pieces=("one", " two"), gates={1: "never"})
        talk = await room.conversation(*[await room.advisor(script=held) for _ in range(2)])
        begun = await room.send(talk, "Well?")
        await room.spoken(talk, *(a.id for a in begun.answers))
        await room.polyvox.turns.stop_turn(ME, begun.turn.id)
        await room.settled()
        _, answers = await room.turn(begun.turn.id)
        assert [a.kind for a in answers] == ["advisor", "advisor"]


async def test_closing_does_not_begin_one(tmp_path: Path) -> None:
    """The program ends while answers run: they are interrupted, and nothing new is asked."""
    recipes = {"council": {"synthesis": "always"}}
    async with open_room(tmp_path, models=MODELS, recipes=recipes) as room:
        held = Script(pieces=("one", " two"), gates={1: "never"})
        talk = await room.conversation(*[await room.advisor(script=held) for _ in range(2)])
        begun = await room.send(talk, "Well?")
        await room.spoken(talk, *(a.id for a in begun.answers))
    assert len(room.provider.log) == 2


# -- thinking ------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", ["lab", "claude"])
async def test_thinking_is_stored_and_shown_and_never_sent_again(both: Room, wire: str) -> None:
    room = both
    script = Script(text="Said.", thinking="secretly thought", reasoning_tokens=7)
    ann, bob = await room.advisor("Ann", script, wire=wire), await room.advisor("Bob", wire=wire)
    talk = await room.conversation(ann, bob)
    turn, (answer, _) = await room.say(talk, "One")
    assert (answer.text, answer.thinking) == ("Said.", "secretly thought")
    thoughts = [i.event for i in await room.log(talk) if isinstance(i.event, ThinkingDelta)]
    assert "".join(event.text for event in thoughts) == "secretly thought"
    await room.polyvox.turns.synthesize(ME, turn.id)
    await room.settled()
    await room.polyvox.turns.exchange(ME, turn.id, 1)
    await room.settled()
    await room.say(talk, "Two")
    assert not any("secretly" in request.body.decode() for request in room.provider.log)


async def test_reasoning_is_asked_for_by_advisor_and_by_recipe(tmp_path: Path) -> None:
    recipes = {"council": {"params": {"reasoning": 2000}}}
    async with open_room(tmp_path, recipes=recipes) as room:
        think = Params(reasoning=5000)
        advisors = [
            await room.advisor(model="claude:claude-sonnet-4-5", params=think),
            await room.advisor(model="claude:claude-haiku-4-5"),
            await room.advisor(model="lab:local", params=Params(reasoning=0)),
            await room.advisor(model="openai:gpt-5.4", params=Params(reasoning=9000)),
        ]
        _, answers = await room.say(await room.conversation(*advisors), "Well?")
        sent = {request.model: request.json() for request in room.provider.log}
        assert sent["claude-sonnet-4-5"]["thinking"] == {"type": "enabled", "budget_tokens": 5000}
        assert sent["claude-sonnet-4-5"]["max_tokens"] == 2048 + 5000
        assert sent["claude-haiku-4-5"]["thinking"]["budget_tokens"] == 2000
        assert sent["local"]["chat_template_kwargs"] == {"enable_thinking": False}
        assert sent["gpt-5.4"]["reasoning_effort"] == "medium"
        for answer in answers:
            assert (await room.receipt(answer.id)).verified


async def test_parameters_are_the_advisors_then_the_recipes_then_the_settings(
    tmp_path: Path,
) -> None:
    recipes = {"council": {"params": {"temperature": 0.2, "max_tokens": 300}}}
    async with open_room(tmp_path, recipes=recipes, limits={"max_tokens": 99}) as room:
        one = await room.advisor(params=Params(temperature=0.9, top_p=0.5))
        two = await room.advisor()
        await room.say(await room.conversation(one, two), "Well?")
        first, second = (room.provider.requests(f"m{n}")[0].json() for n in (1, 2))
        assert (first["temperature"], first["top_p"], first["max_tokens"]) == (0.9, 0.5, 300)
        assert (second["temperature"], second["max_tokens"]) == (0.2, 300)
        assert "top_p" not in second
