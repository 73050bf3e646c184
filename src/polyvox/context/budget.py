"""The budget: how much may be sent, and the order in which things are given up when it is more.

Sizes are estimates: characters / 4, rounded up, per message. A limit in characters is
held against that estimate itself; a limit in tokens and the model's window are held against the
estimate times the ratio learned for the model. All of them come down to one number of estimated
tokens, the allowance, so a changed ratio moves the allowance and nothing else.

Once the allowance is passed, history is trimmed to a low-water mark below it and the cut is
remembered: later turns keep it while they fit, so the beginning of the request stays the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from polyvox.errors import ContextTooLong, Invalid
from polyvox.models.base import ModelFacts
from polyvox.settings import Limits
from polyvox.values import Params

CHARS_PER_TOKEN = 4
REFILL = 0.9
"""A remembered cut is widened when no more than this part of the low-water mark is in use: less
is not worth a new beginning, which no provider has in its cache."""
RATIOS = (0.1, 10.0)


def estimate(chars: int) -> int:
    """Estimated tokens of one message."""
    return (chars + CHARS_PER_TOKEN - 1) // CHARS_PER_TOKEN


def sane_ratio(ratio: float) -> float:
    """A ratio that can be calculated with."""
    if not math.isfinite(ratio) or ratio <= 0:
        return 1.0
    return min(max(ratio, RATIOS[0]), RATIOS[1])


@dataclass(frozen=True, slots=True)
class ContextLimit:
    """A size with its unit."""

    amount: int
    unit: Literal["chars", "tokens"]

    @classmethod
    def parse(cls, text: str) -> ContextLimit:
        """A limit as people write it: "150000 chars" or "32000 tokens"."""
        match = re.fullmatch(r"\s*(\d[\d_]*)\s*(chars|tokens)\s*", text)
        if match is None or int(match[1]) == 0:
            raise Invalid(
                f"{text!r} is not a limit.",
                'Write a number with its unit, such as "150000 chars" or "32000 tokens".',
                param="context",
            )
        return cls(int(match[1]), "chars" if match[2] == "chars" else "tokens")

    def __str__(self) -> str:
        return f"{self.amount} {self.unit}"


@dataclass(frozen=True, slots=True)
class Allowance:
    """The size that may be sent, in uncorrected estimated tokens, and the rule that number comes
    from."""

    tokens: int
    limit: str
    window: int | None
    answer: int
    by_window: bool
    """True if the model's window binds, rather than the limit."""

    @classmethod
    def of(cls, limit: ContextLimit, window: int | None, answer: int, ratio: float) -> Allowance:
        """The smaller of the limit and the model's window less the longest answer."""
        ratio = sane_ratio(ratio)
        asked = (
            limit.amount // CHARS_PER_TOKEN
            if limit.unit == "chars"
            else math.floor(limit.amount / ratio)
        )
        if window is None:
            return cls(asked, str(limit), None, answer, by_window=False)
        fits = max(0, math.floor((window - answer) / ratio))
        return cls(min(asked, fits), str(limit), window, answer, by_window=fits < asked)

    @property
    def chars(self) -> int:
        """Characters that could fit at the very most: as far as history need be read."""
        return self.tokens * CHARS_PER_TOKEN


def allowance_for(
    limits: Limits, facts: ModelFacts, params: Params, ratio: float = 1.0, context: str = ""
) -> Allowance:
    """The size that this model may be sent; its `chars` say how far history need be read. `context`
    is a recipe's own limit, in place of the general one. Thinking counts as part of the answer."""
    answer = params.max_tokens or facts.max_tokens or limits.max_tokens
    limit = ContextLimit.parse(context or limits.context)
    return Allowance.of(limit, facts.window, answer + (params.reasoning or 0), ratio)


