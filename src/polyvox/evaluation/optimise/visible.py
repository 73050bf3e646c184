"""The smallest change that a comparison can show, worked out before anything is spent.

Asked of the very test that decides, at its last look where there are two: fresh answers of both
prompts, as many in every context, all assertions on one answer rising and falling together. The
change lies around a half, where chance is largest, so wherever a change of that size begins, the
test calls it improved.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from polyvox.evaluation.optimise.decide import EARLY, LEVEL, Stratum, tail
from polyvox.evaluation.optimise.values import (
    Case,
    assertions_of,
    contexts_of,
    extent,
    many,
    most_answers,
)

WANTED = 0.2
"""The change that should be seen: from a half to seven tenths."""
MOST_ADDED = 50
STEPS = 20_000
"""Steps of working out a distribution exactly: for more, the normal one is close enough here."""


@dataclass(frozen=True, slots=True)
class VisibleChange:
    """The change of the pass rate that a comparison can show, in points of a hundred."""

    assertions: int
    contexts: int
    hidden: int
    """A change of so many points or fewer cannot be told from chance."""
    add: int
    """Contexts that should be added; 0: there are enough."""
    then: int
    """The smallest change in points that is seen with these."""
    message: str


def visible_change(cases: Sequence[Case], repeats: int) -> VisibleChange:
    """The change that these cases can show with so many answers of each prompt in each context, or
    more where there are few contexts."""
    assertions, contexts = len(assertions_of(cases)), len(contexts_of(cases))
    shown = smallest_change(contexts, repeats)
    enough = next(
        (more for more in range(MOST_ADDED) if smallest_change(contexts + more, repeats) <= WANTED),
        MOST_ADDED,
    )
    then = round(100 * smallest_change(contexts + enough, repeats))
    hidden = round(100 * shown) - 1
    message = f"{extent(cases)} can show a change of {then} points or more."
    if enough:
        message = (
            f"{extent(cases)} can show only a change of more than {hidden} points;"
            f" add {many(enough, 'context')} to see {then}."
        )
    return VisibleChange(assertions, contexts, hidden, enough, then, message)


@cache
def smallest_change(contexts: int, repeats: int) -> float:
    """The smallest difference of two pass rates that is called improved."""
    answers = most_answers(contexts, repeats)
    level = LEVEL - EARLY if answers > repeats else LEVEL
    total = contexts * answers

    def shown(lead: int) -> bool:
        return tail(_around_half(contexts, answers, lead), STEPS) <= level

    return (1 + bisect.bisect_left(range(1, total + 1), True, key=shown)) / total


def _around_half(contexts: int, answers: int, lead: int) -> list[Stratum]:
    """Answers of two prompts, the new one passing `lead` times more, evenly over the contexts."""
    old = (contexts * answers - lead) // 2
    halves = zip(*(_dealt(contexts, answers, passes) for passes in (old + lead, old)), strict=True)
    return [Stratum(new, before) for new, before in halves]


def _dealt(contexts: int, answers: int, passes: int) -> list[tuple[int, ...]]:
    each, rest = divmod(passes, contexts)
    counts = [each + (at < rest) for at in range(contexts)]
    return [(1,) * count + (0,) * (answers - count) for count in counts]
