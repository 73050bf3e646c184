"""The guard: an attempt that breaks what the advisor did right is no improvement.

Two signs are taken in the search: a guard that always held never does now, or the guards together
pass less often by the same test that decides in the end, at the same level.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyvox.evaluation.optimise.decide import LEVEL, chance, compare
from polyvox.evaluation.optimise.values import Case, Scores


def broken(guards: Sequence[Case], old: Scores, new: Scores) -> str:
    """What broke, in a sentence; empty where nothing did."""
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
