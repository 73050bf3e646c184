"""The search for a better prompt, from its baseline to its ruling, over a bench and a rewriter.

Baseline first. Then attempts: rewrite a parent on the Pareto front, score it, again. Then, if an
attempt leads by enough to be worth it, the winner and the prompt as it was are run again freshly
and compared by one test. Best of ten is mostly noise, so nothing is called improved by the scores
it was chosen by.

Parents: for each case the attempt with the highest rate wins, of equal ones the newest. Only
winners become parents, each as likely as it wins cases, so that an attempt which alone passes one
assertion is not lost to one that is better on the whole.

Guards: an attempt that breaks what the advisor did right is no improvement. Two signs are taken: a
guard that always held never does now, or the guards together pass less often by the test that
decides in the end, at the same level.

Scoring a prompt: in every context an answer, judged, and again until it is decided, that is, until
most of its k repeats cannot turn out otherwise. A prompt that cannot catch up with the best one any
more is given up.

Invariant: given the run's seed and what bench and rewriter answer, every decision here is
determined, by outcomes alone and never by timing. A run that was killed is begun again from the
start and finds everything it had paid for.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from polyvox.errors import CapReached, Invalid, ModelError
from polyvox.evaluation.budget import together
from polyvox.evaluation.optimise.decide import EARLY, LEVEL, chance, compare, worth_confirming
from polyvox.evaluation.optimise.result import (
    Confirmation,
    OptimisationResult,
    all_passing,
    nothing_better,
    ruled,
    tried,
)
from polyvox.evaluation.optimise.rewrite import Ask, Failing, Rewrite, copied
from polyvox.evaluation.optimise.values import (
    FRESH,
    Case,
    JudgedAnswer,
    OptimisationPlan,
    Outage,
    PromptAttempt,
    Scores,
    Stage,
    Tally,
    contexts_of,
)
from polyvox.evaluation.replay import Bench, Prompt
from polyvox.evaluation.statistics import decided

MOST_EARLIER = 3
Watch = Callable[[Stage, Sequence[PromptAttempt], PromptAttempt], Awaitable[None]]
"""Is told the stage, the attempts and the best of them whenever one of these changes."""


async def unwatched(stage: Stage, attempts: Sequence[PromptAttempt], best: PromptAttempt) -> None:
    """Follow nothing."""
    del stage, attempts, best


async def optimise(
    plan: OptimisationPlan, bench: Bench, rewrite: Rewrite, watch: Watch = unwatched
) -> OptimisationResult:
    """Search for a better prompt and say what was found. Raises `Outage` where nothing can be
    found out any more."""
    scorer = Scorer(bench, asyncio.Semaphore(plan.parallel))
    start = PromptAttempt(0, 0, plan.prompt, "scored")
    await watch("baseline", [start], start)
    try:
        baseline = await scorer.measure(plan.prompt, plan.targets, plan.repeats, every=True)
        most = plan.most(plan.repeats)
        if most > plan.repeats and baseline.perfect(plan.keys):  # of few answers that may be luck
            baseline = await scorer.measure(plan.prompt, plan.targets, most, every=True)
    except CapReached as error:
        message = (
            f"Nothing is left to spend; not even the prompt as it is was scored. {error.message}"
        )
        return OptimisationResult("spent", message, (start,), start)
    start = replace(start, scores=baseline)
    judged = tuple(case for case in plan.targets if baseline.tallies[case.key].known)
    plan = replace(plan, targets=judged)
    if baseline.perfect(plan.keys):
        return OptimisationResult("passing", all_passing(plan), (start,), start)
    search = Search(plan, scorer, rewrite, watch, [start])
    await watch("search", search.attempts, start)
    cut = ""
    try:
        await search.run()
    except CapReached as error:
        cut = error.message
    return await _confirmed(search, cut)


async def _confirmed(search: Search, cut: str) -> OptimisationResult:
    """Compare the winner with the prompt as it was, on fresh answers. `cut` says why the search
    ended before its end."""
    plan, best, start = search.plan, search.best, search.attempts[0]
    before, after = search.mean(start), search.mean(best)
    made = tuple(search.attempts)
    if not worth_confirming(after - before, len(plan.targets) * plan.confirmations):
        if cut:
            message = f"{cut} No attempt was clearly better until then ({tried(made)})."
            return OptimisationResult("spent", message, made, start)
        message = nothing_better(made, before, after)
        return OptimisationResult("nothing better", message, made, best, "not distinguishable")
    await search.watch("confirmation", made, best)
    few, most = plan.confirmations, plan.most(plan.confirmations)
    try:
        fresh = await Fresh.of(search, best)
        confirmation = await fresh.compared(few, EARLY if most > few else LEVEL)
    except CapReached as error:
        message = (
            f"{error.message} The best attempt, number {best.number}, passed {after:.0%} where the"
            f" prompt as it was passed {before:.0%}, but nothing was left to confirm it."
        )
        return OptimisationResult("spent", message, made, best)
    if most > few and not confirmation.plain:
        try:
            confirmation = await fresh.compared(most, LEVEL - EARLY)
        except CapReached as error:
            cut = cut or error.message
    ruling, message = ruled(plan, confirmation)
    if cut:
        message = f"{message} {cut} The search ended there, after {tried(made)}."
    return OptimisationResult("confirmed", message, made, best, ruling, confirmation)


@dataclass(frozen=True, slots=True)
class Fresh:
    """Compares an attempt with the prompt as it was on fresh answers. Where it holds an assertion
    word for word, the questions are put in other words for that."""

    plan: OptimisationPlan
    best: Prompt
    scorer: Scorer
    copied: frozenset[str]
    reworded: bool

    @classmethod
    async def of(cls, search: Search, best: PromptAttempt) -> Fresh:
        """Have the questions put in other words, where that is needed."""
        plan, scorer = search.plan, search.scorer
        assertions = [case.assertion for case in plan.targets]
        pasted = copied(assertions, plan.prompt.text, best.prompt.text)
        asked = dict.fromkeys(c.context for c in plan.targets if c.assertion.id in pasted)
        bench = await scorer.bench.reworded(list(asked)) if pasted else None
        scorer = scorer if bench is None else replace(scorer, bench=bench)
        return cls(plan, best.prompt, scorer, pasted, bench is not None)

    async def compared(self, repeats: int, level: float) -> Confirmation:
        """The comparison by so many answers of each prompt in each context."""
        plan = self.plan
        cases = (*plan.targets, *plan.guards)
        old, new = await together(
            lambda prompt: self.scorer.measure(prompt, cases, repeats, first=FRESH, every=True),
            (plan.prompt, self.best),
        )
        compared = compare(plan.targets, old, new, level)
        guards = compare(plan.guards, old, new) if plan.guards else None
        texts = {c.assertion.text: None for c in plan.targets if c.assertion.id in self.copied}
        return Confirmation(old, new, compared, guards, repeats, tuple(texts), self.reworded)


@dataclass(slots=True)
class Search:
    """One search: what it works with, and the attempts that it has made."""

    plan: OptimisationPlan
    scorer: Scorer
    rewrite: Rewrite
    watch: Watch
    attempts: list[PromptAttempt]
    """By their numbers; the prompt as it was comes first."""
    _guarded: Scores | None = None

    @property
    def best(self) -> PromptAttempt:
        """The best attempt up to now."""
        return best_of(self.attempts, self.plan.keys)

    def mean(self, attempt: PromptAttempt) -> float:
        """The mean pass rate of an attempt over the chosen cases."""
        return attempt.scores.mean(self.plan.keys, self.attempts[0].scores)

    async def run(self) -> None:
        """Make attempts until the iterations are used up or everything passes."""
        for number in range(1, self.plan.iterations + 1):
            parent = choose_parent(self.attempts, self.plan.keys, self.plan.seed, number)
            proposal = await self.rewrite(self._ask(parent), number)
            prompt = Prompt(proposal.text or "", self.plan.prompt.target)
            attempt = PromptAttempt(number, parent.number, prompt, "refused", note=proposal.note)
            if proposal.text is not None:
                attempt = await self._tried(attempt)
            self.attempts.append(attempt)
            await self.watch("search", self.attempts, self.best)
            if attempt.state == "scored" and attempt.scores.perfect(self.plan.keys):
                return

    async def _tried(self, attempt: PromptAttempt) -> PromptAttempt:
        """An attempt with its scores."""
        plan, leading = self.plan, self.mean(self.best)
        baseline = self.attempts[0].scores
        scored = [other.scores for other in self.attempts if other.state == "scored"]
        front = {
            key: max(scores.rate(key, baseline.rate(key)) for scores in scored) for key in plan.keys
        }
        scores = await self.scorer.measure(
            attempt.prompt, plan.targets, plan.repeats, hurdle=Hurdle(leading, front)
        )
        attempt = replace(attempt, state="scored" if scores.whole else "hopeless", scores=scores)
        leads = scores.whole and self.mean(attempt) > leading
        if leads and (broken := await self._broken(attempt.prompt)):
            return replace(attempt, state="guarded", note=broken)
        return attempt

    async def _broken(self, prompt: Prompt) -> str:
        """Say which of the advisor's other assertions this prompt breaks; empty: none."""
        guards, repeats = self.plan.guards, self.plan.repeats
        if not guards:
            return ""
        if self._guarded is None:
            self._guarded = await self.scorer.measure(self.plan.prompt, guards, repeats, every=True)
        return broken_guard(
            self.plan, self._guarded, await self.scorer.measure(prompt, guards, repeats)
        )

    def _ask(self, parent: PromptAttempt) -> Ask:
        """The question to the rewriter, from a parent and what was seen of it."""
        scores = parent.scores
        shown = [case for case in self.plan.shown if case.key in scores.tallies]
        holding = [case.assertion.text for case in shown if scores.rate(case.key) == 1.0]
        earlier = [
            (attempt.prompt.text, self.mean(attempt))
            for attempt in self.attempts[1:]
            if attempt.parent == parent.number and attempt.state != "refused"
        ]
        answers = {seen.text for seen in (*scores.seen, *self.attempts[0].scores.seen)}
        allowed = [self.plan.targets[0].assertion.advisor_name]
        for case in shown:
            allowed += [case.assertion.text, *map(str, case.assertion.args.values())]
        return Ask(
            advisor=allowed[0],
            prompt=parent.prompt.text,
            original=self.plan.prompt.text,
            failing=tuple(_failing(case, scores) for case in shown if scores.rate(case.key) < 1.0),
            holding=tuple(dict.fromkeys(holding)),
            earlier=tuple(earlier[-MOST_EARLIER:]),
            allowed=tuple(allowed),
            conversations=tuple(sorted(answers - {""})),
            tried=frozenset(attempt.prompt.text for attempt in self.attempts),
        )


