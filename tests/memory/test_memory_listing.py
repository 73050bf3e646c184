"""Looking through memory: every page once, at the cost of what it shows, and of one memory only."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import UTC, date
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.memory.desk import DAY, EMPTY, FRIDAY, ME, MINUTE, PART, Desk, open_desk

from polyvox.errors import Conflict, Invalid, NotFound
from polyvox.ids import content_hash
from polyvox.memory import facts, listing, profile
from polyvox.memory.forget import Target
from polyvox.memory.listing import Only
from polyvox.memory.loops import by_hand
from polyvox.memory.places import places
from polyvox.memory.tables import derived, episodes, statements
from polyvox.memory.tables.derived import Daily, Summary
from polyvox.memory.tables.statements import Link, Statement
from polyvox.memory.values import Partition
from polyvox.store.database import Database, Row, Tx, Value
from polyvox.values import Scope

OTHERS = ((ME, Partition("polyvox", "bert")), (Scope("bert"), PART))
"""Another memory of the same account, and one of the same name in another account."""


@pytest.fixture
async def desk(database: Database, tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(database, tmp_path) as desk:
        yield desk


def some_facts(count: int, seed: int) -> tuple[list[Statement], list[Link]]:
    """Facts about fewer things than there are facts, at times of which some are the same; a few are
    over."""
    chance = random.Random(seed)
    found, links = list[Statement](), list[Link]()
    for number in range(count):
        text, about = f"Fact {number}.", f"thing {chance.randrange(count * 2 // 3)}"
        found.append(
            Statement(
                content_hash(text), "fact", "user", about, text,
                FRIDAY + chance.randrange(count) * MINUTE, pinned=chance.random() < 0.2,
                excluded=chance.random() < 0.2,
            )
        )  # fmt: skip
        if chance.random() < 0.1:
            links.append(by_hand("ended", found[-1].id, FRIDAY + count * MINUTE))
    return found, links


async def keep(database: Database, given: Sequence[Statement], links: Sequence[Link] = ()) -> None:
    for scope, part in ((ME, PART), *OTHERS):
        mine = (given, links) if (scope, part) == (ME, PART) else (given[:3], ())
        add = partial(facts.add, partition=part, statements=mine[0], links=mine[1])
        await database.write(add, scope)


async def whole(database: Database, only: Only, limit: int) -> list[str]:
    """Every page, one after another."""
    found: list[str] = []
    after: str | None = None
    while True:
        page = await database.read(
            partial(listing.page, partition=PART, only=only, limit=limit, after=after), ME
        )
        assert len(page.items) <= limit
        found += [
            one.fact.statement.id
            if one.fact is not None
            else one.message.id
            if one.message
            else "?"
            for one in page.items
        ]
        if page.next is None:
            return found
        assert len(page.items) == limit
        after = page.next


@pytest.mark.parametrize("seed", range(3))
async def test_pages_are_the_whole_in_its_order(database: Database, seed: int) -> None:
    await keep(database, *some_facts(120, seed))
    known = await database.read(lambda tx: facts.known(tx, PART, include_history=True), ME)
    now = [one for one in known if one.current]

    def ids(some: list[Any]) -> list[str]:
        newest = sorted(
            some, key=lambda one: (one.statement.said_at, one.statement.id), reverse=True
        )
        return [one.statement.id for one in newest]

    pinned = [one for one in now if one.statement.pinned]
    wanted: dict[Only, list[str]] = {
        "current": ids(pinned) + ids([one for one in now if not one.statement.pinned]),
        "pinned": ids(pinned),
        "excluded": ids([one for one in known if one.statement.excluded]),
        "superseded": ids([one for one in known if one.valid_to is not None]),
    }
    for only, expected in wanted.items():
        assert expected
        for limit in (1, 7, 100):
            assert await whole(database, only, limit) == expected, (only, limit)


class Counted:
    """A transaction that counts the rows it reads."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.rows = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def all(self, sql: str, values: Sequence[Value] = ()) -> list[Row]:
        found = self._tx.all(sql, values)
        self.rows += len(found)
        return found


async def test_a_page_costs_what_it_shows(database: Database) -> None:
    many = [replace(one, pinned=False) for one in some_facts(1_500, 1)[0]]
    await keep(database, many)

    def read(tx: Tx) -> int:
        counted: Any = Counted(tx)
        assert len(listing.page(counted, PART, "current", 30).items) == 30
        rows: int = counted.rows
        return rows

    assert await database.read(read, ME) < 400


