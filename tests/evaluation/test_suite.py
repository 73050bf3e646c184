"""What verdicts say about a plan, what changed since another run, and the JUnit file of it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvox.evaluation import suite
from polyvox.evaluation.report import EvaluationOut, ResultOut, VerdictOut, junit
from polyvox.evaluation.suite import Results, Unit, compare, results
from polyvox.evaluation.tables.verdicts import Outcome, Verdict
from polyvox.shapes import shape


def verdict(
    assertion: str,
    outcome: Outcome,
    repeat: int = 0,
    *,
    context: str = "c1",
    answer: str | None = None,
    overruled: Literal["pass", "fail"] | None = None,
    number: int = 1,
) -> Verdict:
    return Verdict(
        f"{assertion}{context}{repeat}",
        "run",
        assertion,
        number,
        answer,
        "",
        "",
        "" if answer else context,
        "",
        "",
        "",
        repeat,
        "because",
        outcome,
        overruled,
        0,
    )


PLAN = [Unit((("a", 1), ("b", 1)), context="c1")]


def outcome_of(found: Results, assertion: str) -> str:
    return next(row.outcome for row in found.assertions if row.assertion_id == assertion)


def test_most_verdicts_decide_and_errors_stand_apart() -> None:
    said = [
        *(verdict("a", one, n) for n, one in enumerate(("pass", "fail", "pass"))),  # type: ignore[arg-type]  # closed list
        verdict("b", "error"),
    ]
    found = results(PLAN, said)
    a, b = found.assertions
    assert (a.outcome, a.passes, a.fails, a.rate, a.flaky) == ("pass", 2, 1, 2 / 3, True)
    assert (b.outcome, b.errors, b.rate, b.flaky) == ("error", 1, None, False)
    assert (found.passed, found.failed, found.errors, found.rate) == (1, 0, 1, 1.0)
    assert not found.all_passed


def test_it_has_to_pass_everywhere() -> None:
    plan = [Unit((("a", 1),), context="c1"), Unit((("a", 1),), context="c2")]
    both = [verdict("a", "pass"), verdict("a", "pass", context="c2")]
    assert outcome_of(results(plan, both), "a") == "pass"
    one = [verdict("a", "pass"), verdict("a", "fail", context="c2")]
    assert outcome_of(results(plan, one), "a") == "fail"
    half = [verdict("a", "pass"), verdict("a", "error", context="c2")]
    assert outcome_of(results(plan, half), "a") == "error"


def test_nothing_found_out_yet_is_no_pass() -> None:
    found = results(PLAN, [])
    assert [row.outcome for row in found.assertions] == ["error", "error"]
    assert found.rate is None
    assert not found.all_passed


def test_a_persons_word_counts_in_place_of_the_judges() -> None:
    found = results(PLAN, [verdict("a", "fail", overruled="pass"), verdict("b", "pass")])
    assert found.all_passed
    assert found.assertions[0].overruled == 1


def test_verdicts_of_another_version_or_another_place_do_not_count() -> None:
    said = [verdict("a", "pass", number=2), verdict("a", "pass", context="elsewhere")]
    assert outcome_of(results(PLAN, said), "a") == "error"


def test_a_question_of_its_own_and_no_place_at_all() -> None:
    plan = [
        Unit((("a", 1),), asked="a"),
        Unit((("b", 1),), nowhere="There is nothing."),
        Unit((("c", 1),), answer="answer-1"),
    ]
    said = [
        verdict("a", "pass", context="made-anew"),
        verdict("b", "error", context=""),
        verdict("c", "fail", answer="answer-1"),
    ]
    found = results(plan, said)
    assert [row.outcome for row in found.assertions] == ["pass", "error", "fail"]


@pytest.mark.parametrize(
    ("outcomes", "early", "more"),
    [
        ((), True, True),
        (("pass",), True, True),
        (("pass", "pass"), True, False),
        (("fail", "fail"), True, False),
        (("pass", "fail"), True, True),
        (("pass", "pass"), False, True),
        (("error", "error"), True, True),
        (("pass", "pass", "pass"), False, False),
    ],
)
def test_further_repeats_are_wanted_until_it_is_decided(
    outcomes: tuple[Outcome, ...], early: bool, more: bool
) -> None:
    assert suite.still_open(outcomes, 3, early=early) is more


def test_what_changed_since_another_run() -> None:
    plan = [Unit(tuple((one, 1) for one in "abcde"), context="c1")]
    old = [verdict("a", "pass"), verdict("b", "fail"), verdict("c", "pass"), verdict("d", "pass")]
    new_plan = [Unit((("a", 2), ("b", 1), ("c", 1), ("d", 1), ("f", 1)), context="c1")]
    new = [
        verdict("a", "fail", number=2),
        verdict("b", "pass"),
        verdict("c", "error"),
        verdict("d", "pass"),
        verdict("f", "pass"),
    ]
    found = compare(results(plan, old), results(new_plan, new))
    assert [(one.assertion_id, one.change) for one in found] == [
        ("a", "broken"),
        ("c", "unclear"),
        ("b", "fixed"),
        ("f", "new"),
        ("e", "gone"),
        ("d", "same"),
    ]
    assert found[0].edited
    assert (found[0].rate_before, found[0].rate_after) == (1.0, 0.0)


def reported(*rows: tuple[str, str, Outcome, str]) -> EvaluationOut:
    """A run with a result for each advisor, text, outcome and reason."""
    results, verdicts = [], []
    for number, (advisor, text, outcome, reason) in enumerate(rows):
        name = f"a{number}"
        score = (name, 1, outcome, 1, 2, 0, 1 / 3, 0.0, 1.0, True, 0)
        results.append(ResultOut(*score, (), text, "judge", advisor, advisor, judged=True))
        said = replace(verdict(name, outcome), reason=reason)
        verdicts.append(shape(VerdictOut, said, text=text, sample_text=None))
    return EvaluationOut(
        "run", "", (), 1_000_000, started_at=1_000_000, ended_at=2_250_000, advisor_name=None,
        repeat=3, cost=0.0, blessed=False, summary=None, results=results, verdicts=verdicts,
    )  # fmt: skip


def test_a_junit_file() -> None:
    text = junit(
        reported(
            ("Ann", 'It is <short> & "kind".', "pass", "Yes."),
            ("Ann", "It is kind.", "fail", "It says\n]]> & <no>."),
            ("Bob", "It rhymes.", "error", "The judge is away."),
        )
    )
    root = ET.fromstring(text)
    assert (root.attrib["tests"], root.attrib["time"]) == ("3", "1.250")
    assert (root.attrib["failures"], root.attrib["errors"]) == ("1", "1")
    ann, bob = root
    assert (ann.attrib["name"], ann.attrib["tests"], ann.attrib["failures"]) == ("Ann", "2", "1")
    assert ann[0].attrib["name"] == 'It is <short> & "kind".'
    assert len(ann[0]) == 0
    assert ann[1][0].tag == "failure"
    assert ann[1][0].text == "It says\n]]> & <no>."
    assert bob[0][0].tag == "error"


@given(st.text(), st.text())
def test_any_text_makes_a_file_that_can_be_read(name: str, reason: str) -> None:
    root = ET.fromstring(junit(reported((name, name, "fail", reason))).encode())
    assert root[0][0][0].tag == "failure"
