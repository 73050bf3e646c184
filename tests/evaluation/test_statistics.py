"""Numbers that people decide by."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvox.evaluation.statistics import agreement, decided, most, wilson


@pytest.mark.parametrize(
    ("passes", "n", "low", "high"),
    [
        (0, 0, 0.0, 1.0),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (5, 10, 0.2366, 0.7634),
        (1, 3, 0.0615, 0.7923),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_wilsons_interval(passes: int, n: int, low: float, high: float) -> None:
    found = wilson(passes, n)
    assert found.low == pytest.approx(low, abs=1e-4)
    assert found.high == pytest.approx(high, abs=1e-4)


@given(st.integers(0, 500), st.integers(0, 500))
def test_an_interval_holds_its_rate_and_grows_narrower(passes: int, fails: int) -> None:
    n = passes + fails
    found = wilson(passes, n)
    assert 0 <= found.low <= found.high <= 1
    if n:
        assert found.low <= passes / n <= found.high
        more = wilson(passes * 4, n * 4)
        assert more.high - more.low < found.high - found.low


def test_it_covers_the_truth_about_as_often_as_it_says() -> None:
    chance = random.Random(7)
    covered = 0
    for _ in range(2000):
        passes = sum(chance.random() < 0.7 for _ in range(20))
        found = wilson(passes, 20)
        covered += found.low <= 0.7 <= found.high
    assert 0.92 <= covered / 2000 <= 0.98


def test_more_passes_than_verdicts_cannot_be() -> None:
    with pytest.raises(ValueError, match="more passes"):
        wilson(3, 2)


def test_it_is_decided_exactly_when_nothing_can_change_it() -> None:
    for repeats in range(1, 8):
        for passes, fails in itertools.product(range(repeats + 1), repeat=2):
            left = repeats - passes - fails
            if left < 0:
                continue
            ends = {most(passes + more, fails + left - more) for more in range(left + 1)}
            assert decided(passes, fails, repeats) == (len(ends) == 1), (passes, fails, repeats)


def test_half_is_not_most_and_nothing_is_no_answer() -> None:
    assert most(1, 1) == "fail"
    assert most(2, 1) == "pass"
    assert most(0, 0) == "error"


def test_agreement_with_counts() -> None:
    pairs = [("pass", "pass")] * 20 + [("fail", "pass")] * 5 + [("pass", "fail")] * 10
    pairs += [("fail", "fail")] * 15 + [("error", "pass")] * 9
    found = agreement(pairs)  # type: ignore[arg-type]  # words of the closed list
    assert (found.n, found.both_pass, found.judge_fail) == (50, 20, 5)
    assert (found.judge_pass, found.both_fail) == (10, 15)
    assert found.tpr == pytest.approx(0.8)
    assert found.tnr == pytest.approx(0.6)
    assert found.kappa == pytest.approx(0.4)


def test_agreement_about_nothing_says_nothing() -> None:
    none = agreement([])
    assert (none.n, none.tpr, none.tnr, none.kappa) == (0, None, None, None)
    always = agreement([("pass", "pass")] * 4)
    assert (always.tpr, always.tnr, always.kappa) == (1.0, None, None)
    assert not math.isnan(agreement([("fail", "pass"), ("pass", "fail")]).kappa or 0)
