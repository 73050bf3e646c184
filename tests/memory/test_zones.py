"""Days are the person's days: what is due today, and what was said yesterday, where they live."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from tests.memory.desk import EMPTY, ME, PART, Desk, open_desk

from polyvox.memory import loops, session_start
from polyvox.memory.recall import PERSON
from polyvox.memory.remembering import Lookup, OwnMemory
from polyvox.memory.tables import statements
from polyvox.memory.tables.statements import Plan, Statement
from polyvox.memory.times import date_of, midnight, times_in
from polyvox.memory.values import Message
from polyvox.store.database import Database, Tx

THERE = "America/Los_Angeles"
ZONE = ZoneInfo(THERE)


def there(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZONE).timestamp()) * 1_000_000


MONDAY = there("2025-10-06T18:00")  # Tuesday, 01:00 in UTC


@pytest.fixture
async def desk(database: Database, tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(database, tmp_path) as desk:
        desk.held.settings = desk.held.settings.model_copy(update={"timezone": THERE})
        desk.clock.now = MONDAY + 60_000_000
        day = "2025-10-06"
        row = {"n": 0, "quote": "I'll call the bank today", "text": "Call the bank", "due": day}
        fact = {"n": 0, "quote": "call the bank today", "text": "Calls.", "about": day}
        desk.always({**EMPTY, "loops": [row], "facts": [fact], "summary": "They talked."})
        yield desk


async def say(desk: Desk, session: str, text: str, at: int) -> None:
    await desk.memory.ingest(ME, PART, session, None, at, at, [Message("user", text, at)])


async def test_what_is_due_today_is_due_that_day(desk: Desk) -> None:
    await say(desk, "s", "I'll call the bank today.", MONDAY)
    await desk.work()
    now = desk.clock()
    known = (await desk.database.read(lambda tx: session_start.read(tx, PART, now, ZONE), ME)).known
    due = [("Call the bank", date(2025, 10, 6))]
    assert [(one.text, one.due) for one in known.loops] == due
    (loop,) = await desk.memory.loops(ME, PART)
    assert (loop.due, loop.horizon) == ("2025-10-06", "today")
    shown = json.loads(desk.provider.log[0].json()["messages"][1]["content"])
    assert shown["said"] == "2025-10-06", "the model is told the person's day"
    (one,) = await desk.memory.facts(ME, PART)
    fact = one.statement
    assert fact.about_from == there("2025-10-06")
    assert (fact.about_to, fact.about_precision) == (there("2025-10-07"), "day")


async def test_a_question_means_the_persons_yesterday(desk: Desk) -> None:
    await say(desk, "sunday", "The boat leaks.", there("2025-10-05T20:00"))
    await say(desk, "monday", "The roof leaks.", there("2025-10-06T09:00"))
    desk.clock.now = there("2025-10-06T18:30")

    async def found(question: str) -> list[str]:
        own = OwnMemory(desk.database, lambda: THERE)
        got = await own.look_up(ME, Lookup(question, desk.clock(), PERSON))
        assert got.value is not None
        texts = [item.text for item in await desk.ask(question)]
        assert [one.text for one in got.value.items] == texts, "so in a conversation"
        return texts

    assert await found("what did I say yesterday") == ["The boat leaks."]
    assert await found("what did I say today") == ["The roof leaks."]


async def test_what_is_changed_by_hand_has_the_persons_days(desk: Desk) -> None:
    await say(desk, "s", "I'll call the bank today.", MONDAY)
    await desk.work()
    (loop,) = await desk.memory.loops(ME, PART)
    later = await desk.memory.change_loop(ME, PART, loop.id, due=date(2025, 10, 8))
    assert later.horizon == "this_week", "two days from Monday, though one from Tuesday"


def test_a_day_begins_and_ends_where_the_person_is() -> None:
    (span,) = times_in("yesterday", MONDAY, ZONE).spans
    assert (span.start, span.end) == (there("2025-10-05"), there("2025-10-06"))
    changed = there("2025-11-02T12:00")  # this day has 25 hours
    (span,) = times_in("today", changed, ZONE).spans
    assert span.end - span.start == 25 * 3_600_000_000
    assert date_of(midnight(date(2025, 11, 2), ZONE), ZONE) == date(2025, 11, 2)
    assert date_of(MONDAY) == date(2025, 10, 7), "without a zone it is UTC"


async def test_what_is_due_sooner_there_comes_first(database: Database) -> None:
    """Late on Monday, what is due on Tuesday: for UTC that is today, and weighs more."""

    def ranked(tx: Tx) -> list[str | None]:
        days = ("2025-10-08", "2025-10-07")
        due = [Statement(day, "loop", "user", "", day, MONDAY, plan=Plan(due=day)) for day in days]
        statements.add(tx, PART, due)
        return [one.due for one in loops.listed(tx, PART, MONDAY, zone=ZONE)]

    assert await database.write(ranked, ME) == ["2025-10-07", "2025-10-08"]
    assert date_of(MONDAY, UTC) != date_of(MONDAY, ZONE)


async def test_a_model_is_shown_the_persons_days(desk: Desk) -> None:
    await say(desk, "s", "I'll call the bank today.", MONDAY)

    await desk.work()

    shown = [str(one.json()) for one in desk.provider.log]
    assert len(shown) >= 2, "what is noted, and the summary"
    for body in shown:
        assert "2025-10-06" in body
        assert "2025-10-07" not in body
