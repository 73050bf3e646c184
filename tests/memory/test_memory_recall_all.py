"""Several readers at once: each is told exactly what they would be told if nobody else asked."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest
from tests.memory.house import DAY, HERE, ME, NOW, START, Counted, tell

from polyvox.memory import index
from polyvox.memory.recall import PERSON, Exclude, Reader, Wish, recall_all
from polyvox.memory.tables import claims
from polyvox.memory.values import Claim, Item, Message, Partition
from polyvox.memory.words import words_of
from polyvox.store.database import Database, Tx

WORDS = ("harbour", "lantern", "orchard", "violin", "bakery", "glacier", "saddle", "pepper")
ADVISORS = ("ada", "bo", "cy")
KIND = "note"
TEXTS = {f"n{number}": " ".join(WORDS[number : number + 3]) for number in range(8)}


def notes(
    _tx: Tx, _partition: Partition, ids: Sequence[str], _as_of: int | None
) -> Mapping[str, Item]:
    return {one: Item(one, TEXTS[one], 0.0, KIND, (), START) for one in ids}


async def remember(database: Database, chance: random.Random, sessions: int = 12) -> None:
    """Everybody talks of a few things; some of it must not leave, some is noted as claims."""
    for session in range(sessions):
        at = START + session * DAY
        said = []
        for turn in range(4):
            for who in (None, *ADVISORS):
                if who is None or chance.random() < 0.7:
                    text = " ".join(chance.choices(WORDS, k=chance.randint(2, 7)))
                    said.append(
                        Message("user" if who is None else "assistant", text, at + turn, who)
                    )
        cloud = session % 4 != 0
        await tell(database, f"s{session}", said, started_at=at, cloud=cloud)
    made = [
        Claim(KIND, name, START, tuple(words_of(text)), (None, *ADVISORS)[number % 4])
        for number, (name, text) in enumerate(TEXTS.items())
    ]
    await database.write(lambda tx: claims.put(tx, HERE, made), ME)


def wishes(chance: random.Random, docs: Sequence[int]) -> list[Wish]:
    readers = [
        PERSON,
        Reader(),
        *(Reader(advisor_id=who) for who in ADVISORS),
        Reader(advisor_id="ada", cloud=True),
        Reader(advisor_id="bo", roles=frozenset({"assistant"})),
        Reader(advisor_id="nobody"),
    ]
    return [
        Wish(
            reader,
            Exclude(sessions=frozenset(chance.sample([f"s{n}" for n in range(12)], 2))),
            limit=chance.randint(1, 6),
            stretches=chance.choice((1, 2, 20)),
            also={-1: 0.9, 1 << 40: 0.8, **dict.fromkeys(chance.sample(docs, 4), 0.95)}
            if chance.random() < 0.5
            else {},
        )
        for reader in chance.sample(readers, chance.randint(2, len(readers)))
    ]


@pytest.mark.parametrize(
    ("each", "most"),
    [(index.POSTINGS, index.AT_ONCE), (index.POSTINGS, 20), (3, index.AT_ONCE)],
    ids=["all of it", "cut short", "few words for some"],
)
async def test_each_is_told_what_they_would_be_told_alone(
    database: Database, monkeypatch: pytest.MonkeyPatch, each: int, most: int
) -> None:
    monkeypatch.setattr(index, "POSTINGS", each)
    monkeypatch.setattr(index, "AT_ONCE", most)
    chance = random.Random(7)
    await remember(database, chance)

    def look(tx: Tx) -> int:
        told = 0
        docs = [row[0] for row in tx.all("SELECT doc FROM episodes ORDER BY doc")]
        for _ in range(40):
            query = " ".join(chance.sample(WORDS, chance.randint(1, 5)))
            query += chance.choice(("", " yesterday", " on 16 November 2023"))
            many = wishes(chance, docs)
            as_of = chance.choice((None, START + 5 * DAY))
            ask = {"reference_time": NOW, "as_of": as_of, "sources": {KIND: notes}}
            together = recall_all(tx, HERE, query, many, **ask)  # type: ignore[arg-type]  # as they are
            alone = [recall_all(tx, HERE, query, [one], **ask)[0] for one in many]  # type: ignore[arg-type]  # so
            assert together == alone
            told += sum(map(len, together))
        return told

    assert await database.read(look, ME) > 100


async def test_six_ask_little_more_than_one(database: Database) -> None:
    """What all of them see is read once; on PostgreSQL a word is looked up once, too."""
    await remember(database, random.Random(3), 30)
    query = " ".join(WORDS[:4])

    def asked(tx: Tx, readers: Sequence[Reader]) -> int:
        counted = Counted(tx)
        many = [Wish(one) for one in readers]
        found = recall_all(counted, HERE, query, many, reference_time=NOW, sources={KIND: notes})
        assert all(found)
        return counted.statements

    one = await database.read(lambda tx: asked(tx, [Reader(advisor_id="ada")]), ME)
    three = await database.read(lambda tx: asked(tx, [Reader(advisor_id=a) for a in ADVISORS]), ME)
    apart = 0 if database.dialect == "postgresql" else len(ADVISORS) * 4
    assert three <= one + apart