async def test_marked_messages_come_after_facts(desk: Desk) -> None:
    await desk.ingest("s", *(f"Message {number}." for number in range(120)))

    def mark(tx: Tx) -> None:
        for index in range(0, 240, 2):
            episodes.mark(tx, PART, "s", index, pinned=True, excluded=index < 8)

    await desk.database.write(mark, ME)
    pinned = await whole(desk.database, "pinned", 25)
    assert pinned == [f"s#{index}" for index in range(238, -2, -2)]
    assert await whole(desk.database, "excluded", 3) == ["s#6", "s#4", "s#2", "s#0"]
    for scope, part in OTHERS:
        page = await desk.database.read(
            partial(listing.page, partition=part, only="pinned", limit=9), scope
        )
        assert page.items == ()


NOWHERE = ("", "x", "0", "0.1", "0.1.", "a.1.b", "0.x.b", f"0.1.{'9' * 400}")


@pytest.mark.parametrize("after", NOWHERE)
async def test_a_place_that_is_none(sqlite_database: Database, after: str) -> None:
    with pytest.raises(Invalid) as refused:
        await sqlite_database.read(lambda tx: listing.page(tx, PART, "current", 9, after), ME)
    assert refused.value.param == "after"


async def test_a_place_among_messages_must_be_a_number(sqlite_database: Database) -> None:
    with pytest.raises(Invalid):
        await sqlite_database.read(lambda tx: listing.page(tx, PART, "pinned", 9, "1.5.x"), ME)


def told_on(name: str, at: int) -> Summary:
    return Summary("session", name, f"About {name}.", (), "", True, at, at)


def analysed(day: str) -> Daily:
    return Daily(day, (), {}, None, 0.5, "ok", (), "", 1)