def _failing(case: Case, scores: Scores) -> Failing:
    tally = scores.tallies[case.key]
    failed = (seen for seen in scores.seen if seen.case == case.key and seen.outcome == "fail")
    example = next(failed, None)
    return Failing(
        text=case.assertion.text,
        passes=tally.passes,
        of=tally.known,
        reason=example.reason if example else "",
        question=case.question,
        answer=example.text if example else "",
    )


def broken_guard(plan: OptimisationPlan, old: Scores, new: Scores) -> str:
    """Say in a sentence what broke; empty where nothing did."""
    mine = plan.targets[0].assertion.advisor_id
    for guard in plan.guards:
        before, after = old.tallies.get(guard.key, Tally()), new.tallies.get(guard.key, Tally())
        if before.known > 1 and after.known > 1 and (before.rate, after.rate) == (1.0, 0.0):
            whose = guard.assertion.advisor_name
            of = "" if guard.assertion.advisor_id == mine else f" of {whose}"
            return f"An assertion{of} that always held does not any more: “{guard.assertion.text}”"
    compared = compare(plan.guards, old, new)
    if compared.worse <= LEVEL:
        return (
            f"{plan.guards_name.capitalize()} pass less often: {compared.before:.0%} before,"
            f" {compared.after:.0%} after ({chance(compared.worse)})."
        )
    return ""


