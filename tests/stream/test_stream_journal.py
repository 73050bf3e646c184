"""The journal: stored first, then shown; the first at once, then at a pace; never lost."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.logs import take
from tests.stream.desk import ME, Desk, Instant, clock, in_told_time, lay, shown

from polyvox.errors import Conflict, NotFound, StoreError, StoreFull
from polyvox.events import Event, Numbered, TextDelta, ThinkingDelta, TurnCompleted
from polyvox.store import turns
from polyvox.store.database import Database, Tx
from polyvox.store.migrate import shipped
from polyvox.store.open import _prepare, open_database
from polyvox.store.sqlite import SqliteDatabase
from polyvox.stream.follow import watch
from polyvox.stream.hub import Batch, Hub
from polyvox.stream.journal import GATHER, INTERVAL, ROOM, Committed, Journal

# -- stored first --------------------------------------------------------------------------------


class Doubter:
    """A listener that looks into the file, with a connection of its own, at the very moment it is
    told something."""

    def __init__(self, path: Path, conversation: str) -> None:
        self.connection = sqlite3.connect(path)
        self.conversation = conversation
        self.heard: list[Numbered] = []
        self.told = asyncio.Event()

    def offer(self, batch: Batch) -> None:
        self.told.set()
        last = self.connection.execute(
            "SELECT last_number FROM conversations WHERE id = ?", (self.conversation,)
        ).fetchone()[0]
        for item in batch.events:
            assert item.number <= last
            if isinstance(item.event, TextDelta | ThinkingDelta):
                row = self.connection.execute(
                    "SELECT data, start FROM events WHERE conversation_id = ? AND number = ?",
                    (self.conversation, item.number),
                ).fetchone()
                if row is not None:  # else folded by the end of the answer in the same commit
                    assert row == (item.event.text, item.event.at)
                else:
                    self._folded(item.event)
            self.heard.append(item)

    def _folded(self, delta: TextDelta | ThinkingDelta) -> None:
        column = "text" if isinstance(delta, TextDelta) else "thinking"
        whole = self.connection.execute(
            f"SELECT {column} FROM answers WHERE id = ?", (delta.answer_id,)
        ).fetchone()[0]
        assert whole[delta.at : delta.at + len(delta.text)] == delta.text


async def test_whatever_is_shown_is_stored_already(sqlite_database: SqliteDatabase) -> None:
    desk = await lay(sqlite_database)
    doubter = Doubter(sqlite_database.path, desk.conversation)
    desk.hub._listeners[desk.conversation] = {doubter}  # type: ignore[arg-type]  # hears alike
    for number in range(60):
        desk.add(number % 3, f"word{number} ", "hm " if number % 7 == 0 else "")
        if number % 10 == 0:
            await doubter.told.wait()
            doubter.told.clear()
    await asyncio.gather(*(desk.end(number) for number in range(3)))
    stored = await desk.stored()
    heard = shown(doubter.heard)
    assert {one: heard[f"answer.delta {one}"] for one in desk.answers} == stored
    assert "".join(stored.values()).count("word") == 60
    doubter.connection.close()


async def test_live_and_resumed_listeners_get_the_same(database: Database) -> None:
    desk = await lay(database)
    listener = desk.hub.listen(desk.conversation)
    live: list[Numbered] = []

    async def listen() -> None:
        async for item in watch(database, listener, ME, desk.conversation, 0):
            live.append(item)
            if isinstance(item.event, TurnCompleted):
                return

    listening = asyncio.create_task(listen())
    for number in range(200):
        desk.add(number % 3, f"ä{number} ")
        await asyncio.sleep(0)
    await asyncio.gather(*(desk.end(number) for number in range(3)))
    await listening
    assert [item.number for item in live] == sorted({item.number for item in live})
    for after in range(live[-1].number):
        page = await desk.page(after)
        before = shown([item for item in live if item.number <= after])
        for stretch in page.stretches:
            if isinstance(stretch.event, TextDelta):
                take(before, stretch.event)
        assert before == shown(live)


# -- the pace ------------------------------------------------------------------------------------


def most_in_a_second(times: list[float]) -> int:
    return max((sum(1 for other in times if at <= other <= at + 1.0) for at in times), default=0)


Doing = tuple[float, str, int]


def journalled(doings: list[Doing], seconds: float = 0.0) -> tuple[list[float], dict[float, float]]:
    """Do these things at these times; when the commits were, and for each first piece of an answer
    when it was stored."""
    firsts: dict[float, float] = {}

    async def main(path: Path) -> list[float]:
        database = Instant(path, seconds)
        desk = await lay(database, 16)
        loop = asyncio.get_running_loop()
        begun, before = loop.time(), len(database.at)
        spoken: set[int] = set()
        tasks = []
        for at, what, number in sorted(doings):
            await asyncio.sleep(begun + at - loop.time())
            if what == "say":
                if number not in spoken:
                    firsts[loop.time()] = -1.0
                    spoken.add(number)
                desk.add(number, "word ")
            elif what == "ask":
                tasks.append(asyncio.create_task(desk.note()))
            elif number in spoken:
                tasks.append(asyncio.create_task(desk.end(number)))
                spoken.discard(number)
        await asyncio.gather(*tasks)
        await desk.journal.close()
        await database.close()
        for said in firsts:
            firsts[said] = next((at for at in database.at[before:] if at >= said), 1e9)
        return database.at[before:]

    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "polyvox.db"
        _prepare(path, shipped(), clock, 1.0)
        return in_told_time(lambda: main(path)), firsts


def test_a_steady_stream_is_committed_sixteen_times_a_second() -> None:
    doings: list[Doing] = [(n / 500, "say", n % 4) for n in range(2500)]
    times, _ = journalled(doings)
    assert most_in_a_second(times) <= 20
    assert len([at for at in times if 2 <= at < 4]) == pytest.approx(2 / INTERVAL, abs=1)


def test_the_first_piece_goes_at_once() -> None:
    doings: list[Doing] = [(0.5, "say", 0), (1.5, "say", 1), (1.501, "say", 2), (1.502, "say", 3)]
    times, firsts = journalled(doings)
    assert all(stored - said <= GATHER + 1e-6 for said, stored in firsts.items())
    assert len(times) == 3  # two began within a breath of each other


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    doings=st.lists(
        st.tuples(
            st.integers(0, 2500).map(lambda ms: ms / 1000),
            st.sampled_from(["say", "say", "say", "end"]),
            st.integers(0, 15),
        ),
        max_size=300,
    ),
    seconds=st.sampled_from([0.0, 0.0005, 0.03]),
)
def test_never_more_than_twenty_commits_in_any_second(doings: list[Doing], seconds: float) -> None:
    times, _ = journalled(doings, seconds)
    assert most_in_a_second(times) <= 20


def test_not_even_when_everybody_begins_and_ends_at_the_worst_moments() -> None:
    """First and last words just behind each commit, for as long as there are any."""
    doings: list[Doing] = [(n / 1000, "say", 0) for n in range(2000)]
    for number in range(1, 16):
        doings.append((0.1 + number * 0.061, "say", number))
        doings.append((0.13 + number * 0.061, "end", number))
    times, _ = journalled(doings)
    assert 15 <= most_in_a_second(times) <= 20


def test_what_people_ask_for_goes_at_once_and_counts() -> None:
    """Ten verbs in a tenth of a second, each stored at once; the stream makes room for them."""
    doings: list[Doing] = [(n / 1000, "say", 0) for n in range(2000)]
    asked = [0.5 + n / 100 for n in range(10)]
    times, _ = journalled([*doings, *((at, "ask", 0) for at in asked)])
    assert most_in_a_second(times) <= 20
    for at in asked:
        assert any(0 <= stored - at < 1e-6 for stored in times)


async def test_one_row_for_each_commit_and_answer(sqlite_database: Database) -> None:
    desk = await lay(sqlite_database)
    for number in range(30):
        desk.add(number % 3, f"{number} ")
    batch = await desk.hub.listen(desk.conversation).take()
    assert batch is not None
    assert [type(item.event) for item in batch.events] == [TextDelta] * 3
    rows = [item.event.text for item in batch.events if isinstance(item.event, TextDelta)]
    assert rows[0] == "".join(f"{number} " for number in range(0, 30, 3))
    assert [item.number for item in batch.events] == [5, 6, 7]


# -- when the store does not take it --------------------------------------------------------------


@pytest.fixture
async def quick(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    """SQLite that does not wait for a lock."""
    found = await open_database(f"sqlite:///{tmp_path / 'q.db'}", tmp_path, busy_seconds=0.01)
    assert isinstance(found, SqliteDatabase)
    yield found
    await found.close()


async def fill(database: Database, *, full: bool) -> None:
    """Let the file grow no further, or let it grow again."""
    pages = 1 if full else 1_000_000
    await database.write(lambda tx: tx.run(f"PRAGMA max_page_count = {pages}"), ME)


async def refused(desk: Desk, error: type[StoreError]) -> None:
    """Somebody who waits is told that the store takes nothing now."""
    with pytest.raises(error):
        await desk.journal.do(
            ME, desk.conversation, lambda tx: (None, [TurnCompleted("t")]), now=True
        )


async def test_a_full_disk_shows_nothing_and_loses_nothing(quick: SqliteDatabase) -> None:
    desk = await lay(quick)
    desk.journal.patience = 0.02
    listener = desk.hub.listen(desk.conversation)
    desk.add(0, "before ")
    first = await listener.take()
    assert first is not None

    await fill(quick, full=True)
    large = "x" * 200_000
    desk.add(0, large)
    desk.add(1, large, "thought")
    ending = asyncio.create_task(desk.end(0))
    for _ in range(4):  # it is tried again and again, and nothing is shown
        await refused(desk, StoreFull)
        desk.add(1, " more")
    assert "no space left" in desk.journal.trouble
    assert not listener._batches
    assert not ending.done()
    assert (await desk.stored())[desk.answers[0]] == "before "

    await fill(quick, full=False)
    await ending
    await desk.end(1)
    assert desk.journal.trouble == ""
    stored = await desk.stored()
    assert stored[desk.answers[0]] == f"before {large}"
    assert stored[desk.answers[1]] == large + " more" * 4
    heard = list(first.events)
    while listener._batches:
        batch = await listener.take()
        heard += batch.events if batch else []
    texts = shown(heard)
    assert texts[f"answer.delta {desk.answers[0]}"] == stored[desk.answers[0]]
    assert texts[f"answer.delta {desk.answers[1]}"] == stored[desk.answers[1]]
    assert texts[f"answer.thinking {desk.answers[1]}"] == "thought"


async def test_a_locked_database_is_waited_for(quick: SqliteDatabase) -> None:
    desk = await lay(quick)
    desk.journal.patience = 0.02
    other = sqlite3.connect(quick.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    desk.add(0, "patience")
    ending = asyncio.create_task(desk.end(0))
    await refused(desk, StoreError)
    assert "locked by another program" in desk.journal.trouble
    other.execute("ROLLBACK")
    other.close()
    await ending
    assert (await desk.stored())[desk.answers[0]] == "patience"
    assert desk.journal.trouble == ""


async def test_a_disk_that_is_behind_slows_the_models_down(quick: SqliteDatabase) -> None:
    desk = await lay(quick)
    desk.journal.patience = 0.02
    await fill(quick, full=True)
    assert desk.add(0, "x" * ROOM) is None
    room = desk.add(0, "y")
    assert room is not None
    waiting = asyncio.create_task(room.wait())
    await refused(desk, StoreFull)
    assert not waiting.done()
    await fill(quick, full=False)
    await asyncio.wait_for(waiting, 60)
    await desk.end(0)
    assert (await desk.stored())[desk.answers[0]] == "x" * ROOM + "y"


async def test_closing_gives_up_on_a_store_that_takes_nothing(quick: SqliteDatabase) -> None:
    desk = await lay(quick)
    await fill(quick, full=True)
    desk.add(0, "x" * 200_000)
    ending = asyncio.create_task(desk.end(0))
    await refused(desk, StoreFull)
    await asyncio.wait_for(desk.journal.close(), 60)
    with pytest.raises(StoreError):
        await ending
    assert (await desk.stored())[desk.answers[0]] == ""
    await fill(quick, full=False)


async def test_closing_stores_what_waits(database: Database) -> None:
    desk = await lay(database)
    desk.add(0, "one ")
    await asyncio.sleep(0)
    desk.add(0, "two ")
    desk.add(1, "three")
    await desk.journal.close()
    stored = await desk.stored()
    assert [stored[one] for one in desk.answers] == ["one two ", "three", ""]


# -- deeds ---------------------------------------------------------------------------------------


async def test_a_deed_that_refuses_hurts_nobody_else(database: Database) -> None:
    desk = await lay(database)

    def refuse(tx: Tx) -> tuple[None, list[Event]]:
        raise Conflict("not now")

    def work(tx: Tx) -> tuple[str, list[Event]]:
        return "made", [TurnCompleted("t")]

    desk.add(0, "said")
    refused, done = await asyncio.gather(
        desk.journal.do(ME, desk.conversation, refuse),
        desk.journal.do(ME, desk.conversation, work),
        return_exceptions=True,
    )
    assert isinstance(refused, Conflict)
    assert isinstance(done, Committed)
    assert done.value == "made"
    assert [item.event for item in done.events] == [TurnCompleted("t")]
    assert (await desk.stored())[desk.answers[0]] == "said"


async def test_a_deed_that_breaks_hurts_nobody_else(database: Database) -> None:
    """Not even one that spoils its transaction."""
    desk = await lay(database)

    def wrong(tx: Tx) -> tuple[None, list[Event]]:
        tx.run("UPDATE answers SET text = 'spoilt'")
        tx.run("THIS IS NO SQL")
        return None, []

    desk.add(0, "said")
    broken, ended = await asyncio.gather(
        desk.journal.do(ME, desk.conversation, wrong), desk.end(0), return_exceptions=True
    )
    assert isinstance(broken, Exception)
    assert ended is None
    stored = await desk.stored()
    assert [stored[one] for one in desk.answers] == ["said", "", ""]
    desk.add(1, "goes on")
    await desk.end(1)
    assert (await desk.stored())[desk.answers[1]] == "goes on"


async def test_a_conversation_that_is_gone_is_told_and_forgotten(database: Database) -> None:
    desk = await lay(database)
    desk.add(0, "said")
    await desk.hub.listen(desk.conversation).take()

    def delete(tx: Tx) -> None:
        for table in ("events", "answers", "turns", "branches"):
            tx.run(f"DELETE FROM {table}")
        tx.run("DELETE FROM conversations")

    await database.write(delete, ME)
    desk.add(0, "x" * (ROOM + 1))
    room = desk.add(1, "more")
    assert room is not None
    with pytest.raises(NotFound):
        await desk.end(0)
    await asyncio.wait_for(room.wait(), 60)
    assert desk.journal.trouble == ""


async def test_numbers_belong_to_the_writer(database: Database) -> None:
    """Two journals on one database, as two processes have them: no number twice, none left out."""
    desk = await lay(database)
    hub = Hub()
    other = Desk(database, hub, Journal(database, hub, clock), desk.conversation, desk.answers)
    mine, theirs = desk.hub.listen(desk.conversation), other.hub.listen(desk.conversation)
    for number in range(12):
        desk.add(0, f"{number} ")
        other.add(1, f"{number} ")
        await asyncio.gather(mine.take(), theirs.take())
    await asyncio.gather(desk.end(0), other.end(1))
    page = await desk.page()
    numbers = list(
        itertools.chain.from_iterable(range(s.first, s.last + 1) for s in page.stretches)
    )
    assert sorted(numbers) == list(range(1, page.upto + 1))
    stored = await desk.stored()
    whole = "".join(f"{number} " for number in range(12))
    assert [stored[one] for one in desk.answers[:2]] == [whole, whole]


async def test_idle_pages_are_forgotten(sqlite_database: Database) -> None:
    desk = await lay(sqlite_database)
    for number in range(200):
        await desk.journal.do(ME, desk.conversation, lambda tx: (None, []), now=True)
        desk.journal._page(ME, f"talk {number}")
    assert len(desk.journal._pages) <= 66


async def test_an_answers_first_words_make_it_streaming(database: Database) -> None:
    desk = await lay(database)
    desk.add(2, "", "thinking first")
    await desk.hub.listen(desk.conversation).take()
    states = [
        (await database.read(lambda tx, one=one: turns.get_answer(tx, one), ME)).state  # type: ignore[misc]  # a default binds it
        for one in desk.answers
    ]
    assert states == ["pending", "pending", "streaming"]
