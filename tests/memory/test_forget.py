"""Forgetting: what was shown goes, nothing else, and no file holds it any more."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.memory.desk import DAY, EMPTY, FRIDAY, ME, PART, Desk, open_desk
from tests.memory.house import rows_that

from polyvox.errors import Invalid, NotFound
from polyvox.memory import service
from polyvox.memory.forget import Kind, Target
from polyvox.memory.values import Partition
from polyvox.store.database import Database

SECRET = "zanzibarx"
"""A word that stems to itself, as the index keeps it."""
SAYS = f"I need to call {SECRET} about the loan."
NOTES: dict[str, Any] = {
    "facts": [
        {
            "n": 0, "quote": f"call {SECRET} about the loan", "subject": SECRET,
            "attribute": "role", "text": f"{SECRET} handles the loan.",
        }
    ],
    "loops": [
        {"n": 0, "quote": f"I need to call {SECRET}", "type": "commitment",
         "text": f"Call {SECRET} about the loan"}
    ],
    "profile": [
        {"n": 0, "quote": f"call {SECRET} about", "field": "key_relationships",
         "item": SECRET, "text": f"{SECRET}, the banker"}
    ],
    "instructions": [],
}  # fmt: skip
DAILY = {
    "themes": [SECRET], "scores": {"mood": 4}, "confidence": 0.9,
    "steering_note": f"Be mindful of {SECRET}.",
}  # fmt: skip
FILLER = "Tea is what I drink all day long, green tea with a little honey, before and after work."


@pytest.fixture
async def desk(database: Database, tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(database, tmp_path) as desk:
        await remember(desk)
        yield desk


async def remember(desk: Desk) -> None:
    """One session with the secret, one without, everything made of both, corrected and marked."""
    desk.reply(NOTES, {"summary": f"They spoke of {SECRET}."})
    await desk.ingest("s", SAYS, FILLER, FILLER + " Really.")
    await desk.work()
    desk.reply(EMPTY, {"summary": "They spoke of tea."})
    await desk.ingest("t", "I like green tea.", at=DAY)
    await desk.work()
    (fact,) = await desk.memory.facts(ME, PART)
    await desk.memory.change_fact(ME, PART, fact.fact.id, text=f"{SECRET} is retired.")
    (loop,) = await desk.memory.loops(ME, PART)
    await desk.memory.change_loop(ME, PART, loop.id, status="done")
    desk.reply(DAILY)
    desk.always({**EMPTY, "summary": "They spoke of tea.", "themes": ["tea"]})
    desk.clock.now = FRIDAY + 3 * DAY
    await desk.work()
    _, day = await desk.memory.daily(ME, PART, date(2024, 5, 10))
    assert day is not None
    assert (day.themes, day.quality) == ((SECRET,), "ok")


async def rows(desk: Desk) -> dict[str, list[Any]]:
    """Every row of every table that holds the word."""
    return await desk.database.read(lambda tx: rows_that(tx, lambda row: SECRET in row), ME)


async def targets(desk: Desk) -> dict[Kind, str]:
    every = ("open", "needs_review", "stale", "done", "dropped")
    (fact,) = [
        one
        for one in await desk.memory.facts(ME, PART, include_history=True)
        if one.fact.source == "user_stated"
    ]
    (loop,) = await desk.memory.loops(ME, PART, statuses=every)  # type: ignore[arg-type]  # all of them
    profile = await desk.database.read(
        lambda tx: tx.all("SELECT id FROM profile_entries WHERE field = 'key_relationships'"), ME
    )
    return {
        "fact": fact.fact.id,
        "loop": loop.id,
        "profile": profile[0][0],
        "message": "s#0",
        "session": "s",
    }


@pytest.mark.parametrize("kind", ["fact", "loop", "profile", "message", "session"])
async def test_whatever_is_named_everything_goes_with_it(desk: Desk, kind: Kind) -> None:
    assert set(await rows(desk)) >= {
        "claims", "daily_analyses", "episodes", "facts", "loop_sightings", "profile_entries",
        "shelf_words", "summaries",
    }  # fmt: skip
    named = await targets(desk)
    target = Target(kind, named[kind])
    before = await rows(desk)
    shown = await desk.memory.preview(ME, PART, target)
    assert await rows(desk) == before, "a preview changes nothing"
    going = shown.going
    assert "s#0" in [one.id for one in going.messages]
    assert len(going.facts) == 2, "the statement and its correction"
    assert (len(going.sightings), len(going.endings)) == (1, 1)
    assert [name for name, _ in going.loops] == [named["loop"]], "as loops are listed"
    assert [one.item for one in going.entries] == [SECRET]
    assert [one.subject for one in going.summaries] == ["s"]
    assert [one.day for one in going.days] == ["2024-05-10"]
    assert going.index_rows >= 3

    went = await desk.memory.forget(ME, PART, target)

    assert went.going == going, "what was shown, no more and no less"
    assert await rows(desk) == {}
    assert [one.id for one in await desk.ask(SECRET)] == []
    await desk.work()
    assert await rows(desk) == {}, "nor does background work bring it back"
    assert len(await desk.ask("green tea")) > 0
    (_, *rest) = await desk.memory.summaries(ME, PART)
    assert len(rest) == (0 if kind == "session" else 1), "what is left has a new summary"

    desk.reply(NOTES)
    again = await desk.ingest("s", SAYS, FILLER, FILLER + " Really.")
    assert again == "duplicate"
    await desk.work()
    assert await rows(desk) == {}, "nor does sending it again"


async def test_no_file_holds_it(sqlite_database: Database, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()

    def raw() -> bytes:
        return b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())

    async with open_desk(sqlite_database, home) as desk:
        await remember(desk)
        assert SECRET.encode() in raw()
        await desk.memory.forget(ME, PART, Target("fact", (await targets(desk))["fact"]))
        assert SECRET.encode() not in raw()
        assert b"green tea" in raw()


async def test_the_preview_names_backups_and_what_would_hold_again(
    sqlite_database: Database, tmp_path: Path
) -> None:
    (tmp_path / "polyvox.db.v1-20240101T000000.bak").touch()
    async with open_desk(sqlite_database, tmp_path) as desk:
        desk.always({**EMPTY, "summary": "x"})
        for number, city in enumerate(("Lisbon", "Porto")):
            desk.reply(
                {
                    **EMPTY,
                    "facts": [
                        {"n": 0, "quote": f"I live in {city}", "subject": "user",
                         "attribute": "home", "text": f"Lives in {city}."}
                    ],
                }
            )  # fmt: skip
            await desk.ingest(f"s{number}", f"I live in {city}", at=number * DAY)
            await desk.work()
        (porto,) = await desk.memory.facts(ME, PART)
        shown = await desk.memory.preview(ME, PART, Target("fact", porto.fact.id))
        assert shown.backups == ("polyvox.db.v1-20240101T000000.bak",)
        assert [one.text for one in shown.going.returns] == ["Lives in Lisbon."]
        await desk.memory.forget(ME, PART, Target("fact", porto.fact.id))
        (left,) = await desk.memory.facts(ME, PART)
        assert left.fact.text == "Lives in Lisbon."


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        ("fact", "none", NotFound),
        ("loop", "none", NotFound),
        ("profile", "none", NotFound),
        ("message", "s#99", NotFound),
        ("message", "s", Invalid),
        ("message", "s#²", Invalid),
        ("session", "none", NotFound),
    ],
)
async def test_what_is_not_there_is_not_forgotten(
    sqlite_database: Database, tmp_path: Path, kind: Kind, name: str, error: type[Exception]
) -> None:
    async with open_desk(sqlite_database, tmp_path, model="") as desk:
        await desk.ingest("s", SAYS)
        with pytest.raises(error):
            await desk.memory.forget(ME, PART, Target(kind, name))


async def test_nobody_forgets_what_is_in_another_partition(desk: Desk) -> None:
    before = await rows(desk)
    other = Partition("polyvox", "bert")
    for kind, name in (await targets(desk)).items():
        with pytest.raises(NotFound):
            await desk.memory.forget(ME, other, Target(kind, name))
    assert await rows(desk) == before


async def test_it_is_told_when_the_files_could_not_be_scrubbed(
    sqlite_database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "PATIENCE", (0.0,))
    async with open_desk(sqlite_database, tmp_path) as desk:
        await desk.ingest("s", SAYS)
        reader = sqlite3.connect(tmp_path / "polyvox.db", isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM episodes").fetchone()
        held = await desk.memory.forget(ME, PART, Target("session", "s"))
        assert held.scrubbed is False
        reader.execute("COMMIT")
        reader.close()
        await desk.work()
        assert await desk.jobs() == [], "the worker has done it"
        await desk.ingest("t", SAYS)
        done = await desk.memory.forget(ME, PART, Target("session", "t"))
        assert done.scrubbed is True
