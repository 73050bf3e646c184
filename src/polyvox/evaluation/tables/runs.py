"""Runs as rows: durable work of evaluation, from the wish to its end.

Invariant: a run that has ended is changed by nobody who still works on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from polyvox.errors import NotFound
from polyvox.store.database import Tx, Value
from polyvox.store.pages import Page, page_of, place_in
from polyvox.store.table import Table
from polyvox.values import Usage

UNDER_WAY = "AND state IN ('waiting', 'running')"


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The part of every run that is shown as it is stored."""

    id: str
    judge: str
    """The judge's model; empty: there is none."""
    warnings: tuple[str, ...]
    created_at: int
    state: str = "waiting"
    calls: int = 0
    unpriced: int = 0
    """Calls whose price is not known."""
    message: str = ""
    """A word on how it ended, or why it failed."""
    started_at: int | None = None
    ended_at: int | None = None

    @property
    def ended(self) -> bool:
        """True once it is over, however."""
        return self.ended_at is not None


R = TypeVar("R", bound=RunFacts)


class RunTable(Table[R]):
    """Reads and writes the runs of one kind."""

    def __init__(self, name: str, kind: type[R], noun: str, listed: str) -> None:
        """`noun` names one run in a message, `listed` is where to find them all."""
        super().__init__(name, kind)
        self.noun, self._listed = noun, listed

    def get(self, tx: Tx, run_id: str) -> R:
        """One run, or NotFound."""
        run = self.one(tx, "AND id = ?", run_id)
        if run is None:
            raise NotFound(f"There is no {self.noun} {run_id}.", f"{self._listed} lists them.")
        return run

    def page(
        self, tx: Tx, advisor_id: str | None, limit: int, before: str | None, where: str = ""
    ) -> Page[R]:
        """Those of an advisor (None: of all) that `where` selects, newest first; `before` is a
        page's `next`."""
        params: list[Value] = []
        if advisor_id is not None:
            where += " AND advisor_id = ?"
            params.append(advisor_id)
        if before is not None:
            where += " AND (created_at < ? OR (created_at = ? AND id < ?))"
            params += place_in(before, "before")
        rest = f"{where} ORDER BY created_at DESC, id DESC LIMIT ?"
        return page_of(self.all(tx, rest, *params, limit + 1), limit, lambda run: run.created_at)

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

    def end(self, tx: Tx, run_id: str, state: str, now: int, message: str, **more: Any) -> bool:  # noqa: ANN401 - any fields
        """It is over; False where it was already."""
        ended = {"state": state, "ended_at": now, "message": message, **more}
        return self.change(tx, run_id, UNDER_WAY, **ended)

    def take_up(self, tx: Tx, run_id: str, **more: Any) -> R:  # noqa: ANN401 - any fields
        """An ended run goes on."""
        self.change(tx, run_id, state="waiting", ended_at=None, message="", **more)
        return self.get(tx, run_id)

    def change(self, tx: Tx, run_id: str, condition: str = "", /, **fields: Any) -> bool:  # noqa: ANN401 - any fields
        """Store these fields; False where the run does not meet the condition."""
        changes = ", ".join(f"{name} = ?" for name in fields)
        values = [
            value if value is None or name not in self._encoders else self._encoders[name](value)
            for name, value in fields.items()
        ]
        sql = f"UPDATE {self._name} SET {changes} WHERE user_id = ? AND id = ? {condition}"
        return tx.run(sql, (*values, tx.user, run_id)) > 0
