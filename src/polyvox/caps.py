"""Caps on cost that the server enforces.

A cap is checked before every call; answers already in flight are let through, so concurrent turns
can overshoot by at most those.
"""

from __future__ import annotations

from collections.abc import Callable

from polyvox.errors import CapReached
from polyvox.events import NANO
from polyvox.settings import Limits
from polyvox.store import usage
from polyvox.store.database import Tx


def check_caps(tx: Tx, limits: Limits, conversation_id: str, turn_id: str | None, now: int) -> None:
    """Raise CapReached when a cap of the user's own is used up."""
    day = usage.day_of(now)
    caps: tuple[tuple[str, float | None, Callable[[], int]], ...] = (
        (
            "cost_per_turn",
            limits.cost_per_turn if turn_id else None,
            lambda: usage.spent(tx, turn_id=turn_id),
        ),
        (
            "cost_per_conversation",
            limits.cost_per_conversation,
            lambda: usage.spent(tx, conversation_id=conversation_id),
        ),
        ("cost_per_day", limits.cost_per_day, lambda: usage.spent(tx, day=day)),
    )
    for name, cap, spend in caps:
        if cap is None:
            continue
        spent = spend()
        if spent >= cap * NANO:
            raise CapReached(
                f"The cap limits.{name} of {cap:g} USD is reached: {spent / NANO:.4f} USD spent.",
                f"Raise limits.{name} in the settings, or wait.",
            )
