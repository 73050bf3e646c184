"""A run as data: what is asked of what, and what came of it. Pure.

Every assertion has one or more subjects: contexts that are replayed, or stored answers. It passes
where most verdicts on every subject do; it fails where they do not on any; where nothing was found
out it is an `error`, which is neither. A person's word on a verdict counts in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from polyvox.evaluation.statistics import Interval, decided, flaky, most, wilson
from polyvox.evaluation.tables.verdicts import Outcome, Verdict

NOWHERE = "nowhere"
Change = Literal["fixed", "broken", "same", "new", "gone", "unclear"]


class Unit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One subject and the assertions that are tried on it, by id and version."""

    assertions: tuple[tuple[str, int], ...]
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
        return self.context or self.answer or self.asked or NOWHERE


_units = msgspec.json.Decoder(tuple[Unit, ...])


def write_plan(units: Sequence[Unit]) -> str:
    """A plan as it is stored."""
    return msgspec.json.encode(units).decode()


def read_plan(text: str) -> tuple[Unit, ...]:
    """A plan as it was made."""
    return _units.decode(text)


def effective(verdict: Verdict) -> Outcome:
    """The outcome that a verdict counts as."""
    return verdict.overruled or verdict.outcome


def still_open(verdicts: Iterable[Verdict], repeats: int, *, early: bool) -> bool:
    """True if further repeats of an assertion on a subject are wanted, after these verdicts."""
    outcomes = [verdict.outcome for verdict in verdicts]
    passes, fails = outcomes.count("pass"), outcomes.count("fail")
    return not decided(passes, fails, repeats) if early else passes + fails < repeats


class SubjectTally(msgspec.Struct, frozen=True):
    """Verdicts on an assertion and one subject, counted."""

    subject: str
    passes: int
    fails: int
    errors: int

    @property
    def outcome(self) -> Outcome:
        """The majority of the verdicts."""
        return most(self.passes, self.fails)


class AssertionResult(msgspec.Struct, frozen=True):
    """The result of an assertion."""

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


class Results(msgspec.Struct, frozen=True):
    """The results of a run."""

    assertions: tuple[AssertionResult, ...]
    total: int
    passed: int
    failed: int
    errors: int
    flaky: int
    rate: float | None
    """Assertions that passed, of those about which anything was found out."""
    low: float
    high: float
    all_passed: bool


def results(units: Sequence[Unit], verdicts: Iterable[Verdict]) -> Results:
    """Sum up the verdicts on what was planned."""
    by_subject: dict[tuple[str, int, str], list[Verdict]] = {}
    for verdict in verdicts:
        name = verdict.answer_id or verdict.context_hash or NOWHERE
        by_subject.setdefault((verdict.assertion_id, verdict.number, name), []).append(verdict)
    tallies: dict[tuple[str, int], list[tuple[SubjectTally, list[Verdict]]]] = {}
    asked = {assertion_id for unit in units if unit.asked for assertion_id, _ in unit.assertions}
    fresh = {assertion_id: name for assertion_id, _, name in by_subject if assertion_id in asked}
    for unit in units:
        for assertion_id, number in unit.assertions:
            name = fresh.get(assertion_id, unit.subject) if unit.asked else unit.subject
            known = by_subject.get((assertion_id, number, name), [])
            tally = _tally(unit.subject, known)
            tallies.setdefault((assertion_id, number), []).append((tally, known))
    rows = tuple(
        _result(assertion_id, number, tallies)
        for (assertion_id, number), tallies in tallies.items()
    )
    passed = sum(row.outcome == "pass" for row in rows)
    failed = sum(row.outcome == "fail" for row in rows)
    interval = wilson(passed, passed + failed)
    return Results(
        rows,
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


def _tally(subject: str, verdicts: Sequence[Verdict]) -> SubjectTally:
    outcomes = [effective(verdict) for verdict in verdicts]
    return SubjectTally(
        subject, outcomes.count("pass"), outcomes.count("fail"), outcomes.count("error")
    )


def _result(
    assertion_id: str, number: int, tallies: Sequence[tuple[SubjectTally, Sequence[Verdict]]]
) -> AssertionResult:
    passes = sum(tally.passes for tally, _ in tallies)
    fails = sum(tally.fails for tally, _ in tallies)
    outcomes = [tally.outcome for tally, _ in tallies]
    outcome: Outcome = "pass"
    if "fail" in outcomes:
        outcome = "fail"
    elif "error" in outcomes:
        outcome = "error"
    interval: Interval = wilson(passes, passes + fails)
    return AssertionResult(
        assertion_id,
        number,
        outcome,
        passes,
        fails,
        errors=sum(tally.errors for tally, _ in tallies),
        rate=passes / (passes + fails) if passes + fails else None,
        low=interval.low,
        high=interval.high,
        flaky=flaky(passes, passes + fails),
        overruled=sum(
            verdict.overruled is not None for _, verdicts in tallies for verdict in verdicts
        ),
        subjects=tuple(tally for tally, _ in tallies),
    )


_results = msgspec.json.Decoder(Results)


def read_results(text: str) -> Results:
    """Results as they were stored."""
    return _results.decode(text)


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