async def test_days_page_by_page(database: Database) -> None:
    def write(tx: Tx) -> None:
        for number in range(10):
            if number % 3 == 0:  # no analysis of this one
                at = FRIDAY + number * DAY
                derived.put_summary(tx, PART, told_on(f"s{number}", at + DAY // 2))
                derived.put_summary(tx, PART, told_on(f"t{number}", at + DAY - 1))
            else:
                derived.put_daily(tx, PART, analysed(f"2024-05-{10 + number}"))

    await database.write(write, ME)
    found: list[tuple[str, bool, int]] = []
    before: date | None = None
    while True:
        page, following = await database.read(
            partial(listing.days, partition=PART, zone=UTC, limit=3, before=before), ME
        )
        found += [(one.day, one.analysis is not None, len(one.summaries)) for one in page]
        if following is None:
            break
        before = date.fromisoformat(following)
    assert found == [
        (f"2024-05-{10 + number}", number % 3 != 0, 2 if number % 3 == 0 else 0)
        for number in range(9, -1, -1)
    ]


async def test_more_summaries_than_are_looked_at_leave_none_out(database: Database) -> None:
    each = listing.MOST_SUMMARIES // 4

    def write(tx: Tx) -> None:
        for day in range(9):
            for number in range(each):
                at = FRIDAY + day * DAY + number
                derived.put_summary(tx, PART, told_on(f"{day}-{number}", at))

    await database.write(write, ME)
    counts: list[int] = []
    before: date | None = None
    while True:
        page, following = await database.read(
            partial(listing.days, partition=PART, zone=UTC, limit=60, before=before), ME
        )
        counts += [len(one.summaries) for one in page]
        if following is None:
            break
        before = date.fromisoformat(following)
    assert counts == [each] * 9


# one line of the profile, one loop


async def changed(desk: Desk, change: Callable[[Tx], Any]) -> Any:
    return await desk.database.write(change, ME)


async def test_a_line_by_hand_stands_over_what_is_said_earlier_and_under_what_is_said_later(
    desk: Desk,
) -> None:
    note = {
        "n": 0,
        "quote": "I am writing a thesis",
        "field": "current_focus",
        "text": "The thesis",
    }
    desk.reply({**EMPTY, "profile": [note]}, {"summary": "x"})
    await desk.ingest("s", "I am writing a thesis.")
    await desk.work()
    held = await desk.memory.profile(ME, PART)
    line = held.one("current_focus")
    assert line is not None
    made = await desk.memory.change_line(ME, PART, line.id, "The defence")
    assert [one.text for one in made.all("current_focus")] == ["The defence"]
    with pytest.raises(NotFound):
        await desk.memory.change_line(ME, PART, line.id, "Rest")
    mine = made.one("current_focus")
    assert mine is not None
    for scope, part in OTHERS:
        with pytest.raises(NotFound):
            await desk.memory.change_line(scope, part, mine.id, None)
    gone = await desk.memory.change_line(ME, PART, mine.id, None)
    assert gone.all("current_focus") == ()
    later = {**note, "quote": "I rest now", "text": "Rest"}
    desk.clock.now += 3 * DAY
    desk.reply({**EMPTY, "profile": [later]}, {"summary": "x"})
    await desk.ingest("t", "I rest now.", at=3 * DAY)
    await desk.work()
    assert [one.text for one in (await desk.memory.profile(ME, PART)).all("current_focus")] == [
        "Rest"
    ]


async def test_a_line_in_other_words_is_one_line(desk: Desk) -> None:
    def write(tx: Tx) -> None:
        profile.add(tx, PART, "patterns", "", "Walks late at night", 5)
        profile.add(tx, PART, "patterns", "", "Starts too much", 5)
        with pytest.raises(Conflict):
            profile.add(tx, PART, "patterns", "", "walks LATE at night", 5)
        one = next(x for x in profile.read(tx, PART).all("patterns") if "late" in x.text)
        profile.change(tx, PART, one.id, "Sleeps early", 5)
        found = sorted(x.text for x in profile.read(tx, PART).all("patterns"))
        assert found == ["Sleeps early", "Starts too much"]
        for place, item, text in (("shoe", "", "x"), ("name", "", "  "), ("name", "", "x" * 2_001)):
            with pytest.raises(Invalid):
                profile.add(tx, PART, place, item, text, 5)

    await changed(desk, write)


async def test_a_corrected_loop_goes_with_the_words_it_rests_on(desk: Desk) -> None:
    said = {"n": 0, "quote": "I'll call the bank", "type": "commitment", "text": "Call the bank"}
    desk.reply({**EMPTY, "loops": [said]}, {"summary": "x"})
    await desk.ingest("s", "I'll call the bank.")
    await desk.work()
    (one,) = await desk.memory.loops(ME, PART)
    fixed = await desk.memory.change_loop(
        ME, PART, one.id, text="Write to the tax office", due=date(2024, 5, 11)
    )
    assert (fixed.id, fixed.text, fixed.due, fixed.horizon) == (
        one.id, "Write to the tax office", "2024-05-11", "today",
    )  # fmt: skip
    assert (fixed.evidence, fixed.salience) == (one.evidence, one.salience)
    for scope, part in OTHERS:
        with pytest.raises(NotFound):
            await desk.memory.change_loop(scope, part, one.id, text="x")
    again = {**said, "quote": "I'll call the bank again", "repeats": [1]}
    desk.clock.now += 2 * DAY
    desk.reply({**EMPTY, "loops": [again]}, {"summary": "x"})
    await desk.ingest("t", "I'll call the bank again.", at=2 * DAY)
    await desk.work()
    (now,) = await desk.memory.loops(ME, PART)
    assert (now.id, now.text, len(now.evidence)) == (one.id, "Call the bank", 2)

    await desk.memory.forget(ME, PART, Target("message", "t#0"))
    (left,) = await desk.memory.loops(ME, PART, statuses=("open", "stale"))
    assert left.text == "Write to the tax office", "what was said of it later is gone"
    await desk.memory.forget(ME, PART, Target("message", "s#0"))
    rows = await desk.database.read(lambda tx: statements.every(tx, PART, ["loop"]), ME)
    assert rows == []


async def test_no_place_for_what_is_not_remembered(desk: Desk) -> None:
    await desk.ingest("s", "I live here.")
    wanted = [("s", 0), ("s", 7), ("t", 0)]
    found = await desk.database.read(lambda tx: places(tx, PART, wanted), ME)
    assert [(one.session_id, one.index, one.role, one.conversation_id) for one in found] == [
        ("s", 0, "user", None)
    ]
    for scope, part in OTHERS:
        elsewhere = partial(places, partition=part, wanted=[("s", 0)])
        assert await desk.database.read(elsewhere, scope) == []
