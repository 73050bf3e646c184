"""JSON shapes of optimisations, over HTTP and on the command line."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from polyvox.evaluation.optimise.plan import Planned
from polyvox.evaluation.optimise.values import Tally, assertions_of, contexts_of
from polyvox.evaluation.optimise.visible import VisibleChange, visible_change
from polyvox.evaluation.statistics import wilson
from polyvox.evaluation.tables import assertions as assertion_rows
from polyvox.evaluation.tables import optimisations as rows
from polyvox.evaluation.tables import verdicts
from polyvox.evaluation.tables.optimisations import (
    AttemptFacts,
    CaseFacts,
    CaseResult,
    ComparedRates,
    Optimisation,
    OptimisationFacts,
    RunEstimate,
    StoredAttempt,
)
from polyvox.shapes import shape, usd
from polyvox.store.database import Tx


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
    def of(cls, estimate: RunEstimate) -> RunEstimateOut:
        """From the value."""
        return shape(
            cls,
            estimate,
            calls=sum(estimate.calls.values()),
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
    """Other active assertions of this advisor, for a phase of all that use it: they must not get
    worse."""
    holdouts: int
    contexts: int
    iterations: int
    judge: str
    optimizer: str
    budget: float | None
    warnings: tuple[str, ...]
    estimate: RunEstimateOut
    visible: VisibleChange
    """The change that the comparison at its end can show."""

    @classmethod
    def of(cls, planned: Planned) -> PlannedOut:
        """From the value."""
        run, plan = planned.run, planned.plan
        return shape(
            cls,
            run,
            prompt=run.base_text,
            assertions=len(assertions_of(plan.targets)),
            guards=len(assertions_of(plan.guards)),
            holdouts=len(plan.holdouts),
            contexts=len(contexts_of((*plan.targets, *plan.guards))),
            budget=usd(run.budget),
            estimate=RunEstimateOut.of(run.estimate),
            visible=visible_change(plan.targets, plan.confirmations),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizationOut(OptimisationFacts):
    """A run that looks for a better prompt, and its progress."""

    cost: float | None
    """USD spent; null where no price is known."""
    budget: float | None
    acceptable: bool
    """True if there is a better prompt that was confirmed as improved and not decided on."""
    improved: int | None
    assertions: int | None
    success: bool | None
    """True if everything passes now; null before the end."""

    @classmethod
    def of(cls, run: Optimisation) -> OptimizationOut:
        """From the value."""
        summary = run.results
        return shape(
            cls,
            run,
            cost=None if run.calls and run.unpriced == run.calls else usd(run.spent),
            budget=usd(run.budget),
            acceptable=run.ended
            and run.verdict == "improved"
            and run.final_text is not None
            and run.decision != "accepted",
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
class BeforeAfter(CaseFacts):
    """One assertion in one context, before and after, with an answer of each prompt."""

    text: str
    context_hash: str
    before: CountOut | None
    after: CountOut | None
    answer_before: str | None
    answer_after: str | None
    copied: bool
    """True if the new prompt holds the assertion word for word."""

    @classmethod
    def read(cls, tx: Tx, row: CaseResult) -> BeforeAfter:
        """From the stored result, with the texts that it names."""
        wordings = {
            version.number: version.text
            for version in assertion_rows.versions(tx, row.assertion_id)
        }
        before, after = (
            verdicts.find_sample(tx, key) for key in (row.sample_before, row.sample_after)
        )
        return shape(
            cls,
            row,
            text=wordings.get(row.number, ""),
            context_hash=row.context,
            before=CountOut.of(row.before),
            after=CountOut.of(row.after),
            answer_before=before and before.text,
            answer_after=after and after.text,
        )


@dataclass(frozen=True, slots=True)
class ScoreOut:
    """An attempt's count on one assertion in one context, in the search."""

    assertion_id: str
    context_hash: str
    passes: int
    fails: int
    errors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptAttemptOut(AttemptFacts):
    """A rewritten prompt and its fate."""

    scores: list[ScoreOut]
    cost: float | None
    """USD spent on it; null where no price is known."""

    @classmethod
    def of(cls, attempt: StoredAttempt, *, priced: bool) -> PromptAttemptOut:
        """From the value."""
        scores = []
        for key, counts in attempt.scores.items():
            assertion_id, _, context = key.rpartition("@")
            scores.append(ScoreOut(assertion_id, context, *counts))
        return shape(cls, attempt, scores=scores, cost=usd(attempt.spent) if priced else None)


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of the difference between two prompts."""

    kind: Literal["same", "added", "removed"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizationDetail(OptimizationOut):
    """A run with its attempts and, once it has ended, its findings."""

    estimate: RunEstimateOut
    original_prompt: str
    final_prompt: str | None
    diff: list[DiffLine]
    attempts: list[PromptAttemptOut]
    numbers: ComparedRates | None
    results: list[BeforeAfter]

    @classmethod
    def read(cls, tx: Tx, optimisation_id: str) -> OptimizationDetail:
        """The stored run."""
        run = rows.get(tx, optimisation_id)
        short, summary = OptimizationOut.of(run), run.results
        priced = short.cost is not None
        return shape(
            cls,
            short,
            estimate=RunEstimateOut.of(run.estimate),
            original_prompt=run.base_text,
            final_prompt=run.final_text,
            diff=[] if run.final_text is None else list(diff(run.base_text, run.final_text)),
            attempts=[
                PromptAttemptOut.of(attempt, priced=priced) for attempt in rows.attempts(tx, run.id)
            ],
            numbers=shape(ComparedRates, summary) if summary else None,
            results=[BeforeAfter.read(tx, row) for row in summary.rows] if summary else [],
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
