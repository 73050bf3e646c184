"""The shapes of optimisations as the API tells them."""

from __future__ import annotations

import difflib
from typing import Annotated, Any, Literal

import msgspec
from pydantic import BaseModel, Field

from polyvox.evaluation.optimise.estimate import RunEstimate
from polyvox.evaluation.optimise.findings import Count, Findings, Found, Summary
from polyvox.evaluation.optimise.plan import MOST_ASSERTIONS, MOST_ITERATIONS, Prepared, Wish
from polyvox.evaluation.statistics import wilson
from polyvox.evaluation.tables.optimisations import Optimisation, StoredAttempt
from polyvox.shapes import usd
from polyvox.web.fields import Body, Id

StateName = Literal["waiting", "running", "finished", "cancelled", "failed", "spent"]
VerdictName = Literal["improved", "not distinguishable", "regressed"]
MOST_USD = 10_000


class OptimizeBody(Body):
    """What is to be improved."""

    advisor_id: Id
    """Id or slug."""
    assertion_ids: Annotated[list[Id], Field(min_length=1, max_length=MOST_ASSERTIONS)] | None = (
        None
    )
    """Null: every active one of this advisor."""
    target: Annotated[str, Field(pattern=r"^(prompt|phase:[\w-]{1,60})$")] = "prompt"
    engine: Literal["native", "gepa"] = "native"
    iterations: int | None = Field(None, ge=1, le=MOST_ITERATIONS)
    budget: float | None = Field(None, gt=0, le=MOST_USD)
    """USD; null: as the settings say."""
    holdout: float | None = Field(None, ge=0, le=0.5)
    """The part of the assertions that the rewriter never sees; null: a quarter from 8 on."""

    def wish(self) -> Wish:
        """As the road knows it."""
        return Wish(
            advisor=self.advisor_id,
            assertion_ids=None if self.assertion_ids is None else tuple(self.assertion_ids),
            target=self.target,
            engine=self.engine,
            iterations=self.iterations,
            budget=self.budget,
            holdout=self.holdout,
        )


class ForceBody(Body):
    """Whether to do it although something speaks against it (the message of the 409 says what)."""

    force: bool = False


class ResumeBody(Body):
    """With which budget it goes on, in USD and all in all; null: with the one it had."""

    budget: float | None = Field(None, gt=0, le=MOST_USD)


class EstimateOut(BaseModel):
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
    def of(cls, found: RunEstimate | dict[str, Any]) -> EstimateOut:
        """From the values, or from how they are stored."""
        one = found if isinstance(found, RunEstimate) else RunEstimate(**found)
        return cls(
            calls=one.total,
            most_calls=one.most_calls,
            advisor_calls=one.calls.get("advisor", 0),
            judge_calls=one.calls.get("judge", 0),
            rewriter_calls=one.calls.get("rewriter", 0),
            input_tokens=one.input_tokens,
            output_tokens=one.output_tokens,
            cost=usd(one.cost),
            most_cost=usd(one.most_cost),
            confirmation_cost=usd(one.confirmation),
        )


class PlannedOut(BaseModel):
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
    estimate: EstimateOut

    @classmethod
    def of(cls, found: Prepared, estimate: RunEstimate, warnings: tuple[str, ...]) -> PlannedOut:
        """From the values."""
        plan = found.plan
        return cls(
            advisor_id=found.advisor.id,
            advisor_name=found.advisor.name,
            target=plan.prompt.target,
            recipe=found.recipe,
            prompt=plan.prompt.text,
            assertions=len({case.assertion.id for case in plan.targets}),
            guards=len({case.assertion.id for case in plan.guards}),
            holdouts=len(plan.holdouts),
            contexts=len({case.context for case in (*plan.targets, *plan.guards)}),
            iterations=plan.iterations,
            judge=found.judge or "",
            optimizer=found.optimizer,
            budget=found.budget,
            warnings=[*found.warnings, *warnings],
            estimate=EstimateOut.of(estimate),
        )


class OptimizationOut(BaseModel):
    """A run that looks for a better prompt, and how far it is."""

    id: str
    advisor_id: str
    advisor_name: str
    target: str
    recipe: str
    engine: Literal["native", "gepa"]
    judge: str
    optimizer: str
    warnings: list[str]
    state: StateName
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
    verdict: VerdictName | None
    message: str
    decision: Literal["", "accepted", "rejected", "rolled back"]
    acceptable: bool
    """Whether there is a better prompt that was confirmed as improved and not decided on."""
    improved: int | None
    assertions: int | None
    success: bool | None
    """Whether everything passes now; null before the end."""
    base_version: str
    final_version: str
    created_at: int
    started_at: int | None
    ended_at: int | None
    decided_at: int | None

    @classmethod
    def of(cls, one: Optimisation, found: Summary | None) -> OptimizationOut:
        """From the values."""
        given = {
            "warnings": list(one.warnings),
            "cost": None if one.calls and one.unpriced == one.calls else usd(one.spent),
            "budget": usd(one.budget),
            "acceptable": one.ended
            and one.verdict == "improved"
            and one.final_text is not None
            and one.decision in ("", "rejected", "rolled back"),
            "improved": found.improved if found else None,
            "assertions": found.assertions if found else None,
            "success": found.success if found else None,
        }
        names = set(cls.model_fields) - set(given)
        return cls(**given, **{name: getattr(one, name) for name in names})


