"""JSON shapes of optimisations, over HTTP and on the command line."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from polyvox.evaluation.optimise.estimate import RunEstimate
from polyvox.evaluation.optimise.findings import CaseResult, Findings, OptimisationSummary
from polyvox.evaluation.optimise.plan import Prepared
from polyvox.evaluation.optimise.values import Tally
from polyvox.evaluation.statistics import wilson
from polyvox.evaluation.tables.optimisations import (
    Decision,
    Optimisation,
    OptimisationState,
    StoredAttempt,
)
from polyvox.shapes import shape, usd


@dataclass(frozen=True, slots=True)
class RunEstimateOut:
    """The most that a run takes; one that decides early takes less. `calls` and `cost` are the same
    bound as `most_calls` and `most_cost`."""

    calls: int
    most_calls: int
    advisor_calls: int
    judge_calls: int
    rewriter_calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    """USD; null where a price is not known."""
    most_cost: float | None
    confirmation_cost: float | None

    @classmethod
    def of(cls, value: RunEstimate | dict[str, Any]) -> RunEstimateOut:
        """From the value, or from its stored JSON."""
        estimate = value if isinstance(value, RunEstimate) else RunEstimate(**value)
        return shape(
            cls,
            estimate,
            calls=estimate.total,
            advisor_calls=estimate.calls.get("advisor", 0),
            judge_calls=estimate.calls.get("judge", 0),
            rewriter_calls=estimate.calls.get("rewriter", 0),
            cost=usd(estimate.cost),
            most_cost=usd(estimate.most_cost),
            confirmation_cost=usd(estimate.confirmation),
        )


@dataclass(frozen=True, slots=True)
class PlannedOut:
    """A run that could begin, and what it would take."""

    advisor_id: str
    advisor_name: str
    target: str
    recipe: str
    prompt: str
    """The text that would be improved."""
    assertions: int
    guards: int
    """Other active assertions of this advisor, which must not get worse."""
    holdouts: int
    contexts: int
    iterations: int
    judge: str
    optimizer: str
    budget: float | None
    warnings: list[str]
    estimate: RunEstimateOut

    @classmethod
    def of(cls, prepared: Prepared, estimate: RunEstimate, warnings: tuple[str, ...]) -> PlannedOut:
        """From the values."""
        plan = prepared.plan
        return shape(
            cls,
            prepared,
            advisor_id=prepared.advisor.id,
            advisor_name=prepared.advisor.name,
            target=plan.prompt.target,
            prompt=plan.prompt.text,
            assertions=len({case.assertion.id for case in plan.targets}),
            guards=len({case.assertion.id for case in plan.guards}),
            holdouts=len(plan.holdouts),
            contexts=len({case.context for case in (*plan.targets, *plan.guards)}),
            iterations=plan.iterations,
            judge=prepared.judge or "",
            warnings=[*prepared.warnings, *warnings],
            estimate=RunEstimateOut.of(estimate),
        )


@dataclass(frozen=True, slots=True)
class OptimizationOut:
    """A run that looks for a better prompt, and its progress."""

    id: str
    advisor_id: str
    advisor_name: str
    target: str
    recipe: str
    engine: Literal["native", "gepa"]
    judge: str
    optimizer: str
    warnings: tuple[str, ...]
    state: OptimisationState
    stage: Literal["", "baseline", "search", "confirmation"]
    iteration: int
    iterations: int
    best: int
    """The number of the best attempt up to now; 0: the prompt as it was."""
    best_rate: float | None
    base_rate: float | None
    calls: int
    cost: float | None
    """USD spent; null where no price is known."""
    unpriced: int
    budget: float | None
    verdict: Literal["improved", "not distinguishable", "regressed"] | None
    message: str
    decision: Decision
    acceptable: bool
    """True if there is a better prompt that was confirmed as improved and not decided on."""
    improved: int | None
    assertions: int | None
    success: bool | None
    """True if everything passes now; null before the end."""
    base_version: str
    final_version: str
    created_at: int
    started_at: int | None
    ended_at: int | None
    decided_at: int | None

    @classmethod
    def of(cls, run: Optimisation) -> OptimizationOut:
        """From the value."""
        summary = (
            msgspec.json.decode(run.results, type=OptimisationSummary) if run.results else None
        )
        return shape(
            cls,
            run,
            cost=None if run.calls and run.unpriced == run.calls else usd(run.spent),
            budget=usd(run.budget),
            acceptable=run.ended
            and run.verdict == "improved"
            and run.final_text is not None
            and run.decision in ("", "rejected", "rolled back"),
            improved=summary.improved if summary else None,
            assertions=summary.assertions if summary else None,
            success=summary.success if summary else None,
        )


@dataclass(frozen=True, slots=True)
class CountOut:
    """Passes of an assertion, with the 95 % interval of their rate."""

    passes: int
    fails: int
    errors: int
    rate: float | None
    low: float
    high: float

    @classmethod
    def of(cls, count: Tally | None) -> CountOut | None:
        """From the value."""
        if count is None:
            return None
        interval = wilson(count.passes, count.passes + count.fails)
        return shape(cls, count, low=interval.low, high=interval.high)


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """One assertion in one context, before and after, with an answer of each prompt."""

    assertion_id: str
    number: int
    text: str
    context_hash: str
    guard: bool
    holdout: bool
    confirmed: bool
    """True if the counts are of fresh answers; else they are the search's."""
    before: CountOut | None
    after: CountOut | None
    answer_before: str | None
    answer_after: str | None

    @classmethod
    def of(cls, row: CaseResult, findings: Findings) -> BeforeAfter:
        """From the values."""
        return shape(
            cls,
            row,
            text=findings.assertions.get((row.assertion_id, row.number), ""),
            context_hash=row.context,
            before=CountOut.of(row.before),
            after=CountOut.of(row.after),
            answer_before=findings.texts.get(row.sample_before),
            answer_after=findings.texts.get(row.sample_after),
        )


