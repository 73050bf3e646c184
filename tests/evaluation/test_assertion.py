"""Assertions on the road: drawn from answers with their contexts, by hand, changed, gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.evaluation.suites import stored_context
from tests.provider import Script
from tests.session.room import HELD, ME, Room, open_room, texts

from polyvox.errors import CapReached, Conflict, Invalid, NotFound
from polyvox.evaluation import assertion
from polyvox.evaluation.assertion import Wording
from polyvox.evaluation.contexts import Context, Field, read, with_phase, with_prompt
from polyvox.evaluation.suggest import suggest
from polyvox.evaluation.tables import assertions
from polyvox.evaluation.tables.assertions import Assertion, AssertionFilter
from polyvox.models.wire import encode
from polyvox.store import recipes
from polyvox.store.database import Tx
from polyvox.values import Advisor


def said(*given: str) -> list[Wording]:
    return [Wording(text) for text in given]


async def context(room: Room, one: Assertion) -> Context:
    """The stored context of an assertion, which has the name it should have."""
    assert one.source is not None
    name = one.source.context_hash
    stored = await room.polyvox.database.read(lambda tx: stored_context(tx, name), ME)
    found = read(stored.data)
    assert found.hash == name
    assert found.data == stored.data
    return found


async def drawn(room: Room, answer_id: str) -> list[Assertion]:
    """The assertions that were drawn from an answer."""
    wanted = AssertionFilter(answer_id=answer_id)
    return await room.polyvox.database.read(lambda tx: assertions.list_all(tx, wanted), ME)


async def owned(room: Room, advisor: str) -> tuple[str, list[Assertion]]:
    """An advisor's name and assertions."""

    def read(tx: Tx) -> tuple[str, list[Assertion]]:
        advisor_id, name = assertions.owner(tx, advisor)
        return name, assertions.list_all(tx, AssertionFilter(advisor_id))

    return await room.polyvox.database.read(read, ME)


def wire(found: Context) -> bytes:
    """What a context puts on the wire."""
    return encode(found.dialect, found.model, found.request()).body


def bodies(room: Room, advisor: Advisor) -> list[bytes]:
    assert advisor.model is not None
    return [one.body for one in room.provider.requests(advisor.model.partition(":")[2])]


@pytest.mark.parametrize("kind", ["lab", "claude"])
async def test_the_context_is_what_was_sent_to_the_byte(room: Room, kind: str) -> None:
    ann = await room.advisor("Ann [A]", Script(text="Ann says {n}."), wire=kind)
    bob = await room.advisor("Bob", Script(text="Bob says [{n}]."))
    talk = await room.conversation(ann, bob)
    for number in range(5):  # through both phases
        _, answers = await room.say(talk, f"Question {number}?")
        mine = next(one for one in answers if one.advisor_id == ann.id)
        (made,) = await assertion.from_answer(
            room.polyvox.resources, ME, mine.id, said(f"Is {number}")
        )
        found = await context(room, made)
        assert wire(found) == bodies(room, ann)[-1]
        assert found.asked == f"Question {number}?"
        assert not found.redacted
        assert found.takes_prompt
        assert made.source is not None
        assert made.source.user_input == f"Question {number}?"
        assert made.source.answer == mine.text
        assert made.source.conversation_id == talk


async def test_several_at_once_share_a_context(both: Room) -> None:
    ann = await both.advisor("Ann", Script(text="Yes."))
    _, (answer,) = await both.say(await both.conversation(ann), "Is it so?")
    road = both.polyvox.resources
    made = await assertion.from_answer(road, ME, answer.id, said("Is brief", "Agrees"), ["Tone"])
    assert [(one.text, one.number, one.tags) for one in made] == [
        ("Is brief", 1, ("tone",)),
        ("Agrees", 1, ("tone",)),
    ]
    assert len({one.source.context_hash for one in made if one.source}) == 1
    again = await assertion.from_answer(road, ME, answer.id, said("Agrees", "Is calm"))
    assert again[0] == made[1]
    assert len(await drawn(both, answer.id)) == 3


