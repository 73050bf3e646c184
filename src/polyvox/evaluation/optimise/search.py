"""The search for a better prompt: rewrite a parent on the Pareto front, score it, again.

The search proposes, scores and records attempts. It does not say what its best one is worth: the
confirmation with fresh answers does (`loop`).

Parents: for each case the attempt with the highest rate wins, of equal ones the newest. Only
winners become parents, each as likely as it wins cases, so that an attempt which alone passes one
assertion is not lost to one that is better on the whole. The choice is a function of the run's seed
and the number of the iteration: a run that is taken up again chooses the same.

Guards: an attempt that breaks what the advisor did right is no improvement. Two signs are taken: a
guard that always held never does now, or the guards together pass less often by the test that
decides in the end, at the same level.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from polyvox.evaluation.optimise.decide import LEVEL, chance, compare
from polyvox.evaluation.optimise.rewrite import Ask, Failing, Proposal, Rewriter, allowed_by
from polyvox.evaluation.optimise.score import measure
from polyvox.evaluation.optimise.values import Case, OptimisationPlan, PromptAttempt, Scores, Stage
from polyvox.evaluation.replay import Bench, Prompt

MOST_EARLIER = 3
Watch = Callable[[Stage, Sequence[PromptAttempt], PromptAttempt], Awaitable[None]]
"""Is told the stage, the attempts and the best of them whenever one of these changes."""


async def unwatched(stage: Stage, attempts: Sequence[PromptAttempt], best: PromptAttempt) -> None:
    """Follow nothing."""
    del stage, attempts, best


@dataclass(slots=True)
class Search:
    """One search: what it works with, and the attempts that it has made."""

    plan: OptimisationPlan
    bench: Bench
    rewriter: Rewriter
    watch: Watch
    baseline: Scores
    questions: Mapping[str, str]
    """The person's question in each context."""
    gate: asyncio.Semaphore
    attempts: list[PromptAttempt] = field(default_factory=list)
    """The prompt as it was comes first."""
    _guarded: Scores | None = None

    @property
    def best(self) -> PromptAttempt:
        """The best attempt up to now."""
        return best_of(self.attempts, self.plan.keys, self.baseline)

    def mean(self, attempt: PromptAttempt) -> float:
        """The mean pass rate of an attempt over the chosen cases."""
        scores = attempt.scores
        return 0.0 if scores is None else scores.mean(self.plan.keys, self.baseline)

    async def run(self) -> None:
        """Make attempts until the iterations are used up or everything passes."""
        for number in range(1, self.plan.iterations + 1):
            parent = choose_parent(
                self.attempts, self.plan.keys, self.baseline, self.plan.seed, number
            )
            proposal = await self.propose(number, parent)
            attempt = await self._tried(number, parent, proposal)
            self.attempts.append(attempt)
            await self.watch("search", self.attempts, self.best)
            scores = attempt.scores
            if attempt.state == "scored" and scores and scores.perfect(self.plan.keys):
                return

    async def propose(self, number: int, parent: PromptAttempt) -> Proposal:
        """Ask for a rewritten prompt, from a parent and what was seen of it."""
        return await self.rewriter.rewrite(self._ask(parent, parent.scores or Scores({})), number)

    async def _tried(self, number: int, parent: PromptAttempt, proposal: Proposal) -> PromptAttempt:
        if proposal.text is None:
            return PromptAttempt(number, parent.number, None, "refused", None, proposal.note)
        prompt = Prompt(proposal.text, self.plan.prompt.target)
        leading = self.mean(self.best)
        scores = await measure(
            self.bench,
            prompt,
            self.plan.targets,
            repeats=self.plan.repeats,
            reach=leading,
            front=self._front(),
            gate=self.gate,
        )
        attempt = PromptAttempt(number, parent.number, prompt, "scored", scores)
        if not scores.whole:
            return PromptAttempt(number, parent.number, prompt, "hopeless", scores)
        if self.mean(attempt) > leading and (broken := await self._broken(prompt)):
            return PromptAttempt(number, parent.number, prompt, "guarded", scores, broken)
        return attempt

    def _front(self) -> dict[str, float]:
        """The best rate that was reached in each case."""
        scored = [
            attempt.scores
            for attempt in self.attempts
            if attempt.scores and attempt.state == "scored"
        ]
        return {
            key: max(scores.rate(key, self.baseline.rate(key)) for scores in scored)
            for key in self.plan.keys
        }

    async def _broken(self, prompt: Prompt) -> str:
        """Say which of the advisor's other assertions this prompt breaks; empty: none."""
        guards, repeats = self.plan.guards, self.plan.repeats
        if not guards:
            return ""
        if self._guarded is None:
            self._guarded = await measure(
                self.bench, self.plan.prompt, guards, repeats=repeats, every=True, gate=self.gate
            )
        new = await measure(self.bench, prompt, guards, repeats=repeats, gate=self.gate)
        return broken_guard(guards, self._guarded, new)

    def _ask(self, parent: PromptAttempt, scores: Scores) -> Ask:
        shown = [case for case in self.plan.shown if case.key in scores.tallies]
        failing = [case for case in shown if scores.rate(case.key) < 1.0]
        tried = {attempt.prompt.hash for attempt in self.attempts if attempt.prompt is not None}
        first = self.attempts[0].scores
        answers = {seen.text for seen in (*scores.seen, *(first.seen if first else ()))}
        asked = {self.questions.get(case.context, "") for case in self.plan.targets}
        advisor = self.plan.targets[0].assertion.advisor_name
        return Ask(
            advisor=advisor,
            prompt=parent.tried,
            original=self.plan.prompt.text,
            failing=tuple(self._failing(case, scores) for case in failing),
            holding=tuple(
                dict.fromkeys(case.assertion.text for case in shown if scores.rate(case.key) == 1.0)
            ),
            earlier=self._earlier(parent),
            allowed=(
                advisor,
                *allowed_by([(case.assertion.text, case.assertion.args) for case in shown]),
            ),
            conversations=(*sorted(asked - {""}), *sorted(answers - {""})),
            tried=frozenset(tried),
        )

    def _earlier(self, parent: PromptAttempt) -> tuple[tuple[str, float], ...]:
        """Earlier rewrites of the same parent: not to be tried a second time."""
        made = [
            (attempt.prompt.text, attempt.scores.mean(self.plan.keys, self.baseline))
            for attempt in self.attempts
            if attempt.number
            and attempt.parent == parent.number
            and attempt.prompt
            and attempt.scores
        ]
        return tuple(made[-MOST_EARLIER:])

    def _failing(self, case: Case, scores: Scores) -> Failing:
        tally = scores.tallies[case.key]
        failed = (seen for seen in scores.seen if seen.case == case.key and seen.outcome == "fail")
        example = next(failed, None)
        return Failing(
            text=case.assertion.text,
            passes=tally.passes,
            of=tally.known,
            reason=example.reason if example else "",
            question=self.questions.get(case.context, ""),
            answer=example.text if example else "",
        )


