"""Replay is the road itself: the same bytes to the same model, and only the prompt may differ."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from tests.evaluation.suites import (
    JUDGED,
    asked,
    assert_for,
    assert_of,
    begin,
    evaluate,
    finish,
    judging,
    outcomes,
)
from tests.provider import Script
from tests.session.room import ME, Room, open_room

from polyvox.context.recipe import BUILT_IN
from polyvox.errors import Unavailable
from polyvox.evaluation import replay
from polyvox.evaluation.budget import Calls
from polyvox.evaluation.contexts import read
from polyvox.evaluation.judge import Judge
from polyvox.evaluation.replay import Places, Prompt, RoadBench
from polyvox.evaluation.tables import assertions
from polyvox.evaluation.tables.assertions import AssertionFilter
from polyvox.memory.forget import Target
from polyvox.memory.values import Partition
from polyvox.store import recipes
from polyvox.store.database import Tx
from polyvox.values import Advisor, Params


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    async with open_room(tmp_path, **JUDGED) as found:
        judging(found)
        yield found


async def talked(room: Room, wire: str, **more: object) -> tuple[Advisor, str, str]:
    """An advisor that has answered twice beside another one; its last answer and conversation."""
    ann = await room.advisor("Ann", Script(text="Ann says {n}."), wire=wire, **more)
    bob = await room.advisor("Bob", Script(text="Bob says [{n}]."))
    talk = await room.conversation(ann, bob)
    await room.say(talk, 'First "question"?')
    _, answers = await room.say(talk, "And second?")
    mine = next(one for one in answers if one.advisor_id == ann.id)
    return ann, mine.id, talk


def bodies(room: Room, advisor: Advisor) -> list[bytes]:
    """Everything that this advisor's model was sent, byte for byte."""
    assert advisor.model is not None
    name = advisor.model.partition(":")[2]
    return [one.body for one in room.provider.log if one.model == name]


@pytest.mark.parametrize("wire", ["lab", "claude"])
async def test_the_unchanged_prompt_sends_the_same_bytes(room: Room, wire: str) -> None:
    ann, answer_id, _ = await talked(room, wire)
    original = bodies(room, ann)[-1]
    await assert_of(room, answer_id, "It says something.")
    found = await evaluate(room, advisor=ann.slug)
    assert set(outcomes(found).values()) == {"pass"}
    assert bodies(room, ann)[-1] == original
    assert len(bodies(room, ann)) == 3
    assert b"Bob says" in original
    assert b"First" in original


@pytest.mark.parametrize("wire", ["lab", "claude"])
async def test_so_it_is_when_the_conversation_and_the_advisor_are_gone(
    room: Room, wire: str
) -> None:
    ann, answer_id, talk = await talked(room, wire)
    original = bodies(room, ann)[-1]
    await assert_of(room, answer_id, "It says something.")
    await room.polyvox.delete_conversation(ME, talk)
    await room.polyvox.advisors.remove(ME, ann.id)
    found = await evaluate(room, advisor=ann.id)
    assert set(outcomes(found).values()) == {"pass"}
    assert bodies(room, ann)[-1] == original


async def test_so_it_is_with_parameters_and_a_prompt_set_of_its_own(room: Room) -> None:
    """A thinking budget, a temperature, a small model's texts."""
    ann, answer_id, _ = await talked(
        room, "lab", params=Params(max_tokens=77, temperature=0.3), prompt="You are {name}, Ann."
    )
    original = bodies(room, ann)[-1]
    await assert_of(room, answer_id, "It says something.")
    await evaluate(room, advisor=ann.slug)
    assert bodies(room, ann)[-1] == original
    assert b'"temperature":0.3' in original


@pytest.mark.parametrize("wire", ["lab", "claude"])
@pytest.mark.parametrize("recipe", ["council", "agent", "companion"])
@pytest.mark.parametrize("prompts", ["full", "compact"])
async def test_so_it_is_with_every_recipe_and_both_prompt_sets(
    tmp_path: Path, recipe: str, wire: str, prompts: str
) -> None:
    known = {f"{wire}:m1": {"prompts": prompts}}
    async with open_room(tmp_path, models={"judge": "lab:judge", "known": known}) as room:
        judging(room)
        ann = await room.advisor("Ann", Script(text="Ann says {n}."), wire=wire)
        talk = await room.conversation(ann, recipe=recipe)
        for text in ("First?", "Second?", "Third, at last?"):
            _, (answer,) = await room.say(talk, text)
        original = (await room.receipt(answer.id)).body
        assert original in bodies(room, ann)
        await assert_of(room, answer.id, "It says something.")
        await evaluate(room, advisor=ann.slug)
        assert bodies(room, ann)[-1] == original


