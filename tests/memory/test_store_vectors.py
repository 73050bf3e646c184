"""Vectors as rows, on both databases: one contract."""

from __future__ import annotations

import math
import random
from array import array
from operator import mul
from pathlib import Path

import pytest
from tests.memory.house import HERE, ME, START, THERE, YOU, talk, tell

from polyvox.memory.tables import claims, episodes, shelves, statements, vectors
from polyvox.memory.tables.shelves import SHARED, Shelf
from polyvox.memory.tables.statements import Statement
from polyvox.memory.tables.vectors import LAST, Scale, Vector, Waiting
from polyvox.memory.values import Claim, Partition
from polyvox.store.database import Database, Tx
from polyvox.store.scrub import scrub

MODEL = "lab:e"
SIZE = 96


def random_vector(chance: random.Random, near: Vector | None = None) -> Vector:
    """Some direction; or one that is near to another."""
    numbers = [chance.gauss(0, 1) for _ in range(SIZE)]
    if near is not None:
        numbers = [20 * one + other for one, other in zip(near, numbers, strict=True)]
    length = math.sqrt(sum(one * one for one in numbers))
    return array("f", [one / length for one in numbers])


def cosine(one: Vector, other: Vector) -> float:
    return float(sum(map(mul, one, other)))


def all_waiting(tx: Tx, partition: Partition = HERE, cloud: bool = False) -> list[Waiting]:
    found: list[Waiting] = []
    before = LAST
    while some := vectors.waiting(tx, partition, MODEL, cloud, before, 2):
        found += some
        before = some[-1].doc
    return found


def embed(tx: Tx, chance: random.Random, partition: Partition = HERE) -> dict[int, Vector]:
    """Everything gets some vector."""
    made = [(one, random_vector(chance)) for one in all_waiting(tx, partition)]
    assert vectors.keep(tx, partition, MODEL, made) == len(made)
    return {one.doc: vector for one, vector in made}


def fact(tx: Tx, name: str, text: str, advisor: str | None = None) -> None:
    statements.add(tx, HERE, [Statement(name, "fact", "me", "x", text, 1, advisor_id=advisor)])
    claims.put(tx, HERE, [Claim("fact", name, 1, ("word",), advisor)])


def shelves_of(tx: Tx, partition: Partition = HERE) -> list[Shelf]:
    return [one.shelf for one in shelves.stocks(tx, partition.key)]


async def test_what_has_no_vector_waits_the_newest_first(database: Database) -> None:
    await tell(database, "a", talk("one", "two", "three"))
    await tell(database, "b", talk("four", "secret", advisor="skeptic"), cloud=False)
    await tell(database, "else", talk("elsewhere"), partition=THERE)
    await tell(database, "you", talk("yours"), scope=YOU)

    def work(tx: Tx) -> None:
        vectors.prepare(tx)
        fact(tx, "f", "a fact")
        claims.put(tx, HERE, [Claim("note", "n", 1, ("word",))])
        waiting = all_waiting(tx)
        assert [one.text for one in waiting] == [
            "secret", "four", "three", "two", "one", "a fact",
        ]  # fmt: skip
        assert [one.text for one in all_waiting(tx, cloud=True)] == [
            "three", "two", "one", "a fact",
        ]  # fmt: skip
        mine = Shelf(HERE.key, "skeptic", "assistant", False)
        assert waiting[0].mark == mine.mark(ME)
        episodes.mark(tx, HERE, "a", 1, excluded=True)
        assert "two" not in [one.text for one in all_waiting(tx)]
        embed(tx, random.Random(1))
        assert all_waiting(tx) == []
        assert [one.text for one in all_waiting(tx, THERE)] == ["elsewhere"]

    await database.write(work, ME)


async def test_the_nearest_by_cosine_are_found(database: Database) -> None:
    """Among so many that their signs are looked at first."""
    for session in range(4):
        await tell(database, f"s{session}", talk(*(f"text {n}" for n in range(100))))
    chance = random.Random(7)

    def work(tx: Tx) -> None:
        vectors.prepare(tx)
        made = embed(tx, chance)
        assert len(made) == 400
        for doc in chance.sample(sorted(made), 20):
            asked = random_vector(chance, made[doc])
            found = vectors.nearest(tx, shelves_of(tx), MODEL, asked)
            assert len(found) == vectors.COMPARED
            assert found[0][0] == doc
            best = sorted(made, key=lambda one: -cosine(made[one], asked))[:10]
            assert len({number for number, _ in found[:20]} & set(best)) >= 8
            for number, value in found:
                assert value == pytest.approx(cosine(made[number], asked), abs=0.01)
            assert [value for _, value in found] == sorted((v for _, v in found), reverse=True)

    await database.write(work, ME)


