"""What a run takes, foreseen."""

from __future__ import annotations

from dataclasses import replace

from polyvox.evaluation.optimise.engine import Native
from polyvox.evaluation.optimise.estimate import Call, Size, estimate
from polyvox.evaluation.optimise.loop import optimise
from polyvox.evaluation.optimise.simulate import (
    SimulatedBench,
    SimulatedRewriter,
    simulated_plan,
    unchanged,
)


def size(call: Call) -> Size:
    return {
        "advisor": Size(100, 10, 5),
        "judge": Size(200, 20, 7),
        "rewriter": Size(1000, 100, 50),
    }[call.role]


def test_the_smallest_run_is_counted_exactly() -> None:
    found = estimate(simulated_plan(1, iterations=1), size, {"a0@c0": 1.0})
    assert found.calls == {"advisor": 3 + 2 + 10, "judge": 3 + 2 + 10, "rewriter": 1}
    assert found.most_calls == 2 * (3 + 3 + 10) + 1
    assert found.total == 31
    assert found.cost == 15 * (5 + 7) + 50
    assert found.confirmation == 10 * (5 + 7)
    assert (found.input_tokens, found.output_tokens) == (15 * 300 + 1000, 15 * 30 + 100)


def test_a_run_never_takes_more_than_the_most() -> None:
    found = estimate(simulated_plan(6, guards=3), size)
    assert found.total <= found.most_calls
    assert found.cost is not None
    assert found.most_cost is not None
    assert found.cost <= found.most_cost


async def test_the_most_is_a_bound_for_real_runs() -> None:
    plan = simulated_plan(4, guards=2, iterations=5)
    most = estimate(plan, size).most_calls
    for seed in range(15):
        bench = SimulatedBench(unchanged([0.5] * 4), seed)
        await optimise(plan, bench, SimulatedRewriter(bench), Native())
        assert bench.calls.total() <= most


def test_one_answer_serves_all_assertions_of_its_context() -> None:
    apart = estimate(simulated_plan(4), size)
    shared = estimate(simulated_plan(4, contexts=1), size)
    assert shared.calls["advisor"] < apart.calls["advisor"] / 2
    assert shared.calls["judge"] == shared.calls["advisor"]


def test_checks_in_code_cost_no_judge() -> None:
    plan = simulated_plan(2)
    coded = tuple(
        replace(case, assertion=replace(case.assertion, kind="words")) for case in plan.targets
    )
    assert "judge" not in estimate(replace(plan, targets=coded), size).calls


def test_an_unknown_price_makes_no_sum() -> None:
    found = estimate(simulated_plan(2), lambda call: Size(1, 1, None))
    assert (found.cost, found.most_cost, found.confirmation) == (None, None, None)
    assert found.total > 0


def test_it_is_the_same_every_time() -> None:
    assert estimate(simulated_plan(5), size) == estimate(simulated_plan(5), size)
