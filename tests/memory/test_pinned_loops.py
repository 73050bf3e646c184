"""A pinned loop: it comes first wherever loops are told, does not grow old, and is over when it is
over; forgetting or excluding some of its words does not unpin it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.memory.desk import DAY, EMPTY, FRIDAY, ME, PART, Desk, open_desk

from polyvox.errors import Conflict, NotFound
from polyvox.memory import loops
from polyvox.memory.forget import Target
from polyvox.memory.loops import Loop, LoopStatus, view
from polyvox.memory.tables import loops as rows
from polyvox.memory.tables.loops import Ended, Sighting
from polyvox.memory.values import Episode, Partition
from polyvox.store.database import Database
from polyvox.values import Scope

EVERY: tuple[LoopStatus, ...] = ("open", "needs_review", "stale", "done", "dropped")
WALK = "I want to start walking every Sunday."
RENT = "I'll pay the rent tomorrow."
FENCE = "I need to fix the fence on Wednesday."


def said(text: str, at: int = 0, *, pinned: bool = False) -> tuple[list[Sighting], list[Ended]]:
    episode = Episode(f"s{at}", 0, "user", None, text, FRIDAY + at)
    seen, over = loops.found_in(episode, FRIDAY + at, True)
    return [replace(one, pinned=pinned) for one in seen], over


def seen(*told: tuple[list[Sighting], list[Ended]], now: int = 0) -> list[Loop]:
    sightings = [one for some, _ in told for one in some]
    return view(sightings, [one for _, some in told for one in some], FRIDAY + now)


# -- as a view -------------------------------------------------------------------------------------


def test_what_is_pinned_comes_first_then_by_how_pressing_it_is() -> None:
    told = [said(RENT), said(FENCE, 1), said(WALK, 2), said("I need to buy a new lamp.", 3)]
    assert seen(*told)[0].text == "Pay the rent tomorrow"
    pinned = seen(said(RENT), said(FENCE, 1, pinned=True), said(WALK, 2, pinned=True), told[3])
    assert [(one.text, one.pinned) for one in pinned] == [
        ("Fix the fence on Wednesday", True),
        ("Walking every Sunday", True),
        ("Pay the rent tomorrow", False),
        ("Buy a new lamp", False),
    ]


@pytest.mark.parametrize("text", [WALK, RENT, FENCE])
def test_what_is_pinned_does_not_grow_old(text: str) -> None:
    (old,) = seen(said(text), now=400 * DAY)
    assert old.status in ("stale", "needs_review")
    (pinned,) = seen(said(text, pinned=True), now=400 * DAY)
    assert pinned.status == "open"


def test_what_is_pinned_and_over_is_over() -> None:
    done = said("I paid the rent.", DAY)
    found = seen(said(RENT, pinned=True), done, said("I need to buy a new lamp.", 2), now=DAY)
    assert [(one.text, one.status) for one in found] == [
        ("Buy a new lamp", "open"),
        ("Pay the rent tomorrow", "done"),
    ]
    other = said("I'll visit the dentist tomorrow."), said("I visited the dentist.", DAY)
    closed = seen(said(RENT), done, *other, now=DAY)
    pinned = seen(said(RENT, pinned=True), done, *other, now=DAY)
    assert [one.id for one in closed] == [one.id for one in pinned], "nor does it stand first there"
    again = seen(said(RENT, pinned=True), done, said(RENT, 2 * DAY), now=2 * DAY)
    assert [(one.status, one.pinned) for one in again] == [("open", True)]


# -- as rows ---------------------------------------------------------------------------------------


async def kept(database: Database, *texts: str, at: int = 0) -> None:
    for number, text in enumerate(texts):
        sightings, endings = said(text, at + number)
        await database.write(
            lambda tx, s=sightings, e=endings: loops.add(tx, PART, s, e),  # type: ignore[misc]  # mypy infers no lambda with a default
            ME,
        )


async def listed(database: Database, now: int = FRIDAY) -> list[Loop]:
    return await database.read(lambda tx: loops.listed(tx, PART, now, statuses=EVERY), ME)


async def pin(database: Database, loop: str, *, pinned: bool = True) -> Loop:
    return await database.write(lambda tx: loops.mark(tx, PART, loop, FRIDAY, pinned=pinned), ME)


async def test_a_loop_is_pinned_and_unpinned(database: Database) -> None:
    await kept(database, RENT, WALK)
    rent, walk = await listed(database)
    assert (await pin(database, walk.id)).pinned
    assert [one.id for one in await listed(database)] == [walk.id, rent.id]
    assert [one.status for one in await listed(database, FRIDAY + 99 * DAY)] == ["open", "stale"]
    near = await database.read(lambda tx: loops.listed(tx, PART, FRIDAY, limit=1), ME)
    assert [one.id for one in near] == [walk.id], "within a cap, too"
    assert not (await pin(database, walk.id, pinned=False)).pinned
    assert [one.id for one in await listed(database)] == [rent.id, walk.id]
    old = {one.id: one.status for one in await listed(database, FRIDAY + 99 * DAY)}
    assert old == {walk.id: "needs_review", rent.id: "stale"}


async def test_what_is_over_is_not_pinned_but_can_be_unpinned(database: Database) -> None:
    await kept(database, RENT)
    (rent,) = await listed(database)
    await pin(database, rent.id)
    await database.write(lambda tx: loops.end(tx, PART, rent.id, "done", FRIDAY), ME)
    with pytest.raises(Conflict, match="over"):
        await pin(database, rent.id)
    taken = await database.write(lambda tx: loops.end(tx, PART, rent.id, "open", FRIDAY), ME)
    assert (taken.status, taken.pinned) == ("open", True)
    done = await database.write(lambda tx: loops.end(tx, PART, rent.id, "dropped", FRIDAY), ME)
    assert done.status == "dropped"
    off = await pin(database, rent.id, pinned=False)
    assert (off.status, off.pinned) == ("dropped", False)


async def test_pins_stay_in_their_partition(database: Database) -> None:
    bert, elsewhere = Scope("bert"), Partition("polyvox", "other")
    sightings, _ = said(RENT)
    for scope, part in ((ME, PART), (ME, elsewhere), (bert, PART)):
        await database.write(lambda tx, p=part: loops.add(tx, p, sightings), scope)  # type: ignore[misc]  # as above
    (rent,) = await listed(database)
    await pin(database, rent.id)
    for scope, part in ((ME, elsewhere), (bert, PART)):
        (other,) = await database.read(
            lambda tx, p=part: loops.listed(tx, p, FRIDAY),  # type: ignore[misc]  # as above
            scope,
        )
        assert (other.id, other.pinned) == (rent.id, False)
        assert not await database.read(lambda tx, p=part: rows.any_pinned(tx, p), scope)  # type: ignore[misc]  # as above
    empty = Partition("polyvox", "nobody")
    with pytest.raises(NotFound):
        await database.write(lambda tx: loops.mark(tx, empty, rent.id, FRIDAY, pinned=True), ME)


async def test_what_is_said_anew_of_it_is_pinned_with_it(database: Database) -> None:
    await kept(database, RENT, FENCE)
    rent, fence = await listed(database)
    await pin(database, rent.id)
    await kept(database, "I still have to pay the rent tomorrow.", "I have to buy a lamp.", at=DAY)
    await kept(database, RENT)
    corrected = await database.write(
        lambda tx: loops.correct(tx, PART, rent.id, FRIDAY + 2 * DAY, text="Pay the landlord"), ME
    )
    assert (corrected.pinned, len(corrected.evidence)) == (True, 2)
    every = await database.read(lambda tx: rows.sightings(tx, PART), ME)
    assert len(every) == 5
    assert {one.text for one in every if one.pinned} == {
        "Pay the rent tomorrow", "Pay the landlord",
    }  # fmt: skip
    await pin(database, rent.id, pinned=False)
    assert not await database.read(lambda tx: rows.any_pinned(tx, PART), ME)
    assert [one.id for one in await listed(database) if one.text.startswith("Fix")] == [fence.id]


# -- with what it rests on -------------------------------------------------------------------------


def note(*quotes: tuple[int, str]) -> dict[str, Any]:
    return {
        **EMPTY,
        "summary": "They spoke of the roof.",
        "loops": [
            {"n": number, "quote": quote, "type": "thread", "text": "Mend the roof of the shed",
             "horizon": "ongoing"}
            for number, quote in quotes
        ],
    }  # fmt: skip


async def roof(desk: Desk) -> Loop:
    """Said, pinned, said again."""
    desk.always({"summary": "They spoke of the roof."})
    desk.reply(note((0, "mend the roof of the shed")))
    await desk.ingest("s", "I should mend the roof of the shed.")
    await desk.work()
    (loop,) = await desk.memory.loops(ME, PART)
    pinned = await desk.memory.change_loop(ME, PART, loop.id, pinned=True)
    assert (pinned.id, pinned.pinned) == (loop.id, True)
    desk.reply(note((0, "mend the roof of the shed")))
    await desk.ingest("t", "I did not mend the roof of the shed yet.", at=DAY)
    await desk.work()
    (both,) = await desk.memory.loops(ME, PART)
    assert len(both.evidence) == 2
    return both


async def test_forgetting_some_of_its_words_does_not_unpin_it(
    database: Database, tmp_path: Path
) -> None:
    async with open_desk(database, tmp_path) as desk:
        loop = await roof(desk)
        await desk.memory.forget(ME, PART, Target("message", "s#0"))
        (left,) = await desk.memory.loops(ME, PART)
        assert (left.pinned, [one.session_id for one in left.evidence]) == (True, ["t"])
        await desk.memory.forget(ME, PART, Target("loop", left.id))
        assert await desk.memory.loops(ME, PART, statuses=EVERY) == []
        with pytest.raises(NotFound):
            await desk.memory.change_loop(ME, PART, loop.id, pinned=True)


async def test_excluding_some_of_its_words_neither_unpins_nor_pins_it(
    database: Database, tmp_path: Path
) -> None:
    async with open_desk(database, tmp_path) as desk:
        await roof(desk)
        await desk.memory.mark_message(ME, PART, "s", 0, excluded=True)
        (left,) = await desk.memory.loops(ME, PART)
        assert (left.pinned, len(left.evidence)) == (True, 1)
        await desk.memory.change_loop(ME, PART, left.id, pinned=False)
        await desk.memory.mark_message(ME, PART, "s", 0, excluded=False)
        (whole,) = await desk.memory.loops(ME, PART)
        assert (whole.pinned, len(whole.evidence)) == (False, 2)


# -- as it is told ---------------------------------------------------------------------------------