async def test_only_the_shelves_that_are_named(database: Database) -> None:
    await tell(database, "a", talk("mine", "the skeptic's", advisor="skeptic"))
    await tell(database, "b", talk("never to a cloud"), cloud=False)
    await tell(database, "c", talk("elsewhere"), partition=THERE)
    chance = random.Random(3)

    def work(tx: Tx) -> None:
        vectors.prepare(tx)
        embed(tx, chance, THERE)
        asked = random_vector(chance)
        alone = [Shelf(HERE.key, SHARED, "user", True)]
        assert vectors.nearest(tx.of(ME), alone, MODEL, asked) == []
        made = embed(tx, chance)
        assert len(made) == 3
        assert vectors.nearest(tx.of(ME), [], MODEL, asked) == []
        found = vectors.nearest(tx.of(ME), alone, MODEL, asked)
        texts = {one.doc: one.episode.text for one in episodes.read(tx.of(ME), HERE, [(0, LAST)])}
        assert [texts[doc] for doc, _ in found] == ["mine"]
        assert len(vectors.nearest(tx.of(ME), shelves_of(tx), MODEL, asked)) == 3
        assert vectors.nearest(tx.of(ME), shelves_of(tx), "lab:other", asked) == []
        assert vectors.nearest(tx.of(YOU), shelves_of(tx), MODEL, asked) == []

    await database.write(work, ME)


def kept(tx: Tx) -> set[int]:
    """The numbers that have a vector, which both tables agree on."""
    whole = {row[0] for row in tx.all("SELECT doc FROM vectors")}
    assert whole == {row[0] for row in tx.all("SELECT doc FROM vector_bits")}
    return whole


async def test_a_vector_goes_with_its_text(database: Database) -> None:
    await tell(database, "a", talk("one", "two", "three", advisor="skeptic"))
    await tell(database, "b", talk("four", "five"))

    def work(tx: Tx) -> None:
        vectors.prepare(tx)
        fact(tx, "f", "a fact")
        fact(tx, "g", "another", "skeptic")
        made = embed(tx, random.Random(2))
        assert kept(tx) == set(made)
        assert len(made) == 7
        episodes.mark(tx, HERE, "a", 0, excluded=True)
        assert len(kept(tx)) == 6
        episodes.mark(tx, HERE, "a", 0, excluded=False)
        assert [one.text for one in all_waiting(tx)] == ["one"]
        episodes.remove_message(tx, HERE, "a", 1)
        assert len(kept(tx)) == 5
        claims.remove(tx, HERE, "fact", ["g"])
        assert len(kept(tx)) == 4
        episodes.remove_session(tx, HERE, "b")
        assert len(kept(tx)) == 2
        for name in ("f", "g"):
            claims.remove(tx, HERE, "fact", [name])
        episodes.remove_session(tx, HERE, "a")
        assert kept(tx) == set()

    await database.write(work, ME)


async def test_what_was_forgotten_while_a_model_read_it_leaves_nothing(
    database: Database,
) -> None:
    """Even where its number belongs to something else by then."""
    await tell(database, "a", talk("forgotten", "also"))
    chance = random.Random(5)

    def work(tx: Tx) -> None:
        vectors.prepare(tx)
        fact(tx, "f", "a fact")
        made = [(one, random_vector(chance)) for one in all_waiting(tx)]
        assert len(made) == 3
        episodes.remove_session(tx, HERE, "a")
        claims.remove(tx, HERE, "fact", ["f"])
        fact(tx, "g", "another fact")
        number = tx.one("SELECT MAX(number) FROM claims")
        tx.run("UPDATE claims SET number = ?", (-made[-1][0].doc,))
        assert number is not None
        assert vectors.keep(tx, HERE, MODEL, made) == 0
        assert kept(tx) == set()

    await database.write(work, ME)


async def test_one_model_at_a_time(database: Database) -> None:
    await tell(database, "a", talk("one", "two"))
    await tell(database, "b", talk("three"), partition=THERE)

    def work(tx: Tx) -> None:
        vectors.prepare(tx)
        chance = random.Random(2)
        embed(tx, chance)
        embed(tx, chance, THERE)
        vectors.keep_only(tx.of(ME), HERE, MODEL)
        assert len(kept(tx)) == 3
        vectors.keep_only(tx.of(ME), HERE, "lab:other")
        assert len(kept(tx)) == 1
        assert vectors.scale(tx.of(ME), MODEL) is None
        vectors.keep_scale(tx.of(ME), MODEL, Scale(SIZE, 0.5, 0.25, 0.1), 1)
        vectors.keep_scale(tx.of(ME), MODEL, Scale(SIZE, 0.75, 0.5, 0.2), 2)
        assert vectors.scale(tx.of(ME), MODEL) == Scale(SIZE, 0.75, 0.5, 0.2)
        assert vectors.scale(tx.of(YOU), MODEL) is None
        vectors.drop_model(tx.of(ME), MODEL)
        assert (kept(tx), vectors.scale(tx.of(ME), MODEL)) == (set(), None)

    await database.write(work, ME)


async def test_the_files_hold_no_vector_that_went(
    sqlite_database: Database, tmp_path: Path
) -> None:
    await tell(sqlite_database, "a", talk("one", at=START))
    await tell(sqlite_database, "b", talk("two", at=START))

    def work(tx: Tx) -> None:
        embed(tx, random.Random(9))

    await sqlite_database.write(work, ME)
    rows = await sqlite_database.read(
        lambda tx: tx.all("SELECT v.doc, v.whole, b.bits FROM vectors v JOIN vector_bits b"
                          " ON b.doc = v.doc ORDER BY v.doc"), ME
    )  # fmt: skip
    (_, first, first_bits), (_, second, second_bits) = rows

    await sqlite_database.write(lambda tx: episodes.remove_session(tx, HERE, "a"), ME)
    await scrub(sqlite_database)

    raw = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert first not in raw
    assert first_bits not in raw
    assert second in raw
    assert second_bits in raw
