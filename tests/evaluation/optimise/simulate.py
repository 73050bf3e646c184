"""A simulated advisor and judge with set probabilities: what the statistics are measured with.

Every outcome is a function of the seed and of what is asked, as with the real bench: the same
sample of one run is the same, whenever and in whichever order it is asked for.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from polyvox.errors import CapReached
from polyvox.evaluation.judge_prompt import Subject
from polyvox.evaluation.optimise.rewrite import Ask, Proposal
from polyvox.evaluation.optimise.values import Case, OptimisationPlan
from polyvox.evaluation.replay import JudgedText, Prompt
from polyvox.evaluation.tables.assertions import Assertion, AssertionSource
from polyvox.evaluation.tables.verdicts import Judged
from polyvox.values import Usage

Rates = Callable[[Prompt, str], float]
"""The probability that an answer to this prompt meets the assertion of this id."""
ORIGINAL = Prompt("as it was")


@dataclass(slots=True)
class SimulatedBench:
    """Answers and verdicts by chance."""

    rates: Rates
    seed: int
    together: float = 0.0
    """The part of answers on which all assertions stand or fall together."""
    tokens: tuple[int, int] = (1_000, 300)
    """Of an advisor's call, on average; a judge's are as many."""
    most_calls: int | None = None
    """Beyond this many nothing may be spent."""
    judge_down_after: int | None = None
    calls: Counter[str] = field(default_factory=Counter)
    tokens_used: Counter[str] = field(default_factory=Counter)
    _kept: set[tuple[str, ...]] = field(default_factory=set)

    async def sample(self, prompt: Prompt, context_hash: str, repeat: int) -> JudgedText:
        """An answer."""
        key = f"{prompt.hash}/{context_hash}/{repeat}"
        self._pay("advisor", ("advisor", key))
        text = Subject("", prompt.text)
        return JudgedText(key, None, prompt.hash, context_hash, "simulated:advisor", text)

    async def judge(
        self, about: JudgedText, assertions: Sequence[Assertion], repeat: int
    ) -> list[Judged]:
        """Verdicts on it."""
        assert about.text is not None
        del repeat  # the sample is another one in each
        down = self.judge_down_after
        if down is not None and self.calls["judge"] >= down:
            return [Judged(one.id, one.number, "The judge is away.", "error") for one in assertions]
        self._pay("judge", ("judge", about.sample, *(one.id for one in assertions)))
        shared = self._chance(about.sample, "shared")
        joined = self._chance(about.sample, "joined") < self.together
        found = []
        for one in assertions:
            drawn = shared if joined else self._chance(about.sample, one.id)
            passed = drawn < self.rates(Prompt(about.text.answer), one.id)
            reason = "It does." if passed else "It does not."
            found.append(Judged(one.id, one.number, reason, "pass" if passed else "fail"))
        return found

    async def reworded(self, contexts: Sequence[str]) -> SimulatedBench | None:
        """Words make no difference here."""
        return self if contexts else None

    def _chance(self, *about: str) -> float:
        drawn = hashlib.blake2b(f"{self.seed}/{'/'.join(about)}".encode(), digest_size=8)
        return int.from_bytes(drawn.digest()) / 2**64

    def _pay(self, who: str, what: tuple[str, ...]) -> None:
        if what in self._kept:
            return
        if self.most_calls is not None and self.calls.total() >= self.most_calls:
            raise CapReached("The budget of this simulation is spent.")
        self._kept.add(what)
        self.calls[who] += 1
        for kind, mean in zip(("input", "output"), self.tokens, strict=True):
            self.tokens_used[f"{who} {kind}"] += round(mean * (0.7 + 0.6 * self._chance(*what)))


@dataclass(slots=True)
class SimulatedRewriter:
    """Proposes a new text each time."""

    bench: SimulatedBench
    usage: Usage = field(default_factory=lambda: Usage(0, 0))
    asked: list[Ask] = field(default_factory=list)

    async def rewrite(self, ask: Ask, number: int) -> Proposal:
        """Another text."""
        self.asked.append(ask)
        self.bench.calls["rewriter"] += 1
        return Proposal(f"{ask.prompt} +{number}")


def simulated_plan(
    assertions: int = 5,
    *,
    contexts: int | None = None,
    guards: int = 0,
    iterations: int = 10,
    seed: int = 0,
) -> OptimisationPlan:
    """A plan over assertions, each in a context of its own unless there are fewer."""
    places = contexts or assertions
    cases = tuple(_case(f"a{n}", f"c{n % places}") for n in range(assertions))
    watched = tuple(_case(f"g{n}", f"c{n % places}") for n in range(guards))
    return OptimisationPlan(ORIGINAL, cases, watched, iterations=iterations, seed=seed)


def _case(name: str, context: str) -> Case:
    source = AssertionSource("answer", "conversation", "turn", "asked", "answered", context)
    return Case(Assertion(name, "advisor", "Advisor", 1, f"It is {name}.", source=source), context)


def unchanged(base: float | Sequence[float]) -> Rates:
    """No prompt changes anything."""
    return changed(base, base)


def changed(base: float | Sequence[float], new: float | Sequence[float], since: int = 1) -> Rates:
    """Prompts from attempt `since` on reach other rates than the one as it was."""

    def rate(prompt: Prompt, assertion: str) -> float:
        steps = [int(one) for one in prompt.text.split(" +")[1:]]
        rates = new if steps and max(steps) >= since else base
        return rates if isinstance(rates, float) else rates[int(assertion[1:])]

    return rate
