from __future__ import annotations

from tests.store.rows import insert_answer

from polyvox.store import usage
from polyvox.store.database import Database, Tx
from polyvox.store.usage import Total
from polyvox.values import Scope, Usage

ME = Scope("me")
DAY = 86_400_000_000


def spend(
    tx: Tx,
    cost: int | None,
    *,
    at: int = 0,
    conversation: str | None = "c1",
    advisor: str = "a1",
    model: str = "lab:x",
    answer: str | None = None,
    estimated: bool = False,
) -> None:
    usage.record(
        tx,
        usage=Usage(100, 10, cost=cost, estimated=estimated),
        model=model,
        advisor_id=advisor,
        conversation_id=conversation,
        answer_id=answer,
        at=at,
    )


def several(tx: Tx) -> None:
    spend(tx, 5)
    spend(tx, None, at=DAY, conversation="c2", model="lab:y", estimated=True)
    spend(tx, 2**40, at=DAY + 1, advisor="a2")
    spend(tx.of(Scope("you")), 1000)


async def test_an_unknown_price_is_counted_apart(database: Database) -> None:
    await database.write(several, ME)

    assert await database.read(lambda tx: usage.totals(tx), ME) == [
        Total(None, 3, 300, 30, 2**40 + 5, 1, 1)
    ]
    assert await database.read(lambda tx: usage.totals(tx, "model"), ME) == [
        Total("lab:x", 2, 200, 20, 2**40 + 5, 0, 0),
        Total("lab:y", 1, 100, 10, 0, 1, 1),
    ]


async def test_sums_by_everything(database: Database) -> None:
    await database.write(several, ME)

    by_day = await database.read(lambda tx: usage.totals(tx, "day"), ME)
    assert [(one.key, one.answers) for one in by_day] == [("1970-01-02", 2), ("1970-01-01", 1)]
    by_advisor = await database.read(lambda tx: usage.totals(tx, "advisor"), ME)
    assert [(one.key, one.cost) for one in by_advisor] == [("a2", 2**40), ("a1", 5)]
    by_conversation = await database.read(lambda tx: usage.totals(tx, "conversation"), ME)
    assert [(one.key, one.unpriced) for one in by_conversation] == [("c1", 0), ("c2", 1)]
    assert await database.read(lambda tx: usage.totals(tx, "model", conversation_id="c2"), ME) == [
        Total("lab:y", 1, 100, 10, 0, 1, 1)
    ]


async def test_nothing_spent(database: Database) -> None:
    assert await database.read(lambda tx: usage.totals(tx), ME) == [Total(None, 0, 0, 0, 0, 0, 0)]
    assert await database.read(lambda tx: usage.totals(tx, "day"), ME) == []
    assert await database.read(lambda tx: usage.spent(tx, day="1970-01-01"), ME) == 0


async def test_what_a_cap_looks_at(database: Database) -> None:
    await database.write(several, ME)

    def look(tx: Tx) -> list[int]:
        return [
            usage.spent(tx),
            usage.spent(tx, conversation_id="c1"),
            usage.spent(tx, conversation_id="c2"),
            usage.spent(tx, day="1970-01-01"),
            usage.spent(tx, conversation_id="c1", day="1970-01-02"),
        ]

    assert await database.read(look, ME) == [2**40 + 5, 2**40 + 5, 0, 5, 2**40]
    assert all(isinstance(one, int) for one in await database.read(look, ME))


async def test_what_a_turn_has_cost(database: Database) -> None:
    def work(tx: Tx) -> int:
        for answer, turn in (("x", "t1"), ("y", "t1"), ("z", "t2")):
            insert_answer(tx, "c1", turn, answer, "words")
            spend(tx, 10, answer=answer)
        spend(tx, 99)
        return usage.spent(tx, turn_id="t1")

    assert await database.write(work, ME) == 20
