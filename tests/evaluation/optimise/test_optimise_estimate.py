"""The most that a run takes, before it begins."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.suites import assert_for, assert_of
from tests.evaluation.workshop import PRICED, WORKED, Workshop, open_workshop
from tests.session.room import ME, Hand, Room, open_room

from polyvox.evaluation.assertion import Wording
from polyvox.evaluation.optimise.plan import OptimisationRequest
from polyvox.evaluation.optimise.shapes import RunEstimateOut

MOON = "It speaks of the moon."


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    async with open_room(tmp_path, clock=Hand(), **WORKED) as found:
        yield found


async def estimated(shop: Workshop, **wish: Any) -> RunEstimateOut:
    request = OptimisationRequest(shop.advisor.slug, **{"iterations": 1, **wish})
    return (await shop.room.polyvox.optimisations.estimate(ME, request)).estimate


async def test_the_smallest_run_is_counted_exactly(room: Room) -> None:
    found = await estimated(await open_workshop(room))
    baseline, attempt, confirmation = 21, 3, 2 * 35
    answers = baseline + attempt + confirmation
    assert (found.advisor_calls, found.judge_calls, found.rewriter_calls) == (
        answers,
        answers + 1,  # the question in other words
        1,
    )
    assert found.most_calls == found.calls == 2 * answers + 2
    assert (found.cost, found.most_cost, found.confirmation_cost) == (None, None, None)


async def test_one_answer_serves_all_assertions_of_its_context(room: Room) -> None:
    shop = await open_workshop(room, MOON, MOON)
    source = shop.assertions[0].source
    assert source is not None
    before = await estimated(shop)
    await assert_of(room, source.answer_id, "It speaks of the sea.")
    after = await estimated(shop)
    assert (after.calls, before.advisor_calls) == (before.calls, 100)
    assert after.input_tokens > before.input_tokens
    first = await estimated(shop, assertion_ids=(shop.assertions[0].id,))
    assert first.judge_calls == (24 + 6 + 70) + (6 + 70) + 1, (
        "in the search guards are asked about apart"
    )


async def test_checks_in_code_cost_no_judge(room: Room) -> None:
    shop = await open_workshop(room)
    moon = Wording("Says moon", "contains", {"text": "moon"})
    await assert_for(room, shop.advisor.slug, moon, asks="Well?")
    found = await estimated(shop)
    assert (found.advisor_calls, found.judge_calls) == (100, 52)


async def test_known_prices_make_a_sum(tmp_path: Path) -> None:
    async with open_room(tmp_path, clock=Hand(), **PRICED) as room:
        shop = await open_workshop(
            room, model="openai:gpt-4.1-mini", judge="gpt-4o-mini", writer="gpt-4o"
        )
        found = await estimated(shop)
        assert found.cost is not None
        assert found.confirmation_cost is not None
        assert 0 < found.confirmation_cost < found.cost == found.most_cost