class CountOut(BaseModel):
    """How often an assertion passed, with its 95 % interval."""

    passes: int
    fails: int
    errors: int
    rate: float | None
    low: float
    high: float

    @classmethod
    def of(cls, one: Count | None) -> CountOut | None:
        """From the values."""
        if one is None:
            return None
        interval = wilson(one.passes, one.passes + one.fails)
        return cls(
            passes=one.passes,
            fails=one.fails,
            errors=one.errors,
            rate=one.rate,
            low=interval.low,
            high=interval.high,
        )


class BeforeAfter(BaseModel):
    """One assertion in one context, before and after, with an answer of each prompt."""

    assertion_id: str
    number: int
    text: str
    context_hash: str
    guard: bool
    holdout: bool
    confirmed: bool
    """Whether the counts are of fresh answers; else they are the search's."""
    before: CountOut | None
    after: CountOut | None
    answer_before: str | None
    answer_after: str | None

    @classmethod
    def of(cls, row: Found, found: Findings) -> BeforeAfter:
        """From the values."""
        return cls(
            assertion_id=row.assertion_id,
            number=row.number,
            text=found.assertions.get((row.assertion_id, row.number), ""),
            context_hash=row.context,
            guard=row.guard,
            holdout=row.holdout,
            confirmed=row.confirmed,
            before=CountOut.of(row.before),
            after=CountOut.of(row.after),
            answer_before=found.texts.get(row.sample_before),
            answer_after=found.texts.get(row.sample_after),
        )


class ScoreOut(BaseModel):
    """How an attempt did on one assertion in one context, in the search."""

    assertion_id: str
    context_hash: str
    passes: int
    fails: int
    errors: int


class AttemptOut(BaseModel):
    """A rewritten prompt and what became of it."""

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
    def of(cls, one: StoredAttempt, *, priced: bool) -> AttemptOut:
        """From the values."""
        counts = msgspec.json.decode(one.scores, type=dict[str, tuple[int, int, int]])
        scores = [
            ScoreOut(assertion_id=assertion, context_hash=context, passes=p, fails=f, errors=e)
            for key, (p, f, e) in counts.items()
            for assertion, _, context in (key.rpartition("@"),)
        ]
        given = {"scores": scores, "cost": usd(one.spent) if priced else None}
        names = set(cls.model_fields) - set(given)
        return cls(**given, **{name: getattr(one, name) for name in names})


class DiffLine(BaseModel):
    """A line of the difference between two prompts."""

    kind: Literal["same", "added", "removed"]
    text: str


class NumbersOut(BaseModel):
    """What the test compared: mean pass rates and its p-values."""

    before: float | None
    after: float | None
    p_better: float | None
    p_worse: float | None
    guards_before: float | None
    guards_after: float | None
    guards_p_worse: float | None


class OptimizationDetail(OptimizationOut):
    """A run with its attempts and, once it has ended, what it found."""

    estimate: EstimateOut
    original_prompt: str
    final_prompt: str | None
    diff: list[DiffLine]
    attempts: list[AttemptOut]
    numbers: NumbersOut | None
    results: list[BeforeAfter]

    @classmethod
    def told(cls, found: Findings) -> OptimizationDetail:
        """From the values."""
        one, summary = found.optimisation, found.summary
        short = OptimizationOut.of(one, summary)
        names = NumbersOut.model_fields
        return cls(
            **short.model_dump(),
            estimate=EstimateOut.of(dict(found.estimate)),
            original_prompt=one.base_text,
            final_prompt=one.final_text,
            diff=diff(one.base_text, one.final_text) if one.final_text is not None else [],
            attempts=[AttemptOut.of(row, priced=short.cost is not None) for row in found.attempts],
            numbers=NumbersOut(**{name: getattr(summary, name) for name in names})
            if summary
            else None,
            results=[BeforeAfter.of(row, found) for row in summary.rows] if summary else [],
        )


class OptimizationPage(BaseModel):
    """Some runs, newest first."""

    items: list[OptimizationOut]
    next: str | None


def diff(before: str, after: str) -> list[DiffLine]:
    """The difference line by line; the page shows words inside changed lines itself."""
    old, new = before.splitlines(), after.splitlines()
    found: list[DiffLine] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if tag == "equal":
            found += [DiffLine(kind="same", text=line) for line in old[i1:i2]]
            continue
        found += [DiffLine(kind="removed", text=line) for line in old[i1:i2]]
        found += [DiffLine(kind="added", text=line) for line in new[j1:j2]]
    return found
