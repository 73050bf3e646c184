"""Findings of an optimisation: kept while it runs, shown with its answers side by side.

Stored are ids, numbers and names of samples; texts are read where they are kept, so what was
forgotten there is gone here too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from polyvox.evaluation.budget import RunBudget
from polyvox.evaluation.optimise.loop import OptimisationResult
from polyvox.evaluation.optimise.values import (
    Case,
    OptimisationPlan,
    PromptAttempt,
    Scores,
    Stage,
    Tally,
)
from polyvox.evaluation.tables import assertions as assertion_rows
from polyvox.evaluation.tables import optimisations as rows
from polyvox.evaluation.tables import samples
from polyvox.evaluation.tables.optimisations import Optimisation, StoredAttempt
from polyvox.resources import Resources
from polyvox.store.database import Tx
from polyvox.values import Scope


class CaseResult(msgspec.Struct, frozen=True):
    """One assertion in one context, before and after."""

    assertion_id: str
    number: int
    context: str
    guard: bool
    holdout: bool
    confirmed: bool
    """True if the counts are of fresh answers; else they are the search's."""
    before: Tally | None
    after: Tally | None
    sample_before: str
    sample_after: str


class OptimisationSummary(msgspec.Struct, frozen=True):
    """A run's end in numbers."""

    ending: str
    rows: tuple[CaseResult, ...]
    before: float | None = None
    after: float | None = None
    p_better: float | None = None
    p_worse: float | None = None
    guards_before: float | None = None
    guards_after: float | None = None
    guards_p_worse: float | None = None
    improved: int = 0
    """Chosen assertions that pass more often than before."""
    assertions: int = 0
    success: bool = False
    """True if every chosen assertion passed in every fresh answer."""


@dataclass(frozen=True, slots=True)
class Findings:
    """A run as it is now."""

    optimisation: Optimisation
    attempts: tuple[StoredAttempt, ...]
    summary: OptimisationSummary | None
    texts: Mapping[str, str]
    """The answers that are compared, by the names of their samples."""
    assertions: Mapping[tuple[str, int], str]
    """Texts of the assertions, by id and version."""
    estimate: Mapping[str, Any]


def findings(tx: Tx, optimisation_id: str) -> Findings:
    """A run with its attempts and, where it has ended, what it found."""
    run = rows.get(tx, optimisation_id)
    summary = msgspec.json.decode(run.results, type=OptimisationSummary) if run.results else None
    texts: dict[str, str] = {}
    for row in summary.rows if summary else ():
        for name in (row.sample_before, row.sample_after):
            if name and (kept := samples.find(tx, name)) is not None:
                texts[name] = kept.text
    plan: dict[str, Any] = msgspec.json.decode(run.plan)
    wordings: dict[tuple[str, int], str] = {}
    for assertion_id, number, _ in (*plan["targets"], *plan["guards"]):
        for version in assertion_rows.versions(tx, assertion_id):
            if version.number == number:
                wordings[assertion_id, number] = version.text
    return Findings(
        run,
        tuple(rows.attempts(tx, optimisation_id)),
        summary,
        texts,
        wordings,
        msgspec.json.decode(run.estimate),
    )


def summed(plan: OptimisationPlan, result: OptimisationResult) -> OptimisationSummary:
    """Sum up a result, in ids and numbers."""
    confirmed = result.confirmation
    old = confirmed.before if confirmed else result.baseline
    new = confirmed.after if confirmed else _scores(result)
    shown = [
        _found(case, plan, old, new, guard=False, fresh=confirmed is not None)
        for case in plan.targets
    ]
    if confirmed:
        shown += [_found(case, plan, old, new, guard=True, fresh=True) for case in plan.guards]
    compared = confirmed.compared if confirmed else None
    guards = confirmed.guards if confirmed else None
    return OptimisationSummary(
        ending=result.ending,
        rows=tuple(shown),
        before=compared.before if compared else _mean(result.baseline, plan),
        after=compared.after if compared else None if new is None else _mean(new, plan),
        p_better=compared.better if compared else None,
        p_worse=compared.worse if compared else None,
        guards_before=guards.before if guards else None,
        guards_after=guards.after if guards else None,
        guards_p_worse=guards.worse if guards else None,
        improved=_improved(plan, old, new),
        assertions=len({case.assertion.id for case in plan.targets}),
        success=result.ending == "passing"
        or (confirmed is not None and confirmed.after.perfect(plan.keys)),
    )


