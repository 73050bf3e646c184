"""Statistics of verdicts: intervals, early decisions, agreement of judge and person. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from polyvox.evaluation.tables.verdicts import Outcome

Z95 = 1.959963984540054
"""Standard deviations that hold 95 % of a normal distribution."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The interval of a true rate, with 95 % confidence."""

    low: float
    high: float


def wilson(passes: int, n: int, z: float = Z95) -> Interval:
    """Wilson's score interval for `passes` of `n`. It stays within 0 and 1 and is honest about
    small numbers; of nothing at all it says nothing."""
    if not 0 <= passes <= n:
        raise ValueError("there cannot be more passes than verdicts")
    if n == 0:
        return Interval(0.0, 1.0)
    rate, square = passes / n, z * z
    middle = (rate + square / (2 * n)) / (1 + square / n)
    half = z * math.sqrt(rate * (1 - rate) / n + square / (4 * n * n)) / (1 + square / n)
    low = 0.0 if passes == 0 else max(0.0, middle - half)
    return Interval(low, 1.0 if passes == n else min(1.0, middle + half))


def decided(passes: int, fails: int, repeats: int) -> bool:
    """True if the repeats that are left cannot change the majority."""
    left = repeats - passes - fails
    return left <= 0 or passes > fails + left or fails >= passes + left


def most(passes: int, fails: int) -> Literal["pass", "fail", "error"]:
    """The majority of verdicts: half of them is not enough to pass, none at all is an error."""
    if passes + fails == 0:
        return "error"
    return "pass" if passes > fails else "fail"


@dataclass(frozen=True, slots=True)
class Agreement:
    """A judge's verdicts beside what a person says they should have been; None where nothing can
    be said."""

    n: int
    """Verdicts that a person has labelled."""
    both_pass: int
    both_fail: int
    judge_pass: int
    """The judge passed what the person fails."""
    judge_fail: int
    """The judge failed what the person passes."""
    tpr: float | None
    """True positive rate: the part of what should pass that the judge passes."""
    tnr: float | None
    """True negative rate: the part of what should fail that the judge fails."""
    kappa: float | None
    """Cohen's κ: agreement beyond chance; None where chance alone would agree always."""


def agreement(pairs: Iterable[tuple[Outcome, Outcome]]) -> Agreement:
    """Count pairs of (judge's, person's) outcomes; an `error` on either side is no label."""
    counts = Counter(pairs)
    both_pass, both_fail = counts["pass", "pass"], counts["fail", "fail"]
    judge_pass, judge_fail = counts["pass", "fail"], counts["fail", "pass"]
    n = both_pass + both_fail + judge_pass + judge_fail
    kappa = None
    if n:
        judge, person = (both_pass + judge_pass) / n, (both_pass + judge_fail) / n
        chance = judge * person + (1 - judge) * (1 - person)
        if not math.isclose(chance, 1.0):
            kappa = ((both_pass + both_fail) / n - chance) / (1 - chance)
    return Agreement(
        n,
        both_pass,
        both_fail,
        judge_pass,
        judge_fail,
        tpr=_ratio(both_pass, both_pass + judge_fail),
        tnr=_ratio(both_fail, both_fail + judge_pass),
        kappa=kappa,
    )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
