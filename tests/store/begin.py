"""A turn begun in one step, for tests that need one and ask nothing about how it begins."""

from __future__ import annotations

from polyvox.store import turns
from polyvox.store.database import Tx
from polyvox.store.turns import Begun, NewTurn


def begin_turn(
    tx: Tx, conversation: str, new: NewTurn, session: str, runner: str, limit: int, now: int
) -> Begun:
    """Begin a turn as a session does; one whose idempotency key is known is there already."""
    held = turns.lock(tx, conversation)
    if new.idempotency_key is not None:
        repeat = turns.find_repeat(tx, conversation, new.idempotency_key, new.body_hash)
        if repeat is not None:
            return Begun(*repeat, existing=True)
    place = turns.place(tx, held, new.edits, limit, now)
    return turns.begin(tx, place, new, session, runner, now)
