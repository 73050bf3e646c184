"""Samples as rows: what advisors answered when they were asked anew, so that nothing is paid twice.

A sample belongs to the run that it was made for: another run is another measurement. Failures are
not kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyvox.evaluation.tables.forget import forget_text
from polyvox.store.database import Tx
from polyvox.store.table import Table


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


_TABLE = Table("samples", StoredSample)


def put(tx: Tx, sample: StoredSample) -> None:
    """Keep a sample; one that is there stays as it is."""
    _TABLE.try_insert(tx, sample)


def find(tx: Tx, key: str) -> StoredSample | None:
    """One sample, or None."""
    return _TABLE.one(tx, "AND key = ?", key)


def of_run(tx: Tx, run_id: str) -> list[StoredSample]:
    """Every sample of a run."""
    return _TABLE.all(tx, "AND run_id = ? ORDER BY repeat, key", run_id)


# Forgetting reaches what was answered anew: it may repeat what its context held.
forget_text("sample", ("samples", "key", "text"))
