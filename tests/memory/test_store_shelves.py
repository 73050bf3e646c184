from __future__ import annotations

import pytest
from tests.memory.house import DAY, HERE, ME, START, THERE, talk, tell

from polyvox.memory.tables import shelves
from polyvox.memory.tables.claims import ROLE, Claim, put
from polyvox.memory.tables.shelves import SHARED, Shelf, plain
from polyvox.store.database import Database, Tx
from polyvox.values import Scope

MINE = Shelf(HERE.key, SHARED, "user", True)


def test_every_shelf_has_its_own_mark() -> None:
    others = [
        Shelf(THERE.key, SHARED, "user", True),
        Shelf(HERE.key, "skeptic", "user", True),
        Shelf(HERE.key, SHARED, "assistant", True),
        Shelf(HERE.key, SHARED, "user", False),
    ]
    marks = {shelf.mark(scope) for shelf in [MINE, *others] for scope in (ME, Scope("you"))}

    assert len(marks) == 10
    assert {len(mark) for mark in marks} == {10}
    assert all(mark.isascii() and mark.isalnum() and mark.islower() for mark in marks)


def test_words_are_plain() -> None:
    assert plain("tea") == "wtea"
    assert plain("ü") == "xc3bc"
    assert plain("xc3bc") == "wxc3bc"


async def test_the_last_stored_come_first_and_no_more_than_asked_for(database: Database) -> None:
    for n in range(5):
        await tell(database, f"s{n}", talk("tea", at=START + n * DAY))
    claims = [Claim("note", f"n{n}", START + n * DAY, ("tea",)) for n in range(2)]
    await database.write(lambda tx: put(tx, HERE, claims), ME)

    def look(tx: Tx) -> None:
        notes = Shelf(HERE.key, SHARED, ROLE, True)
        docs = shelves.postings(tx, [MINE], "tea", 100)
        assert len(docs) == 5
        assert docs == sorted(docs, reverse=True)
        assert shelves.postings(tx, [MINE], "tea", 2) == docs[:2]
        assert shelves.postings(tx, [MINE], "tea", 9, until=START + DAY) == docs[3:]
        assert shelves.postings(tx, [MINE], "te", 9) == []
        both = shelves.postings(tx, [MINE, notes], "tea", 100)
        assert both[:5] == docs
        assert len(both) == 7
        assert shelves.postings(tx, [notes], "tea", 9, until=START) == [both[-2]]
        assert shelves.occurrences(tx, [MINE, notes], ["tea", "milk"]) == {"tea": 7}
        assert shelves.occurrences(tx, [], ["tea"]) == {}
        with pytest.raises(ValueError, match="one partition"):
            shelves.postings(tx, [MINE, Shelf(THERE.key, SHARED, "user", True)], "tea", 1)

    await database.read(look, ME)
