"""Users as rows: the owners of all other rows."""

from __future__ import annotations

from polyvox.store.database import Tx


def add(tx: Tx, name: str, timezone: str | None, now: int) -> bool:
    """Store the user that the transaction is bound to; False where it is known already."""
    return bool(
        tx.run(
            "INSERT INTO users (id, name, timezone, created_at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            (tx.user, name, timezone, now),
        )
    )