def wins(attempts: Sequence[PromptAttempt], keys: Sequence[str]) -> Counter[int]:
    """Count the cases that each attempt wins, by its number."""
    baseline = attempts[0].scores
    scored = [attempt for attempt in attempts if attempt.state == "scored"]
    counts: Counter[int] = Counter()
    for key in keys:
        rates = [
            (attempt.scores.rate(key, baseline.rate(key)), attempt.number) for attempt in scored
        ]
        counts[max(rates)[1]] += 1
    return counts


def choose_parent(
    attempts: Sequence[PromptAttempt], keys: Sequence[str], seed: int, iteration: int
) -> PromptAttempt:
    """Choose the attempt to rewrite in this iteration."""
    front = wins(attempts, keys)
    numbers = sorted(front)
    draw = random.Random(f"{seed}:{iteration}")  # noqa: S311 - a choice that can be made again
    return attempts[draw.choices(numbers, [front[number] for number in numbers])[0]]


def best_of(attempts: Sequence[PromptAttempt], keys: Sequence[str]) -> PromptAttempt:
    """Find the attempt that passes most on the whole; of equal ones the oldest, which has been
    changed least. The prompt as it was (number 0) is among them."""
    baseline = attempts[0].scores
    scored = [attempt for attempt in attempts if attempt.state == "scored"]
    return max(scored, key=lambda attempt: attempt.scores.mean(keys, baseline))


