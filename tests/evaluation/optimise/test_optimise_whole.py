"""Whole searches over a simulated bench: how each run ends, what is asked, what is saved."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.evaluation.optimise.simulate import (
    ORIGINAL,
    SimulatedBench,
    SimulatedRewriter,
    changed,
    simulated_plan,
    unchanged,
)

from polyvox.errors import ModelError, Unavailable
from polyvox.evaluation.judge_prompt import Subject
from polyvox.evaluation.optimise.result import OptimisationResult
from polyvox.evaluation.optimise.rewrite import Ask, Proposal
from polyvox.evaluation.optimise.search import Hurdle, Scorer, optimise
from polyvox.evaluation.optimise.values import OptimisationPlan, Outage, PromptAttempt, Stage
from polyvox.evaluation.replay import JudgedText, Prompt
from polyvox.evaluation.tables.assertions import Assertion
from polyvox.evaluation.tables.verdicts import Judged


async def run(bench: SimulatedBench, plan: OptimisationPlan | None = None) -> OptimisationResult:
    return await optimise(plan or simulated_plan(), bench, SimulatedRewriter(bench).rewrite)


def scorer(bench: SimulatedBench) -> Scorer:
    return Scorer(bench, asyncio.Semaphore(4))


async def test_a_true_change_is_found() -> None:
    found = await run(SimulatedBench(changed(0.1, 0.95), 1), simulated_plan(8))
    assert (found.ending, found.ruling) == ("confirmed", "improved")
    assert found.best.number > 0
    assert found.confirmation is not None
    assert found.confirmation.compared.after > found.confirmation.compared.before + 0.5


async def test_all_passing_already() -> None:
    bench = SimulatedBench(unchanged(1.0), 1)
    found = await run(bench)
    assert (found.ending, found.ruling, found.best.number) == ("passing", None, 0)
    assert bench.calls == {"advisor": 25, "judge": 25}


async def test_everything_passing_ends_the_search() -> None:
    bench = SimulatedBench(changed(0.0, 1.0), 1)
    found = await run(bench, simulated_plan(6))
    assert len(found.attempts) - 1 == 1
    assert found.ruling == "improved"


async def test_one_assertion() -> None:
    found = await run(SimulatedBench(changed(0.0, 1.0), 1), simulated_plan(1))
    assert found.ruling == "improved"
    assert "1 assertion in 1 context," in found.message


async def test_the_judge_down_half_way_is_an_outage() -> None:
    bench = SimulatedBench(changed(0.3, 0.9), 1, judge_down_after=40)
    with pytest.raises(Outage, match="The judge is away"):
        await run(bench, simulated_plan(8))
    assert bench.calls["judge"] == 40


async def test_the_budget_spent_in_the_search_ends_without_a_ruling() -> None:
    bench = SimulatedBench(unchanged(0.0), 1, most_calls=90)
    found = await run(bench, simulated_plan(8))
    assert (found.ending, found.ruling) == ("spent", None)
    assert "The budget of this simulation is spent." in found.message


async def test_the_budget_spent_in_the_confirmation_keeps_the_best_attempt() -> None:
    bench = SimulatedBench(changed(0.0, 1.0), 1, most_calls=60)
    found = await run(bench)
    assert (found.ending, found.ruling, found.best.number) == ("spent", None, 1)
    assert "nothing was left to confirm it" in found.message


async def test_the_budget_spent_at_once() -> None:
    found = await run(SimulatedBench(unchanged(0.5), 1, most_calls=3))
    assert (found.ending, len(found.attempts) - 1) == ("spent", 0)
    assert "not even the prompt as it is was scored" in found.message


class Silent(SimulatedRewriter):
    """Proposes nothing that can be taken."""

    async def rewrite(self, ask: Ask, number: int) -> Proposal:
        return Proposal(None, "It was no prompt.")


async def test_a_rewriter_without_a_usable_text() -> None:
    bench = SimulatedBench(unchanged(0.2), 1)
    plan = simulated_plan(6, iterations=3)
    found = await optimise(plan, bench, Silent(bench).rewrite)
    assert found.ruling == "not distinguishable"
    assert found.message == ("None of 3 attempts could be used. The last one: It was no prompt.")


class Away(SimulatedRewriter):
    async def rewrite(self, ask: Ask, number: int) -> Proposal:
        raise Unavailable("nobody there")


async def test_a_rewriter_that_is_away_is_told() -> None:
    bench = SimulatedBench(unchanged(0.2), 1)
    with pytest.raises(ModelError, match="nobody there"):
        await optimise(simulated_plan(6), bench, Away(bench).rewrite)


async def test_holdouts_are_kept_from_the_rewriter() -> None:
    bench = SimulatedBench(unchanged(0.3), 3)
    writer = SimulatedRewriter(bench)
    plan = replace(simulated_plan(8, iterations=4), holdouts=frozenset({"a2", "a5"}))
    found = await optimise(plan, bench, writer.rewrite)
    assert writer.asked
    for ask in writer.asked:
        said = {one.text for one in ask.failing} | set(ask.holding) | set(ask.allowed)
        assert not {"It is a2.", "It is a5."} & said
    assert all(f"a{n}@c{n}" in found.attempts[0].scores.tallies for n in (2, 5))


async def test_a_broken_guard_is_held_back_and_named() -> None:
    def rate(prompt: Prompt, assertion: str) -> float:
        new = prompt is not ORIGINAL and prompt.text != ORIGINAL.text
        return float(new) if assertion.startswith("a") else float(not new)

    found = await run(SimulatedBench(rate, 1), simulated_plan(3, guards=2, iterations=2))
    assert [one.state for one in found.attempts] == ["scored", "guarded", "guarded"]
    assert "It is g0." in found.attempts[1].note
    assert found.ruling == "not distinguishable"
    assert found.best.number == 0


async def test_a_guard_that_fails_only_in_the_confirmation_is_a_regression() -> None:
    """In the search the guards seem to hold; the fresh answers show otherwise."""

    class Fooled(SimulatedBench):
        async def judge(
            self, about: JudgedText, assertions: Sequence[Assertion], repeat: int
        ) -> list[Judged]:
            found = await super().judge(about, assertions, repeat)
            fresh = repeat >= 100 and about.text != Subject("", ORIGINAL.text)
            return [
                replace(one, outcome="fail" if fresh else "pass")
                if one.assertion_id.startswith("g")
                else one
                for one in found
            ]

    found = await run(Fooled(changed(0.0, 1.0), 1), simulated_plan(5, guards=3))
    assert found.ruling == "regressed"
    assert "the advisor's other assertions pass less often, 100% before and 0% after" in (
        found.message
    )


async def test_a_case_that_cannot_be_judged_is_left_out() -> None:
    class Puzzled(SimulatedBench):
        async def judge(
            self, about: JudgedText, assertions: Sequence[Assertion], repeat: int
        ) -> list[Judged]:
            found = await super().judge(about, assertions, repeat)
            return [
                replace(one, outcome="error") if one.assertion_id == "a1" else one for one in found
            ]

    found = await run(Puzzled(changed(0.0, 1.0), 1))
    assert found.ruling == "improved"
    assert "(4 assertions in 4 contexts," in found.message


async def test_scoring_stops_once_it_is_decided() -> None:
    plan = simulated_plan(5)
    bench = SimulatedBench(unchanged(1.0), 1)
    await scorer(bench).measure(ORIGINAL, plan.targets, 3)
    assert bench.calls["advisor"] == 10  # twice the same is most of three
    bench = SimulatedBench(unchanged(1.0), 1)
    await scorer(bench).measure(ORIGINAL, plan.targets, 3, every=True)
    assert bench.calls["advisor"] == 15


async def test_what_cannot_catch_up_is_given_up() -> None:
    plan = simulated_plan(5)
    best = dict.fromkeys(plan.keys, 1.0)
    bench = SimulatedBench(unchanged(0.0), 1)
    scores = await scorer(bench).measure(ORIGINAL, plan.targets, 3, hurdle=Hurdle(0.9, best))
    assert not scores.whole
    assert bench.calls["advisor"] == 5
    front = {**best, "a0@c0": 0.0}  # it may still be the best at one thing
    bench = SimulatedBench(unchanged(0.0), 1)
    await scorer(bench).measure(ORIGINAL, plan.targets, 3, hurdle=Hurdle(0.9, front))
    assert bench.calls["advisor"] > 5


async def test_only_so_many_answers_are_under_way() -> None:
    class Counting(SimulatedBench):
        here = 0
        most = 0

        async def sample(self, prompt: Prompt, context_hash: str, repeat: int) -> JudgedText:
            self.here += 1
            self.most = max(self.most, self.here)
            await asyncio.sleep(0)
            return await super().sample(prompt, context_hash, repeat)

        async def judge(
            self, about: JudgedText, assertions: Sequence[Assertion], repeat: int
        ) -> list[Judged]:
            await asyncio.sleep(0)
            self.here -= 1
            return await super().judge(about, assertions, repeat)

    bench = Counting(changed(0.0, 1.0), 1)
    await run(bench, replace(simulated_plan(9), parallel=3))
    assert bench.most == 3


async def test_the_same_seed_is_the_same_run() -> None:
    plan = simulated_plan(6, seed=5)
    one = await run(SimulatedBench(changed(0.4, 0.6), 9), plan)
    other = await run(SimulatedBench(changed(0.4, 0.6), 9), plan)
    assert one == other


async def test_a_cancelled_run_leaves_nothing_running() -> None:
    class Stuck(SimulatedBench):
        stuck = asyncio.Event()
        ended = 0

        async def sample(self, prompt: Prompt, context_hash: str, repeat: int) -> JudgedText:
            if prompt.text == ORIGINAL.text:
                return await super().sample(prompt, context_hash, repeat)
            self.stuck.set()
            try:
                await asyncio.Event().wait()
            finally:
                type(self).ended += 1
            raise AssertionError

    Stuck.stuck, Stuck.ended = asyncio.Event(), 0
    before = asyncio.all_tasks()
    task = asyncio.create_task(run(Stuck(unchanged(0.3), 1), simulated_plan(6)))
    await Stuck.stuck.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert Stuck.ended > 0
    assert asyncio.all_tasks() == before


async def test_whoever_watches_is_told_every_step() -> None:
    told: list[tuple[Stage, int, int]] = []

    async def watching(
        stage: Stage, attempts: Sequence[PromptAttempt], best: PromptAttempt
    ) -> None:
        told.append((stage, len(attempts) - 1, best.number))

    bench = SimulatedBench(changed(0.0, 1.0, since=2), 1)
    await optimise(simulated_plan(), bench, SimulatedRewriter(bench).rewrite, watching)
    assert told == [
        ("baseline", 0, 0),
        ("search", 0, 0),
        ("search", 1, 0),
        ("search", 2, 2),
        ("confirmation", 2, 2),
    ]
