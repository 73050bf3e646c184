"""Samples as rows: what advisors answered when they were asked anew, so that nothing is paid twice.

A sample belongs to the run that it was made for: another run is another measurement. Failures are
not kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyvox.memory.tables.redaction import Found, Needles, excerpt, place
from polyvox.store.database import Tx
from polyvox.values import Scope

_COLUMNS = "key, run_id, context_hash, prompt_hash, model, repeat, text, created_at"


@dataclass(frozen=True, slots=True)
class StoredSample:
    """One answer that an advisor gave in a stored context."""

    key: str
    run_id: str
    context_hash: str
    prompt_hash: str
    model: str
    repeat: int
    text: str
    created_at: int


def put(tx: Tx, scope: Scope, one: StoredSample) -> None:
    """Keep a sample; one that is there stays as it is."""
    tx.run(
        f"INSERT INTO samples (user_id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (
            scope.user,
            one.key,
            one.run_id,
            one.context_hash,
            one.prompt_hash,
            one.model,
            one.repeat,
            one.text,
            one.created_at,
        ),
    )


def find(tx: Tx, scope: Scope, key: str) -> StoredSample | None:
    """One sample, or None."""
    row = tx.one(f"SELECT {_COLUMNS} FROM samples WHERE user_id = ? AND key = ?", (scope.user, key))
    return None if row is None else StoredSample(*row)


def of_run(tx: Tx, scope: Scope, run_id: str) -> list[StoredSample]:
    """Every sample of a run."""
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM samples WHERE user_id = ? AND run_id = ? ORDER BY repeat, key",
        (scope.user, run_id),
    )
    return [StoredSample(*row) for row in rows]


@place("sample", tables=("samples",))
def _forgotten(tx: Tx, scope: Scope, needles: Needles, dry: bool) -> list[Found]:
    """Forgetting reaches what was answered anew: it may repeat what its context held."""
    found = []
    rows = tx.all(
        "SELECT key, text FROM samples WHERE user_id = ? AND created_at >= ?",
        (scope.user, needles.since),
    )
    for key, text in rows:
        if (clean := needles.redacted(text)) is not None:
            found.append(Found("sample", key, excerpt(text)))
            if not dry:
                tx.run(
                    "UPDATE samples SET text = ? WHERE user_id = ? AND key = ?",
                    (clean, scope.user, key),
                )
    return found