async def test_so_it_is_with_an_answer_of_an_exchange(room: Room) -> None:
    ann, _, talk = await talked(room, "claude")
    turn = (await room.polyvox.view(ME, talk)).turns[-1][0]
    await room.polyvox.turns.exchange(ME, turn.id, 1)
    await room.settled()
    _, answers = await room.turn(turn.id)
    (said,) = [one for one in answers if one.kind == "exchange" and one.advisor_id == ann.id]
    original = (await room.receipt(said.id)).body
    assert bodies(room, ann)[-1] == original
    await assert_of(room, said.id, "It responds.")
    await evaluate(room, advisor=ann.slug)
    assert bodies(room, ann)[-1] == original
    assert len(bodies(room, ann)) == 4


async def test_only_the_prompt_differs(room: Room) -> None:
    ann, answer_id, _ = await talked(room, "lab")
    original = asked(room, "m1")[-1]
    await assert_of(room, answer_id, "It says something.")
    await room.polyvox.advisors.update(ME, ann.id, prompt="You count everything twice.")
    await evaluate(room, advisor=ann.slug)
    again = asked(room, "m1")[-1]
    assert "You count everything twice." in again["messages"][0]["content"]
    assert ann.description in original["messages"][0]["content"]
    replaced = original["messages"][0]["content"].replace(
        ann.description, "You count everything twice."
    )
    assert again["messages"][0]["content"] == replaced
    assert again["messages"][1:] == original["messages"][1:]
    assert {**again, "messages": []} == {**original, "messages": []}


async def test_a_new_turn_with_that_prompt_would_be_sent_the_same(room: Room) -> None:
    """What is measured is what people get: the compiler's own bytes for the changed advisor."""
    ann = await room.advisor("Ann", Script(text="One."), wire="claude")
    talk = await room.conversation(ann)
    _, (first,) = await room.say(talk, "How so?")
    await assert_of(room, first.id, "It says something.")
    await room.polyvox.advisors.update(ME, ann.id, prompt="You {name} things.")
    await evaluate(room, advisor=ann.slug)
    replayed = bodies(room, ann)[-1]
    await room.again(first.id, retry=False)
    assert bodies(room, ann)[-1] == replayed


async def test_the_text_of_a_phase_can_be_tried_out(room: Room) -> None:
    ann, answer_id, _ = await talked(room, "lab")
    original = asked(room, "m1")[-1]
    await assert_of(room, answer_id, "It says something.")
    chosen = await room.polyvox.database.read(
        lambda tx: assertions.list_all(tx, AssertionFilter(advisor_id=ann.id)), ME
    )
    places = await room.polyvox.database.read(
        lambda tx: replay.places(tx, room.polyvox.resources, chosen), ME
    )
    bench = bench_of(room, "run", places)
    (name,) = places.contexts
    phase = Prompt("Ask one thing back in turn {k}.", "phase:early")
    first = await bench.sample(phase, name, 0)
    changed = asked(room, "m1")[-1]
    assert "Ask one thing back in turn 2." in changed["messages"][0]["content"]
    assert changed["messages"][1:] == original["messages"][1:]
    elsewhere = await bench.sample(Prompt("Say no.", "phase:ongoing"), name, 0)
    assert asked(room, "m1")[-1] == original
    assert first.sample != elsewhere.sample


async def test_a_phase_of_the_persons_own_is_part_of_what_is_tried(room: Room) -> None:
    ann, answer_id, _ = await talked(room, "lab")
    await assert_of(room, answer_id, "It says something.")
    own = [{"name": "early", "answers": 3, "text": "Be brief now."}, {"name": "ongoing"}]
    await room.polyvox.database.write(lambda tx: recipes.put(tx, "council", {"phases": own}, 1), ME)
    assert BUILT_IN["council"].phases[0].name == "early"
    await evaluate(room, advisor=ann.slug)
    assert "Be brief now." in asked(room, "m1")[-1]["messages"][0]["content"]


async def test_an_assertion_by_hand_asks_its_own_question_by_the_road(room: Room) -> None:
    ann = await room.advisor("Ann", Script(text="Ann says {n}."))
    await assert_for(room, ann.id, "It answers.", asks="What is a franc?", phase="early")
    found = await evaluate(room, advisor=ann.slug)
    assert set(outcomes(found).values()) == {"pass"}
    replayed = asked(room, "m1")[-1]
    talk = await room.conversation(ann)
    await room.say(talk, "What is a franc?")
    live = asked(room, "m1")[-1]
    live["messages"][-1]["content"] = live["messages"][-1]["content"][19:]  # its stamp
    system = live["messages"][0]
    system["content"] = system["content"].partition("\n\nThe time in front of a message")[0]
    assert replayed == live


