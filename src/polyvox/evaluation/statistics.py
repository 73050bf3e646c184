"""Statistics of verdicts: intervals, early decisions, agreement of judge and person. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
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


def flaky(passes: int, n: int) -> bool:
    """True if it sometimes passes and sometimes does not."""
    return 0 < passes < n


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
    """A judge's verdicts beside what a person says they should have been."""

    both_pass: int
    both_fail: int
    judge_pass: int
    """The judge passed what the person fails."""
    judge_fail: int
    """The judge failed what the person passes."""

    @property
    def n(self) -> int:
        """Verdicts that a person has labelled."""
        return self.both_pass + self.both_fail + self.judge_pass + self.judge_fail

    @property
    def tpr(self) -> float | None:
        """True positive rate: the part of what should pass that the judge passes."""
        return _ratio(self.both_pass, self.both_pass + self.judge_fail)

    @property
    def tnr(self) -> float | None:
        """True negative rate: the part of what should fail that the judge fails."""
        return _ratio(self.both_fail, self.both_fail + self.judge_pass)

    @property
    def kappa(self) -> float | None:
        """Cohen's κ: agreement beyond chance; None where chance alone would agree always."""
        if not self.n:
            return None
        same = (self.both_pass + self.both_fail) / self.n
        judge = (self.both_pass + self.judge_pass) / self.n
        person = (self.both_pass + self.judge_fail) / self.n
        chance = judge * person + (1 - judge) * (1 - person)
        return None if math.isclose(chance, 1.0) else (same - chance) / (1 - chance)


def agreement(pairs: Iterable[tuple[Outcome, Outcome]]) -> Agreement:
    """Count pairs of (judge's, person's) outcomes; an `error` on either side is no label."""
    counts = {(judge, person): 0 for judge in ("pass", "fail") for person in ("pass", "fail")}
    for pair in pairs:
        if pair in counts:
            counts[pair] += 1
    return Agreement(
        both_pass=counts["pass", "pass"],
        both_fail=counts["fail", "fail"],
        judge_pass=counts["pass", "fail"],
        judge_fail=counts["fail", "pass"],
    )


def mean(values: Sequence[float]) -> float | None:
    """The mean; None of nothing."""
    return sum(values) / len(values) if values else None


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
