"""Where the episodes of a session came from: which message or answer of its conversation.

A reference is "u" and a turn's id, or "a" and an answer's. Each keeps the index it got when it was
ingested, whatever is excluded, written again or forgotten later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polyvox.memory.tables.remembered import Partition
from polyvox.store.database import Tx

MANY = 400


def of_session(tx: Tx, partition: Partition, session_id: str) -> dict[int, str]:
    """References by the index of the message; what was forgotten is still listed."""
    rows = tx.all(
        "SELECT message_index, ref FROM episode_sources"
        " WHERE user_id = ? AND part = ? AND session_id = ?",
        (tx.user, partition.key, session_id),
    )
    return dict(rows)


def keep(tx: Tx, partition: Partition, session_id: str, refs: Mapping[int, str]) -> None:
    """These messages came from there."""
    tx.many(
        "INSERT INTO episode_sources (user_id, part, session_id, message_index, ref)"
        " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [(tx.user, partition.key, session_id, index, ref) for index, ref in refs.items()],
    )


def places(tx: Tx, partition: Partition, refs: Iterable[str]) -> list[tuple[str, int, str]]:
    """Under which session and index each of these was ingested, as far as it was: (session, index,
    reference)."""
    wanted = sorted(set(refs))
    found: list[tuple[str, int, str]] = []
    for start in range(0, len(wanted), MANY):
        some = wanted[start : start + MANY]
        found += tx.all(
            "SELECT session_id, message_index, ref FROM episode_sources"
            " WHERE user_id = ? AND part = ?"
            f" AND ref IN ({', '.join('?' * len(some))}) ORDER BY session_id, message_index",
            (tx.user, partition.key, *some),
        )
    return found