@pytest.mark.parametrize("recipe", ["council", "agent", "companion"])
@pytest.mark.parametrize("field", ["prompt", "description"])
async def test_another_prompt_is_what_the_road_would_send(
    room: Room, recipe: str, field: str
) -> None:
    ann = await room.advisor("Ann", Script(text="Yes, {n}."))
    talk = await room.conversation(ann, recipe=recipe)
    await room.say(talk, "First?")
    _, (answer,) = await room.say(talk, "Second?")
    (made,) = await assertion.from_answer(room.polyvox.resources, ME, answer.id, said("Agrees"))
    found = await context(room, made)
    assert wire(with_prompt(found, ann.description, "description")) == bodies(room, ann)[-1]
    new = "You are {name} and say {identity}.\n\nNothing else."
    given = {"prompt": new} if field == "prompt" else {"description": new}
    await room.polyvox.advisors.update(ME, ann.id, **given)  # type: ignore[arg-type]  # one of two
    await room.again(answer.id, retry=False)
    changed = with_prompt(found, new, "prompt" if field == "prompt" else "description")
    messages = bodies(room, ann)[-1]
    if recipe == "companion":  # its memory may have moved on; the rest is the road's
        assert changed.blocks[0].text in messages.decode().replace("\\n", "\n")
    else:
        assert wire(changed) == messages
    assert wire(changed) != wire(found)


async def test_a_small_models_context_takes_a_prompt_too(tmp_path: Path) -> None:
    """The compact texts hold the first sentences of a description, or a prompt whole."""
    known = {"lab:m1": {"prompts": "compact"}}
    async with open_room(tmp_path, models={"known": known}) as room:
        long = "You look twice at everything that anybody says to you. " * 20
        ann = await room.advisor("Ann", Script(text="Yes."), description=long)
        _, (answer,) = await room.say(await room.conversation(ann), "So?")
        (made,) = await assertion.from_answer(room.polyvox.resources, ME, answer.id, said("Agrees"))
        found = await context(room, made)
        assert found.prompts[0] == "compact"
        assert len(found.brief) < len(found.identity)
        assert with_prompt(found, found.versioned) is found
        given: tuple[tuple[Field, str], ...]
        given = ("description", long + "Twice."), ("prompt", found.versioned)
        for field, text in given:
            details = {field: text}
            await room.polyvox.advisors.update(ME, ann.id, **details)  # type: ignore[arg-type]  # one
            answer = await room.again(answer.id, retry=False)
            assert wire(with_prompt(found, text, field)) == bodies(room, ann)[-1]


async def test_the_text_of_a_phase_is_what_the_road_would_send(room: Room) -> None:
    ann = await room.advisor("Ann", Script(text="Yes, {n}."))
    talk = await room.conversation(ann)
    _, (answer,) = await room.say(talk, "First?")
    (made,) = await assertion.from_answer(room.polyvox.resources, ME, answer.id, said("Agrees"))
    found = await context(room, made)
    assert (found.phase, found.k, found.n) == ("early", 1, 3)
    assert any(part.kind == "protocol" and part.template for part in found.blocks)
    assert with_phase(found, "ongoing", "Anything") is found
    text = "This is turn {k} of {n}: only ask."
    phases = [{"name": "early", "answers": 3, "text": text}, {"name": "ongoing"}]
    await room.polyvox.database.write(
        lambda tx: recipes.put(tx, "council", {"phases": phases}, 1), ME
    )
    await room.again(answer.id, retry=False)
    assert wire(with_phase(found, "early", text)) == bodies(room, ann)[-1]
    assert b"turn 1 of 3" in bodies(room, ann)[-1]


async def test_an_exchange_and_a_synthesis_have_contexts_too(room: Room) -> None:
    ann = await room.advisor("Ann", Script(text="Yes, {n}."))
    bob = await room.advisor("Bob", Script(text="No, {n}."))
    room.provider.script("default", Script(text='{"agreements": [], "tensions": []}'))
    talk = await room.conversation(ann, bob)
    turn, _ = await room.say(talk, "So?")
    await room.polyvox.turns.exchange(ME, turn.id, 1)
    await room.settled()
    _, answers = await room.turn(turn.id)
    heard = next(one for one in answers if one.kind == "exchange" and one.advisor_id == ann.id)
    (made,) = await assertion.from_answer(room.polyvox.resources, ME, heard.id, said("Answers Bob"))
    assert wire(await context(room, made)) == bodies(room, ann)[-1]

    written = await room.polyvox.turns.synthesize(ME, turn.id)
    await room.settled()
    (made,) = await assertion.from_answer(room.polyvox.resources, ME, written.id, said("Is fair"))
    found = await context(room, made)
    assert wire(found) == room.provider.log[-1].body
    assert made.advisor_id == "synthesis"
    assert not found.takes_prompt
    with pytest.raises(Invalid, match="does not show where"):
        with_prompt(found, "Something else")
    assert await owned(room, "synthesis") == ("Synthesis", [made])


