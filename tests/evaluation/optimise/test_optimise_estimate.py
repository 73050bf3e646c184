"""The most that a run takes, before it begins."""

from __future__ import annotations

from dataclasses import replace

from tests.evaluation.optimise.simulate import (
    SimulatedBench,
    SimulatedRewriter,
    simulated_plan,
    unchanged,
)

from polyvox.evaluation.optimise.estimate import CallKind, CallSize, upper_bound
from polyvox.evaluation.optimise.loop import optimise


def size(call: CallKind) -> CallSize:
    return {
        "advisor": CallSize(100, 10, 5),
        "judge": CallSize(200, 20, 7),
        "rewriter": CallSize(1000, 100, 50),
    }[call.role]


def test_the_smallest_run_is_counted_exactly() -> None:
    found = upper_bound(simulated_plan(1, iterations=1), size)
    assert found.calls == {"advisor": 3 + 3 + 10, "judge": 3 + 3 + 10, "rewriter": 1}
    assert found.most_calls == found.total == 33
    assert found.cost == found.most_cost == 16 * (5 + 7) + 50
    assert found.confirmation == 10 * (5 + 7)
    assert (found.input_tokens, found.output_tokens) == (16 * 300 + 1000, 16 * 30 + 100)


async def test_it_is_a_bound_for_whole_runs() -> None:
    plan = simulated_plan(4, guards=2, iterations=5)
    most = upper_bound(plan, size).most_calls
    for seed in range(15):
        bench = SimulatedBench(unchanged([0.5] * 4), seed)
        await optimise(plan, bench, SimulatedRewriter(bench))
        assert bench.calls.total() <= most


def test_one_answer_serves_all_assertions_of_its_context() -> None:
    apart = upper_bound(simulated_plan(4), size)
    shared = upper_bound(simulated_plan(4, contexts=1), size)
    assert shared.calls["advisor"] == apart.calls["advisor"] / 4
    assert shared.calls["judge"] == shared.calls["advisor"]


def test_checks_in_code_cost_no_judge() -> None:
    plan = simulated_plan(2)
    coded = tuple(
        replace(case, assertion=replace(case.assertion, kind="words")) for case in plan.targets
    )
    assert "judge" not in upper_bound(replace(plan, targets=coded), size).calls


def test_an_unknown_price_makes_no_sum() -> None:
    found = upper_bound(simulated_plan(2), lambda call: CallSize(1, 1, None))
    assert (found.cost, found.most_cost, found.confirmation) == (None, None, None)
    assert found.total > 0
