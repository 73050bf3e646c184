"""Optimisations and attempts as rows, on both databases."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from polyvox.errors import Invalid, NotFound
from polyvox.evaluation.optimise.values import Tally
from polyvox.evaluation.tables import optimisations as rows
from polyvox.evaluation.tables.optimisations import (
    CaseResult,
    Optimisation,
    OptimisationSummary,
    RunEstimate,
    StoredAttempt,
    StoredPlan,
)
from polyvox.store.database import Database, Tx
from polyvox.store.pages import Page
from polyvox.values import Scope, Usage

ME, YOU = Scope("anna"), Scope("bert")


def put(tx: Tx, *made: Optimisation) -> None:
    for one in made:
        rows.add(tx, one)


ONE = Optimisation(
    id="o1",
    advisor_id="ann",
    advisor_name="Ann",
    judge="lab:judge",
    optimizer="lab:writer",
    warnings=("Careful.",),
    iterations=10,
    base_version="v1",
    created_at=10,
    plan=StoredPlan((("a", 1, "c"),), (), ("a",), 10, 3, 5, 7),
    estimate=RunEstimate({"judge": 3}, 3, 20, 10, None, None, None),
    budget=5_000,
    base_text="You are Ann.",
)
TRY = StoredAttempt(1, 0, "You are Ann. Be kind.", ask_hash="h1", created_at=11)
ROW = CaseResult("a", 1, False, True, True, "c", Tally(1, 2), Tally(3), "s", "t")
RESULTS = OptimisationSummary(0.2, 0.9, 0.01, 0.99, None, None, None, (ROW,), 1, 1, True)


async def test_a_run_is_kept_as_it_was_given(database: Database) -> None:
    await database.write(lambda tx: rows.add(tx, ONE), ME)
    assert await database.read(lambda tx: rows.get(tx, "o1"), ME) == ONE
    with pytest.raises(NotFound, match="no optimisation"):
        await database.read(lambda tx: rows.get(tx, "o1"), YOU)


async def test_it_starts_goes_on_and_ends_once(database: Database) -> None:
    await database.write(lambda tx: rows.add(tx, ONE), ME)
    begun = await database.write(lambda tx: rows.start(tx, "o1", 20), ME)
    again = await database.write(lambda tx: rows.start(tx, "o1", 30), ME)
    assert (begun.state, begun.started_at, again.started_at) == ("running", 20, 20)
    used = Usage(10, 5, cost=7)
    await database.write(lambda tx: rows.spend(tx, "o1", used), ME)
    await database.write(lambda tx: rows.spend(tx, "o1", replace(used, cost=None)), ME)
    await database.write(
        lambda tx: rows.RUNS.change(
            tx, "o1", stage="search", iteration=3, best=2, best_rate=0.75, base_rate=0.5
        ),
        ME,
    )
    now = await database.read(lambda tx: rows.get(tx, "o1"), ME)
    assert (now.calls, now.spent, now.unpriced) == (2, 7, 1)
    assert (now.stage, now.iteration, now.best, now.best_rate) == ("search", 3, 2, 0.75)

    first = await database.write(
        lambda tx: rows.RUNS.end(
            tx, "o1", "finished", 40, "So.", verdict="improved", results=RESULTS, final_text="T"
        ),
        ME,
    )
    second = await database.write(lambda tx: rows.RUNS.end(tx, "o1", "cancelled", 50, "No."), ME)
    ended = await database.read(lambda tx: rows.get(tx, "o1"), ME)
    assert (first, second) == (True, False)
    assert ended.results == RESULTS
    assert (ended.state, ended.verdict, ended.final_text, ended.ended_at) == (
        "finished",
        "improved",
        "T",
        40,
    )
    assert (await database.write(lambda tx: rows.start(tx, "o1", 60), ME)).state == "finished"


async def test_a_failed_run_is_taken_up_again(database: Database) -> None:
    await database.write(lambda tx: rows.add(tx, ONE), ME)
    await database.write(lambda tx: rows.RUNS.end(tx, "o1", "failed", 40, "Away."), ME)
    await database.write(
        lambda tx: rows.RUNS.take_up(tx, "o1", judge="lab:other", budget=9_000), ME
    )
    now = await database.read(lambda tx: rows.get(tx, "o1"), ME)
    assert (now.state, now.message, now.ended_at) == ("waiting", "", None)
    assert (now.judge, now.budget) == ("lab:other", 9_000)


async def test_who_is_under_way(database: Database) -> None:
    phase = replace(ONE, id="o2", advisor_id="bob", target="phase:early", recipe="council")
    await database.write(lambda tx: put(tx, ONE, phase), ME)

    async def found(scope: Scope, advisor: str, target: str, recipe: str) -> str | None:
        one = await database.read(lambda tx: rows.under_way(tx, advisor, target, recipe), scope)
        return None if one is None else one.id

    assert await found(ME, "ann", "prompt", "") == "o1"
    assert await found(ME, "bob", "prompt", "") is None
    assert await found(ME, "ann", "phase:early", "council") == "o2", "a phase is everybody's"
    assert await found(YOU, "ann", "prompt", "") is None
    await database.write(lambda tx: rows.RUNS.end(tx, "o1", "cancelled", 40, ""), ME)
    assert await found(ME, "ann", "prompt", "") is None


def _page(tx: Tx, before: str | None) -> Page[Optimisation]:
    return rows.list_page(tx, None, 3, before)


async def test_lists_are_paged_newest_first(database: Database) -> None:
    made = [replace(ONE, id=f"o{n}", created_at=n // 2, advisor_id="ab"[n % 2]) for n in range(7)]
    await database.write(lambda tx: put(tx, *made), ME)
    seen: list[str] = []
    before = None
    while True:
        page = await database.read(partial(_page, before=before), ME)
        seen += [one.id for one in page.items]
        if page.next is None:
            break
        before = page.next
    assert seen == ["o6", "o5", "o4", "o3", "o2", "o1", "o0"]
    mine = await database.read(lambda tx: rows.list_page(tx, "a", 50, None), ME)
    assert [one.id for one in mine.items] == ["o6", "o4", "o2", "o0"]
    with pytest.raises(Invalid, match="not a place"):
        await database.read(lambda tx: rows.list_page(tx, None, 50, "nowhere"), ME)


def _attempted(tx: Tx, one: StoredAttempt) -> None:
    rows.put_attempt(tx, "o1", one)


async def test_attempts_are_kept_and_replaced_by_number(database: Database) -> None:
    await database.write(lambda tx: rows.add(tx, ONE), ME)
    refused = replace(TRY, number=2, text=None, state="refused", note="Why.")
    for one in (TRY, refused):
        await database.write(partial(_attempted, one=one), ME)
    scored = replace(TRY, state="scored", rate=0.5, scores={"k": (1, 2, 0)}, spent=9)
    await database.write(lambda tx: rows.put_attempt(tx, "o1", scored), ME)
    assert await database.read(lambda tx: rows.attempts(tx, "o1"), ME) == [scored, refused]
    assert await database.read(lambda tx: rows.find_attempt(tx, "o1", 1), YOU) is None
    await database.write(lambda tx: rows.drop_attempts(tx, "o1", 1), ME)
    assert await database.read(lambda tx: rows.attempts(tx, "o1"), ME) == [scored]
