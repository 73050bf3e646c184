"""Forgotten words that other messages' rows tell, or what was made by hand of a line, go too."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.memory.desk import DAY, EMPTY, ME, PART, Desk, open_desk
from tests.memory.house import rows_that

from polyvox.memory.forget import Target
from polyvox.memory.service import Forgetting
from polyvox.store.database import Database

SAYS = "He is allergic to peanuts, badly."
QUOTE = "He is allergic to peanuts"
PLAIN = {
    "facts": [
        {"n": 2, "quote": QUOTE, "subject": "somebody", "attribute": "allergy",
         "text": "Somebody is allergic to peanuts."}
    ]
}  # fmt: skip


def notes(name: str) -> dict[str, Any]:
    """What a model notes of the second message, with a name that only the first one says."""
    of = {"n": 2, "quote": QUOTE}
    return {
        **EMPTY,
        "facts": [
            {**of, "subject": name, "attribute": "allergy", "text": f"{name} is allergic."},
            {**of, "subject": "user", "attribute": "pantry", "text": "No peanuts at home."},
        ],
        "loops": [
            {**of, "type": "commitment", "text": f"Buy {name} an adrenaline pen"},
            {**of, "status": "done", "text": f"Visit {name}"},
        ],
        "profile": [{**of, "field": "key_relationships", "item": name, "text": "brother"}],
    }


@pytest.fixture
async def desk(database: Database, tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(database, tmp_path) as desk:
        desk.always({**EMPTY, "summary": "x", "themes": []})
        yield desk


async def traces(desk: Desk, name: str) -> dict[str, list[Any]]:
    """Every row of every table that holds a word."""
    word = re.compile(rf"(?<![a-z]){name.casefold()}(?![a-z])")
    return await desk.database.read(
        lambda tx: rows_that(tx, lambda row: word.search(row.casefold()) is not None), ME
    )


async def forgotten(desk: Desk, target: Target) -> Forgetting:
    """Forget it: what was shown before goes, no more and no less."""
    shown = await desk.memory.preview(ME, PART, target)
    went = await desk.memory.forget(ME, PART, target)
    assert went.going == shown.going
    return went


@pytest.mark.parametrize("name", ["Quibblefrax", "Tim", "李明"])
async def test_what_another_messages_rows_tell_goes_and_is_noted_anew(
    desk: Desk, name: str
) -> None:
    desk.reply(notes(name))
    await desk.ingest("s", f"My brother is called {name}.", SAYS)
    await desk.work()
    (loop,) = await desk.memory.loops(ME, PART)
    await desk.memory.change_loop(ME, PART, loop.id, status="dropped")
    (fact,) = [one for one in await desk.memory.facts(ME, PART) if one.fact.subject == name]
    await desk.memory.change_fact(ME, PART, fact.fact.id, text="It is only a rash.")
    tables = {"facts", "claims", "loop_sightings", "loop_endings", "profile_entries"}
    assert tables <= set(await traces(desk, name)), "or this would test nothing"

    went = await forgotten(desk, Target("message", "s#0"))

    assert {one.text for one in went.going.facts} == {f"{name} is allergic.", "It is only a rash."}
    assert [one.text for one in went.going.sightings] == [f"Buy {name} an adrenaline pen"]
    assert len(went.going.endings) == 2, "what was said, and what was marked by hand"
    assert [one.item for one in went.going.entries] == [name]
    assert await traces(desk, name) == {}
    left = await desk.memory.facts(ME, PART)
    assert [one.fact.text for one in left] == ["No peanuts at home."], "it tells nothing of it"

    desk.reply({**EMPTY, **PLAIN})
    await desk.work()
    assert await traces(desk, name) == {}
    texts = {one.fact.text for one in await desk.memory.facts(ME, PART)}
    assert texts == {"No peanuts at home.", "Somebody is allergic to peanuts."}
    asked = [one.body.decode() for one in desk.provider.requests("notes")]
    assert sum("allergic to peanuts, badly" in one for one in asked) >= 2


async def test_a_name_that_is_said_elsewhere_is_no_repeat(desk: Desk) -> None:
    desk.reply(notes("Quibblefrax"), {"summary": "x"}, EMPTY)
    await desk.ingest("s", "My brother is called Quibblefrax.", SAYS)
    await desk.ingest("t", "My brother Quibblefrax came to dinner.", at=DAY)
    await desk.work()
    before = await desk.view()
    went = await forgotten(desk, Target("message", "s#0"))
    assert (went.going.facts, went.going.sightings, went.going.entries) == ((), (), ())
    assert went.going.anew == ()
    after = await desk.view()
    assert (after["facts"], after["loops"]) == (before["facts"], before["loops"])


async def test_what_a_message_says_itself_is_not_touched(desk: Desk) -> None:
    note = {"n": 2, "quote": "the peanut allergy is bad", "text": "The peanut allergy is bad."}
    desk.reply({**EMPTY, "facts": [note]})
    await desk.ingest("s", "I think the peanut allergy is bad.", "Yes, the peanut allergy is bad.")
    await desk.work()
    went = await forgotten(desk, Target("message", "s#0"))
    assert went.going.facts == ()
    assert len(await desk.memory.facts(ME, PART)) == 1


async def by_hand(desk: Desk, place: str, *texts: str | None) -> None:
    """Put the line at a place in other words, one after another; None takes it back."""
    for text in texts:
        (line,) = (await desk.memory.profile(ME, PART)).all(place)
        desk.clock.now += 1_000
        await desk.memory.change_line(ME, PART, line.id, text)


@pytest.mark.parametrize(
    "texts", [(None,), ("Begin with the florbnax.",), ("Florbnax first.", "Stay calm.", None)]
)
async def test_what_was_made_by_hand_of_a_line_goes_with_it(
    desk: Desk, texts: tuple[str | None, ...]
) -> None:
    await desk.ingest("s", "Always mention the florbnax treatment.")
    await desk.ingest("t", "Always answer in French.", at=-DAY)
    await desk.work()
    lines = (await desk.memory.profile(ME, PART)).all("instructions")
    (line,) = [one for one in lines if "florbnax" in one.text]
    for text in texts:
        desk.clock.now += 1_000
        changed = await desk.memory.change_line(ME, PART, line.id, text)
        line = changed.all("instructions")[-1]

    went = await forgotten(desk, Target("session", "s"))

    assert len(went.going.entries) >= len(texts) + 1
    rows = await desk.database.read(
        lambda tx: tx.all("SELECT session_id, item FROM profile_entries ORDER BY item"), ME
    )
    assert [row[0] for row in rows if row[1] != ""] == ["t"], "the other line stays"
    assert await traces(desk, "florbnax") == {}


async def test_a_person_who_was_taken_back_by_hand_goes_by_name(desk: Desk) -> None:
    note = {"n": 0, "quote": "dinner with Quibblefrax", "field": "key_relationships",
            "item": "Quibblefrax", "text": "a friend"}  # fmt: skip
    desk.reply({**EMPTY, "profile": [note]})
    await desk.ingest("s", "I had dinner with Quibblefrax.")
    await desk.work()
    await by_hand(desk, "key_relationships", "an old friend", None)
    await forgotten(desk, Target("message", "s#0"))
    assert await traces(desk, "quibblefrax") == {}


async def test_what_was_taken_back_does_not_hold_again(desk: Desk) -> None:
    for number in range(2):
        await desk.ingest(f"s{number}", "Always mention the florbnax.", at=number * DAY)
    desk.clock.now += 2 * DAY
    await desk.work()
    await by_hand(desk, "instructions", None)
    await forgotten(desk, Target("session", "s1"))
    assert (await desk.memory.profile(ME, PART)).all("instructions") == ()


async def test_a_line_by_hand_from_before_stays_as_it_was(desk: Desk) -> None:
    desk.clock.now -= 10 * DAY
    await desk.memory.add_line(ME, PART, "key_relationships", "Quibblefrax", "my brother")
    desk.clock.now += 10 * DAY
    note = {"n": 0, "quote": "dinner with Quibblefrax", "field": "key_relationships",
            "item": "Quibblefrax", "text": "a friend"}  # fmt: skip
    desk.reply({**EMPTY, "profile": [note]})
    await desk.ingest("s", "I had dinner with Quibblefrax.")
    await desk.work()
    await by_hand(desk, "key_relationships", None)
    went = await forgotten(desk, Target("session", "s"))
    assert [one.value for one in went.going.entries] == ["a friend"]
    assert (await desk.memory.profile(ME, PART)).all("key_relationships") == ()


async def test_another_value_at_a_place_for_one_is_no_rewording(desk: Desk) -> None:
    note = {"n": 0, "quote": "I work at Zorbcorp", "field": "work_context",
            "text": "Works at Zorbcorp."}  # fmt: skip
    desk.reply({**EMPTY, "profile": [note]})
    await desk.ingest("s", "I work at Zorbcorp.")
    await desk.work()
    await by_hand(desk, "work_context", "Was at Zorbcorp once.", "Retired.")
    await forgotten(desk, Target("session", "s"))
    (line,) = (await desk.memory.profile(ME, PART)).all("work_context")
    assert line.text == "Retired."
    assert await traces(desk, "zorbcorp") == {}


async def lives_in(desk: Desk, *cities: str) -> dict[str, str]:
    """One session for each city, a day apart; the ids of what was noted of each."""
    for number, city in enumerate(cities):
        note = {"n": 0, "quote": f"I live in {city}", "subject": "user", "attribute": "home",
                "text": f"The user lives in {city}."}  # fmt: skip
        desk.reply({**EMPTY, "facts": [note]})
        await desk.ingest(city, f"I live in {city} now.", at=number * DAY)
        await desk.work()
    known = await desk.memory.facts(ME, PART, include_history=True)
    return {str(one.fact.session_id): one.fact.id for one in known}


async def test_what_a_correction_leaves_of_a_note_is_not_the_persons(desk: Desk) -> None:
    desk.clock.now += 9 * DAY
    ids = await lives_in(desk, "Braga", "Aveiro", "Coimbra")
    new = await desk.memory.change_fact(ME, PART, ids["Coimbra"], text="The user lives in Faro.")
    alone = await desk.memory.preview(ME, PART, Target("fact", new.fact.id))
    assert [one.text for one in alone.going.facts] == ["The user lives in Faro."]

    went = await forgotten(desk, Target("fact", ids["Coimbra"]))

    texts = {one.text for one in went.going.facts}
    assert texts == {"The user lives in Coimbra.", "The user lives in Faro."}
    assert [one.text for one in went.going.returns] == ["The user lives in Aveiro."]
    assert went.going.anew == ()
    left = await desk.memory.facts(ME, PART, include_history=True)
    assert {one.fact.id for one in left} == {ids["Braga"], ids["Aveiro"]}


async def test_no_file_holds_what_was_retold(sqlite_database: Database, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()

    def raw() -> bytes:
        return b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file()).lower()

    async with open_desk(sqlite_database, home) as desk:
        desk.always({**EMPTY, "summary": "x", "themes": []})
        desk.reply(notes("Quibblefrax"))
        await desk.ingest("s", "My brother is called Quibblefrax.", SAYS)
        await desk.work()
        await by_hand(desk, "key_relationships", "a brother", None)
        assert b"quibblefrax" in raw()
        await desk.memory.forget(ME, PART, Target("message", "s#0"))
        await desk.work()
        assert b"quibblefrax" not in raw()
        assert b"allergic to peanuts" in raw()
