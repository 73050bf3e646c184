"""The nouns of the evaluation loop: assertion, context, verdict. Frozen, no I/O.

An assertion keeps its id for ever; editing it makes a new version, and a verdict names the version
it judged. An outcome of `error` is neither a pass nor a fail: nothing was found out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from polyvox.evaluation.tables.assertions import Assertion, Kind, Source, Version
from polyvox.evaluation.tables.verdicts import Outcome, Verdict

__all__ = ["Assertion", "Judged", "Kind", "Mode", "Outcome", "Source", "Verdict", "Version"]

Mode = Literal["judge", "replay"]
"""Judge the stored answer, or have the advisor answer anew in the source's context."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found out about one assertion in one answer, the reason first."""

    assertion_id: str
    number: int
    reason: str
    outcome: Outcome
