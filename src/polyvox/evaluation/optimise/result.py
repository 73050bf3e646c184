"""Results of an optimisation: in a word, in sentences, and in numbers.

Stored are ids, numbers and names of samples; texts are read where they are kept, so what was
forgotten there is gone here too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from polyvox.evaluation.optimise.decide import LEVEL, Comparison, chance, told
from polyvox.evaluation.optimise.rewrite import copied
from polyvox.evaluation.optimise.values import (
    UNKNOWN,
    OptimisationPlan,
    PromptAttempt,
    Ruling,
    Scores,
    assertions_of,
    many,
)
from polyvox.evaluation.tables.optimisations import CaseResult, OptimisationSummary

Ending = Literal["passing", "nothing better", "confirmed", "spent"]
Attempts = Sequence[PromptAttempt]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Fresh answers of the winner and of the prompt as it was."""

    before: Scores
    after: Scores
    compared: Comparison
    guards: Comparison | None
    answers: int
    """Fresh answers of each prompt in each context."""
    copied: tuple[str, ...] = ()
    """Assertions that the new prompt holds word for word."""
    reworded: bool = False
    """True if these were tried on the person's questions in other words."""

    @property
    def plain(self) -> bool:
        """True if more answers are not needed to tell."""
        broken = self.guards is not None and self.guards.worse <= LEVEL
        return broken or self.compared.ruling != "not distinguishable"


@dataclass(frozen=True, slots=True)
class OptimisationResult:
    """The result of a run."""

    ending: Ending
    message: str
    attempts: tuple[PromptAttempt, ...]
    """The prompt as it was is number 0."""
    best: PromptAttempt
    ruling: Ruling | None = None
    """None: there was nothing to rule on, or no money left to."""
    confirmation: Confirmation | None = None


def ruled(plan: OptimisationPlan, confirmation: Confirmation) -> tuple[Ruling, str]:
    """The ruling in a word and in sentences."""
    compared, guards = confirmation.compared, confirmation.guards
    ruling = compared.ruling
    message = told(compared, plan.targets, confirmation.answers)
    if guards is not None and guards.worse <= LEVEL:
        ruling = "regressed"
        message = (
            f"Regressed: {plan.guards_name} pass less often, {guards.before:.0%} before"
            f" and {guards.after:.0%} after ({chance(guards.worse)}). The chosen ones:"
            f" {compared.before:.0%} before, {compared.after:.0%} after."
        )
    if confirmation.copied:
        texts = ", ".join(f"“{text}”" for text in confirmation.copied)
        named = f"Copied from the assertion into the prompt, word for word: {texts}."
        if confirmation.reworded:
            message += f" {named} This was tried on the questions in other words."
        elif ruling == "improved":
            ruling = "not distinguishable"
            message = (
                f"{named} Nobody could put the questions in other words to try it on, so it is not"
                f" shown to be better: {compared.before:.0%} before, {compared.after:.0%} after."
            )
    held = [case for case in plan.targets if case.assertion.id in plan.holdouts]
    if held:
        keys = [case.key for case in held]
        old, new = confirmation.before.mean(keys), confirmation.after.mean(keys)
        unseen = len(assertions_of(held))
        message += f" Of these, the rewriter never saw {unseen}: {old:.0%} before, {new:.0%} after."
    if ruling == "improved" and not confirmation.after.perfect(plan.keys):
        message += " Not everything passes: this is the best attempt, no perfect one."
    return ruling, message


def all_passing(plan: OptimisationPlan) -> str:
    """Say that there is nothing to improve."""
    count, times = len(assertions_of(plan.targets)), plan.most(plan.repeats)
    if count == 1:
        return f"The assertion passes already, {times} times of {times}: nothing to do."
    return (
        f"All {count} assertions pass already, each {times} times of {times}:"
        " there is nothing to improve."
    )


def nothing_better(made: Attempts, before: float, after: float) -> str:
    """Say that no attempt is clearly better."""
    refused = [attempt for attempt in made if attempt.state == "refused"]
    if len(made) > 1 and len(refused) == len(made) - 1:
        return f"None of {tried(made)} could be used. The last one: {refused[-1].note}"
    worse = f"None of {tried(made)} did clearly better than the prompt as it was:"
    tallies = [tally for attempt in made for tally in attempt.scores.tallies.values()]
    if not any(tally.passes for tally in tallies):
        return (
            f"{worse} no attempt passed. Look at the answers: perhaps no prompt of this advisor can"
            " do what the assertions ask, or they ask for something else than you meant."
        )
    return (
        f"{worse} {before:.0%} before,"
        f" {after:.0%} at best. A difference this small could not be confirmed."
    )


def tried(made: Attempts) -> str:
    """Count the attempts in words."""
    return many(len(made) - 1, "attempt")


def summarise(plan: OptimisationPlan, result: OptimisationResult) -> OptimisationSummary:
    """Sum up a result, in ids and numbers."""
    fresh = result.confirmation
    if fresh:
        old, new, cases = fresh.before, fresh.after, (*plan.targets, *plan.guards)
    else:
        old, cases = result.attempts[0].scores, plan.targets
        new = result.best.scores if result.best.number else UNKNOWN
    chosen = assertions_of(plan.targets)
    pasted: frozenset[str] = frozenset()
    if result.best.number:
        assertions = [case.assertion for case in plan.targets]
        pasted = copied(assertions, plan.prompt.text, result.best.prompt.text)
    compared, guards = (fresh.compared, fresh.guards) if fresh else (None, None)
    return OptimisationSummary(
        before=compared.before if compared else _mean(old, plan.keys),
        after=compared.after if compared else _mean(new, plan.keys),
        p_better=compared.better if compared else None,
        p_worse=compared.worse if compared else None,
        guards_before=guards.before if guards else None,
        guards_after=guards.after if guards else None,
        guards_p_worse=guards.worse if guards else None,
        rows=tuple(
            CaseResult(
                assertion_id=case.assertion.id,
                number=case.assertion.number,
                context=case.context,
                guard=case.assertion.id not in chosen,
                holdout=case.assertion.id in plan.holdouts,
                confirmed=fresh is not None,
                before=old.tallies.get(case.key),
                after=new.tallies.get(case.key),
                # two answers that show the difference
                sample_before=_sample(case.key, old, "fail"),
                sample_after=_sample(case.key, new, "pass"),
                copied=case.assertion.id in pasted,
            )
            for case in cases
        ),
        improved=sum(_improved(plan, assertion_id, old, new) for assertion_id in chosen),
        assertions=len(chosen),
        success=result.ending == "passing" or (fresh is not None and new.perfect(plan.keys)),
    )


def known(scores: Scores, keys: Sequence[str]) -> list[str]:
    """Those of the cases about which something was found out."""
    return [key for key in keys if key in scores.tallies and scores.tallies[key].known]


def _mean(scores: Scores, keys: Sequence[str]) -> float | None:
    judged = known(scores, keys)
    return scores.mean(judged) if judged else None


def _improved(plan: OptimisationPlan, assertion_id: str, old: Scores, new: Scores) -> bool:
    keys = [case.key for case in plan.targets if case.assertion.id == assertion_id]
    judged = known(old, keys)
    return new.mean(judged, old) > old.mean(judged)


def _sample(key: str, scores: Scores, liked: str) -> str:
    seen = [answer for answer in scores.seen if answer.case == key and answer.sample]
    seen.sort(key=lambda answer: answer.outcome != liked)
    return seen[0].sample if seen else ""
