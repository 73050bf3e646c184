"""Runs as rows: durable work of evaluation, from the wish to its end.

Invariant: a run that has ended is changed by nobody who still works on it.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from polyvox.errors import NotFound
from polyvox.store.database import Tx, Value
from polyvox.store.pages import Page, page_of, place_in
from polyvox.store.table import Table
from polyvox.values import Usage

UNDER_WAY = "AND state IN ('waiting', 'running')"


class StoredRun(Protocol):
    """A run."""

    @property
    def id(self) -> str:
        """Names it."""
        ...

    @property
    def created_at(self) -> int:
        """The time of the wish."""
        ...


R = TypeVar("R", bound=StoredRun)


class RunTable(Table[R]):
    """Reads and writes the runs of one kind."""

    def __init__(self, name: str, kind: type[R], noun: str, listed: str) -> None:
        """`noun` names one run in a message, `listed` is where to find them all."""
        super().__init__(name, kind)
        self._noun, self._listed = noun, listed

    def get(self, tx: Tx, run_id: str) -> R:
        """One run, or NotFound."""
        run = self.one(tx, "AND id = ?", run_id)
        if run is None:
            raise NotFound(f"There is no {self._noun} {run_id}.", f"{self._listed} lists them.")
        return run

    def page(
        self, tx: Tx, limit: int, before: str | None, where: str = "", *params: Value
    ) -> Page[R]:
        """Those that `where` selects, newest first; `before` is a page's `next`."""
        place = () if before is None else place_in(before, "before")
        if before is not None:
            where += " AND (created_at < ? OR (created_at = ? AND id < ?))"
        rest = f"{where} ORDER BY created_at DESC, id DESC LIMIT ?"
        runs = self.all(tx, rest, *params, *place, limit + 1)
        return page_of(runs, limit, lambda run: run.created_at)

    def start(self, tx: Tx, run_id: str, now: int) -> R:
        """It is being worked on, unless it has ended meanwhile."""
        tx.run(
            f"UPDATE {self._name} SET state = 'running', started_at = COALESCE(started_at, ?)"
            f" WHERE user_id = ? AND id = ? {UNDER_WAY}",
            (now, tx.user, run_id),
        )
        return self.get(tx, run_id)

    def spend(self, tx: Tx, run_id: str, used: Usage) -> None:
        """A call was made for it."""
        tx.run(
            f"UPDATE {self._name} SET calls = calls + 1, spent = spent + ?,"
            " unpriced = unpriced + ? WHERE user_id = ? AND id = ?",
            (used.cost or 0, int(used.cost is None), tx.user, run_id),
        )

    def change(self, tx: Tx, run_id: str, condition: str = "", /, **columns: Value) -> bool:
        """Store these columns; False where the run does not meet the condition."""
        changes = ", ".join(f"{column} = ?" for column in columns)
        sql = f"UPDATE {self._name} SET {changes} WHERE user_id = ? AND id = ? {condition}"
        return tx.run(sql, (*columns.values(), tx.user, run_id)) > 0
