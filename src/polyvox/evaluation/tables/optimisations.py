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
from polyvox.evaluation.tables.runs import UNDER_WAY, RunFacts, RunTable
from polyvox.memory.tables.redaction import TABLES
from polyvox.store.database import Tx
from polyvox.store.table import Table

OptimisationState = Literal["waiting", "running", "finished", "cancelled", "failed", "spent"]
Decision = Literal["", "accepted", "rejected", "rolled back"]


class StoredPlan(msgspec.Struct, frozen=True):
    """A plan by ids, versions and hashes."""

    targets: tuple[tuple[str, int, str], ...] = ()
    """(assertion, version, context); an empty context is the assertion's own question."""
    guards: tuple[tuple[str, int, str], ...] = ()
    holdouts: tuple[str, ...] = ()
    iterations: int = 0
    repeats: int = 0
    confirmations: int = 0
    seed: int = 0


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


NO_PLAN = StoredPlan()
NO_ESTIMATE = RunEstimate({}, 0, 0, 0, None, None, None)


@dataclass(frozen=True, slots=True)
class CaseFacts:
    """One assertion in one context of a run."""

    assertion_id: str
    number: int
    guard: bool
    holdout: bool
    confirmed: bool
    """True if the counts are of fresh answers; else they are the search's."""


@dataclass(frozen=True, slots=True)
class CaseResult(CaseFacts):
    """One assertion in one context, before and after."""

    context: str
    before: Tally | None
    after: Tally | None
    sample_before: str
    sample_after: str
    copied: bool = False
    """True if the new prompt holds the assertion word for word."""


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
class OptimisationFacts(RunFacts):
    """The part of an optimisation that is shown as it is stored."""

    advisor_id: str = ""
    advisor_name: str = ""
    target: str = "prompt"
    """`prompt`, or `phase:NAME`."""
    recipe: str = ""
    """The recipe whose phase it is; empty for the advisor's prompt."""
    engine: Literal["native", "gepa"] = "native"
    optimizer: str = ""
    """The model that rewrites."""
    state: OptimisationState = "waiting"
    stage: Literal["", "baseline", "search", "confirmation"] = ""
    iteration: int = 0
    iterations: int = 0
    best: int = 0
    """The number of the best attempt up to now; 0: the prompt as it was."""
    best_rate: float | None = None
    base_rate: float | None = None
    verdict: Ruling | None = None
    decision: Decision = ""
    base_version: str = ""
    """The prompt version that it began with; empty for a phase."""
    final_version: str = ""
    """The prompt version that accepting it made."""
    decided_at: int | None = None


@dataclass(frozen=True, slots=True)
class Optimisation(OptimisationFacts):
    """A run that looks for a better prompt."""

    plan: StoredPlan = NO_PLAN
    estimate: RunEstimate = NO_ESTIMATE
    budget: int | None = None
    """Nano-dollars that it may spend; None: no limit of its own."""
    spent: int = 0
    """Nano-dollars known to be spent."""
    base_text: str = ""
    final_text: str | None = None
    """The best attempt's prompt, where there is a better one."""
    results: OptimisationSummary | None = None


@dataclass(frozen=True, slots=True)
class AttemptFacts:
    """The part of an attempt that is shown as it is stored."""

    number: int
    parent: int = 0
    """The attempt that it was made from; 0: the prompt as it was."""
    text: str | None = None
    """None: what the rewriter gave was not taken; the note says why."""
    state: AttemptState = "proposed"
    note: str = ""
    rate: float | None = None
    """The mean over the chosen assertions; None where it was not scored in full."""
    created_at: int = 0


@dataclass(frozen=True, slots=True)
class StoredAttempt(AttemptFacts):
    """A rewritten prompt and what became of it."""

    ask_hash: str = ""
    """Names the question to the rewriter."""
    scores: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    """Passes, fails and errors by case."""
    spent: int = 0
    """Nano-dollars known to be spent on it."""


RUNS = RunTable("optimisations", Optimisation, "optimisation", "GET /api/optimizations")
_ATTEMPTS = Table("attempts", StoredAttempt)
add, get, start, spend, list_page = RUNS.insert, RUNS.get, RUNS.start, RUNS.spend, RUNS.page


def under_way(tx: Tx, advisor_id: str, target: str, recipe: str) -> Optimisation | None:
    """The run that is looking for the same prompt right now: a phase is shared by all advisors."""
    column, owner = ("recipe", recipe) if recipe else ("advisor_id", advisor_id)
    rest = f"AND target = ? AND {column} = ? {UNDER_WAY} ORDER BY created_at, id LIMIT 1"
    return RUNS.one(tx, rest, target, owner)


def decide(
    tx: Tx, optimisation_id: str, decision: Decision, now: int, version: str = ""
) -> Optimisation:
    """Note the decision; `version` is the prompt version that it made."""
    RUNS.change(tx, optimisation_id, decision=decision, decided_at=now, final_version=version)
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


# Rewritten prompts carry nothing over from conversations: a leak is refused when it is made.
TABLES.update({"optimisations", "attempts"})