def broken_guard(guards: Sequence[Case], old: Scores, new: Scores) -> str:
    """Say in a sentence what broke; empty where nothing did."""
    for guard in guards:
        before, after = old.tallies.get(guard.key), new.tallies.get(guard.key)
        if before is None or after is None or before.known < 2 or after.known < 2:
            continue
        if before.rate == 1.0 and after.rate == 0.0:
            return f"An assertion that always held does not any more: “{guard.assertion.text}”"
    compared = compare(guards, old, new)
    if compared.worse <= LEVEL:
        return (
            f"The advisor's other assertions pass less often: {compared.before:.0%} before,"
            f" {compared.after:.0%} after ({chance(compared.worse)})."
        )
    return ""


def wins(attempts: Sequence[PromptAttempt], keys: Sequence[str], baseline: Scores) -> Counter[int]:
    """Count the cases that each attempt wins, by its number."""
    counts: Counter[int] = Counter()
    for key in keys:
        winner = max(
            _scored(attempts), key=lambda pair: (pair[1].rate(key, baseline.rate(key)), pair[0])
        )
        counts[winner[0]] += 1
    return counts


def choose_parent(
    attempts: Sequence[PromptAttempt],
    keys: Sequence[str],
    baseline: Scores,
    seed: int,
    iteration: int,
) -> PromptAttempt:
    """Choose the attempt to rewrite in this iteration."""
    front = wins(attempts, keys, baseline)
    numbers = sorted(front)
    draw = random.Random(f"{seed}:{iteration}")  # noqa: S311 - a choice that can be made again
    number = draw.choices(numbers, [front[number] for number in numbers])[0]
    return next(attempt for attempt in attempts if attempt.number == number)


def best_of(
    attempts: Sequence[PromptAttempt], keys: Sequence[str], baseline: Scores
) -> PromptAttempt:
    """Find the attempt that passes most on the whole; of equal ones the oldest, which has been
    changed least. The prompt as it was (number 0) is among them."""
    number, _ = max(_scored(attempts), key=lambda pair: (pair[1].mean(keys, baseline), -pair[0]))
    return next(attempt for attempt in attempts if attempt.number == number)


def _scored(attempts: Sequence[PromptAttempt]) -> list[tuple[int, Scores]]:
    return [
        (attempt.number, attempt.scores)
        for attempt in attempts
        if attempt.scores is not None and attempt.state == "scored"
    ]
