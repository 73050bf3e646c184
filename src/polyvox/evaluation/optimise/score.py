"""Scoring a prompt: in every context an answer, judged, and again until it is decided.

An assertion is decided when most of its k repeats cannot turn out otherwise; a context is asked
again only while one of its assertions is undecided. A prompt that cannot catch up with the best
one any more is given up. Invariant: what is decided depends on outcomes alone, never on timing, so
a run that is taken up again decides the same from what was kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from polyvox.errors import Invalid, ModelError
from polyvox.evaluation.budget import together
from polyvox.evaluation.optimise.values import (
    Case,
    JudgedAnswer,
    Outage,
    Scores,
    Tally,
    contexts_of,
)
from polyvox.evaluation.replay import Bench, Prompt
from polyvox.evaluation.statistics import decided

Contexts = Mapping[str, Sequence[Case]]


@dataclass(frozen=True, slots=True)
class Hurdle:
    """The scores that a prompt must be able to beat."""

    mean: float
    front: Mapping[str, float]
    """The best rate of each case."""

    def hopeless(self, tallies: Mapping[str, Tally], undecided: frozenset[str], left: int) -> bool:
        """True if, with everything undecided passing from now on, the mean would still be below,
        and no case better than in the front."""
        most = []
        for key, tally in tallies.items():
            more = left if key in undecided else 0
            rate = (tally.passes + more) / max(1, tally.known + more)
            if rate > self.front[key]:
                return False
            most.append(rate)
        return sum(most) / len(most) < self.mean - 1e-9


@dataclass(frozen=True, slots=True)
class Scorer:
    """Scores prompts on a bench. The gate lets so many answers be under way, from being asked for
    until what was said of them is kept: no more can be lost."""

    bench: Bench
    gate: asyncio.Semaphore

    async def measure(
        self,
        prompt: Prompt,
        cases: Sequence[Case],
        repeats: int,
        *,
        first: int = 0,
        every: bool = False,
        hurdle: Hurdle | None = None,
    ) -> Scores:
        """Score a prompt on these cases. `every` asks all the repeats, decided or not; with a
        hurdle it is given up once it is hopeless. Raises `Outage` when a round tells nothing."""
        contexts = contexts_of(cases)
        tallies = {case.key: Tally() for case in cases}
        seen: list[JudgedAnswer] = []
        asked = list(contexts)
        for done in range(repeats):
            batches = await together(partial(self._judged, prompt, contexts, first + done), asked)
            news = [judged for batch in batches for judged in batch]
            for judged in news:
                tallies[judged.case] = tallies[judged.case].plus(judged.outcome)
            seen += news
            if all(judged.outcome == "error" for judged in news):
                raise Outage(
                    f"Nothing could be found out about any answer. {news[0].reason}",
                    "What was paid for is kept: resume the run when that is mended.",
                )
            undecided = _undecided(contexts, tallies, repeats)
            keys = frozenset(case.key for context in undecided for case in contexts[context])
            if hurdle is not None and hurdle.hopeless(tallies, keys, repeats - done - 1):
                return Scores(tallies, tuple(seen), whole=False)
            asked = asked if every else undecided
            if not asked:
                break
        return Scores(tallies, tuple(seen))

    async def _judged(
        self, prompt: Prompt, contexts: Contexts, repeat: int, context: str
    ) -> list[JudgedAnswer]:
        """One answer and what is said of it. An advisor that does not answer tells nothing."""
        cases = contexts[context]
        async with self.gate:
            try:
                sample = await self.bench.sample(prompt, context, repeat)
            except (ModelError, Invalid) as error:
                reason = f"The advisor did not answer: {error.message} {error.hint}".strip()
                return [JudgedAnswer(case.key, repeat, "error", reason, "", "") for case in cases]
            judged = await self.bench.judge(sample, [case.assertion for case in cases], repeat)
        return [
            JudgedAnswer(case.key, repeat, verdict.outcome, verdict.reason, sample.key, sample.text)
            for case, verdict in zip(cases, judged, strict=True)
        ]


def _undecided(contexts: Contexts, tallies: Mapping[str, Tally], repeats: int) -> list[str]:
    """The contexts in which something is undecided."""
    return [
        context
        for context, cases in contexts.items()
        if any(
            not decided(tallies[case.key].passes, tallies[case.key].fails, repeats)
            for case in cases
        )
    ]
