"""Whom to rewrite next: the attempts that are best at something.

For each case the attempt with the highest rate wins, of equal ones the newest. Only winners become
parents, each as likely as it wins cases, so that an attempt which alone passes one assertion is not
lost to one that is better on the whole. The choice is a function of the run's seed and the number
of the iteration: a run that is taken up again chooses the same.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from polyvox.evaluation.optimise.values import Attempt, Scores


def wins(attempts: Sequence[Attempt], keys: Sequence[str], baseline: Scores) -> Counter[int]:
    """How many cases each attempt wins, by its number."""
    found: Counter[int] = Counter()
    scored = [one for one in attempts if one.scores is not None and one.state == "scored"]
    for key in keys:
        best = max(scored, key=lambda one: (_rate(one, key, baseline), one.number))
        found[best.number] += 1
    return found


def parent(
    attempts: Sequence[Attempt], keys: Sequence[str], baseline: Scores, seed: int, iteration: int
) -> Attempt:
    """The attempt to rewrite in this iteration."""
    front = wins(attempts, keys, baseline)
    numbers = sorted(front)
    chance = random.Random(f"{seed}:{iteration}")  # noqa: S311 - a choice that can be made again
    number = chance.choices(numbers, [front[one] for one in numbers])[0]
    return next(one for one in attempts if one.number == number)


def best(attempts: Sequence[Attempt], keys: Sequence[str], baseline: Scores) -> Attempt:
    """The attempt that passes most on the whole; of equal ones the oldest, which has been changed
    least. The prompt as it was (number 0) is among them."""
    scored = [one for one in attempts if one.scores is not None and one.state == "scored"]
    return max(scored, key=lambda one: (_mean(one, keys, baseline), -one.number))


def _rate(one: Attempt, key: str, baseline: Scores) -> float:
    return one.scores.rate(key, baseline.rate(key)) if one.scores is not None else 0.0


def _mean(one: Attempt, keys: Sequence[str], baseline: Scores) -> float:
    return one.scores.mean(keys, baseline) if one.scores is not None else 0.0
