"""Optimisations as rows: what a run is to do, how far it is, every attempt, and what came of it.

Invariants: a run ends in one of `finished`, `cancelled`, `failed` and `spent`, and only a failed or
spent one can be taken up again; an attempt's text is written before it is tried; what was decided
about a result is decided once, and can be undone once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from polyvox.evaluation.optimise.values import AttemptState, Ruling, Tally
from polyvox.evaluation.tables.forget import forget_text
from polyvox.evaluation.tables.runs import UNDER_WAY, RunTable
from polyvox.store.database import Tx, Value
from polyvox.store.pages import Page
from polyvox.store.table import Table

OptimisationState = Literal["waiting", "running", "finished", "cancelled", "failed", "spent"]
Decision = Literal["", "accepted", "rejected", "rolled back"]
ENDED: frozenset[OptimisationState] = frozenset({"finished", "cancelled", "failed", "spent"})


class StoredPlan(msgspec.Struct, frozen=True):
    """A plan by ids, versions and hashes."""

    targets: tuple[tuple[str, int, str], ...]
    """(assertion, version, context); an empty context is the assertion's own question."""
    guards: tuple[tuple[str, int, str], ...]
    holdouts: tuple[str, ...]
    iterations: int
    repeats: int
    confirmations: int
    seed: int


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """The most that a whole run takes. `calls` and `cost` are that bound too: stored runs and the
    API had a forecast there once."""

    calls: Mapping[str, int]
    """By role."""
    most_calls: int
    input_tokens: int
    output_tokens: int
    cost: int | None
    """Nano-dollars; None where a price is not known."""
    most_cost: int | None
    confirmation: int | None
    """The part of `cost` that the confirmation takes: the search leaves it over."""


NO_ESTIMATE = RunEstimate({}, 0, 0, 0, None, None, None)


@dataclass(frozen=True, slots=True)
class CaseResult:
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


@dataclass(frozen=True, slots=True)
class ComparedRates:
    """Mean pass rates that the test compared, and its p-values."""

    before: float | None
    after: float | None
    p_better: float | None
    p_worse: float | None
    guards_before: float | None
    guards_after: float | None
    guards_p_worse: float | None


@dataclass(frozen=True, slots=True)
class OptimisationSummary(ComparedRates):
    """A run's end in numbers."""

    rows: tuple[CaseResult, ...]
    improved: int
    """Chosen assertions that pass more often than before."""
    assertions: int
    success: bool
    """True if every chosen assertion passed in every fresh answer."""


@dataclass(frozen=True, slots=True)
class OptimisationFacts:
    """The part of a run that is shown as it is stored."""

    id: str
    advisor_id: str
    advisor_name: str
    target: str
    """`prompt`, or `phase:NAME`."""
    recipe: str
    """The recipe whose phase it is; empty for the advisor's prompt."""
    engine: Literal["native", "gepa"]
    judge: str
    """The judge's model; empty: there is none."""
    optimizer: str
    """The model that rewrites."""
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
    unpriced: int
    """Calls whose price is not known."""
    verdict: Ruling | None
    message: str
    """The verdict in words, or why there is none."""
    decision: Decision
    base_version: str
    """The prompt version that it began with; empty for a phase."""
    final_version: str
    """The prompt version that accepting it made."""
    created_at: int
    started_at: int | None
    ended_at: int | None
    decided_at: int | None


@dataclass(frozen=True, slots=True)
class Optimisation(OptimisationFacts):
    """A run that looks for a better prompt."""

    plan: StoredPlan
    estimate: RunEstimate
    budget: int | None
    """Nano-dollars that it may spend; None: no limit of its own."""
    spent: int
    """Nano-dollars known to be spent."""
    base_text: str
    final_text: str | None
    """The best attempt's prompt, where there is a better one."""
    results: OptimisationSummary | None

    @property
    def ended(self) -> bool:
        """True once it is over, however."""
        return self.state in ENDED


@dataclass(frozen=True, slots=True)
class StoredAttempt:
    """A rewritten prompt and what became of it."""

    number: int
    parent: int = 0
    """The attempt that it was made from; 0: the prompt as it was."""
    ask_hash: str = ""
    """Names the question to the rewriter."""
    text: str | None = None
    """None: what the rewriter gave was not taken."""
    state: AttemptState = "proposed"
    note: str = ""
    rate: float | None = None
    scores: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    """Passes, fails and errors by case."""
    spent: int = 0
    """Nano-dollars known to be spent on it."""
    created_at: int = 0