def _scores(result: OptimisationResult) -> Scores | None:
    return result.best.scores if result.best.number else None


def _mean(scores: Scores, plan: OptimisationPlan) -> float | None:
    keys = [key for key in plan.keys if scores.tallies.get(key, Tally()).known]
    return scores.mean(keys) if keys else None


def _improved(plan: OptimisationPlan, old: Scores, new: Scores | None) -> int:
    if new is None:
        return 0
    ids = dict.fromkeys(case.assertion.id for case in plan.targets)
    count = 0
    for assertion_id in ids:
        keys = [case.key for case in plan.targets if case.assertion.id == assertion_id]
        known = [key for key in keys if old.tallies.get(key, Tally()).known]
        count += bool(known) and new.mean(known, old) > old.mean(known)
    return count


def _found(
    case: Case, plan: OptimisationPlan, old: Scores, new: Scores | None, *, guard: bool, fresh: bool
) -> CaseResult:
    before, after = _sides(case.key, old, new)
    return CaseResult(
        case.assertion.id,
        case.assertion.number,
        case.context,
        guard,
        case.assertion.id in plan.holdouts,
        fresh,
        old.tallies.get(case.key),
        None if new is None else new.tallies.get(case.key),
        before,
        after,
    )


def _sides(key: str, old: Scores, new: Scores | None) -> tuple[str, str]:
    """Names of two answers that show the difference: one that failed before, one that passes."""
    return _sample(key, old, "fail"), "" if new is None else _sample(key, new, "pass")


def _sample(key: str, scores: Scores, liked: str) -> str:
    seen = [answer for answer in scores.seen if answer.case == key and answer.sample]
    first = next((answer for answer in seen if answer.outcome == liked), seen[0] if seen else None)
    return first.sample if first else ""


@dataclass(slots=True, eq=False)
class Progress:
    """Follows a run and writes down where it stands, before it goes on."""

    resources: Resources
    scope: Scope
    run_id: str
    budget: RunBudget
    _counted: int = field(init=False)

    def __post_init__(self) -> None:
        self._counted = self.budget.spent

    async def stage(
        self, stage: Stage, attempts: Sequence[PromptAttempt], best: PromptAttempt
    ) -> None:
        """Write down the stage, the newest attempt and the best one (a `Watch`)."""
        if stage == "confirmation":
            self.budget.kept_back = 0
        base = attempts[0].scores or Scores({})
        keys = [key for key, tally in base.tallies.items() if tally.known]
        last = attempts[-1]
        cost = self.budget.spent - self._counted
        self._counted = self.budget.spent

        def write(tx: Tx) -> None:
            if last.number:
                self._keep(tx, last, keys, base, cost)
            rows.progress(
                tx,
                self.run_id,
                stage=stage,
                iteration=len(attempts) - 1,
                best=best.number,
                best_rate=best.scores.mean(keys, base) if keys and best.scores else None,
                base_rate=base.mean(keys) if keys else None,
            )

        await self.resources.database.write(write, self.scope)

    def _keep(
        self, tx: Tx, last: PromptAttempt, keys: Sequence[str], base: Scores, cost: int
    ) -> None:
        known = rows.find_attempt(tx, self.run_id, last.number)
        made = known or StoredAttempt(
            last.number, last.parent, "", None, "", "", None, "{}", 0, self.resources.clock()
        )
        scores = last.scores.tallies if last.scores else {}
        counts = {key: (tally.passes, tally.fails, tally.errors) for key, tally in scores.items()}
        whole = last.scores is not None and last.scores.whole
        rate = last.scores.mean(keys, base) if last.scores and whole else None
        made = replace(
            made,
            parent=last.parent,
            text=last.prompt.text if last.prompt else None,
            state=last.state,
            note=last.note,
            rate=rate,
            scores=msgspec.json.encode(counts).decode(),
            spent=made.spent + cost,  # what was paid before a kill stays counted
        )
        rows.put_attempt(tx, self.run_id, made)
