from __future__ import annotations

from dataclasses import replace

from tests.memory.house import HERE, ME, THERE

from polyvox.memory.tables import claims, shelves
from polyvox.memory.tables.claims import ROLE, Claim
from polyvox.memory.tables.shelves import SHARED, Shelf
from polyvox.store.database import Database, Tx

NOTES = Shelf(HERE.key, SHARED, ROLE, True)
TEA = Claim("note", "1", 10, ("tea", "green"))


def found(tx: Tx, word: str) -> list[Claim]:
    docs = shelves.postings(tx, [NOTES], word, 100)
    return [claim for _, claim in claims.read(tx, HERE, docs)]


async def test_a_claim_takes_the_place_of_the_one_before(database: Database) -> None:
    def work(tx: Tx) -> None:
        claims.put(tx, HERE, [TEA, replace(TEA, id="2", pinned=True)])
        claims.put(tx, HERE, [replace(TEA, terms=("tea", "black"), retired_at=20)])

        assert len(found(tx, "tea")) == 2
        assert found(tx, "green") == [replace(TEA, id="2", pinned=True)]
        assert found(tx, "black") == [replace(TEA, terms=("tea", "black"), retired_at=20)]

    await database.write(work, ME)


async def test_kinds_and_partitions_do_not_meet(database: Database) -> None:
    def work(tx: Tx) -> None:
        claims.put(tx, HERE, [TEA, replace(TEA, kind="fact")])
        claims.put(tx, THERE, [TEA])
        claims.remove(tx, HERE, "note", ["1", "none"])

        assert found(tx, "tea") == [replace(TEA, kind="fact")]
        claims.remove(tx, HERE, "fact", ["1"])
        assert found(tx, "tea") == []
        assert tx.one("SELECT COUNT(*) FROM claims") == (1,)

    await database.write(work, ME)


async def test_whose_it_is(database: Database) -> None:
    def work(tx: Tx) -> None:
        claims.put(tx, HERE, [replace(TEA, advisor_id="skeptic", cloud=False)])

        assert found(tx, "tea") == []
        [stock] = shelves.stocks(tx, HERE.key)
        assert stock.shelf == Shelf(HERE.key, "skeptic", ROLE, False)

    await database.write(work, ME)