class TooLong(ContextTooLong):
    """The part that can never be dropped does not fit by itself. No model was asked."""

    status = 422

    def __init__(
        self,
        size: int,
        allowance: Allowance,
        ratio: float,
        what: str = "The advisor's instructions and the message",
        remedy: str = "Shorten the message",
        system: int = 0,
    ) -> None:
        """`system`: the size of the instructions alone."""
        self.by_prompt = system > allowance.tokens
        """True if the instructions are too long by themselves, whatever the message is."""
        if self.by_prompt:
            what, remedy = "The advisor's instructions alone", "Shorten its prompt"
            size = system
        self.size = size
        """Estimated tokens that cannot be dropped, uncorrected like `allowance` and `over`."""
        self.allowance = allowance
        self.over = size - allowance.tokens
        self.over_chars = self.over * CHARS_PER_TOKEN
        need, fits, over = (round(n * ratio) for n in (size, allowance.tokens, self.over))
        super().__init__(
            f"{what} need about {need:,} tokens; {fits:,} fit. "
            f"That is about {over:,} tokens ({self.over_chars:,} characters) too much.",
            f"{remedy}, {self._else(allowance)}",
        )

    @staticmethod
    def _else(allowance: Allowance) -> str:
        if allowance.by_window:
            return (
                f"lower max_tokens, or choose a model with a larger window: this one takes "
                f"{allowance.window:,} tokens, and {allowance.answer:,} are kept for its answer."
            )
        return f"or raise limits.context (now {allowance.limit!r})."


@dataclass(frozen=True, slots=True)
class Load:
    """Sizes of all that wants to be sent, in estimated tokens."""

    fixed: int
    """System text and current message: never dropped."""
    memory: int
    units: Sequence[int]
    """History, oldest first."""
    reference: int = 0
    """The reference block at its full length; 0: there is none."""
    share: float = 1.0
    """The part of the room beside `fixed` that the reference block may take."""
    note: Callable[[int], int] | None = None
    """Size of the note when this many units were dropped here (bookends)."""
    exchange: bool = False
    """The others' words are what is being answered: part of `fixed`, and the newest unit stays
    as long as it would beside a reference block."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The part that stays: units from `start` on, whether memory and the note do, and the room
    for the reference block."""

    start: int
    memory: bool
    reference: int
    note: bool


def fit(load: Load, allowance: int, low_water: float, start: int = 0) -> Fit | int:
    """Cut the load down to the allowance, beginning with the remembered cut `start`; when the part
    that can never be dropped is too much by itself, return its size.

    The reference block is charged its share of the room, and shortened to it. The order of giving
    up: oldest units (the newest one stays while there is a reference block), memory, the rest of
    the block's share, the newest unit. No unit stays out that fits beside that share below the
    low-water mark, and a larger allowance never keeps fewer units.
    """
    count, room = len(load.units), allowance - load.fixed
    if room < 0:
        return load.fixed
    sums, share = _sums(load.units), min(float(load.reference), load.share * room)
    memory, reference, noted = load.memory, share, True

    def weigh(at: int) -> float:
        note = load.note(at) if load.note is not None and noted else 0
        return sums[at] + note + memory + reference

    # The newest unit outlasts memory and the block; without others' words it goes before memory.
    last = max(0, count - 1) if load.reference or load.exchange else count
    if weigh(last) > room:
        memory = 0
        reference = min(share, max(0, room - sums[last]))
        if sums[last] > room:
            last, reference = count, share
        noted = weigh(last) <= room
    target = math.floor(allowance * low_water) - load.fixed
    if weigh(start) <= target * REFILL:
        while start and weigh(start - 1) <= target:
            start -= 1
    if weigh(start) > room:
        while start < count - 1 and weigh(start) > target:
            start += 1
        if weigh(start) > room:
            start = last
    return Fit(start, bool(memory), math.floor(reference), noted)


def _sums(sizes: Sequence[int]) -> list[int]:
    """For each index, the sum from there to the end; one more than there are sizes."""
    sums = [0] * (len(sizes) + 1)
    total = 0
    for at in range(len(sizes) - 1, -1, -1):
        total += sizes[at]
        sums[at] = total
    return sums
