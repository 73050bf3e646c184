"""Looking back over verdicts: how well a judge agrees with the person, how a stored answer fares,
and how pass rates went from prompt version to prompt version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from polyvox.evaluation import suite
from polyvox.evaluation.statistics import Agreement, agreement, wilson
from polyvox.evaluation.suite import Results
from polyvox.evaluation.tables import assertions as assertion_rows
from polyvox.evaluation.tables import evaluations, verdicts
from polyvox.evaluation.tables.assertions import AssertionFilter
from polyvox.evaluation.tables.evaluations import Evaluation
from polyvox.evaluation.tables.verdicts import CODE, Outcome, Verdict
from polyvox.store import turns, versions
from polyvox.store.database import Tx
from polyvox.values import PromptVersion

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Agreements:
    """Agreement in all, by judge (model and prompt) and by assertion."""

    overall: Agreement
    judges: tuple[tuple[tuple[str, str], Agreement], ...]
    assertions: tuple[tuple[str, Agreement], ...]


def agreements(tx: Tx, advisor_id: str | None = None) -> Agreements:
    """Compare verdicts with what a person says they should have been. Checks in code are not
    among them: they are not a matter of opinion."""
    labelled = [verdict for verdict in verdicts.overruled(tx) if verdict.judge != CODE]
    if advisor_id is not None:
        own = {
            row.id for row in assertion_rows.list_all(tx, AssertionFilter(advisor_id=advisor_id))
        }
        labelled = [verdict for verdict in labelled if verdict.assertion_id in own]
    return Agreements(
        _agreement(labelled),
        tuple(_by(labelled, lambda verdict: (verdict.judge, verdict.judge_hash))),
        tuple(_by(labelled, lambda verdict: verdict.assertion_id)),
    )


def _by(labelled: Sequence[Verdict], key: Callable[[Verdict], K]) -> list[tuple[K, Agreement]]:
    groups: dict[K, list[Verdict]] = {}
    for verdict in labelled:
        groups.setdefault(key(verdict), []).append(verdict)
    return [(name, _agreement(some)) for name, some in groups.items()]


def _agreement(labelled: Sequence[Verdict]) -> Agreement:
    return agreement(
        (verdict.outcome, verdict.overruled)
        for verdict in labelled
        if verdict.overruled is not None
    )


@dataclass(frozen=True, slots=True)
class Marked:
    """A stored answer and what was found out about it."""

    state: Literal["none", "pending", "ready"]
    outcome: Outcome | None
    verdicts: tuple[Verdict, ...]
    """The newest on each assertion that still exists."""


def marked(tx: Tx, answer_id: str) -> Marked:
    """Sum up the verdicts on a stored answer; NotFound where it and they never were."""
    every = verdicts.of_answer(tx, answer_id)
    if not every:
        turns.get_answer(tx, answer_id)
    newest: dict[str, Verdict] = {}
    for verdict in every:
        newest.setdefault(verdict.assertion_id, verdict)
    kept = [
        verdict
        for verdict in newest.values()
        if assertion_rows.find(tx, verdict.assertion_id) is not None
    ]
    waiting = evaluations.under_way(tx, answer_id)
    outcomes = [suite.effective(verdict) for verdict in kept]
    outcome: Outcome | None = None
    if outcomes:
        outcome = "fail" if "fail" in outcomes else "error" if "error" in outcomes else "pass"
    state: Literal["none", "pending", "ready"] = (
        "pending" if waiting else "ready" if kept else "none"
    )
    return Marked(state, outcome, tuple(kept))


@dataclass(frozen=True, slots=True)
class PromptPassRate:
    """A replay of an advisor's suite with one of its prompt versions."""

    evaluation: Evaluation
    version: PromptVersion
    results: Results
    passes: int
    n: int

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, of all verdicts."""
        wide = wilson(self.passes, self.n)
        return wide.low, wide.high


def pass_rates(tx: Tx, advisor_id: str, limit: int = 200) -> list[PromptPassRate]:
    """The finished replays of an advisor's assertions, oldest first, each with the prompt version
    that was tried out."""
    page = evaluations.list_page(tx, advisor_id=advisor_id, limit=limit)
    points = []
    for run in reversed(page.items):
        tried = {unit.prompt for unit in suite.read_plan(run.plan) if unit.prompt}
        if run.mode != "replay" or run.state != "finished" or not run.results or len(tried) != 1:
            continue
        version = versions.get(tx, tried.pop())
        results = suite.read_results(run.results)
        passes = sum(row.passes for row in results.assertions)
        fails = sum(row.fails for row in results.assertions)
        points.append(PromptPassRate(run, version, results, passes, passes + fails))
    return points
