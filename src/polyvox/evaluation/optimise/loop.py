"""An optimisation from its baseline to its ruling, over a bench and a rewriter.

Baseline first; then the search; then, if an attempt leads by enough to be worth it, the
winner and the prompt as it was are run again freshly and compared by one test. Best of ten is
mostly noise, so nothing is called improved by the scores it was chosen by.

Invariant: given what bench and rewriter answer, every decision here is determined. A run that was
killed is begun again from the start and finds everything it had paid for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from polyvox.errors import CapReached
from polyvox.evaluation.budget import together
from polyvox.evaluation.optimise.decide import (
    LEVEL,
    Comparison,
    chance,
    compare,
    told,
    worth_confirming,
)
from polyvox.evaluation.optimise.rewrite import Rewriter
from polyvox.evaluation.optimise.score import measure
from polyvox.evaluation.optimise.search import Search, Watch, unwatched
from polyvox.evaluation.optimise.values import (
    FRESH,
    Case,
    OptimisationPlan,
    PromptAttempt,
    Ruling,
    Scores,
)
from polyvox.evaluation.replay import Bench

Ending = Literal["passing", "nothing better", "confirmed", "spent"]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Fresh answers of the winner and of the prompt as it was."""

    before: Scores
    after: Scores
    compared: Comparison
    guards: Comparison | None


@dataclass(frozen=True, slots=True)
class OptimisationResult:
    """The result of a run."""

    ending: Ending
    ruling: Ruling | None
    """None: there was nothing to rule on, or no money left to."""
    message: str
    baseline: Scores
    attempts: tuple[PromptAttempt, ...]
    """The prompt as it was is number 0."""
    best: PromptAttempt
    confirmation: Confirmation | None = None
    unjudged: tuple[str, ...] = ()
    """Keys of cases about which nothing could be found out."""

    @property
    def iterations(self) -> int:
        """Attempts that were made."""
        return len(self.attempts) - 1


async def optimise(
    plan: OptimisationPlan,
    bench: Bench,
    rewriter: Rewriter,
    watch: Watch = unwatched,
    questions: Mapping[str, str] | None = None,
) -> OptimisationResult:
    """Search for a better prompt and say what was found. Raises `Outage` where nothing can be
    found out any more."""
    gate = asyncio.Semaphore(plan.parallel)
    start = PromptAttempt(0, 0, plan.prompt, "scored", Scores({}))
    await watch("baseline", [start], start)
    try:
        baseline = await measure(
            bench, plan.prompt, plan.targets, repeats=plan.repeats, every=True, gate=gate
        )
    except CapReached as error:
        message = (
            f"Nothing is left to spend; not even the prompt as it is was scored. {error.message}"
        )
        return OptimisationResult("spent", None, message, Scores({}), (start,), start)
    dumb = tuple(key for key in plan.keys if baseline.tallies[key].rate is None)
    plan = replace(plan, targets=tuple(case for case in plan.targets if case.key not in dumb))
    start = replace(start, scores=baseline)
    if baseline.perfect(plan.keys):
        return OptimisationResult(
            "passing", None, _passing(plan), baseline, (start,), start, unjudged=dumb
        )
    search = Search(plan, bench, rewriter, watch, baseline, questions or {}, gate, [start])
    await watch("search", search.attempts, start)
    cut = ""
    try:
        await search.run()
    except CapReached as error:
        cut = error.message
    result = await _confirmed(search, cut)
    return replace(result, unjudged=dumb)


async def _confirmed(search: Search, cut: str) -> OptimisationResult:
    plan, best, start = search.plan, search.best, search.attempts[0]
    before, after = search.mean(start), search.mean(best)
    made = tuple(search.attempts)
    if not worth_confirming(after - before, len(plan.targets) * plan.confirmations):
        if cut:
            message = f"{cut} No attempt was clearly better until then ({_tried(made)})."
            return OptimisationResult("spent", None, message, search.baseline, made, start)
        message = _nothing_better(made, before, after)
        ruling: Ruling = "not distinguishable"
        return OptimisationResult("nothing better", ruling, message, search.baseline, made, best)
    await search.watch("confirmation", search.attempts, best)
    cases = (*plan.targets, *plan.guards)
    try:
        old, new = await together(
            lambda prompt: measure(
                search.bench,
                prompt,
                cases,
                repeats=plan.confirmations,
                first=FRESH,
                every=True,
                gate=search.gate,
            ),
            (plan.prompt, best.tried),
        )
    except CapReached as error:
        message = (
            f"{error.message} The best attempt, number {best.number}, passed {after:.0%} where the"
            f" prompt as it was passed {before:.0%}, but nothing was left to confirm it."
        )
        return OptimisationResult("spent", None, message, search.baseline, made, best)
    compared = compare(plan.targets, old, new)
    guards = compare(plan.guards, old, new) if plan.guards else None
    confirmation = Confirmation(old, new, compared, guards)
    ruling, message = _ruled(plan, confirmation)
    if cut:
        message = f"{message} {cut} The search ended there, after {_tried(made)}."
    return OptimisationResult(
        "confirmed", ruling, message, search.baseline, made, best, confirmation
    )


def _ruled(plan: OptimisationPlan, confirmation: Confirmation) -> tuple[Ruling, str]:
    """The ruling in a word and in sentences."""
    compared, guards = confirmation.compared, confirmation.guards
    ruling = compared.ruling
    message = told(compared, len(plan.targets), plan.confirmations)
    if guards is not None and guards.worse <= LEVEL:
        ruling = "regressed"
        message = (
            f"Regressed: the advisor's other assertions pass less often, {guards.before:.0%} before"
            f" and {guards.after:.0%} after ({chance(guards.worse)}). The chosen ones:"
            f" {compared.before:.0%} before, {compared.after:.0%} after."
        )
    held = [case for case in plan.targets if case.assertion.id in plan.holdouts]
    if held:
        old, new = _means(held, confirmation)
        message += (
            f" Of these, the rewriter never saw {len(held)}: {old:.0%} before, {new:.0%} after."
        )
    if ruling == "improved" and not confirmation.after.perfect(plan.keys):
        message += " Not everything passes: this is the best attempt, no perfect one."
    return ruling, message


def _means(cases: list[Case], confirmation: Confirmation) -> tuple[float, float]:
    keys = [case.key for case in cases]
    return confirmation.before.mean(keys), confirmation.after.mean(keys)


def _passing(plan: OptimisationPlan) -> str:
    count = len({case.assertion.id for case in plan.targets})
    if count == 1:
        return (
            f"The assertion passes already, {plan.repeats} times of {plan.repeats}: nothing to do."
        )
    return (
        f"All {count} assertions pass already, each {plan.repeats} times of {plan.repeats}:"
        " there is nothing to improve."
    )


def _nothing_better(made: tuple[PromptAttempt, ...], before: float, after: float) -> str:
    refused = [attempt for attempt in made if attempt.state == "refused"]
    if len(made) > 1 and len(refused) == len(made) - 1:
        return f"None of {_tried(made)} could be used. The last one: {refused[-1].note}"
    return (
        f"None of {_tried(made)} did clearly better than the prompt as it was: {before:.0%} before,"
        f" {after:.0%} at best. A difference this small could not be confirmed."
    )


def _tried(made: tuple[PromptAttempt, ...]) -> str:
    count = len(made) - 1
    return "1 attempt" if count == 1 else f"{count} attempts"
