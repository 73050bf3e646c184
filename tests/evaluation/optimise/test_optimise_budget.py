"""What optimisations cost: foreseen, kept within a budget, and ended by it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.workshop import PRICED, WORKED, Workshop, open_workshop
from tests.session.room import ME, Hand, Room, open_room

from polyvox.errors import Invalid
from polyvox.evaluation.optimise.plan import OptimisationRequest

MOON = "It speaks of the moon."


@pytest.fixture
async def priced(tmp_path: Path) -> AsyncIterator[Room]:
    async with open_room(tmp_path, clock=Hand(), **PRICED) as found:
        yield found


async def priced_shop(room: Room, *texts: str, **more: Any) -> Workshop:
    return await open_workshop(
        room,
        *(texts or (MOON, MOON)),
        model="openai:gpt-4.1-mini",
        judge="gpt-4o-mini",
        writer="gpt-4o",
        **more,
    )


async def test_a_budget_that_is_spent_ends_the_run_within_it(priced: Room) -> None:
    dull = [f"Be {word}." for word in ("kind", "brave", "quick", "warm", "clear", "firm", "wry")]
    shop = await priced_shop(priced, additions=dull)
    whole = await shop.run(iterations=7)
    cost = whole.optimisation.spent
    assert cost > 0
    assert whole.optimisation.unpriced == 0
    assert all(one.spent > 0 for one in whole.attempts)
    assert sum(one.spent for one in whole.attempts) < cost, "the baseline costs something, too"
    again = await priced_shop(priced, additions=dull)
    budget = 0.6 * cost / 1e9
    found = await again.run(iterations=7, budget=budget)
    one = found.optimisation
    assert one.state == "spent"
    assert one.verdict is None
    assert "is used up" in one.message
    assert 0 < one.spent <= budget * 1e9
    assert 0 < one.iteration < 7


async def test_the_search_leaves_enough_to_confirm(priced: Room) -> None:
    """The first attempt is far better, and the budget ends the search: it is confirmed all the
    same."""
    sayings = ["Speak of the moon.", *(f"Be {w}." for w in ("kind", "brave", "quick", "warm"))]
    both = ("It speaks of the moon.", "It speaks of the stars.")
    shop = await priced_shop(priced, *both, additions=sayings)
    whole = (await shop.run(iterations=5)).optimisation
    assert whole.iteration == 5
    again = await priced_shop(priced, *both, additions=sayings)
    found = await again.run(iterations=5, budget=0.75 * whole.spent / 1e9)
    one = found.optimisation
    assert one.state == "finished"
    assert one.verdict is not None
    assert "The search ended there" in one.message
    assert one.spent <= 0.75 * whole.spent


async def test_a_budget_too_small_for_anything_says_so(priced: Room) -> None:
    shop = await priced_shop(priced)
    one = (await shop.run(budget=0.000001)).optimisation
    assert (one.state, one.calls) == ("spent", 0)
    assert "not even the prompt as it is was scored" in one.message
    assert any("does not cover the confirmation" in warning for warning in one.warnings)

    await priced.polyvox.optimisations.resume(ME, one.id, 1.0)
    found = await shop.finish(one.id)
    assert found.optimisation.verdict == "improved"


async def test_a_budget_without_prices_cannot_be_promised(tmp_path: Path) -> None:
    async with open_room(tmp_path, clock=Hand(), **WORKED) as room:
        shop = await open_workshop(room)
        with pytest.raises(Invalid, match="no budget can be kept"):
            await shop.begun(budget=0.5)


async def test_a_run_takes_no_more_than_its_estimate(priced: Room) -> None:
    dull = [f"Be {word}." for word in ("kind", "brave", "quick", "warm", "clear", "firm", "wry")]
    both = ("It speaks of the moon.", "It speaks of the stars.")
    sayings = ["Speak of the moon.", *dull]
    shop = await priced_shop(priced, *both, additions=sayings)
    planned = await priced.polyvox.optimisations.estimate(
        ME, OptimisationRequest(shop.advisor.slug, iterations=6)
    )
    one = (await shop.run(iterations=6)).optimisation
    assert one.stage == "confirmation"
    expected = planned.estimate
    assert expected.cost is not None
    assert one.calls <= expected.calls == expected.most_calls
    assert one.spent <= expected.cost * 1e9
    assert expected.cost == expected.most_cost


async def test_a_cap_of_the_settings_ends_it_too(tmp_path: Path) -> None:
    limits = {**PRICED["limits"], "cost_per_day": 0.0008}
    async with open_room(tmp_path, clock=Hand(), **{**PRICED, "limits": limits}) as room:
        shop = await priced_shop(room)
        one = (await shop.run()).optimisation
        assert one.state == "spent"
        assert "limits.cost_per_day" in one.message
