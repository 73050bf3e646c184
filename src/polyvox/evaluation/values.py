"""The nouns of the evaluation loop: assertion, context, verdict. Frozen, no I/O.

An assertion keeps its id for ever; editing it makes a new version, and a verdict names the version
it judged. An outcome of `error` is neither a pass nor a fail: nothing was found out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from polyvox.store.assertions import Assertion, Kind, Source, Version

__all__ = ["Assertion", "Judged", "Kind", "Mode", "Outcome", "Source", "Verdict", "Version"]

Outcome = Literal["pass", "fail", "error"]
Mode = Literal["judge", "replay"]
"""Judge the stored answer, or have the advisor answer anew in the source's context."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found out about one assertion in one answer, the reason first."""

    assertion_id: str
    number: int
    reason: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judgement that is kept."""

    id: str
    evaluation_id: str
    assertion_id: str
    number: int
    """The assertion's version."""
    answer_id: str | None
    """The stored answer it is about; None: a replay's (see `sample`)."""
    sample: str
    """Names the replayed text in the cache; empty for a stored answer."""
    prompt_hash: str
    context_hash: str
    model: str
    judge: str
    """The judge's model; `code` for a check."""
    judge_hash: str
    """Names the judge's prompt."""
    repeat: int
    reason: str
    outcome: Outcome
    overruled: Outcome | None = None
    """What the person says it should have been."""
    created_at: int = 0