Contexts = Mapping[str, Sequence[Case]]


@dataclass(frozen=True, slots=True)
class Hurdle:
    """The scores that a prompt must be able to beat."""

    mean: float
    front: Mapping[str, float]
    """The best rate of each case."""

    def hopeless(self, tallies: Mapping[str, Tally], undecided: frozenset[str], left: int) -> bool:
        """True if, with everything undecided passing from now on, the mean would still be below,
        and no case better than in the front."""
        most = []
        for key, tally in tallies.items():
            more = left if key in undecided else 0
            rate = (tally.passes + more) / max(1, tally.known + more)
            if rate > self.front[key]:
                return False
            most.append(rate)
        return sum(most) / len(most) < self.mean - 1e-9


@dataclass(frozen=True, slots=True)
class Scorer:
    """Scores prompts on a bench. The gate lets so many answers be under way, from being asked for
    until what was said of them is kept: no more can be lost."""

    bench: Bench
    gate: asyncio.Semaphore

    async def measure(
        self,
        prompt: Prompt,
        cases: Sequence[Case],
        repeats: int,
        *,
        first: int = 0,
        every: bool = False,
        hurdle: Hurdle | None = None,
    ) -> Scores:
        """Score a prompt on these cases. `every` asks all the repeats, decided or not; with a
        hurdle it is given up once it is hopeless. Raises `Outage` when a round tells nothing."""
        contexts = contexts_of(cases)
        tallies = {case.key: Tally() for case in cases}
        seen: list[JudgedAnswer] = []
        asked = list(contexts)
        for done in range(repeats):
            batches = await together(partial(self._judged, prompt, contexts, first + done), asked)
            news = [judged for batch in batches for judged in batch]
            for judged in news:
                tallies[judged.case] = tallies[judged.case].plus(judged.outcome)
            seen += news
            if all(judged.outcome == "error" for judged in news):
                raise Outage(
                    f"Nothing could be found out about any answer. {news[0].reason}",
                    "What was paid for is kept: resume the run when that is mended.",
                )
            undecided = _undecided(contexts, tallies, repeats)
            keys = frozenset(case.key for context in undecided for case in contexts[context])
            if hurdle is not None and hurdle.hopeless(tallies, keys, repeats - done - 1):
                return Scores(tallies, tuple(seen), whole=False)
            asked = asked if every else undecided
            if not asked:
                break
        return Scores(tallies, tuple(seen))

    async def _judged(
        self, prompt: Prompt, contexts: Contexts, repeat: int, context: str
    ) -> list[JudgedAnswer]:
        """One answer and what is said of it. An advisor that does not answer tells nothing."""
        cases = contexts[context]
        async with self.gate:
            try:
                about = await self.bench.sample(prompt, context, repeat)
            except (ModelError, Invalid) as error:
                reason = f"The advisor did not answer: {error.message} {error.hint}".strip()
                return [JudgedAnswer(case.key, repeat, "error", reason, "", "") for case in cases]
            judged = await self.bench.judge(about, [case.assertion for case in cases], repeat)
        text = about.text.answer if about.text else ""
        return [
            JudgedAnswer(case.key, repeat, verdict.outcome, verdict.reason, about.sample, text)
            for case, verdict in zip(cases, judged, strict=True)
        ]


def _undecided(contexts: Contexts, tallies: Mapping[str, Tally], repeats: int) -> list[str]:
    """The contexts in which something is undecided."""
    return [
        context
        for context, cases in contexts.items()
        if any(
            not decided(tallies[case.key].passes, tallies[case.key].fails, repeats)
            for case in cases
        )
    ]
