from __future__ import annotations

import asyncio
from functools import partial

import pytest

from polyvox.store import usage
from polyvox.store.database import Database, Tx
from polyvox.values import Scope

ME = Scope("me")


def report(model: str, reported: float, estimated: float, tx: Tx) -> None:
    usage.learn_ratio(tx, model, reported, estimated)


async def learn(database: Database, *reports: tuple[float, float], model: str = "lab:a") -> float:
    for reported, estimated in reports:
        await database.write(partial(report, model, reported, estimated), ME)
    return await database.read(lambda tx: usage.token_ratio(tx, model), ME)


async def test_nothing_is_assumed_before_a_report(database: Database) -> None:
    assert await learn(database) == 1.0


async def test_three_reports_at_twice_the_estimate(database: Database) -> None:
    assert await learn(database, (200, 100), (2000, 1000), (500, 250)) == 2.0


async def test_three_reports_outweigh_a_long_past(database: Database) -> None:
    learned = await learn(database, *[(1000, 1000)] * 30, *[(2000, 1000)] * 3)

    assert learned == pytest.approx(2.0, rel=0.1)


async def test_whatever_their_sizes(database: Database) -> None:
    learned = await learn(database, *[(30_000, 30_000)] * 10, *[(600, 300)] * 3)

    assert learned == pytest.approx(2.0, rel=0.1)


async def test_models_and_users_learn_apart(database: Database) -> None:
    await learn(database, (300, 100), model="lab:b")

    assert await learn(database) == 1.0
    assert await learn(database, model="lab:b") == 3.0
    assert await database.read(lambda tx: usage.token_ratio(tx, "lab:b"), Scope("you")) == 1.0


async def test_nonsense_is_not_learned(database: Database) -> None:
    assert await learn(database, (0, 100), (100, 0), (-5, 10)) == 1.0
    assert await learn(database, (1_000_000, 1)) == usage.HIGHEST


async def test_reports_at_the_same_time_are_all_counted(database: Database) -> None:
    await asyncio.gather(
        *(database.write(lambda tx: usage.learn_ratio(tx, "lab:a", 2, 1), ME) for _ in range(20))
    )

    row = await database.read(lambda tx: tx.one("SELECT samples FROM ratios"), ME)
    assert row == (20,)
