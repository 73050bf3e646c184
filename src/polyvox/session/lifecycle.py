"""When a session ends: by idleness, measured from the last *user* message."""

from __future__ import annotations

from polyvox.ids import new_id
from polyvox.store.database import Tx
from polyvox.values import Scope


def is_over(last_user_at: int, now: int, idle_minutes: float) -> bool:
    """Whether a message now belongs to a new session. Answers never extend one."""
    return now - last_user_at > idle_minutes * 60_000_000


def session_for(
    tx: Tx, scope: Scope, conversation_id: str, now: int, idle_minutes: float | None
) -> str:
    """The session a message said now belongs to; an idle one is closed and a new one opened.
    `idle_minutes` None: the session is never cut by idleness."""
    row = tx.one(
        "SELECT id, last_user_at FROM sessions WHERE user_id = ? AND conversation_id = ?"
        " AND ended_at IS NULL ORDER BY started_at DESC LIMIT 1",
        (scope.user, conversation_id),
    )
    if row is not None:
        if idle_minutes is None or not is_over(row[1], now, idle_minutes):
            tx.run(
                "UPDATE sessions SET last_user_at = ? WHERE user_id = ? AND id = ?",
                (now, scope.user, row[0]),
            )
            return str(row[0])
        tx.run(
            "UPDATE sessions SET ended_at = last_user_at WHERE user_id = ? AND id = ?",
            (scope.user, row[0]),
        )
    session_id = new_id()
    tx.run(
        "INSERT INTO sessions (user_id, id, conversation_id, started_at, last_user_at, ended_at)"
        " VALUES (?, ?, ?, ?, ?, NULL)",
        (scope.user, session_id, conversation_id, now, now),
    )
    return session_id