_RUNS = RunTable("optimisations", Optimisation, "optimisation", "GET /api/optimizations")
_ATTEMPTS = Table("attempts", StoredAttempt)
add, get, start, spend = _RUNS.insert, _RUNS.get, _RUNS.start, _RUNS.spend


def list_page(
    tx: Tx, *, advisor_id: str | None = None, limit: int = 50, before: str | None = None
) -> Page[Optimisation]:
    """Runs, newest first; `before` is a page's `next`."""
    if advisor_id is None:
        return _RUNS.page(tx, limit, before)
    return _RUNS.page(tx, limit, before, "AND advisor_id = ?", advisor_id)


def under_way(tx: Tx, advisor_id: str, target: str, recipe: str) -> Optimisation | None:
    """The run that is looking for the same prompt right now: a phase is shared by all advisors."""
    column, owner = ("recipe", recipe) if recipe else ("advisor_id", advisor_id)
    rest = f"AND target = ? AND {column} = ? {UNDER_WAY} ORDER BY created_at, id LIMIT 1"
    return _RUNS.one(tx, rest, target, owner)


def progress(tx: Tx, optimisation_id: str, **columns: Value) -> None:
    """Note its progress, unless it has ended meanwhile."""
    _RUNS.change(tx, optimisation_id, "AND state = 'running'", **columns)


def end(
    tx: Tx,
    optimisation_id: str,
    state: Literal["finished", "cancelled", "failed", "spent"],
    now: int,
    message: str,
    *,
    verdict: Ruling | None = None,
    results: OptimisationSummary | None = None,
    final_text: str | None = None,
) -> bool:
    """It is over; False where it was already."""
    return _RUNS.change(
        tx,
        optimisation_id,
        UNDER_WAY,
        state=state,
        ended_at=now,
        message=message,
        verdict=verdict,
        results=None if results is None else msgspec.json.encode(results).decode(),
        final_text=final_text,
    )


def take_up(tx: Tx, optimisation_id: str, judge: str, budget: int | None) -> None:
    """A failed or spent run goes on, with this judge and this budget."""
    found: dict[str, Value] = dict.fromkeys(("ended_at", "verdict", "results", "final_text"))
    _RUNS.change(
        tx, optimisation_id, state="waiting", message="", judge=judge, budget=budget, **found
    )


def decide(
    tx: Tx, optimisation_id: str, decision: Decision, now: int, version: str = ""
) -> Optimisation:
    """Note the decision; `version` is the prompt version that it made."""
    _RUNS.change(tx, optimisation_id, decision=decision, decided_at=now, final_version=version)
    return get(tx, optimisation_id)


# attempts


def put_attempt(tx: Tx, optimisation_id: str, attempt: StoredAttempt) -> None:
    """Keep an attempt, in place of what was known of it before."""
    tx.run(
        "DELETE FROM attempts WHERE user_id = ? AND optimisation_id = ? AND number = ?",
        (tx.user, optimisation_id, attempt.number),
    )
    _ATTEMPTS.insert(tx, attempt, optimisation_id=optimisation_id)


def find_attempt(tx: Tx, optimisation_id: str, number: int) -> StoredAttempt | None:
    """One attempt, or None."""
    return _ATTEMPTS.one(tx, "AND optimisation_id = ? AND number = ?", optimisation_id, number)


def attempts(tx: Tx, optimisation_id: str) -> list[StoredAttempt]:
    """Every attempt of a run, in their order."""
    return _ATTEMPTS.all(tx, "AND optimisation_id = ? ORDER BY number", optimisation_id)


def drop_attempts(tx: Tx, optimisation_id: str, after: int) -> None:
    """Forget attempts beyond a number: a run that was taken up again went another way."""
    tx.run(
        "DELETE FROM attempts WHERE user_id = ? AND optimisation_id = ? AND number > ?",
        (tx.user, optimisation_id, after),
    )


# Rewritten prompts carry nothing over, as far as code can tell; forgetting reaches the rest of it.
forget_text(
    "optimisation",
    ("optimisations", "id", "final_text"),
    ("optimisations", "id", "message"),
    ("attempts", "optimisation_id || ' ' || number", "text"),
    ("attempts", "optimisation_id || ' ' || number", "note"),
)
