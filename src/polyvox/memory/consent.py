"""Consent: a session that was held with models on this machine is read in the background by online
models only if the person agrees."""

from __future__ import annotations

from polyvox.memory.values import Partition
from polyvox.store.database import Tx


def keep_local(tx: Tx, session_id: str) -> None:
    """Mark a session as one that was held on this machine alone."""
    tx.run(
        "UPDATE transcripts SET held_here = 1 WHERE user_id = ? AND part = ? AND session_id = ?",
        (tx.user, Partition.own(tx.scope).key, session_id),
    )


def kept_local(tx: Tx) -> list[str]:
    """The sessions that online models may not read until the person agrees."""
    rows = tx.all(
        "SELECT session_id FROM transcripts WHERE user_id = ? AND part = ? AND held_here = 1"
        " ORDER BY number",
        (tx.user, Partition.own(tx.scope).key),
    )
    return [row[0] for row in rows]


def agree(tx: Tx) -> list[str]:
    """Let online models read these sessions; return which."""
    opened = kept_local(tx)
    where = (tx.user, Partition.own(tx.scope).key)
    tx.run("UPDATE transcripts SET held_here = 0 WHERE user_id = ? AND part = ?", where)
    return opened
