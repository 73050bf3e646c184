"""Both optimisation engines on equal budgets, with a simulated advisor, judge and rewriter.

    python -m benchmarks.engines [RUNS]

Each run may make a set number of calls in its search; the confirmation is the same for both and
comes on top. Printed is the true mean pass rate of the prompt that the run recommends (the prompt
as it was, unless the ruling is "improved"), of the best attempt, and the part of runs that found
an improvement.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from polyvox.evaluation.bench import Prompt
from polyvox.evaluation.optimise.engine import Engine, Native
from polyvox.evaluation.optimise.gepa_engine import Gepa
from polyvox.evaluation.optimise.loop import optimise
from polyvox.evaluation.optimise.rewrite import Ask, Proposal
from polyvox.evaluation.optimise.simulate import SimulatedBench, simulated_plan
from polyvox.evaluation.optimise.values import Attempt, Stage


@dataclass(slots=True)
class Landscape:
    """The true pass rate of every prompt: each rewrite moves each assertion's rate."""

    kind: str
    seed: int
    base: float = 0.4
    aimed: dict[int, frozenset[str]] = field(default_factory=dict)
    """By attempt, the assertions that its rewriter was shown as failing."""

    def rate(self, prompt: Prompt, assertion: str) -> float:
        steps = [int(step) for step in prompt.text.split(" +")[1:]]
        rate = self.base + sum(self._move(step, assertion) for step in steps)
        return min(0.98, max(0.02, rate))

    def mean(self, prompt: Prompt, assertions: int) -> float:
        return sum(self.rate(prompt, f"a{n}") for n in range(assertions)) / assertions

    def _move(self, step: int, assertion: str) -> float:
        draw = random.Random(f"{self.seed}:{step}:{assertion}")
        if self.kind == "nothing":
            return 0.0
        if self.kind == "walk":
            return draw.gauss(0.0, 0.15)
        if assertion in self.aimed.get(step, ()):  # a rewrite aims at what fails
            return draw.choice((0.3, 0.15, 0.0))
        return draw.choice((0.0, 0.0, -0.1))


@dataclass(slots=True)
class Rewriter:
    """Writes another text for every attempt, and notes what it aimed at."""

    bench: SimulatedBench
    land: Landscape

    async def rewrite(self, ask: Ask, number: int) -> Proposal:
        self.bench.calls["rewriter"] += 1
        shown = sorted({case.text.split()[-1].rstrip(".") for case in ask.failing})
        if self.land.kind == "aimed at three":
            shown = random.Random(number).sample(shown, min(3, len(shown)))
        self.land.aimed[number] = frozenset(shown)
        return Proposal(f"{ask.prompt.text} +{number}")


@dataclass(slots=True)
class Reserve:
    """Lifts the cap once the search is over."""

    bench: SimulatedBench
    search: int = 0

    async def stage(self, stage: Stage, attempts: Sequence[Attempt], best: Attempt) -> None:
        del attempts, best
        if stage == "confirmation":
            self.search = self.bench.calls.total()
            self.bench.most_calls = None


async def compared(engine: Engine, kind: str, assertions: int, calls: int, count: int) -> str:
    kept = best = improved = made = 0.0
    for seed in range(count):
        land = Landscape(kind, seed)
        bench = SimulatedBench(land.rate, seed, most_calls=calls)
        watch = Reserve(bench)
        plan = simulated_plan(assertions, iterations=100, seed=seed)
        result = await optimise(plan, bench, Rewriter(bench, land), engine, watch)
        won = result.ruling == "improved"
        improved += won
        best += land.mean(result.best.tried, assertions)
        kept += land.mean(result.best.tried if won else plan.prompt, assertions)
        made += watch.search or bench.calls.total()
    return (
        f"recommended {kept / count:.3f}  best attempt {best / count:.3f}"
        f"  improved {improved / count:4.0%}  search calls {made / count:.0f}"
    )


async def main(count: int) -> None:
    for kind in ("aimed", "aimed at three", "walk", "nothing"):
        for assertions in (3, 5, 10):
            for calls in (100, 200, 400):
                for name, engine in (("native", Native()), ("gepa", Gepa())):
                    line = await compared(engine, kind, assertions, calls, count)
                    print(f"{kind:14} {assertions:2} assertions {calls:3} calls {name:7} {line}")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