async def test_a_recipe_that_changed_since_is_no_obstacle(room: Room) -> None:
    """The identity is found in the text that was sent."""
    ann = await room.advisor("Ann", Script(text="Yes."), prompt="You doubt everything.")
    _, (answer,) = await room.say(await room.conversation(ann), "So?")
    change = {"texts": {"identity": "Be {name}: {identity}"}, "count_turns": True}
    await room.polyvox.database.write(lambda tx: recipes.put(tx, "council", change, 1), ME)
    (made,) = await assertion.from_answer(room.polyvox.resources, ME, answer.id, said("Agrees"))
    found = await context(room, made)
    assert wire(found) == bodies(room, ann)[-1]
    changed = with_prompt(found, "You believe everything.")
    assert wire(changed) == bodies(room, ann)[-1].replace(b"doubt", b"believe")


async def test_it_works_on_when_everything_else_is_gone(room: Room) -> None:
    ann = await room.advisor("Ann", Script(text="Yes."))
    talk = await room.conversation(ann)
    _, (answer,) = await room.say(talk, "So?")
    road = room.polyvox.resources
    (made,) = await assertion.from_answer(road, ME, answer.id, said("Agrees"))
    await room.polyvox.delete_conversation(ME, talk)
    await room.polyvox.advisors.remove(ME, ann.id)
    assert await owned(room, ann.id) == ("Ann", [made])
    assert wire(await context(room, made)) == bodies(room, ann)[-1]
    with pytest.raises(NotFound):
        await owned(room, "nobody")


async def test_an_answer_that_is_being_written_waits(room: Room) -> None:
    ann = await room.advisor("Ann", HELD)
    talk = await room.conversation(ann)
    begun = await room.send(talk, "So?")
    answer_id = begun.answers[0].id
    await room.spoken(talk, answer_id)
    with pytest.raises(Conflict, match="still being written"):
        await assertion.from_answer(room.polyvox.resources, ME, answer_id, said("Agrees"))
    room.provider.gate("hold").set()
    await room.settled()
    assert await assertion.from_answer(room.polyvox.resources, ME, answer_id, said("Agrees"))


async def test_what_is_refused_writes_nothing(room: Room) -> None:
    ann = await room.advisor("Ann", Script(text="Yes."))
    _, (answer,) = await room.say(await room.conversation(ann), "So?")
    road = room.polyvox.resources
    with pytest.raises(Invalid):
        await assertion.from_answer(road, ME, answer.id, [Wording("Fine"), Wording(" ")])
    with pytest.raises(Invalid):
        await assertion.from_answer(road, ME, answer.id, said("Fine"), ["%"])
    with pytest.raises(NotFound):
        await assertion.from_answer(road, ME, "nothing", said("Fine"))
    with pytest.raises(NotFound):
        await assertion.by_hand(road, ME, "nobody", said("Fine"))
    assert await drawn(room, answer.id) == []
    rows = await room.polyvox.database.read(lambda tx: tx.all("SELECT 1 FROM contexts"), ME)
    assert rows == []


async def test_by_hand_with_a_question_or_for_every_context(both: Room) -> None:
    ann = await both.advisor("Ann")
    road = both.polyvox.resources
    checks = [Wording("", "words", {"max": 9})]
    (free,) = await assertion.by_hand(road, ME, "ann", said("Is brief"))
    (asks,) = await assertion.by_hand(road, ME, ann.id, checks, user_input="What is wisdom?")
    assert (free.source, free.user_input) == (None, None)
    assert (asks.text, asks.user_input, asks.args) == (
        "At most 9 words", "What is wisdom?", {"max": 9},
    )  # fmt: skip
    assert await assertion.by_hand(road, ME, "ann", said("Is brief")) == [free]
    (other,) = await assertion.by_hand(road, ME, "ann", said("Is brief"), user_input="Why?")
    assert other.id != free.id


