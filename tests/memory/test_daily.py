"""The analysis of a day: by a model, by counting, and when there is not enough to go by."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.memory.desk import DAY, EMPTY, FRIDAY, ME, PART, Desk, open_desk

from polyvox.memory.daily import bounds
from polyvox.memory.tables.derived import Daily
from polyvox.store.database import Database

LONG = (
    "The garden took all morning, the beans are up and the garden gate is finally mended.",
    "I worried about money again, and then about the garden wall, which leans a little.",
    "Money is tight until June but the garden feeds us, and that is something at least.",
)
GOOD: dict[str, Any] = {
    "themes": ["the garden", "money", 7],
    "scores": {"mood": 6, "energy": 99, "clarity": "high"},
    "steering_note": "Money worries them; do not bring it up first.",
    "confidence": 0.9,
}


async def analysed(desk: Desk, *texts: str, **more: Any) -> Daily | None:
    await desk.ingest("s", *texts, **more)
    await desk.work()
    desk.clock.now = FRIDAY + 2 * DAY
    await desk.work()
    return (await desk.memory.daily(ME, PART, date(2024, 5, 10)))[1]


async def test_a_day_is_analysed_when_it_is_over(database: Database, tmp_path: Path) -> None:
    async with open_desk(database, tmp_path) as desk:
        desk.reply(EMPTY, {"summary": "x"})
        await desk.ingest("s", *LONG)
        await desk.work()
        (job,) = await desk.jobs()
        assert (job.kind, job.due_at) == ("daily", FRIDAY + DAY)
        desk.reply(GOOD)
        desk.clock.now = FRIDAY + DAY
        await desk.work()
        day, found = await desk.memory.daily(ME, PART)
        assert found is not None
        assert day == date(2024, 5, 10), "yesterday's, where today has none"
        assert (found.themes, found.quality) == (("the garden", "money"), "ok")
        assert found.scores == {"messages": 3.0, "sessions": 1.0, "mood": 6.0, "energy": 10.0}
        assert found.steering_note == "Money worries them; do not bring it up first."
        assert (found.sessions, found.model) == (("s",), "lab:notes")

        desk.reply(EMPTY, {"summary": "x"}, {**GOOD, "themes": ["more"]})
        await desk.ingest("t", "And one thing more about that day.", at=DAY // 2)
        await desk.work()
        _, again = await desk.memory.daily(ME, PART)
        assert again is not None
        assert (again.themes, again.sessions) == (("more",), ("s", "t")), "a late session counts"


@pytest.mark.parametrize(
    ("note", "kept"),
    [
        ("word " * 25, None),
        ("", None),
        (f"Ask how the talk went. {'word ' * 25}", "Ask how the talk went."),
        ("Be brief. They are tired.", "Be brief. They are tired."),
    ],
)
async def test_a_note_that_is_too_long_is_no_doubt_of_the_day(
    sqlite_database: Database, tmp_path: Path, note: str, kept: str | None
) -> None:
    async with open_desk(sqlite_database, tmp_path) as desk:
        desk.always({**EMPTY, "summary": "x", **GOOD, "steering_note": note})
        found = await analysed(desk, *LONG)
        assert found is not None
        assert (found.quality, found.steering_note) == ("ok", kept)


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"confidence": 0.4}, GOOD["steering_note"]),
        ({"confidence": None}, GOOD["steering_note"]),
    ],
)
async def test_what_is_not_sure_needs_a_review(
    sqlite_database: Database, tmp_path: Path, change: dict[str, Any], note: str | None
) -> None:
    async with open_desk(sqlite_database, tmp_path) as desk:
        desk.always({**EMPTY, "summary": "x", **GOOD, **change})
        found = await analysed(desk, *LONG)
        assert found is not None
        assert (found.quality, found.steering_note) == ("needs_review", note)


async def test_a_bad_reply_shows(sqlite_database: Database, tmp_path: Path) -> None:
    async with open_desk(sqlite_database, tmp_path) as desk:
        desk.reply(EMPTY, {"summary": "x"})
        desk.always("I would rather not.")
        assert await analysed(desk, *LONG) is None
        (job,) = await desk.jobs()
        assert (job.kind, "lacks the data it was asked for" in (job.failure or "")) == (
            "daily",
            True,
        )


async def test_without_a_model_it_counts_and_says_so(
    sqlite_database: Database, tmp_path: Path
) -> None:
    async with open_desk(sqlite_database, tmp_path, model="") as desk:
        found = await analysed(desk, *LONG)
        assert found is not None
        assert (found.quality, found.steering_note) == ("insufficient_data", None)
        assert found.themes[:2] == ("garden", "money")
        assert found.scores == {"messages": 3.0, "sessions": 1.0}


async def test_too_little_is_shown_to_no_model(sqlite_database: Database, tmp_path: Path) -> None:
    async with open_desk(sqlite_database, tmp_path) as desk:
        desk.always({**EMPTY, "summary": "x", **GOOD})
        found = await analysed(desk, "Hello.", "Bye.")
        assert found is not None
        assert (found.quality, found.model) == ("insufficient_data", "")


async def test_what_must_not_leave_is_no_part_of_it(
    sqlite_database: Database, tmp_path: Path
) -> None:
    async with open_desk(sqlite_database, tmp_path, model="") as desk:
        found = await analysed(desk, *LONG, cloud=False)
        assert found is not None
        assert (found.themes, found.sessions) == ((), ())


def test_a_day_begins_where_the_person_is() -> None:
    first, after = bounds(date(2024, 3, 31), ZoneInfo("Europe/Lisbon"))
    assert after - first == 23 * 3_600_000_000, "the clocks go forward"
    assert bounds(date(2024, 5, 10), ZoneInfo("UTC")) == (FRIDAY, FRIDAY + DAY)
