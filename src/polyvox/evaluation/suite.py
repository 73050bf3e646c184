"""A run as data: what is asked of what, and what came of it. Pure.

Every assertion has one or more subjects: contexts that are replayed, or stored answers. It passes
where most verdicts on every subject do; it fails where they do not on any; where nothing was found
out it is an `error`, which is neither. A person's word on a verdict counts in its place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from polyvox.evaluation.statistics import decided, most, wilson
from polyvox.evaluation.tables.verdicts import Outcome, Verdict

Change = Literal["fixed", "broken", "same", "new", "gone", "unclear"]


class Unit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One subject and the assertions that are tried on it, by id and version."""

    assertions: tuple[tuple[str, int], ...] = ()
    context: str = ""
    """The hash of a stored context."""
    asked: str = ""
    """An assertion whose own question it is; its context is made anew for each run."""
    answer: str = ""
    """The id of a stored answer."""
    nowhere: str = ""
    """The reason why there is no subject at all."""
    prompt: str = ""
    """The prompt version that is tried out; empty: the one that the context was made with."""

    @property
    def subject(self) -> str:
        """Names the subject among those of its run."""
        return self.context or self.answer or self.asked or "nowhere"


def still_open(outcomes: Collection[Outcome], repeats: int, *, early: bool) -> bool:
    """True if further repeats of an assertion on a subject are wanted, after these outcomes."""
    passes = sum(outcome == "pass" for outcome in outcomes)
    fails = sum(outcome == "fail" for outcome in outcomes)
    return not decided(passes, fails, repeats) if early else passes + fails < repeats


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Of several outcomes the one that counts: a fail, else an error."""
    order: list[Outcome] = ["pass", "error", "fail"]
    return max(outcomes, key=order.index)


@dataclass(frozen=True, slots=True)
class SubjectTally:
    """Verdicts on an assertion and one subject, counted."""

    subject: str
    passes: int
    fails: int
    errors: int
    outcome: Outcome = "error"
    """The majority of the verdicts; results that were stored long ago do not tell it."""


@dataclass(frozen=True, slots=True)
class AssertionResult:
    """The result of an assertion, in numbers and subject by subject."""

    assertion_id: str
    number: int
    outcome: Outcome
    passes: int
    fails: int
    errors: int
    rate: float | None
    """Passes among the verdicts that are no errors; None where there are none."""
    low: float
    high: float
    """Wilson's interval for it, 95 %."""
    flaky: bool
    overruled: int
    """Verdicts on which a person has had a say."""
    subjects: tuple[SubjectTally, ...]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in numbers. `rate` is of the assertions about which anything was found out."""

    total: int
    passed: int
    failed: int
    errors: int
    flaky: int
    rate: float | None
    low: float
    high: float
    all_passed: bool


@dataclass(frozen=True, slots=True)
class Results(RunSummary):
    """The results of a run."""

    assertions: tuple[AssertionResult, ...]


def results(units: Sequence[Unit], verdicts: Iterable[Verdict]) -> Results:
    """Sum up the verdicts on what was planned."""
    by_place: dict[tuple[str, int, str], list[Verdict]] = {}
    for verdict in verdicts:
        key = verdict.assertion_id, verdict.number, verdict.place
        by_place.setdefault(key, []).append(verdict)
    subjects: dict[tuple[str, int], dict[str, list[Verdict]]] = {}
    fresh = {assertion_id: name for assertion_id, _, name in by_place}
    for unit in units:
        for pair in unit.assertions:
            name = unit.context or unit.answer or (fresh.get(pair[0], "") if unit.asked else "")
            subjects.setdefault(pair, {})[unit.subject] = by_place.get((*pair, name), [])
    rows = tuple(_result(*pair, known) for pair, known in subjects.items())
    passed = sum(row.outcome == "pass" for row in rows)
    failed = sum(row.outcome == "fail" for row in rows)
    interval = wilson(passed, passed + failed)
    return Results(
        assertions=rows,
        total=len(rows),
        passed=passed,
        failed=failed,
        errors=len(rows) - passed - failed,
        flaky=sum(row.flaky for row in rows),
        rate=passed / (passed + failed) if passed + failed else None,
        low=interval.low,
        high=interval.high,
        all_passed=bool(rows) and passed == len(rows),
    )


def _result(
    assertion_id: str, number: int, known: Mapping[str, Sequence[Verdict]]
) -> AssertionResult:
    tallies = []
    for subject, verdicts in known.items():
        outcomes = [verdict.effective for verdict in verdicts]
        counts = (outcomes.count("pass"), outcomes.count("fail"), outcomes.count("error"))
        tallies.append(SubjectTally(subject, *counts, most(*counts[:2])))
    passes = sum(tally.passes for tally in tallies)
    fails = sum(tally.fails for tally in tallies)
    interval = wilson(passes, passes + fails)
    return AssertionResult(
        assertion_id,
        number,
        worst(tally.outcome for tally in tallies),
        passes,
        fails,
        errors=sum(tally.errors for tally in tallies),
        rate=passes / (passes + fails) if passes + fails else None,
        low=interval.low,
        high=interval.high,
        flaky=0 < passes < passes + fails,
        overruled=sum(row.overruled is not None for some in known.values() for row in some),
        subjects=tuple(tallies),
    )


@dataclass(frozen=True, slots=True)
class AssertionChange:
    """An assertion in this run and in the one that it is compared with."""

    assertion_id: str
    before: Outcome | None
    """None: it was not in that run."""
    after: Outcome | None
    change: Change
    edited: bool
    """True if it says something else now."""
    rate_before: float | None
    rate_after: float | None
    text: str = ""
    advisor_name: str = ""
    """Both are for a report to fill in."""


def compare(base: Results, now: Results) -> list[AssertionChange]:
    """Compare two runs assertion by assertion, what broke first."""
    old = {row.assertion_id: row for row in base.assertions}
    new = {row.assertion_id: row for row in now.assertions}
    changes = []
    for assertion_id in dict.fromkeys((*old, *new)):
        before, after = old.get(assertion_id), new.get(assertion_id)
        changes.append(
            AssertionChange(
                assertion_id,
                before.outcome if before else None,
                after.outcome if after else None,
                _change(before, after),
                bool(before and after and before.number != after.number),
                before.rate if before else None,
                after.rate if after else None,
            )
        )
    order: list[Change] = ["broken", "unclear", "fixed", "new", "gone", "same"]
    return sorted(changes, key=lambda row: order.index(row.change))


def _change(before: AssertionResult | None, after: AssertionResult | None) -> Change:
    if before is None or after is None:
        return "new" if before is None else "gone"
    if before.outcome == after.outcome:
        return "same"
    if "error" in (before.outcome, after.outcome):
        return "unclear"
    return "broken" if after.outcome == "fail" else "fixed"
