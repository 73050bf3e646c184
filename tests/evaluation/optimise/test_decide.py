"""The test that decides: exact where it can be counted by hand, honest about answers that share
their fate, blind to errors."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.evaluation.optimise.simulate import simulated_plan

from polyvox.evaluation.optimise.decide import (
    Comparison,
    Stratum,
    chance,
    compare,
    strata_of,
    tail,
    told,
    worth_confirming,
)
from polyvox.evaluation.optimise.values import Case, JudgedAnswer, Scores, Tally
from polyvox.evaluation.tables.verdicts import Outcome


def by_hand(new: tuple[int, ...], old: tuple[int, ...]) -> float:
    """The mid-p of one stratum by trying every way to deal out the answers."""
    every = (*new, *old)
    totals = [
        sum(every[at] for at in dealt)
        for dealt in itertools.combinations(range(len(every)), len(new))
    ]
    seen = sum(new)
    above = sum(total > seen for total in totals)
    same = sum(total == seen for total in totals)
    return (above + same / 2) / len(totals)


@given(
    some.lists(some.integers(0, 3), min_size=1, max_size=5),
    some.lists(some.integers(0, 3), min_size=1, max_size=5),
)
def test_one_context_is_counted_exactly(new: list[int], old: list[int]) -> None:
    assert tail([Stratum(tuple(new), tuple(old))]) == pytest.approx(by_hand(tuple(new), tuple(old)))


def test_one_assertion_from_never_to_always() -> None:
    ways = math.comb(10, 5)
    assert tail([Stratum((1,) * 5, (0,) * 5)]) == pytest.approx(0.5 / ways)


def test_contexts_are_dealt_out_apart() -> None:
    """A context that always passes and one that never does say nothing, whatever their mean."""
    same = [Stratum((1,) * 5, (1,) * 5), Stratum((0,) * 5, (0,) * 5)]
    assert tail(same) == 0.5
    changed = Stratum((1,) * 5, (0,) * 5)
    assert tail([changed, *same]) == pytest.approx(tail([changed]))


def test_two_directions_share_the_ties() -> None:
    one = Stratum((1, 1, 0, 1, 1), (0, 1, 0, 0, 1))
    assert tail([one]) + tail([Stratum(one.old, one.new)]) == pytest.approx(1)


def scores(cases: tuple[Case, ...], outcomes: dict[str, str]) -> Scores:
    """Verdicts by assertion, one letter for each repeat: p, f or e."""
    words: dict[str, Outcome] = {"p": "pass", "f": "fail", "e": "error"}
    tallies: dict[str, Tally] = {}
    seen = []
    for case in cases:
        tally = Tally()
        for repeat, letter in enumerate(outcomes[case.assertion.id]):
            tally = tally.plus(words[letter])
            seen.append(JudgedAnswer(case.key, repeat, words[letter], "", "s", "t"))
        tallies[case.key] = tally
    return Scores(tallies, tuple(seen))


def test_several_assertions_on_one_answer_are_one_observation() -> None:
    """Five assertions that always agree on an answer are worth one, not five."""
    shared = simulated_plan(5, contexts=1).targets
    alone = simulated_plan(1).targets
    old, new = "fffpp", "ppppf"
    many = compare(
        shared,
        scores(shared, {f"a{n}": old for n in range(5)}),
        scores(shared, {f"a{n}": new for n in range(5)}),
    )
    one = compare(alone, scores(alone, {"a0": old}), scores(alone, {"a0": new}))
    assert many.better == pytest.approx(one.better)
    apart = simulated_plan(5).targets
    fooled = compare(
        apart,
        scores(apart, {f"a{n}": old for n in range(5)}),
        scores(apart, {f"a{n}": new for n in range(5)}),
    )
    assert fooled.better < one.better


def test_an_error_is_neither_a_pass_nor_a_fail() -> None:
    cases = simulated_plan(2, contexts=1).targets
    clean = compare(
        cases,
        scores(cases, {"a0": "ppppp", "a1": "fffff"}),
        scores(cases, {"a0": "ppppp", "a1": "ppppp"}),
    )
    holed = compare(
        cases,
        scores(cases, {"a0": "ppepp", "a1": "fffff"}),
        scores(cases, {"a0": "ppppe", "a1": "ppppp"}),
    )
    assert holed.better == pytest.approx(clean.better)
    assert (holed.before, holed.after) == (0.5, 1.0)


def test_an_answer_of_which_nothing_is_known_is_left_out() -> None:
    (case,) = simulated_plan(1).targets
    one = strata_of([case], scores((case,), {"a0": "pfe"}).seen, scores((case,), {"a0": "pe"}).seen)
    assert [(len(row.new), len(row.old)) for row in one] == [(1, 2)]
    nothing = compare([case], scores((case,), {"a0": "ee"}), scores((case,), {"a0": "pp"}))
    assert (nothing.better, nothing.worse, nothing.ruling) == (1.0, 1.0, "not distinguishable")


def test_the_words_have_the_numbers() -> None:
    cases = simulated_plan(5, contexts=2).targets
    assert told(Comparison(0.4, 0.9, 0.0004, 0.9996), cases, 5) == (
        "Improved: 40% before, 90% after (5 assertions in 2 contexts,"
        " 10 fresh answers of each prompt, p < 0.001)."
    )
    worse = told(Comparison(0.9, 0.4, 0.99, 0.012), cases, 5)
    assert worse.startswith("Regressed: 90% before, 40%")
    assert "This may be chance alone." in told(Comparison(0.5, 0.6, 0.24, 0.76), cases, 5)
    assert chance(0.0123) == "p = 0.012"


def test_a_lead_too_small_to_be_told_apart_is_not_worth_it() -> None:
    assert not worth_confirming(0.0, 25)
    assert not worth_confirming(-0.5, 25)
    assert not worth_confirming(0.1, 25)
    assert worth_confirming(0.2, 25)
    assert worth_confirming(0.1, 100)


def test_the_level_holds_whatever_the_rates_are() -> None:
    """Of the test alone, without the search: at most 5 in 100, for many rates."""
    draw = random.Random(4)
    for rates in ([0.5] * 5, [0.1, 0.3, 0.5, 0.7, 0.9], [0.9] * 5, [0.5, 0, 0, 1, 1]):
        false = 0
        for _ in range(1000):
            strata = [
                Stratum(
                    tuple(int(draw.random() < rate) for _ in range(5)),
                    tuple(int(draw.random() < rate) for _ in range(5)),
                )
                for rate in rates
            ]
            false += tail(strata) <= 0.05
        assert false <= 65


def test_very_many_contexts_are_told_by_the_normal_distribution() -> None:
    draw = random.Random(2)
    strata = [
        Stratum(
            tuple(int(draw.random() < 0.6) for _ in range(5)),
            tuple(int(draw.random() < 0.5) for _ in range(5)),
        )
        for _ in range(40)
    ]
    exact = tail(strata)
    assert 0 < exact < 0.001
    assert tail(strata, most=0) == pytest.approx(exact, rel=0.1)
    assert tail([Stratum((1, 1), (1, 1))] * 3, most=0) == 0.5


def test_hundreds_of_contexts_with_holes_in_them_are_decided_at_once() -> None:
    """What is filled in must not make the distribution explode."""
    cases = simulated_plan(600, contexts=200).targets
    letters = "pfepp", "ppfep"
    old = scores(cases, {f"a{n}": letters[n % 2] for n in range(600)})
    new = scores(cases, {f"a{n}": letters[n % 3 == 0] for n in range(600)})
    found = compare(cases, old, new)
    assert found.better + found.worse == pytest.approx(1)
