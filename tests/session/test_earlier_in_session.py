"""What the window has dropped of a session that goes on is found in the next turn."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.provider import Script
from tests.session.remembered import FILLER, told, trace
from tests.session.room import ME, Hand, Room, open_room

from polyvox.memory import running
from polyvox.values import Advisor

BEES = "My aunt Rosalind moved to Porto and keeps bees there."
ASKED = "Where does Rosalind keep her bees?"
FULL = "9000 chars"


@pytest.fixture(name="clock")
def hand() -> Hand:
    return Hand()


async def long_talk(room: Room, *asked: Advisor, first: str = BEES) -> str:
    """A message at the start, and so much behind it that no request holds it any more."""
    talk = await room.conversation(*asked)
    for text in (first, *(f"{one} {'And so on it went. ' * 60}" for one in FILLER)):
        await room.say(talk, text)
    return talk


def model_of(advisor: Advisor) -> str:
    return (advisor.model or "").partition(":")[2]


def sheet(room: Room, model: str) -> str:
    request = next(one for one in reversed(room.provider.log) if one.model == model)
    return told(request).get("supplemental_context", "")


async def test_it_is_told_again_with_its_source(
    tmp_path: Path, database_url: str, clock: Hand
) -> None:
    async with open_room(
        tmp_path, database=database_url, clock=clock, limits={"context": FULL}
    ) as room:
        ann = await room.advisor("Ann", Script(text="I see."))
        talk = await long_talk(room, ann)

        _, (answer,) = await room.say(talk, ASKED)

        body = str(room.provider.log[-1].json())
        assert body.count("keeps bees there") == 1, "once, and not as a message"
        assert BEES in sheet(room, room.provider.log[-1].model)
        assert (await trace(room, answer.id))["recall"]["decision"] == "found"


async def test_also_what_was_not_even_read_for_the_request(
    tmp_path: Path, clock: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polyvox.store.threads.STRIDE", 2)
    for turns, found in ((running.TURNS, True), (3, False)):
        monkeypatch.setattr(running, "TURNS", turns)
        async with open_room(tmp_path / str(turns), clock=clock, limits={"context": FULL}) as room:
            ann = await room.advisor("Ann", Script(text="I see."))
            talk = await long_talk(room, ann)
            await room.say(talk, ASKED)
            assert (BEES in sheet(room, room.provider.log[-1].model)) is found


async def test_an_advisor_finds_its_own_words_and_never_anothers(
    tmp_path: Path, clock: Hand
) -> None:
    secret = "The walnut orchard of Rosalind blooms in April."
    async with open_room(tmp_path, clock=clock, limits={"context": FULL}) as room:
        ann = await room.advisor("Ann", Script(text=secret))
        bob = await room.advisor("Bob", Script(text="I see."))
        talk = await room.conversation(ann, bob)
        await room.say(talk, "Tell me something.")
        for who in (ann, bob):
            room.provider.script(model_of(who), Script(text="I see."))
        for one in FILLER:
            await room.say(talk, f"{one} {'And so on it went. ' * 60}")
        await room.say(talk, "When does the walnut orchard of Rosalind bloom?")
        assert secret in sheet(room, model_of(ann))
        assert "blooms in April" not in sheet(room, model_of(bob))


async def test_what_was_excluded_is_not_found(tmp_path: Path, clock: Hand) -> None:
    async with open_room(tmp_path, clock=clock, limits={"context": FULL}) as room:
        ann = await room.advisor("Ann", Script(text="I see."))
        talk = await room.conversation(ann)
        turn, _ = await room.say(talk, BEES)
        for one in FILLER:
            await room.say(talk, f"{one} {'And so on it went. ' * 60}")
        await room.polyvox.turns.exclude_message(ME, turn.message_id, excluded=True)
        await room.say(talk, ASKED)
        assert "keeps bees there" not in str(room.provider.log[-1].json())
        await room.polyvox.turns.exclude_message(ME, turn.message_id, excluded=False)
        await room.say(talk, ASKED)
        assert BEES in sheet(room, room.provider.log[-1].model)


async def test_another_branch_is_not_searched(tmp_path: Path, clock: Hand) -> None:
    async with open_room(tmp_path, clock=clock, limits={"context": FULL}) as room:
        ann = await room.advisor("Ann", Script(text="I see."))
        talk = await room.conversation(ann)
        turn, _ = await room.say(talk, BEES)
        await room.polyvox.turns.edit_message(ME, turn.message_id, "My aunt has a tea room.")
        await room.settled()
        for one in FILLER:
            await room.say(talk, f"{one} {'And so on it went. ' * 60}")
        await room.say(talk, ASKED)
        assert "keeps bees there" not in str(room.provider.log[-1].json())


async def test_what_the_request_holds_is_not_told_twice(tmp_path: Path, clock: Hand) -> None:
    async with open_room(tmp_path, clock=clock) as room:
        ann = await room.advisor("Ann", Script(text="I see."))
        talk = await long_talk(room, ann)
        await room.say(talk, ASKED)
        assert str(room.provider.log[-1].json()).count("keeps bees there") == 1
        assert sheet(room, room.provider.log[-1].model) == ""


async def test_memory_that_is_off_looks_for_nothing(tmp_path: Path, clock: Hand) -> None:
    async with open_room(
        tmp_path, clock=clock, limits={"context": FULL}, memory={"recall": "off"}
    ) as room:
        ann = await room.advisor("Ann", Script(text="I see."))
        talk = await long_talk(room, ann)
        await room.say(talk, ASKED)
        assert "keeps bees there" not in str(room.provider.log[-1].json())
