"""How honest an optimisation is: whole runs with a simulated advisor and judge.

No model is needed: the advisor meets an assertion with a set probability, and the judge sees it.
The bars: noise is called an improvement in at most 5 % of 1,000 runs in which rewriting changes
nothing, and a true change from 0.5 to 0.8 with five assertions is seen in at least 70 %, on one
answer too. And one with a real process, which is killed: what was in flight is paid again, and
nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.evaluation import cutting
from tests.evaluation.optimise.simulate import (
    Rates,
    SimulatedBench,
    SimulatedRewriter,
    changed,
    simulated_plan,
    unchanged,
)
from tests.provider import ProviderServer

from benchmarks.lean import Failed
from benchmarks.report import Row, at_least, at_most, plain
from polyvox.evaluation.optimise.decide import Stratum, tail
from polyvox.evaluation.optimise.search import optimise as whole_run

RUNS = 1_000
ATTEMPTS = 10
MIXED = [0.1, 0.3, 0.5, 0.7, 0.9]


@dataclass(frozen=True)
class Figures:
    """Parts of the runs, and how many calls they took."""

    improved: float
    regressed: float
    calls: float


async def runs(
    count: int, rates: Rates, *, together: float = 0.0, contexts: int | None = None
) -> Figures:
    """So many whole runs of five assertions."""
    improved = regressed = calls = 0
    for seed in range(count):
        bench = SimulatedBench(rates, seed, together)
        plan = simulated_plan(5, contexts=contexts, seed=seed)
        found = await whole_run(plan, bench, SimulatedRewriter(bench).rewrite)
        improved += found.ruling == "improved"
        regressed += found.ruling == "regressed"
        calls += bench.calls.total()
    return Figures(improved / count, regressed / count, calls / count)


async def naive(count: int) -> float:
    """What this is all for: of ten rewrites that change nothing, each run once on five assertions,
    how often the best one passes more than the prompt as it was."""
    fooled = 0
    for seed in range(count):
        draw = random.Random(f"naive:{seed}")
        passed = [sum(draw.random() < 0.5 for _ in range(5)) for _ in range(ATTEMPTS + 1)]
        fooled += max(passed[1:]) > passed[0]
    return fooled / count


def power_of_the_test(count: int, old: float, new: float) -> float:
    """Of the confirmation alone: five assertions, five fresh answers of each prompt."""
    draw = random.Random("power")
    seen = 0
    for _ in range(count):
        strata = [
            Stratum(
                tuple(int(draw.random() < new) for _ in range(5)),
                tuple(int(draw.random() < old) for _ in range(5)),
            )
            for _ in range(5)
        ]
        seen += tail(strata) <= 0.05
    return seen / count


async def resumed(place: Path, killed_at: Sequence[int] = (5, 23, 47)) -> list[Row]:
    """A real process, killed while a request is in flight: what the next one pays again."""
    again = []
    async with ProviderServer() as provider:
        run_id = await cutting.wanted(place / "undisturbed", provider)
        calm = cutting.Breaking(provider)
        expected = cutting.said(await cutting.done(place / "undisturbed", provider, run_id))
        for never in killed_at:
            found, calls = await cutting.killed(place / f"killed-{never}", provider, never)
            if cutting.said(found) != expected:
                raise Failed(f"killed at request {never}, the run ended otherwise")
            again.append(calls - calm.count)
    told = f"killed at requests {', '.join(map(str, killed_at))} of {calm.count}; the same result"
    return [at_most("requests made again after kill -9", max(again), 1, detail=told)]


async def optimise(count: int = RUNS) -> list[Row]:
    """Every figure."""
    fooled = await naive(count)
    rows = [
        plain("best of ten single runs “improves” by noise", 100 * fooled, " %"),
    ]
    for name, rates, together, contexts in (
        ("all at 0.5", unchanged(0.5), 0.0, None),
        ("at 0.1 to 0.9", unchanged(MIXED), 0.0, None),
        ("all at 0.9", unchanged(0.9), 0.0, None),
        ("on one shared answer", unchanged(0.5), 0.0, 1),
        ("on one answer, all as one", unchanged(0.5), 1.0, 1),
    ):
        found = await runs(count, rates, together=together, contexts=contexts)
        told = f"{count:,} runs, {found.calls:.0f} calls each"
        rows.append(at_most(f"false “improved”, {name}", 100 * found.improved, 5, " %", told))
    found = await runs(2 * count, changed(0.5, 0.8))
    told = f"{2 * count:,} runs, {found.calls:.0f} calls each"
    rows.append(at_least("seen: 0.5 → 0.8, five assertions", 100 * found.improved, 70, " %", told))
    rows.append(
        plain(
            "the same, of the confirmation alone",
            100 * power_of_the_test(10 * count, 0.5, 0.8),
            " %",
        )
    )
    for name, together in (("on one shared answer", 0.0), ("on one answer, all as one", 1.0)):
        found = await runs(count, changed(0.5, 0.8), together=together, contexts=1)
        told = f"{count:,} runs, {found.calls:.0f} calls each"
        rows.append(at_least(f"seen: the same {name}", 100 * found.improved, 70, " %", told))
    late = await runs(count, changed(0.5, 0.8, since=5))
    rows.append(plain("the same, from the fifth attempt on", 100 * late.improved, " %"))
    large = await runs(count, changed(0.3, 0.9))
    rows.append(plain("seen: 0.3 → 0.9", 100 * large.improved, " %"))
    return rows