async def test_an_assertion_without_a_question_holds_everywhere(room: Room) -> None:
    ann, answer_id, _ = await talked(room, "lab")
    talk = await room.conversation(ann)
    _, (other,) = await room.say(talk, "Something else?")
    await assert_of(room, answer_id, "One.")
    await assert_of(room, other.id, "Two.")
    (every,) = await assert_for(room, ann.id, "Three.")
    found = await evaluate(room, assertion_ids=(every.id,))
    (row,) = found.results.assertions
    assert (row.passes, len(row.subjects)) == (2, 2)


async def test_what_was_forgotten_cannot_be_replayed_and_that_is_said(room: Room) -> None:
    ann, answer_id, _ = await talked(room, "lab")
    (one,) = await assert_of(room, answer_id, "It says something.")

    def forget(tx: Tx) -> None:
        (row,) = tx.all("SELECT data FROM contexts WHERE user_id = ?", (ME.user,))
        gone = msgspec.structs.replace(read(row[0]), redacted=True).data
        tx.run("UPDATE contexts SET data = ?, redacted = 1 WHERE user_id = ?", (gone, ME.user))

    await room.polyvox.database.write(forget, ME)
    before = len(room.provider.log)
    found = await evaluate(room, advisor=ann.slug)
    assert outcomes(found) == {one.id: "error"}
    assert "forgotten" in found.verdicts[0].reason
    assert len(room.provider.log) == before


def samples_of(tx: Tx, run: str) -> list[str]:
    return [row[0] for row in tx.all("SELECT key FROM samples WHERE run_id = ?", (run,))]


def bench_of(room: Room, run: str, places: Places) -> RoadBench:
    return RoadBench(run, places, Judge(Calls(room.polyvox.resources, ME), "lab:judge"))


async def test_a_sample_is_paid_for_once_and_a_failure_is_not_kept(room: Room) -> None:
    ann, answer_id, _ = await talked(room, "lab")
    (one,) = await assert_of(room, answer_id, "It says something.")
    places = await room.polyvox.database.read(
        lambda tx: replay.places(tx, room.polyvox.resources, [one]), ME
    )
    (name,) = places.contexts
    bench = bench_of(room, "run", places)
    prompt = Prompt(ann.identity)
    room.provider.queue("m1", Script(status=500))
    with pytest.raises(Unavailable):
        await bench.sample(prompt, name, 0)
    first = await bench.sample(prompt, name, 0)
    count = len(asked(room, "m1"))
    assert await bench.sample(prompt, name, 0) == first
    again = bench_of(room, "run", places)
    assert (await again.sample(prompt, name, 0)).text == first.text
    assert len(asked(room, "m1")) == count
    second = bench_of(room, "run 2", places)
    for other in (
        await bench.sample(prompt, name, 1),
        await bench.sample(Prompt("Other."), name, 0),
        await second.sample(prompt, name, 0),
    ):
        assert other.sample != first.sample
        assert other.text != first.text
    assert len(asked(room, "m1")) == count + 3
    judged = await bench.judge(first, [one], 0)
    judges = len(asked(room, "judge"))
    assert await bench.judge(first, [one], 0) == judged
    assert len(asked(room, "judge")) == judges
    kept = await room.polyvox.database.read(lambda tx: samples_of(tx, "run"), ME)
    assert len(kept) == 3


@pytest.mark.parametrize(
    ("mode", "held"), [("replay", "m1"), ("replay", "judge"), ("judge", "judge")]
)
async def test_what_is_forgotten_meanwhile_is_not_brought_back(
    room: Room, mode: str, held: str
) -> None:
    ann = await room.advisor("Ann", Script(text="So Quillabamba it is."))
    talk = await room.conversation(ann)
    turn, (answer,) = await room.say(talk, "The boathouse of Quillabamba leaks.")
    (one,) = await assert_of(room, answer.id, "It is brief.")
    run = await begin(room, advisor=ann.slug, mode=mode)
    if held == "judge":
        judging(room, hold="go")
    else:
        room.provider.script("m1", Script(text="So Quillabamba it is.", hold="go"))
    before = len(room.provider.log)
    working = asyncio.create_task(finish(room, run))
    await room.provider.arrived(before + (2 if (mode, held) == ("replay", "judge") else 1))
    await room.polyvox.memory.forget(ME, Partition.own(ME), Target("message", turn.message_id))
    room.provider.gate("go").set()
    found = await working
    assert outcomes(found) == {one.id: "error"}
    assert "forgotten" in found.verdicts[0].reason

    def words(tx: Tx) -> list[str]:
        return [
            repr(row)
            for table in ("samples", "verdicts")
            for row in tx.all(f"SELECT * FROM {table}")
        ]

    assert "quillabamba" not in repr(await room.polyvox.database.read(words, ME)).lower()
