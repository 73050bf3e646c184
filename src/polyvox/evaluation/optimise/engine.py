"""Engines search for a better prompt; the field is where they do it. Ours is the default.

An engine proposes, scores and records attempts; what its best one is worth is not for it to say:
the confirmation is the same for all of them (`loop`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from polyvox.evaluation.bench import Bench, Prompt
from polyvox.evaluation.optimise import guard, pareto
from polyvox.evaluation.optimise.rewrite import Ask, Failing, Proposal, Rewriter, allowed_by
from polyvox.evaluation.optimise.score import measure
from polyvox.evaluation.optimise.values import Attempt, Case, Plan, Scores, Seen, Stage

MOST_EARLIER = 3
EngineName = Literal["native", "gepa"]


class Watch(Protocol):
    """Whoever follows a run."""

    async def stage(self, stage: Stage, attempts: Sequence[Attempt], best: Attempt) -> None:
        """Where the run stands; called whenever that changes."""
        ...


class Nobody:
    """Follows nothing."""

    async def stage(self, stage: Stage, attempts: Sequence[Attempt], best: Attempt) -> None:
        """Nothing."""
        del stage, attempts, best


@dataclass(slots=True)
class Field:
    """What an engine works with."""

    plan: Plan
    bench: Bench
    rewriter: Rewriter
    watch: Watch
    baseline: Scores
    questions: Mapping[str, str]
    """What was asked in each context."""
    gate: asyncio.Semaphore
    attempts: list[Attempt] = field(default_factory=list)
    """Those that were made, the prompt as it was first."""
    _guarded: Scores | None = None

    @property
    def best(self) -> Attempt:
        """The best attempt up to now."""
        return pareto.best(self.attempts, self.plan.keys, self.baseline)

    def mean(self, attempt: Attempt) -> float:
        """What an attempt reached on the whole."""
        scores = attempt.scores
        return 0.0 if scores is None else scores.mean(self.plan.keys, self.baseline)

    async def record(self, attempt: Attempt) -> None:
        """Keep an attempt."""
        self.attempts.append(attempt)
        await self.watch.stage("search", self.attempts, self.best)

    async def propose(self, number: int, parent: Attempt, scores: Scores | None = None) -> Proposal:
        """A rewritten prompt from a parent and what was seen of it (`scores`: only that)."""
        seen = scores or parent.scores or Scores({})
        return await self.rewriter.rewrite(self._ask(parent, seen), number)

    async def score(
        self, prompt: Prompt, cases: Sequence[Case], front: Mapping[str, float] | None = None
    ) -> Scores:
        """What a prompt reaches in these cases; with a `front`, only as long as it may still be
        the best, on the whole or in one case."""
        return await measure(
            self.bench,
            prompt,
            cases,
            repeats=self.plan.repeats,
            reach=None if front is None else self.mean(self.best),
            front=front,
            gate=self.gate,
        )

    def front(self) -> dict[str, float]:
        """The best rate that was reached in each case."""
        scored = [one.scores for one in self.attempts if one.scores and one.state == "scored"]
        return {
            key: max(scores.rate(key, self.baseline.rate(key)) for scores in scored)
            for key in self.plan.keys
        }

    async def breaks(self, prompt: Prompt) -> str:
        """What of the advisor's other assertions this prompt breaks; empty: nothing."""
        guards = self.plan.guards
        if not guards:
            return ""
        if self._guarded is None:
            self._guarded = await measure(
                self.bench,
                self.plan.prompt,
                guards,
                repeats=self.plan.repeats,
                every=True,
                gate=self.gate,
            )
        new = await measure(self.bench, prompt, guards, repeats=self.plan.repeats, gate=self.gate)
        return guard.broken(guards, self._guarded, new)

    def _ask(self, parent: Attempt, scores: Scores) -> Ask:
        shown = [case for case in self.plan.shown if case.key in scores.tallies]
        seen = scores.seen
        failing = [case for case in shown if scores.rate(case.key) < 1.0]
        tried = {one.prompt.hash for one in self.attempts if one.prompt is not None}
        said = {one.text for one in seen if one.text}
        first = self.attempts[0].scores
        said |= {one.text for one in (first.seen if first else ()) if one.text}
        asked = {self.questions.get(case.context, "") for case in self.plan.targets}
        return Ask(
            advisor=self.plan.targets[0].assertion.advisor_name,
            prompt=parent.tried,
            original=self.plan.prompt.text,
            failing=tuple(self._failing(case, scores, seen) for case in failing),
            holding=tuple(
                dict.fromkeys(case.assertion.text for case in shown if scores.rate(case.key) == 1.0)
            ),
            earlier=self._earlier(parent),
            allowed=(
                self.plan.targets[0].assertion.advisor_name,
                *allowed_by([(case.assertion.text, case.assertion.args) for case in shown]),
            ),
            conversations=(*sorted(asked - {""}), *sorted(said)),
            tried=frozenset(tried),
        )

    def _earlier(self, parent: Attempt) -> tuple[tuple[str, float], ...]:
        """What was made of the same parent before: to be tried no second time."""
        made = [
            (one.prompt.text, one.scores.mean(self.plan.keys, self.baseline))
            for one in self.attempts
            if one.number and one.parent == parent.number and one.prompt and one.scores
        ]
        return tuple(made[-MOST_EARLIER:])

    def _failing(self, case: Case, scores: Scores, seen: Sequence[Seen]) -> Failing:
        tally = scores.tallies[case.key]
        failed = [one for one in seen if one.case == case.key and one.outcome == "fail"]
        example = failed[0] if failed else None
        return Failing(
            text=case.assertion.text,
            passes=tally.passes,
            of=tally.known,
            reason=example.reason if example else "",
            question=self.questions.get(case.context, ""),
            answer=example.text if example else "",
        )


class Engine(Protocol):
    """A way to search."""

    async def search(self, field: Field) -> None:
        """Make attempts and record them in the field, until the iterations are used up or
        everything passes."""
        ...


class Native:
    """Our own loop: one rewrite of a parent on the Pareto front in each iteration."""

    async def search(self, field: Field) -> None:
        """See `Engine`."""
        plan = field.plan
        for number in range(1, plan.iterations + 1):
            parent = pareto.parent(field.attempts, plan.keys, field.baseline, plan.seed, number)
            proposal = await field.propose(number, parent)
            if proposal.text is None:
                await field.record(
                    Attempt(number, parent.number, None, "refused", None, proposal.note)
                )
                continue
            prompt = Prompt(proposal.text, plan.prompt.target)
            made = await self._attempt(field, number, parent.number, prompt)
            await field.record(made)
            if made.state == "scored" and made.scores and made.scores.perfect(plan.keys):
                return

    async def _attempt(self, field: Field, number: int, parent: int, prompt: Prompt) -> Attempt:
        leading = field.mean(field.best)
        scores = await field.score(prompt, field.plan.targets, field.front())
        made = Attempt(number, parent, prompt, "scored", scores)
        if not scores.whole:
            return Attempt(number, parent, prompt, "hopeless", scores)
        if field.mean(made) > leading and (broken := await field.breaks(prompt)):
            return Attempt(number, parent, prompt, "guarded", scores, broken)
        return made
