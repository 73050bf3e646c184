"""Episodes as rows: reading, marking and really removing them, on both databases."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.memory.house import DAY, HERE, ME, START, THERE, YOU, talk, tell, texts
from tests.store.rows import SHARED, tables

from polyvox.errors import NotFound
from polyvox.ids import content_hash, new_id
from polyvox.memory.tables import claims, episodes, shelves
from polyvox.memory.tables.claims import Claim
from polyvox.memory.tables.remembered import New, placed
from polyvox.memory.tables.shelves import SHARED as SHARED_OWNER
from polyvox.memory.tables.shelves import Shelf
from polyvox.memory.values import Message, Partition
from polyvox.memory.words import words_of
from polyvox.store.database import Database, Row, Tx
from polyvox.store.scrub import scrub

CANARY = "zanzibarx"
"""A word that stems to itself, as the index keeps it."""
TALK = talk(f"The {CANARY} is green.", "Is it?", "It was a keptword.", f"A {CANARY}?")


def raw(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


def rows(tx: Tx) -> dict[str, list[Row]]:
    """Everything a user has, but the marks of what was forgotten."""
    found = {}
    for table in tables(tx):
        if table not in SHARED | {"forgotten_sessions"}:
            some = tx.all(f"SELECT * FROM {table} WHERE user_id = ?", (tx.user,))
            if some:
                found[table] = sorted(some, key=repr)
    return found


async def test_a_list_of_sessions(database: Database) -> None:
    for n in range(3):
        await tell(database, f"s{n}", TALK, started_at=START + n * DAY)

    def look(tx: Tx) -> tuple[list[str], list[str]]:
        page = episodes.list_transcripts(tx, HERE, 2)
        rest = episodes.list_transcripts(tx, HERE, 2, before=page[-1].ended_at)
        return [one.session_id for one in page], [one.session_id for one in rest]

    assert await database.read(look, ME) == (["s2", "s1"], ["s0"])


async def test_what_is_nowhere(database: Database) -> None:
    await tell(database, "s", TALK)

    def look(tx: Tx) -> None:
        assert episodes.find_transcript(tx.of(ME), HERE, "t") is None
        assert episodes.episodes_of(tx.of(ME), HERE, "t") == []
        for scope, partition, session, index in (
            (ME, HERE, "s", 4),
            (ME, HERE, "t", 0),
            (ME, THERE, "s", 0),
            (YOU, HERE, "s", 0),
        ):
            with pytest.raises(NotFound):
                episodes.mark(tx.of(scope), partition, session, index, pinned=True)
            with pytest.raises(NotFound):
                episodes.remove_message(tx.of(scope), partition, session, index)

    await database.write(look, ME)


async def test_excluding_and_taking_back_leaves_all_as_it_was(database: Database) -> None:
    await tell(database, "s", TALK)
    before = await database.read(rows, ME)

    def there_and_back(tx: Tx) -> None:
        for excluded in (True, True, False, False):
            episode = episodes.mark(tx, HERE, "s", 0, excluded=excluded)
            assert episode.excluded is excluded

    await database.write(there_and_back, ME)
    assert await database.read(rows, ME) == before


async def test_a_message_goes_with_its_words(database: Database) -> None:
    await tell(database, "s", TALK)

    def forget(tx: Tx) -> None:
        episodes.mark(tx, HERE, "s", 0, excluded=True)
        episodes.remove_message(tx, HERE, "s", 0)
        episodes.remove_message(tx, HERE, "s", 3)

    await database.write(forget, ME)
    assert await texts(database, CANARY) == []
    assert [
        e.index for e in await database.read(lambda tx: episodes.episodes_of(tx, HERE, "s"), ME)
    ] == [1, 2]
    assert CANARY not in repr(await database.read(rows, ME))


async def test_a_session_goes_without_a_trace(database: Database) -> None:
    empty = await database.read(rows, ME)
    for name in "abc":
        await tell(database, name, TALK)
    await tell(database, "a", TALK, scope=YOU)
    theirs = await database.read(lambda tx: rows(tx), YOU)

    for name in "abc":
        gone = await database.write(lambda tx, n=name: episodes.remove_session(tx, HERE, n), ME)  # type: ignore[misc]  # bound now
        assert gone == 4
    assert await database.write(lambda tx: episodes.remove_session(tx, HERE, "never"), ME) == 0

    assert await database.read(rows, ME) == empty
    assert await database.read(lambda tx: rows(tx), YOU) == theirs
    assert await tell(database, "never", TALK) == "duplicate"


async def test_what_marks_a_forgotten_session_says_nothing_of_it(database: Database) -> None:
    await tell(database, CANARY, TALK)
    await database.write(lambda tx: episodes.remove_session(tx, HERE, CANARY), ME)

    found = await database.read(lambda tx: tx.all("SELECT * FROM forgotten_sessions"), ME)
    assert found == [(ME.user, HERE.key, content_hash(CANARY))]


async def test_words_of_forgotten_episodes_leave_the_files(
    sqlite_database: Database, tmp_path: Path
) -> None:
    for n in range(60):
        await tell(sqlite_database, f"s{n}", TALK)
    claim = Claim("note", f"the {CANARY}", 1, tuple(words_of(f"the {CANARY}")))
    await sqlite_database.write(lambda tx: claims.put(tx, HERE, [claim]), ME)
    assert CANARY.encode() in raw(tmp_path)

    def forget(tx: Tx) -> None:
        for n in range(30):
            episodes.remove_session(tx, HERE, f"s{n}")
        for n in range(30, 60):
            episodes.remove_message(tx, HERE, f"s{n}", 0)
            episodes.remove_message(tx, HERE, f"s{n}", 3)
        claims.remove(tx, HERE, "note", [claim.id])

    await sqlite_database.write(forget, ME)
    await scrub(sqlite_database)

    assert CANARY.encode() not in raw(tmp_path)
    assert b"keptword" in raw(tmp_path)
    assert len(await texts(sqlite_database, "keptword", limit=100)) == 30


WORD = st.sampled_from(["tea", "lake", "boat", "mint", "東京", "ünder"])
STEP = st.tuples(
    st.sampled_from(["tell", "tell", "message", "session", "exclude", "include", "claim", "drop"]),
    st.integers(min_value=0, max_value=2),
    st.integers(min_value=0, max_value=3),
    st.lists(WORD, min_size=1, max_size=4),
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(STEP, max_size=12))
async def test_the_counts_are_always_those_of_what_is_there(
    sqlite_database: Database, steps: list[tuple[str, int, int, list[str]]]
) -> None:
    part = Partition("app", new_id())
    said: dict[str, list[Message]] = {}
    for act, session, index, words in steps:
        name = f"s{session}"

        def do(tx: Tx, act: str = act, name: str = name, index: int = index) -> None:
            known = [e.index for e in episodes.episodes_of(tx, part, name)]
            if act == "session":
                episodes.remove_session(tx, part, name)
            elif act == "claim":
                terms = tuple(words_of(" ".join(words)))  # noqa: B023 - runs inside this round
                claims.put(tx, part, [Claim("note", f"n{index}", 1, terms)])
            elif act == "drop":
                claims.remove(tx, part, "note", [f"n{index}"])
            elif index in known and act == "message":
                episodes.remove_message(tx, part, name, index)
            elif index in known and act in ("exclude", "include"):
                episodes.mark(tx, part, name, index, excluded=act == "exclude")

        if act == "tell":
            said.setdefault(name, []).append(Message("user", " ".join(words), START))
            await tell(sqlite_database, name, said[name], partition=part)
        else:
            await sqlite_database.write(do, ME)

    def check(tx: Tx) -> None:
        texts = tx.all(
            "SELECT doc, terms FROM episodes WHERE part = ? AND excluded = 0"
            " UNION ALL SELECT -number, terms FROM claims WHERE part = ?",
            (part.key, part.key),
        )
        stocks = shelves.stocks(tx, part.key)
        assert sum(stock.docs for stock in stocks) == len(texts)
        assert sum(stock.words for stock in stocks) == sum(len(t.split()) for _, t in texts)
        words = sorted({word for _, terms in texts for word in terms.split()})
        marks = [Shelf(part.key, SHARED_OWNER, role, True).mark(ME) for role in ("user", "claim")]
        left = tx.all("SELECT word FROM shelf_words WHERE mark IN (?, ?)", marks)
        assert sorted({row[0] for row in left}) == words
        if not stocks:
            return
        visible = [stock.shelf for stock in stocks]
        holders = {word: {doc for doc, terms in texts if word in terms.split()} for word in words}
        counted = shelves.occurrences(tx, visible, words)
        assert counted == {word: len(docs) for word, docs in holders.items() if docs}
        for word, docs in holders.items():
            assert set(shelves.postings(tx, visible, word, 1000)) == docs

    await sqlite_database.read(check, ME)


@given(st.lists(st.sampled_from(["user", "a", "b", "c"]), min_size=1, max_size=30))
def test_places_do_not_depend_on_what_others_answer(speakers: list[str]) -> None:
    """Users' messages are at even places, what answers one at the odd place after it."""

    def places(names: list[str]) -> list[tuple[str, int]]:
        new = [
            New(Message("user" if name == "user" else "assistant", name, None, name), ())
            for name in names
        ]
        stored = placed(7, 0, [], new, "s", START, True)
        assert len({one.doc for one in stored}) == len(names)
        assert sorted(one.doc for one in stored) == [one.doc for one in stored]
        return [(name, one.doc >> 8) for name, one in zip(names, stored, strict=True)]

    for_a = [pair for pair in places(speakers) if pair[0] in ("user", "a")]
    assert for_a == places([name for name in speakers if name in ("user", "a")])
    assert all(place % 2 == (name != "user") for name, place in for_a)