async def test_a_change_makes_a_version_and_words_follow_a_check(both: Room) -> None:
    await both.advisor("Ann")
    road = both.polyvox.resources
    (one,) = await assertion.by_hand(road, ME, "ann", [Wording("", "words", {"max": 9})])
    two = await assertion.change(road, ME, one.id, {"args": {"max": 20}})
    assert (two.number, two.text) == (2, "At most 20 words")
    same = await assertion.change(road, ME, one.id, {"tags": ("Tone",), "active": False})
    assert (same.number, same.tags, same.active) == (2, ("tone",), False)
    judged = await assertion.change(road, ME, one.id, {"kind": "judge", "text": "Is brief"})
    assert (judged.number, judged.kind, judged.args) == (3, "judge", {})
    history = await both.polyvox.database.read(lambda tx: assertion.history(tx, one.id), ME)
    assert [(v.number, v.text, v.kind) for v in history.versions] == [
        (3, "Is brief", "judge"),
        (2, "At most 20 words", "words"),
        (1, "At most 9 words", "words"),
    ]
    for wrong in ({"kind": "words"}, {"text": " "}, {"args": {"max": 1}}):
        with pytest.raises(Invalid):
            await assertion.change(road, ME, one.id, wrong)  # type: ignore[arg-type]  # as given
    now = await both.polyvox.database.read(lambda tx: assertions.get(tx, one.id), ME)
    assert now.number == 3


async def test_many_at_once_all_or_none(both: Room) -> None:
    ann = await both.advisor("Ann", Script(text="Yes."))
    _, (answer,) = await both.say(await both.conversation(ann), "So?")
    road = both.polyvox.resources
    made = await assertion.from_answer(road, ME, answer.id, said("One", "Two", "Three"))
    ids = [one.id for one in made]
    await assertion.bulk(road, ME, ids[:2], "deactivate")
    await assertion.bulk(road, ME, ids, "tag", "Tone")
    await assertion.bulk(road, ME, ids[2:], "untag", "tone")
    found = await drawn(both, answer.id)
    assert [(one.active, one.tags) for one in found] == [
        (False, ("tone",)), (False, ("tone",)), (True, ()),
    ]  # fmt: skip
    with pytest.raises(NotFound):
        await assertion.bulk(road, ME, [ids[0], "nothing"], "remove")
    with pytest.raises(Invalid):
        await assertion.bulk(road, ME, ids, "tag")
    assert len(await drawn(both, answer.id)) == 3

    def kept(tx: Tx) -> int:
        return len(tx.all("SELECT hash FROM contexts"))

    assert await assertion.bulk(road, ME, ids[:2], "remove") == ids[:2]
    assert await both.polyvox.database.read(kept, ME) == 1
    await assertion.bulk(road, ME, ids[2:], "remove")
    assert await both.polyvox.database.read(kept, ME) == 0
    assert await drawn(both, answer.id) == []
    left = await both.polyvox.database.read(
        lambda tx: tx.all("SELECT source_input, source_text, user_input, words FROM assertions"), ME
    )
    assert set(left) == {("", "", None, "")}
    assert texts([answer]) == ["Yes."]


async def test_with_the_embedded_model_alone_rules_suggest_and_it_says_so(tmp_path: Path) -> None:
    async with open_room(tmp_path, models={"default": "local:smollm2"}) as room:
        ann = await room.advisor("Ann", Script(text="You should wait until it is clear to you."))
        _, (answer,) = await room.say(await room.conversation(ann), "Now?")
        found = await suggest(room.polyvox.resources, ME, answer.id)
        assert [one.kind for one in found.suggestions] == ["words", "questions", "language"]
        assert found.model == ""
        assert "far too small" in found.note
        assert len(room.provider.log) == 1


async def test_suggesting_obeys_the_caps_and_records_what_it_used(tmp_path: Path) -> None:
    async with open_room(tmp_path, limits={"cost_per_day": 0.0}) as room:
        ann = await room.advisor("Ann", Script(text="Wait."))
        road = room.polyvox.resources
        road.settings = road.settings.model_copy(update={"limits": road.settings.limits.model_copy(
            update={"cost_per_day": None})})  # fmt: skip
        _, (answer,) = await room.say(await room.conversation(ann), "Now?")
        road.settings = room.polyvox.settings
        with pytest.raises(CapReached):
            await suggest(road, ME, answer.id, model="lab:other")
        assert room.provider.requests("other") == []


async def test_nothing_is_suggested_for_an_answer_without_words(room: Room) -> None:
    ann = await room.advisor("Ann", Script(status=500))
    _, (answer,) = await room.say(await room.conversation(ann), "Now?")
    assert answer.state == "failed"
    with pytest.raises(Conflict, match="says nothing"):
        await suggest(room.polyvox.resources, ME, answer.id)
    (made,) = await assertion.from_answer(room.polyvox.resources, ME, answer.id, said("Is brief"))
    assert wire(await context(room, made)) == bodies(room, ann)[-1]
