"""Loops: one per thing, by priority, over when that is said or marked, in any order of arrival."""

from __future__ import annotations

import random

import pytest

from polyvox.errors import NotFound
from polyvox.memory import loops
from polyvox.memory.loops import Loop, view
from polyvox.memory.tables import loops as rows
from polyvox.memory.tables.loops import Ended, Sighting
from polyvox.memory.values import Episode, Partition
from polyvox.store.database import Database, Tx
from polyvox.values import Scope

ME, PART = Scope("anna"), Partition("polyvox", "anna")
HOUR = loops.HOUR
DAY = 24 * HOUR
FRIDAY = 1_715_299_200_000_000  # 10 May 2024


def said(text: str, at: int = 0, index: int = 0) -> tuple[list[Sighting], list[Ended]]:
    episode = Episode(f"s{at}", index, "user", None, text, FRIDAY + at)
    return loops.found_in(episode, FRIDAY + at, True)


def seen(*told: tuple[list[Sighting], list[Ended]], now: int = 0) -> list[Loop]:
    sightings = [one for some, _ in told for one in some]
    endings = [one for _, some in told for one in some]
    return view(sightings, endings, FRIDAY + now)


def test_what_is_said_twice_is_one_loop_with_both_quotes() -> None:
    (one,) = seen(
        said("I'll call the dentist today."),
        said("I still need to call the dentist, tomorrow.", DAY),
    )
    assert one.text == "Call the dentist, tomorrow"
    assert [each.quote for each in one.evidence] == [
        "I'll call the dentist today.",
        "I still need to call the dentist, tomorrow.",
    ]
    assert (one.first_seen_at, one.last_seen_at) == (FRIDAY, FRIDAY + DAY)
    assert one.due == "2024-05-12"


@pytest.mark.parametrize(
    ("text", "hours", "then"),
    [
        ("I'll call the dentist today.", 48, "stale"),
        ("I'll call the dentist on Wednesday.", 240, "stale"),
        ("I'll call the dentist some day.", 504, "needs_review"),
    ],
)
def test_loops_grow_old(text: str, hours: int, then: str) -> None:
    assert [one.status for one in seen(said(text), now=hours * HOUR)] == ["open"]
    assert [one.status for one in seen(said(text), now=hours * HOUR + 1)] == [then]


def test_a_loop_is_done_when_that_is_said_later() -> None:
    plan = said("I need to call the dentist about the crown.")
    done = said("I called the dentist, the crown is fine.", DAY)
    other = said("I called my aunt.", DAY)
    assert [one.status for one in seen(plan, other)] == ["open"]
    assert [one.status for one in seen(plan, done)] == ["done"]
    again = said("I need to call the dentist about the crown.", 2 * DAY)
    assert [one.status for one in seen(plan, done, again)] == ["open"], "said again, open again"
    before = said("I called the dentist about the crown.", -DAY)
    assert [one.status for one in seen(plan, before)] == ["open"]
    dropped = said("I won't call the dentist about the crown.", DAY)
    assert [one.status for one in seen(plan, dropped)] == ["dropped"]


def test_what_is_due_comes_first() -> None:
    found = seen(
        said("I want to start reading every evening."),
        said("I'll pay the rent tomorrow."),
        said("I need to fix the fence on Wednesday."),
    )
    assert [one.text for one in found][:2] == [
        "Pay the rent tomorrow",
        "Fix the fence on Wednesday",
    ]


def test_what_is_overdue_comes_first_however_long_ago_it_was_said() -> None:
    found = seen(
        said("I'll call the bank on 7 June."),
        said("I need to learn some Greek.", 0, 1),
        said("I'm waiting for the insurance to answer.", 27 * DAY),
        said("I'll pay the rent on 7 June.", 24 * DAY, 1),
        now=31 * DAY,
    )
    assert [(one.text, one.status) for one in found] == [
        ("Pay the rent on 7 June", "open"),
        ("Call the bank on 7 June", "needs_review"),
        ("The insurance to answer", "open"),
        ("Learn some Greek", "needs_review"),
    ]


def test_what_is_over_comes_last_by_when_it_ended() -> None:
    """However pressing it was."""
    found = seen(
        said("I'll pay the rent today.", 0, 1),
        said("I need to paint the shed.", 0, 2),
        said("I need to learn some Greek.", 0, 3),
        said("I paid the rent today.", DAY),
        said("I painted the shed.", 3 * DAY),
    )
    assert [(one.text, one.ended_at) for one in found] == [
        ("Learn some Greek", None),
        ("Paint the shed", FRIDAY + 3 * DAY),
        ("Pay the rent today", FRIDAY + DAY),
    ]


def test_only_what_the_person_says_opens_a_loop() -> None:
    answer = Episode("s", 1, "assistant", "a", "I'll call the dentist today.", FRIDAY)
    assert loops.found_in(answer, FRIDAY, True) == ([], [])


def test_any_order_of_arrival_gives_the_same_view() -> None:
    told = [
        said("I'll call the dentist today. I need to buy a new lamp."),
        said("I called the dentist. I'm waiting for the insurance to answer.", DAY),
        said("I have to buy a new lamp tomorrow. I've decided to sell the boat.", 2 * DAY),
        said("I bought a new lamp.", 3 * DAY),
    ]
    expected = seen(*told, now=4 * DAY)
    assert {one.status for one in expected} == {"open", "done"}
    chance = random.Random(1)
    for _ in range(20):
        chance.shuffle(told)
        assert seen(*told, now=4 * DAY) == expected


async def test_loops_are_kept_and_marked(database: Database) -> None:
    sightings, endings = said("I'll call the dentist today. I need to buy a new lamp.")
    for _ in range(2):
        await database.write(lambda tx: rows.add(tx, PART, sightings, endings), ME)

    def open_now(tx: Tx, now: int = FRIDAY) -> list[str]:
        return [one.text for one in loops.listed(tx, PART, now)]

    assert await database.read(open_now, ME) == ["Call the dentist today", "Buy a new lamp"]
    first = (await database.read(lambda tx: loops.listed(tx, PART, FRIDAY), ME))[0]
    for status, left in (("done", 1), ("open", 2), ("dropped", 1), ("open", 2)):
        marked = await database.write(
            lambda tx, s=status: loops.end(tx, PART, first.id, s, FRIDAY),  # type: ignore[misc]  # mypy infers no lambda with a default
            ME,
        )
        assert marked.status == status
        assert len(await database.read(open_now, ME)) == left
    other = Partition("polyvox", "other")
    assert await database.read(lambda tx: loops.listed(tx, other, FRIDAY), ME) == []
    with pytest.raises(NotFound):
        await database.write(lambda tx: loops.end(tx, other, first.id, "done", FRIDAY), ME)
