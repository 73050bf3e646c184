"""Runs that another program had made over an answer, kept word for word as it told them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from polyvox.memory.tables.redaction import Found, Gone, excerpt, place
from polyvox.store.database import Tx
from polyvox.store.table import Table, rows_in

RunKind = Literal["evaluation", "optimisation", "record"]
"""A record is whatever else was told beside them."""


@dataclass(frozen=True, slots=True)
class PastRun:
    """An evaluation or an optimisation of an answer, as it was told."""

    answer_id: str
    kind: RunKind
    id: str
    at: int | None
    """When it was made, where that is known."""
    data: Mapping[str, Any]


_TABLE = Table("past_runs", PastRun)


def add(tx: Tx, run: PastRun) -> bool:
    """Keep a run; answers whether it was new."""
    return _TABLE.try_insert(tx, run)


def of_answer(tx: Tx, answer_id: str) -> list[PastRun]:
    """Every run that is known of an answer, oldest first."""
    return _TABLE.all(tx, "AND answer_id = ? ORDER BY COALESCE(at, 0), kind, id", answer_id)


def drop(tx: Tx, answer_id: str) -> None:
    """Forget the runs over an answer: their reasons quote it."""
    tx.run("DELETE FROM past_runs WHERE user_id = ? AND answer_id = ?", (tx.user, answer_id))


@place("past_run", tables=("past_runs",))
def _forgotten(tx: Tx, gone: Gone, dry: bool) -> list[Found]:
    """Forgetting reaches the runs over an answer: their reasons quote it."""
    sql = "SELECT answer_id, id, data FROM past_runs WHERE user_id = ? AND answer_id"
    rows = rows_in(tx, sql, gone.answers)
    if not dry:
        for answer_id, _, _ in rows:
            drop(tx, answer_id)
    return [Found("past_run", f"{answer}/{name}", excerpt(data)) for answer, name, data in rows]
