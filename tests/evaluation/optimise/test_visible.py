"""What can be seen: the figures are those of the test that decides."""

from __future__ import annotations

import pytest

from polyvox.evaluation.optimise.decide import LEVEL, Stratum, tail
from polyvox.evaluation.optimise.values import Case
from polyvox.evaluation.optimise.visible import smallest_change, visible_change
from polyvox.evaluation.tables.assertions import Assertion


def test_one_context_is_what_the_test_says() -> None:
    assert smallest_change(1, 5) == 0.8
    assert tail([Stratum((1, 1, 1, 1, 0), (0, 0, 0, 0, 0))]) <= LEVEL
    assert tail([Stratum((1, 1, 1, 1, 0), (1, 0, 0, 0, 0))]) > LEVEL
    assert smallest_change(1, 1) > 1


@pytest.mark.parametrize("answers", [3, 5, 8])
def test_more_contexts_never_show_less(answers: int) -> None:
    """But for one answer, the step in which rates can differ."""
    for contexts in range(1, 30):
        step = 1 / (contexts * answers)
        more = smallest_change(contexts + 1, answers)
        assert more <= smallest_change(contexts, answers) + step


def test_assertions_on_one_answer_show_no_more_than_one() -> None:
    cases = [Case(Assertion(f"a{n}", "", "", 1, ""), "c") for n in range(3)]
    seen = visible_change(cases, 5)
    assert seen.message == (
        "3 assertions in 1 context can show only a change of more than 60 points;"
        " add 3 contexts to see 30."
    )
    assert visible_change(cases[:1], 5).hidden == seen.hidden
