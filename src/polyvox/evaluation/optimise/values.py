"""The nouns of an optimisation: case, tally, scores, attempt, plan. Frozen, no I/O.

A case is one assertion in one context. A tally counts what was found out about it; an error is
counted apart and moves no rate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from polyvox.errors import PolyvoxError
from polyvox.evaluation.replay import Prompt
from polyvox.evaluation.tables.assertions import Assertion
from polyvox.evaluation.tables.verdicts import Outcome

Ruling = Literal["improved", "not distinguishable", "regressed"]
Stage = Literal["baseline", "search", "confirmation"]
AttemptState = Literal["proposed", "scored", "hopeless", "guarded", "refused"]
"""Not tried yet; scored in full; stopped when it could not catch up any more; held back by a guard;
or its text was not taken."""

REPEATS = 3
CONFIRMATIONS = 5
ITERATIONS = 10
MORE = 7
"""Times the repeats: the fewest answers, of all contexts together, that decide in the end. It is
answers that count, for assertions on one answer rise and fall together; two looks, and assertions
that all rise and fall as one, need so many."""
PARALLEL = 4
"""Answers that are had and judged at once."""
FRESH = 100
"""The first repeat of a confirmation: none of the search's answers are among them."""


class Outage(PolyvoxError):
    """Nothing can be found out any more: the judge, or the advisor's model, is away."""

    code = "outage"
    status = 503


@dataclass(frozen=True, slots=True)
class Case:
    """One assertion in one context."""

    assertion: Assertion
    context: str
    """The hash of the stored context."""
    question: str = ""
    """The person's question there."""

    @property
    def key(self) -> str:
        """Names it within a run."""
        return f"{self.assertion.id}@{self.context}"


class Tally(msgspec.Struct, frozen=True):
    """Verdicts on one case, counted."""

    passes: int = 0
    fails: int = 0
    errors: int = 0

    @property
    def known(self) -> int:
        """Verdicts that are no errors."""
        return self.passes + self.fails

    @property
    def rate(self) -> float | None:
        """The part that passed; None where nothing was found out."""
        return self.passes / self.known if self.known else None

    def plus(self, outcome: Outcome) -> Tally:
        """One more."""
        return Tally(
            self.passes + (outcome == "pass"),
            self.fails + (outcome == "fail"),
            self.errors + (outcome == "error"),
        )


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """One answer and what was said of it, for whoever rewrites and whoever compares."""

    case: str
    repeat: int
    outcome: Outcome
    reason: str
    sample: str
    """Names the answer among the samples."""
    text: str


@dataclass(frozen=True, slots=True)
class Scores:
    """Tallies of one prompt, by the case's key."""

    tallies: Mapping[str, Tally]
    seen: tuple[JudgedAnswer, ...] = ()
    whole: bool = True
    """False: it was stopped before every case was decided."""

    def rate(self, key: str, otherwise: float = 0.0) -> float:
        """The rate of a case; `otherwise` where nothing is known of it."""
        rate = self.tallies.get(key, Tally()).rate
        return otherwise if rate is None else rate

    def mean(self, keys: Sequence[str], neutral: Scores | None = None) -> float:
        """The mean rate over these cases; one that is unknown counts as in `neutral`."""
        if not keys:
            return 0.0
        rates = [self.rate(key, neutral.rate(key) if neutral else 0.0) for key in keys]
        return sum(rates) / len(rates)

    def perfect(self, keys: Sequence[str]) -> bool:
        """True if every case passed whenever it was looked at."""
        return bool(keys) and all(self.rate(key) == 1.0 for key in keys)


UNKNOWN = Scores({})


@dataclass(frozen=True, slots=True)
class PromptAttempt:
    """One rewritten prompt and what became of it; number 0 is the prompt as it was."""

    number: int
    parent: int
    prompt: Prompt
    """Without text where it was refused."""
    state: AttemptState
    scores: Scores = UNKNOWN
    note: str = ""
    """The reason for refusing it or holding it back."""


@dataclass(frozen=True, slots=True)
class OptimisationPlan:
    """The plan of an optimisation."""

    prompt: Prompt
    targets: tuple[Case, ...]
    """The chosen assertions, each in its contexts."""
    guards: tuple[Case, ...] = ()
    """The advisor's other active assertions, for a phase those of all advisors that use it: they
    must not get worse."""
    holdouts: frozenset[str] = frozenset()
    """Ids of chosen assertions that the rewriter never sees."""
    iterations: int = ITERATIONS
    repeats: int = REPEATS
    confirmations: int = CONFIRMATIONS
    seed: int = 0
    parallel: int = PARALLEL

    @property
    def keys(self) -> tuple[str, ...]:
        """The targets' keys."""
        return tuple(case.key for case in self.targets)

    def most(self, repeats: int) -> int:
        """The most answers in each context: so many, or more where there are few contexts."""
        return most_answers(len(contexts_of(self.targets)) or 1, repeats)

    @property
    def guards_name(self) -> str:
        """The guards in words."""
        if self.prompt.phase is None:
            return "the advisor's other assertions"
        return "the other assertions of the advisors who use it"

    @property
    def shown(self) -> tuple[Case, ...]:
        """The targets that the rewriter may learn from."""
        return tuple(case for case in self.targets if case.assertion.id not in self.holdouts)


def most_answers(contexts: int, repeats: int) -> int:
    """The most answers in each of so many contexts."""
    return max(repeats, math.ceil(repeats * MORE / contexts))


def assertions_of(cases: Sequence[Case]) -> set[str]:
    """Ids of the assertions of these cases."""
    return {case.assertion.id for case in cases}


def many(number: int, what: str) -> str:
    """A number of things in words."""
    return f"{number} {what if number == 1 else what + 's'}"


def extent(cases: Sequence[Case]) -> str:
    """The size of a trial in words: 3 assertions in 1 context."""
    assertions, contexts = len(assertions_of(cases)), len(contexts_of(cases))
    return f"{many(assertions, 'assertion')} in {many(contexts, 'context')}"


def contexts_of(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """Cases by their context, in their order: one answer serves all of them."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.context, []).append(case)
    return groups
