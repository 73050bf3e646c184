"""Scoring a prompt: in every context an answer, judged, and again until it is decided.

An assertion is decided when most of its k repeats cannot turn out otherwise; a context is asked
again only while one of its assertions is undecided. A prompt that cannot catch up with the best
one any more is given up. Invariant: what is decided depends on outcomes alone, never on timing, so
a run that is taken up again decides the same from what was kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

from polyvox.errors import Invalid, ModelError
from polyvox.evaluation.budget import together
from polyvox.evaluation.optimise.values import (
    PARALLEL,
    Case,
    JudgedAnswer,
    Outage,
    Scores,
    Tally,
    contexts_of,
)
from polyvox.evaluation.replay import Bench, Prompt
from polyvox.evaluation.statistics import decided


def still_open(
    contexts: Mapping[str, Sequence[Case]], tallies: Mapping[str, Tally], repeats: int
) -> list[str]:
    """The contexts in which something is undecided."""
    return [
        context
        for context, cases in contexts.items()
        if any(
            not decided(tallies[case.key].passes, tallies[case.key].fails, repeats)
            for case in cases
        )
    ]


def hopeless(
    tallies: Mapping[str, Tally],
    open_keys: frozenset[str],
    left: int,
    reach: float,
    front: Mapping[str, float],
) -> bool:
    """True if, with everything undecided passing from now on, the mean would still be below
    `reach`, and no case better than in the `front`."""
    most = []
    for key, tally in tallies.items():
        more = left if key in open_keys else 0
        rate = (tally.passes + more) / max(1, tally.known + more)
        if rate > front.get(key, 1.0):
            return False
        most.append(rate)
    return sum(most) / len(most) < reach - 1e-9


async def measure(
    bench: Bench,
    prompt: Prompt,
    cases: Sequence[Case],
    *,
    repeats: int,
    first: int = 0,
    every: bool = False,
    reach: float | None = None,
    front: Mapping[str, float] | None = None,
    gate: asyncio.Semaphore | None = None,
) -> Scores:
    """Score a prompt on these cases. `every` asks all the repeats, decided or not; with `reach`
    and `front` it is given up once it is hopeless. The gate lets so many answers be under way, from
    being asked for until what was said of them is kept: no more can be lost. Raises `Outage` when a
    round tells nothing."""
    gate = gate or asyncio.Semaphore(PARALLEL)
    contexts = contexts_of(cases)
    tallies = {case.key: Tally() for case in cases}
    seen: list[JudgedAnswer] = []
    for done in range(repeats):
        asked = list(contexts) if every else still_open(contexts, tallies, repeats)
        if not asked:
            break
        repeat = first + done
        batches = await together(
            partial(_one, gate, bench, prompt, contexts, repeat),
            asked,
        )
        news = [judged for batch in batches for judged in batch]
        for judged in news:
            tallies[judged.case] = tallies[judged.case].plus(judged.outcome)
        seen += news
        if all(judged.outcome == "error" for judged in news):
            raise Outage(
                f"Nothing could be found out about any answer. {news[0].reason}",
                "What was paid for is kept: resume the run when that is mended.",
            )
        if reach is not None:
            open_ = still_open(contexts, tallies, repeats)
            keys = frozenset(case.key for context in open_ for case in contexts[context])
            if hopeless(tallies, keys, repeats - done - 1, reach, front or {}):
                return Scores(tallies, tuple(seen), whole=False)
    return Scores(tallies, tuple(seen))


async def _one(
    gate: asyncio.Semaphore,
    bench: Bench,
    prompt: Prompt,
    contexts: Mapping[str, Sequence[Case]],
    repeat: int,
    context: str,
) -> list[JudgedAnswer]:
    async with gate:
        return await _seen(bench, prompt, context, contexts[context], repeat)


async def _seen(
    bench: Bench, prompt: Prompt, context: str, cases: Sequence[Case], repeat: int
) -> list[JudgedAnswer]:
    """One answer and what is said of it. An advisor that does not answer tells nothing."""
    try:
        sample = await bench.sample(prompt, context, repeat)
    except (ModelError, Invalid) as error:
        reason = f"The advisor did not answer: {error.message} {error.hint}".strip()
        return [JudgedAnswer(case.key, repeat, "error", reason, "", "") for case in cases]
    judged = await bench.judge(sample, [case.assertion for case in cases], repeat)
    return [
        JudgedAnswer(case.key, repeat, verdict.outcome, verdict.reason, sample.key, sample.text)
        for case, verdict in zip(cases, judged, strict=True)
    ]
