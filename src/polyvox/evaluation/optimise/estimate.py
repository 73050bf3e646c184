"""How many calls a run makes and what they cost, before it begins.

The run is played through by the loop's own rules with assumed pass rates, a few dozen times; the
mean is the estimate. It is the estimate of a whole run: every iteration and the confirmation. A run
that ends earlier (all pass, nothing better) costs less. Rewrites are assumed to change nothing,
which is also what makes a run longest.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from polyvox.evaluation.optimise.score import hopeless, still_open
from polyvox.evaluation.optimise.values import FRESH, Case, Plan, Scores, Tally, contexts_of

PLAYS = 40
FEWEST = 4
ENOUGH = 4_000
"""Cases played through: more make the mean no better."""
UNKNOWN = 0.5
"""The pass rate of an assertion that nothing is known of."""
SEED = 7


@dataclass(frozen=True, slots=True)
class Call:
    """A kind of call: who is asked, in which context, about which assertions."""

    role: str
    """advisor, judge or rewriter."""
    context: str = ""
    assertions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Size:
    """What one call takes."""

    input_tokens: int
    output_tokens: int
    cost: int | None
    """Nano-dollars; None where the price is not known."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a whole run takes."""

    calls: Mapping[str, int]
    """By role."""
    most_calls: int
    """If nothing is decided early."""
    input_tokens: int
    output_tokens: int
    cost: int | None
    """Nano-dollars; None where a price is not known."""
    most_cost: int | None
    confirmation: int | None
    """The part of `cost` that the confirmation takes: the search leaves it over."""

    @property
    def total(self) -> int:
        """All calls."""
        return sum(self.calls.values())


def estimate(
    plan: Plan,
    size: Callable[[Call], Size],
    known: Mapping[str, float] | None = None,
    plays: int = PLAYS,
) -> Estimate:
    """What a run of this plan takes; `known` are pass rates by the case's key."""
    rates = known or {}
    cases = len(plan.targets) + len(plan.guards)
    plays = max(FEWEST, min(plays, ENOUGH // max(1, cases)))  # many cases differ little as a whole
    chance = random.Random(SEED)  # noqa: S311 - a simulation
    search: Counter[Call] = Counter()
    for _ in range(plays):
        search.update(_Play(plan, rates, chance).search())
    confirming = _Play(plan, rates, chance).confirmation()
    mean = {call: count / plays for call, count in search.items()}
    most = dict(_most(plan))
    sizes = {call: size(call) for call in {*mean, *confirming, *most}}
    every = {call: mean.get(call, 0) + confirming[call] for call in {*mean, *confirming}}
    roles: Counter[str] = Counter()
    for call, count in every.items():
        roles[call.role] += count  # type: ignore[assignment]  # a mean; rounded below
    return Estimate(
        calls={role: round(count) for role, count in sorted(roles.items())},
        most_calls=sum(most.values()) + confirming.total(),
        input_tokens=round(sum(sizes[call].input_tokens * n for call, n in every.items())),
        output_tokens=round(sum(sizes[call].output_tokens * n for call, n in every.items())),
        cost=_cost(every, sizes),
        most_cost=_sum(_cost(most, sizes), _cost(confirming, sizes)),
        confirmation=_cost(confirming, sizes),
    )


def _cost(calls: Mapping[Call, float], sizes: Mapping[Call, Size]) -> int | None:
    total = 0.0
    for call, count in calls.items():
        if (cost := sizes[call].cost) is None:
            return None
        total += cost * count
    return round(total)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _most(plan: Plan) -> Counter[Call]:
    """A search in which nothing is decided early and every attempt leads."""
    found: Counter[Call] = Counter()
    for prompt in range(plan.iterations + 1):
        play = _Play(plan, {}, random.Random(SEED))  # noqa: S311 - a simulation
        play.measured(prompt, plan.targets, every=True)
        play.measured(prompt, plan.guards, every=True)
        found.update(play.calls)
    found[Call("rewriter")] += plan.iterations
    return found


class _Play:
    """One run by chance."""

    def __init__(self, plan: Plan, rates: Mapping[str, float], chance: random.Random) -> None:
        self.plan = plan
        self.rates = rates
        self.chance = chance
        self.calls: Counter[Call] = Counter()
        self._asked: set[tuple[int, str, int]] = set()

    def search(self) -> Counter[Call]:
        """Baseline and every iteration."""
        plan, keys = self.plan, self.plan.keys
        best = self.measured(0, plan.targets, every=True)
        front = {key: best.rate(key) for key in keys}
        guarded = False
        for number in range(1, plan.iterations + 1):
            self.calls[Call("rewriter")] += 1
            scores = self.measured(number, plan.targets, reach=best.mean(keys), front=front)
            if not scores.whole:
                continue
            front = {key: max(front[key], scores.rate(key)) for key in keys}
            if scores.mean(keys) > best.mean(keys):
                best = scores
                if plan.guards:
                    if not guarded:
                        self.measured(0, plan.guards, every=True)
                        guarded = True
                    self.measured(number, plan.guards)
        return self.calls

    def confirmation(self) -> Counter[Call]:
        """Fresh answers of two prompts."""
        for prompt in (0, 1):
            self.measured(
                prompt,
                (*self.plan.targets, *self.plan.guards),
                every=True,
                first=FRESH,
                repeats=self.plan.confirmations,
            )
        return self.calls

    def measured(
        self,
        prompt: int,
        cases: Sequence[Case],
        *,
        every: bool = False,
        first: int = 0,
        repeats: int | None = None,
        reach: float | None = None,
        front: Mapping[str, float] | None = None,
    ) -> Scores:
        """As `scoring.measure`, with outcomes by chance; notes the calls that it takes."""
        repeats = repeats or self.plan.repeats
        contexts = contexts_of(cases)
        tallies = {case.key: Tally() for case in cases}
        for done in range(repeats):
            asked = list(contexts) if every else still_open(contexts, tallies, repeats)
            for context in asked:
                self._note(prompt, context, first + done, contexts[context])
                for case in contexts[context]:
                    passed = self.chance.random() < self.rates.get(case.key, UNKNOWN)
                    tallies[case.key] = tallies[case.key].plus("pass" if passed else "fail")
            if reach is not None:
                open_ = still_open(contexts, tallies, repeats)
                keys = frozenset(case.key for one in open_ for case in contexts[one])
                if hopeless(tallies, keys, repeats - done - 1, reach, front or {}):
                    return Scores(tallies, whole=False)
        return Scores(tallies)

    def _note(self, prompt: int, context: str, repeat: int, cases: Sequence[Case]) -> None:
        if (prompt, context, repeat) not in self._asked:
            self._asked.add((prompt, context, repeat))
            self.calls[Call("advisor", context)] += 1
        judged = tuple(case.assertion.id for case in cases if case.assertion.kind == "judge")
        if judged:
            self.calls[Call("judge", context, judged)] += 1
