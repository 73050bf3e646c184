"""The most that a run takes, before it begins: an upper bound, no forecast.

Counted are the calls of a run in which nothing is decided early: every attempt is scored with all
its repeats, on the chosen assertions and on the guards, and the winner is confirmed. A reply that
cannot be used and is asked for again is not counted. Each call is taken at its expected size: an
advisor's is as large as the request that it replays, and its answer as long as the one that the
assertions were drawn from. Spend is counted while the run goes on, and its budget is a hard cap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from polyvox.context.budget import estimate as tokens
from polyvox.evaluation import judge_prompt
from polyvox.evaluation.judge_prompt import Subject
from polyvox.evaluation.optimise import rewrite
from polyvox.evaluation.optimise.plan import Prepared
from polyvox.evaluation.optimise.rewrite import Ask, Failing
from polyvox.evaluation.optimise.values import Case, OptimisationPlan, contexts_of
from polyvox.models.wire import estimated_tokens
from polyvox.resources import Resources
from polyvox.values import Usage

ANSWER_CHARS = 1_200
"""Length of an answer of which nothing is known."""
REASON_TOKENS = 60
"""Length of one verdict with its reason."""
EDIT_TOKENS = 120
"""Length of the reason and the additions of a rewrite."""


@dataclass(frozen=True, slots=True)
class CallKind:
    """A kind of call: who is asked, in which context, about which assertions."""

    role: str
    """advisor, judge or rewriter."""
    context: str = ""
    assertions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallSize:
    """Tokens and price of one call."""

    input_tokens: int
    output_tokens: int
    cost: int | None
    """Nano-dollars; None where the price is not known."""


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

    @property
    def total(self) -> int:
        """All calls."""
        return sum(self.calls.values())


def upper_bound(plan: OptimisationPlan, size: Callable[[CallKind], CallSize]) -> RunEstimate:
    """Sum up the calls of a run in which nothing is decided early."""
    search: Counter[CallKind] = Counter({CallKind("rewriter"): plan.iterations})
    confirmation: Counter[CallKind] = Counter()
    scored = (plan.iterations + 1) * plan.repeats
    fresh = 2 * plan.confirmations
    for context, cases in contexts_of((*plan.targets, *plan.guards)).items():
        search[CallKind("advisor", context)] += scored
        confirmation[CallKind("advisor", context)] += fresh
        for group in (plan.targets, plan.guards):
            if judged := _judged([case for case in cases if case in group]):
                search[CallKind("judge", context, judged)] += scored
        if judged := _judged(cases):
            confirmation[CallKind("judge", context, judged)] += fresh
    every = search + confirmation
    sizes = {kind: size(kind) for kind in every}
    roles: Counter[str] = Counter()
    for kind, count in every.items():
        roles[kind.role] += count
    cost = _cost(every, sizes)
    return RunEstimate(
        calls=dict(sorted(roles.items())),
        most_calls=every.total(),
        input_tokens=sum(sizes[kind].input_tokens * count for kind, count in every.items()),
        output_tokens=sum(sizes[kind].output_tokens * count for kind, count in every.items()),
        cost=cost,
        most_cost=cost,
        confirmation=_cost(confirmation, sizes),
    )


def _judged(cases: list[Case]) -> tuple[str, ...]:
    return tuple(case.assertion.id for case in cases if case.assertion.kind == "judge")


def _cost(calls: Mapping[CallKind, int], sizes: Mapping[CallKind, CallSize]) -> int | None:
    total = 0
    for kind, count in calls.items():
        if (cost := sizes[kind].cost) is None:
            return None
        total += cost * count
    return total


def estimate(resources: Resources, prepared: Prepared) -> RunEstimate:
    """Bound what this run takes, with the models and texts that it would use."""
    plan, contexts, models = prepared.plan, prepared.places.contexts, resources.models
    cases = contexts_of((*plan.targets, *plan.guards))

    def answer(context: str) -> str:
        """The longest known answer in a context, or something as long as one."""
        sources = (case.assertion.source for case in cases[context])
        known = [source.answer for source in sources if source is not None and source.answer]
        return max(known, key=len) if known else " " * ANSWER_CHARS

    answers = {context: answer(context) for context in cases}

    def priced(model: str, sent: int, answered: int) -> CallSize:
        cost = models.cost(model, Usage(sent, answered)) if model else 0
        return CallSize(sent, answered, cost)

    def failing(case: Case) -> Failing:
        question = contexts[case.context].asked
        reason = " " * REASON_TOKENS * 3
        return Failing(case.assertion.text, 1, 3, reason, question, answers[case.context])

    def size(kind: CallKind) -> CallSize:
        if kind.role == "rewriter":
            half = plan.shown[: max(1, len(plan.shown) // 2)]
            ask = Ask(
                prepared.advisor.name,
                plan.prompt,
                plan.prompt.text,
                tuple(failing(case) for case in half),
                tuple(case.assertion.text for case in plan.shown[len(half) :]),
            )
            sent = estimated_tokens(rewrite.request(ask, None))
            answered = tokens(len(plan.prompt.text)) + EDIT_TOKENS
            return priced(prepared.optimizer, sent, answered)
        context = contexts[kind.context]
        if kind.role == "advisor":
            model = context.model_id or prepared.advisor.model or models.default
            longest = context.params.max_tokens or models.facts(model).max_tokens
            answered = tokens(len(answers[kind.context]))
            answered = answered if longest is None else min(answered, longest)
            return priced(model, estimated_tokens(context.request()), answered)
        by_id = {case.assertion.id: case.assertion for case in cases[kind.context]}
        subject = Subject(context.asked, answers[kind.context])
        asked = judge_prompt.asked(subject, [by_id[name] for name in kind.assertions], 0)
        sent = judge_prompt.size(subject, asked)
        return priced(prepared.judge or "", sent, REASON_TOKENS * len(asked))

    return upper_bound(plan, size)
