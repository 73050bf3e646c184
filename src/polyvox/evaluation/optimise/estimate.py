"""The most that a run takes, before it begins: an upper bound, no forecast.

Counted are the calls of a run in which nothing is decided early: every attempt is scored with all
its repeats, on the chosen assertions and on the guards, and the winner is confirmed; where there
are few contexts, with more answers at a second look, and on questions in other words. A reply that
cannot be used and is asked for again is not counted. Each call is taken at its expected size: an
advisor's is as large as the request that it replays, and its answer as long as the one that the
assertions were drawn from. Spend is counted while the run goes on, and its budget is a hard cap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from polyvox.context.budget import estimate as tokens
from polyvox.errors import Invalid
from polyvox.evaluation import judge_prompt, reword
from polyvox.evaluation.contexts import Context
from polyvox.evaluation.judge_prompt import Subject
from polyvox.evaluation.optimise import rewrite
from polyvox.evaluation.optimise.plan import OptimisationRequest, Planned
from polyvox.evaluation.optimise.rewrite import Ask, Failing
from polyvox.evaluation.optimise.values import Case, assertions_of, contexts_of
from polyvox.evaluation.tables.optimisations import RunEstimate
from polyvox.events import NANO
from polyvox.models.registry import Models
from polyvox.models.wire import estimated_tokens
from polyvox.values import Usage

ANSWER_CHARS = 1_200
"""Length of an answer of which nothing is known."""
REASON_TOKENS = 60
"""Length of one verdict with its reason."""
EDIT_TOKENS = 120
"""Length of the reason and the additions of a rewrite."""


@dataclass(frozen=True, slots=True)
class PlannedCalls:
    """Calls of one size to one role."""

    role: str
    size: Usage
    search: int = 0
    confirmation: int = 0
    more: int = 0
    """Those that few contexts may need: a longer baseline, a second look."""

    @property
    def count(self) -> int:
        """All of them."""
        return self.search + self.confirmation + self.more


def estimate(models: Models, planned: Planned) -> RunEstimate:
    """Bound what this run takes, with the models and texts that it would use."""
    calls = list(_calls(models, planned))
    roles: Counter[str] = Counter()
    for each in calls:
        roles[each.role] += each.count
    whole = [(each.count, each.size) for each in calls]
    cost = _cost(whole)
    return RunEstimate(
        calls=dict(sorted(roles.items())),
        most_calls=roles.total(),
        input_tokens=sum(count * size.input_tokens for count, size in whole),
        output_tokens=sum(count * size.output_tokens for count, size in whole),
        cost=cost,
        most_cost=cost,
        confirmation=_cost((each.confirmation, each.size) for each in calls),
    )


def _calls(models: Models, planned: Planned) -> Iterator[PlannedCalls]:
    run, plan, places = planned.run, planned.plan, planned.places
    contexts = contexts_of((*plan.targets, *plan.guards))
    answers = {name: _answer(cases) for name, cases in contexts.items()}
    chosen = assertions_of(plan.targets)
    scored, fresh = (plan.iterations + 1) * plan.repeats, 2 * plan.confirmations
    longer = plan.most(plan.repeats) - plan.repeats
    second = 2 * plan.most(plan.confirmations) - fresh
    yield PlannedCalls("rewriter", _rewriting(models, planned, answers), plan.iterations)
    for name, cases in contexts.items():
        context, answer = places.contexts[name], answers[name]
        advisor = places.advisors.get(context.advisor_id)
        model = context.model_id or (advisor.model if advisor else None) or models.default
        size = _answering(models, model, context, answer)
        yield PlannedCalls("advisor", size, scored, fresh, longer + second)
        asked = reword.request(context.asked)
        used = Usage(estimated_tokens(asked), tokens(len(context.asked)))
        reworded = int(any(case.assertion.id in chosen for case in cases))
        yield PlannedCalls("judge", _priced(models, run.judge or run.optimizer, used), 0, reworded)
        subject = Subject(context.asked, answer)
        judged = [case.assertion for case in cases if case.assertion.kind == "judge"]
        targets = [assertion for assertion in judged if assertion.id in chosen]
        guards = [assertion for assertion in judged if assertion.id not in chosen]
        for assertions, counts in (
            (targets, (scored, 0, longer)),
            (guards, (scored, 0)),
            (judged, (0, fresh, second)),
        ):
            if assertions:
                length = judge_prompt.size(subject, judge_prompt.asked(subject, assertions, 0))
                used = Usage(length, REASON_TOKENS * len(assertions))
                yield PlannedCalls("judge", _priced(models, run.judge, used), *counts)


def _answering(models: Models, model: str, context: Context, answer: str) -> Usage:
    """Size of one call to the advisor."""
    longest = context.params.max_tokens or models.facts(model).max_tokens
    answered = tokens(len(answer))
    answered = answered if longest is None else min(answered, longest)
    return _priced(models, model, Usage(estimated_tokens(context.request()), answered))


def _rewriting(models: Models, planned: Planned, answers: Mapping[str, str]) -> Usage:
    """Size of one call to the rewriter, half of the assertions failing."""
    run, shown = planned.run, planned.plan.shown
    half = max(1, len(shown) // 2)
    reason = " " * REASON_TOKENS * 3
    failing = tuple(
        Failing(case.assertion.text, 1, 3, reason, case.question, answers[case.context])
        for case in shown[:half]
    )
    holding = tuple(case.assertion.text for case in shown[half:])
    contexts = [planned.places.contexts[name] for name in answers]
    around = rewrite.around_of(contexts, planned.plan.prompt.phase)
    ask = Ask(run.advisor_name, run.base_text, run.base_text, failing, holding, around=around)
    request = rewrite.request(ask, None)
    used = Usage(estimated_tokens(request), tokens(len(run.base_text)) + EDIT_TOKENS)
    return _priced(models, run.optimizer, used)


def _priced(models: Models, model: str, used: Usage) -> Usage:
    return replace(used, cost=models.cost(model, used))


def _cost(calls: Iterable[tuple[int, Usage]]) -> int | None:
    total = 0
    for count, size in calls:
        if count and size.cost is None:
            return None
        total += count * (size.cost or 0)
    return total


def _answer(cases: list[Case]) -> str:
    """The longest known answer in a context, or something as long as one."""
    sources = [case.assertion.source for case in cases]
    known = [source.answer for source in sources if source is not None and source.answer]
    return max(known, key=len, default=" " * ANSWER_CHARS)


def price_warnings(
    expected: RunEstimate, budget: int | None, wish: OptimisationRequest
) -> tuple[str, ...]:
    """Warn of a budget that is too small; one that somebody names must be one that can be kept."""
    if budget is None:
        return ()
    if expected.cost is None:
        if wish.budget is not None:
            raise Invalid(
                "The price of a model that would be asked is not known, so no budget can be kept.",
                "Leave the budget out, or choose models with known prices.",
                param="budget",
            )
        return ("The price of a model is not known: the budget covers only what is priced.",)
    named, needed = f"The budget of {budget / NANO:g} USD", expected.confirmation
    if needed is not None and budget < needed:
        missing = f"{needed / NANO:.4f} USD: nothing could be confirmed."
        return (f"{named} does not cover the confirmation, {missing}",)
    if budget < expected.cost:
        missing = f"the {expected.cost / NANO:.4f} USD that a run takes at most: it may try less."
        return (f"{named} is less than {missing}",)
    return ()
