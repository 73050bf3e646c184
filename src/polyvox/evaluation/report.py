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
from polyvox.evaluation.tables.assertions import Wanted
from polyvox.evaluation.tables.evaluations import Evaluation
from polyvox.evaluation.tables.verdicts import CODE
from polyvox.evaluation.values import Outcome, Verdict
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
    """How verdicts compare with what a person says they should have been. Checks in code are not
    among them: they are not a matter of opinion."""
    found = [one for one in verdicts.overruled(tx) if one.judge != CODE]
    if advisor_id is not None:
        own = {one.id for one in assertion_rows.list_all(tx, Wanted(advisor_id=advisor_id))}
        found = [one for one in found if one.assertion_id in own]
    return Agreements(
        _agreement(found),
        tuple(_by(found, lambda one: (one.judge, one.judge_hash))),
        tuple(_by(found, lambda one: one.assertion_id)),
    )


def _by(found: Sequence[Verdict], key: Callable[[Verdict], K]) -> list[tuple[K, Agreement]]:
    groups: dict[K, list[Verdict]] = {}
    for one in found:
        groups.setdefault(key(one), []).append(one)
    return [(name, _agreement(some)) for name, some in groups.items()]


def _agreement(found: Sequence[Verdict]) -> Agreement:
    return agreement((one.outcome, one.overruled) for one in found if one.overruled is not None)


@dataclass(frozen=True, slots=True)
class Marked:
    """A stored answer and what was found out about it."""

    state: Literal["none", "pending", "ready"]
    outcome: Outcome | None
    verdicts: tuple[Verdict, ...]
    """The newest on each assertion that still exists."""


def marked(tx: Tx, answer_id: str) -> Marked:
    """What is known of a stored answer; NotFound where there is none and never was a verdict."""
    found = verdicts.of_answer(tx, answer_id)
    if not found:
        turns.get_answer(tx, answer_id)
    newest: dict[str, Verdict] = {}
    for one in found:
        newest.setdefault(one.assertion_id, one)
    kept = [one for one in newest.values() if assertion_rows.find(tx, one.assertion_id) is not None]
    waiting = evaluations.under_way(tx, answer_id)
    outcomes = [suite.effective(one) for one in kept]
    outcome: Outcome | None = None
    if outcomes:
        outcome = "fail" if "fail" in outcomes else "error" if "error" in outcomes else "pass"
    state: Literal["none", "pending", "ready"] = (
        "pending" if waiting else "ready" if kept else "none"
    )
    return Marked(state, outcome, tuple(kept))


@dataclass(frozen=True, slots=True)
class Point:
    """A replay of an advisor's suite with one of its prompt versions."""

    evaluation: Evaluation
    version: PromptVersion
    results: Results
    passes: int
    n: int

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, of all verdicts."""
        found = wilson(self.passes, self.n)
        return found.low, found.high


def pass_rates(tx: Tx, advisor_id: str, limit: int = 200) -> list[Point]:
    """The finished replays of an advisor's assertions, oldest first, each with the prompt version
    that was tried out."""
    page = evaluations.list_page(tx, advisor_id=advisor_id, limit=limit)
    points = []
    for one in reversed(page.items):
        tried = {unit.prompt for unit in suite.read_plan(one.plan) if unit.prompt}
        if one.mode != "replay" or one.state != "finished" or not one.results or len(tried) != 1:
            continue
        version = versions.get(tx, tried.pop())
        found = suite.read_results(one.results)
        passes = sum(row.passes for row in found.assertions)
        fails = sum(row.fails for row in found.assertions)
        points.append(Point(one, version, found, passes, passes + fails))
    return points
