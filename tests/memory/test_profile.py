"""The profile: what holds in it, who says so, and changing it by hand."""

from __future__ import annotations

import random
from typing import Any

import pytest

from polyvox.errors import Invalid
from polyvox.memory import profile
from polyvox.memory.profile import Profile
from polyvox.memory.tables import statements as rows
from polyvox.memory.tables.statements import Statement
from polyvox.memory.values import Partition
from polyvox.store.database import Database
from polyvox.values import Scope

ME, PART = Scope("anna"), Partition("polyvox", "anna")
DAY = profile.DAY


def entry(place: str, text: str, at: int, item: str = "", **more: Any) -> Statement:
    subject = text if place == "patterns" else item
    where: dict[str, Any] = {
        "session_id": f"s{at}",
        "message_index": 0,
        "role": "user",
        "quote": text,
    }
    return Statement(f"{place} {at}", "profile", subject, place, text, at, **where, **more)


async def keep(database: Database, now: int, *entries: Statement) -> None:
    await database.write(lambda tx: rows.add(tx, PART, entries, (), now), ME)


async def read(database: Database, **more: Any) -> Profile:
    return await database.read(lambda tx: profile.read(tx, PART, **more), ME)


async def change(database: Database, now: int = 100, **values: Any) -> Profile:
    return await database.write(lambda tx: profile.patch(tx, PART, values, now), ME)


async def test_the_newest_holds_but_nothing_inferred_stands_against_what_was_said(
    database: Database,
) -> None:
    entries = [
        entry("current_focus", "the thesis", 10),
        entry("current_focus", "the move", 20),
        entry("current_focus", "perhaps a holiday", 30, source="inferred"),
        entry("north_star", "to lead a team", 10, "work", source="inferred"),
        entry("key_relationships", "her sister", 10, "Rosa"),
    ]
    random.Random(2).shuffle(entries)
    await keep(database, 1, *entries)
    found = await read(database)
    assert [(line.text, line.source) for line in found.all("current_focus")] == [
        ("the move", "user_stated")
    ]
    assert [(x.item, x.source) for x in found.all("north_star")] == [("work", "inferred")]
    assert [(x.item, x.text) for x in found.all("key_relationships")] == [("Rosa", "her sister")]
    then = await read(database, as_of=15)
    assert [line.text for line in then.all("current_focus")] == ["the thesis"]


async def test_changing_it_by_hand(database: Database) -> None:
    made = await change(
        database,
        north_star={"work": "to teach"},
        current_focus="the exam",
        key_relationships=[{"name": "Rosa", "text": "her sister"}, "Tom"],
        preferences={"tone": "dry", "avoid": ["emojis", "lists"]},
        instructions=["Answer in German"],
    )
    assert made.version == 1
    assert made.one("current_focus") is not None
    assert [(x.item, x.text, x.source) for x in made.all("north_star")] == [
        ("work", "to teach", "manual")
    ]
    assert {x.item for x in made.all("key_relationships")} == {"Rosa", "Tom"}
    assert made.completeness == {
        "relationships": 0.5, "work": 0.67, "health": 0.0, "spirituality": 0.0, "general": 0.33,
    }  # fmt: skip

    again = await change(database, current_focus="the exam")
    assert again.version == 1, "nothing changed"
    less = await change(
        database, current_focus=None, preferences={"avoid": ["lists"]}, key_relationships=["Tom"]
    )
    assert less.one("current_focus") is None
    assert [x.text for x in less.all("preferences.avoid")] == ["lists"]
    assert [x.item for x in less.all("key_relationships")] == ["Tom"]
    assert less.one("preferences.tone") is not None, "what is not named stays"
    assert less.version == 2
    assert less.days_old(100 + 3 * DAY) == 3
    back = await change(database, current_focus="the exam")
    assert back.one("current_focus") is not None


async def test_what_was_taken_back_is_not_inferred_again(database: Database) -> None:
    guess = entry("patterns", "puts things off", 50, source="inferred", confidence=0.5)
    await keep(database, 50, guess)
    assert (await change(database, now=60, patterns=[])).all("patterns") == ()
    later = entry("patterns", "puts things off", 70, source="inferred")
    await keep(database, 70, later)
    assert (await read(database)).all("patterns") == ()


async def test_a_list_that_is_sent_whole_leaves_what_it_repeats_as_it_was(
    database: Database,
) -> None:
    """An inferred line is not made the person's own, and a private one is not given away."""
    guess = entry("patterns", "puts things off", 50, source="inferred", cloud=False)
    await keep(database, 50, guess)
    made = await change(database, now=60, patterns=["puts things off", "rises early"])
    assert [(line.text, line.source) for line in made.all("patterns")] == [
        ("puts things off", "inferred"),
        ("rises early", "manual"),
    ]
    told = await read(database, cloud=True)
    assert [line.text for line in told.all("patterns")] == ["rises early"]


async def test_what_must_not_go_to_a_cloud_model_is_left_out(database: Database) -> None:
    secret = entry("work_context", "a secret project", 1, cloud=False)
    await keep(database, 1, secret)
    whole = await read(database)
    assert whole.one("work_context") is not None
    told = await read(database, cloud=True)
    assert told.one("work_context") is None


async def test_entering_twice_changes_nothing(database: Database) -> None:
    said = Statement("i", "instruction", "user", "", "Always answer briefly", 1)
    for _ in range(3):
        await keep(database, 1, said)
    found = await read(database)
    assert (len(found.all("instructions")), found.version) == (1, 1)
    other = Partition("polyvox", "other")
    assert (await database.read(lambda tx: profile.read(tx, other), ME)).lines == {}


@pytest.mark.parametrize(
    "values",
    [
        {"shoe_size": "44"},
        {"north_star": {"money": "more"}},
        {"north_star": "more"},
        {"patterns": "one"},
        {"current_focus": 3},
        {"current_focus": "x" * 2001},
        {"key_relationships": [{"text": "nobody"}]},
        {"preferences": {"volume": "loud"}},
        {"key_relationships": [{"name": 5}]},
        {"current_focus": "a\ud800"},
        {"work_context": {"text": "a\0"}},
        {"north_star": {"work": "a\udfff"}},
        {"north_star": {"a\ud800": "b"}},
        {"patterns": ["a\ud800"]},
        {"key_relationships": ["a\ud800"]},
        {"key_relationships": [{"name": "a\ud800", "text": "b"}]},
        {"key_relationships": [{"name": "a", "text": "b\ud800"}]},
        {"preferences": {"tone": "a\ud800"}},
        {"preferences": {"avoid": ["a\ud800"]}},
        {"instructions": ["a\ud800"]},
        {"name": "a\ud800"},
        {"a\ud800": "b"},
    ],
)
async def test_what_has_no_place_is_refused(
    sqlite_database: Database, values: dict[str, Any]
) -> None:
    with pytest.raises(Invalid):
        await change(sqlite_database, **values)
    assert (await read(sqlite_database)).version == 0


async def test_its_age_counts_from_when_it_was_said(database: Database) -> None:
    now = 500 * DAY
    await keep(database, now, entry("current_focus", "the boat", 40 * DAY))
    found = await read(database)
    assert (found.updated_at, found.days_old(now)) == (now, 460)
    changed = await change(database, now, work_context="a yard")
    assert changed.days_old(now + DAY) == 1
    assert Profile({}, 3, now).days_old(now) is None
