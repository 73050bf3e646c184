"""What an optimiser or a suite measures with: have an advisor answer anew, have the answer judged.

There are two: the road itself (`session.replaying`), and a simulated one with set probabilities.
Invariant: the same sample or judgement of one run is paid for once, however often it is asked for;
a failure is never kept, so asking again tries again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from polyvox.evaluation.values import Assertion, Judged
from polyvox.ids import content_hash
from polyvox.values import Usage

PROMPT = "prompt"
"""The target that is the advisor's identity: its prompt, else its description."""
PHASE = "phase:"
"""Begins the name of a target that is the text of a recipe's phase."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text that is tried out, and where it stands."""

    text: str
    target: str = PROMPT
    """`prompt`, or `phase:NAME`."""

    @property
    def hash(self) -> str:
        """Its name by its content; for the advisor's identity that of its prompt version."""
        return content_hash(self.text if self.target == PROMPT else f"{self.target}\n{self.text}")

    @property
    def phase(self) -> str | None:
        """The phase whose text it is; None: it is the advisor's identity."""
        return self.target.removeprefix(PHASE) if self.target.startswith(PHASE) else None


@dataclass(frozen=True, slots=True)
class Sample:
    """What an advisor answered when it was asked anew."""

    key: str
    """Names it: run, prompt, context, model, parameters and repeat."""
    text: str
    model: str
    """provider:name that gave it."""
    context_hash: str
    prompt_hash: str
    usage: Usage | None = None
    """What it used; None where it was kept from before."""


class Bench(Protocol):
    """Where prompts are tried out."""

    async def sample(self, prompt: Prompt, context_hash: str, repeat: int) -> Sample:
        """What the advisor answers in that context with this prompt; another repeat is another
        answer. Raises `ModelError` where it does not answer, `CapReached` where nothing may be
        spent any more, `Invalid` where the context cannot be replayed."""
        ...

    async def judge(
        self, sample: Sample, assertions: Sequence[Assertion], repeat: int
    ) -> list[Judged]:
        """One judgement for each assertion, in their order. A judge that is away or unreadable
        is an `error` in each of its own; only `CapReached` is raised."""
        ...
