"""What can be seen: the figures are those of the test that decides."""

from __future__ import annotations

import pytest

from polyvox.evaluation.optimise.decide import EARLY, LEVEL, Stratum, tail
from polyvox.evaluation.optimise.values import Case, most_answers
from polyvox.evaluation.optimise.visible import smallest_change, visible_change
from polyvox.evaluation.tables.assertions import Assertion


def test_one_context_is_what_the_last_look_says() -> None:
    """Five answers would show nothing below 80 points; the run has thirty-five."""
    assert smallest_change(1, 5) == 8 / 35
    for lead, shown in ((8, True), (7, False)):
        new, old = 18 + lead - lead // 2, 18 - lead // 2
        stratum = Stratum(*((1,) * passes + (0,) * (35 - passes) for passes in (new, old)))
        assert (tail([stratum]) <= LEVEL - EARLY) == shown


@pytest.mark.parametrize("repeats", [3, 5, 8])
def test_more_contexts_never_show_less(repeats: int) -> None:
    """But for one answer of each prompt, the step in which rates can differ."""
    for contexts in range(1, 30):
        step = 1 / (contexts * most_answers(contexts, repeats))
        more = smallest_change(contexts + 1, repeats)
        assert more <= smallest_change(contexts, repeats) + step


def test_assertions_on_one_answer_show_no_more_than_one() -> None:
    cases = [Case(Assertion(f"a{n}", "", "", 1, ""), "c") for n in range(3)]
    seen = visible_change(cases, 5)
    assert seen.message == (
        "3 assertions in 1 context can show only a change of more than 22 points;"
        " add 7 contexts to see 20."
    )
    assert visible_change(cases[:1], 5).hidden == seen.hidden == 22