@dataclass(frozen=True, slots=True)
class ScoreOut:
    """An attempt's count on one assertion in one context, in the search."""

    assertion_id: str
    context_hash: str
    passes: int
    fails: int
    errors: int


@dataclass(frozen=True, slots=True)
class PromptAttemptOut:
    """A rewritten prompt and its fate."""

    number: int
    parent: int
    """The attempt that it was made from; 0: the prompt as it was."""
    text: str | None
    """Null: it was not taken; the note says why."""
    state: Literal["proposed", "scored", "hopeless", "guarded", "refused"]
    note: str
    rate: float | None
    """The mean over the chosen assertions; null where it was not scored in full."""
    scores: list[ScoreOut]
    cost: float | None
    """USD spent on it; null where no price is known."""
    created_at: int

    @classmethod
    def of(cls, attempt: StoredAttempt, *, priced: bool) -> PromptAttemptOut:
        """From the value."""
        counts = msgspec.json.decode(attempt.scores, type=dict[str, tuple[int, int, int]])
        scores = [
            ScoreOut(assertion_id, context, *count)
            for key, count in counts.items()
            for assertion_id, _, context in (key.rpartition("@"),)
        ]
        return shape(cls, attempt, scores=scores, cost=usd(attempt.spent) if priced else None)


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of the difference between two prompts."""

    kind: Literal["same", "added", "removed"]
    text: str


@dataclass(frozen=True, slots=True)
class NumbersOut:
    """Mean pass rates that the test compared, and its p-values."""

    before: float | None
    after: float | None
    p_better: float | None
    p_worse: float | None
    guards_before: float | None
    guards_after: float | None
    guards_p_worse: float | None


@dataclass(frozen=True, slots=True)
class OptimizationDetail(OptimizationOut):
    """A run with its attempts and, once it has ended, its findings."""

    estimate: RunEstimateOut
    original_prompt: str
    final_prompt: str | None
    diff: list[DiffLine]
    attempts: list[PromptAttemptOut]
    numbers: NumbersOut | None
    results: list[BeforeAfter]

    @classmethod
    def whole(cls, findings: Findings) -> OptimizationDetail:
        """From the values."""
        run, summary = findings.optimisation, findings.summary
        short = OptimizationOut.of(run)
        priced = short.cost is not None
        return shape(
            cls,
            short,
            estimate=RunEstimateOut.of(dict(findings.estimate)),
            original_prompt=run.base_text,
            final_prompt=run.final_text,
            diff=[] if run.final_text is None else list(diff(run.base_text, run.final_text)),
            attempts=[PromptAttemptOut.of(row, priced=priced) for row in findings.attempts],
            numbers=shape(NumbersOut, summary) if summary else None,
            results=[BeforeAfter.of(row, findings) for row in summary.rows] if summary else [],
        )


def diff(before: str, after: str) -> Iterator[DiffLine]:
    """The difference line by line; the page shows words inside changed lines itself."""
    old, new = before.splitlines(), after.splitlines()
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if tag == "equal":
            yield from (DiffLine("same", line) for line in old[i1:i2])
            continue
        yield from (DiffLine("removed", line) for line in old[i1:i2])
        yield from (DiffLine("added", line) for line in new[j1:j2])
