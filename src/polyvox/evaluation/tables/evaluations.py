"""Evaluations as rows: what a run is to find out, how far it is, and what it found.

Invariants: a run ends in `finished`, `cancelled` or `failed`; what it is to do is decided when it
begins and written down, so that whoever takes it up again does the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from polyvox.errors import Conflict, NotFound
from polyvox.store.database import Tx, Value
from polyvox.store.pages import Page, page_of, place_in
from polyvox.store.table import Table
from polyvox.values import Usage

EvaluationState = Literal["waiting", "running", "finished", "cancelled", "failed"]
Mode = Literal["judge", "replay"]
"""Judge the stored answer, or have the advisor answer anew in the source's context."""
Origin = Literal["person", "suite", "badge"]
"""Its origin: somebody on a card or a list, `polyvox eval`, or the setting for live badges."""
ENDED: frozenset[EvaluationState] = frozenset({"finished", "cancelled", "failed"})


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A run over chosen assertions."""

    id: str
    advisor_id: str | None
    """Whose assertions; None: those of several advisors."""
    mode: Mode
    origin: Origin
    answer_id: str | None
    """The stored answer that is judged; None: each assertion's own."""
    model: str
    """Answers in place of those that had; empty: the same ones."""
    repeats: int
    confirm: bool
    early: bool
    """True if repeats that can change nothing are left out."""
    judge: str
    """The judge's model; empty: there is none."""
    judge_hash: str
    plan: str
    """The plan as JSON: ids and hashes alone."""
    warnings: tuple[str, ...]
    state: EvaluationState
    total: int
    """Verdicts that there will be at most."""
    done: int
    calls: int
    spent: int
    """Nano-dollars known to be spent."""
    unpriced: int
    """Calls whose price is not known."""
    message: str
    """The reason for a failure, or a word on how it ended."""
    results: str | None
    """Its results as JSON, once it has ended."""
    blessed_at: int | None
    created_at: int
    started_at: int | None
    ended_at: int | None

    @property
    def ended(self) -> bool:
        """True once it is over, however."""
        return self.state in ENDED


_TABLE = Table("evaluations", Evaluation)


def add(tx: Tx, run: Evaluation) -> None:
    """Store a new run."""
    _TABLE.insert(tx, run)


def get(tx: Tx, evaluation_id: str) -> Evaluation:
    """One run, or NotFound."""
    run = _TABLE.one(tx, "AND id = ?", evaluation_id)
    if run is None:
        raise NotFound(
            f"There is no evaluation {evaluation_id}.", "GET /api/evaluations lists them."
        )
    return run


def list_page(
    tx: Tx,
    *,
    advisor_id: str | None = None,
    badges: bool = False,
    limit: int = 50,
    before: str | None = None,
) -> Page[Evaluation]:
    """Runs, newest first, without those of live badges unless they are wanted; `before` is a
    page's `next`."""
    where, params = "", list[Value]()
    if advisor_id is not None:
        where += " AND advisor_id = ?"
        params.append(advisor_id)
    if not badges:
        where += " AND origin <> 'badge'"
    if before is not None:
        where += " AND (created_at < ? OR (created_at = ? AND id < ?))"
        params += place_in(before, "before")
    runs = _TABLE.all(tx, f"{where} ORDER BY created_at DESC, id DESC LIMIT ?", *params, limit + 1)
    return page_of(runs, limit, lambda run: run.created_at)


def latest(
    tx: Tx,
    advisor_id: str | None,
    *,
    blessed: bool = False,
    mode: Mode | None = None,
    other_than: str = "",
) -> Evaluation | None:
    """The newest finished run over an advisor's assertions (over everybody's: None), or the one
    that was blessed last."""
    where, params = " AND advisor_id IS NULL", list[Value]()
    if advisor_id is not None:
        where, params = " AND advisor_id = ?", [advisor_id]
    if mode is not None:
        where += " AND mode = ?"
        params.append(mode)
    if other_than:
        where += " AND id <> ?"
        params.append(other_than)
    order = "created_at"
    if blessed:
        where += " AND blessed_at IS NOT NULL"
        order = "blessed_at"
    rest = " AND state = 'finished' AND answer_id IS NULL"
    return _TABLE.one(tx, f"{where}{rest} ORDER BY {order} DESC, id DESC LIMIT 1", *params)


def under_way(tx: Tx, answer_id: str) -> bool:
    """True while a stored answer is judged, or waits for it."""
    row = tx.one(
        "SELECT 1 FROM evaluations WHERE user_id = ? AND answer_id = ?"
        " AND state IN ('waiting', 'running')",
        (tx.user, answer_id),
    )
    return row is not None


def start(tx: Tx, evaluation_id: str, now: int) -> Evaluation:
    """It is being worked on, unless it has ended meanwhile."""
    tx.run(
        "UPDATE evaluations SET state = 'running', started_at = COALESCE(started_at, ?)"
        " WHERE user_id = ? AND id = ? AND state IN ('waiting', 'running')",
        (now, tx.user, evaluation_id),
    )
    return get(tx, evaluation_id)


def progress(tx: Tx, evaluation_id: str, done: int) -> None:
    """So many verdicts there are by now."""
    tx.run(
        "UPDATE evaluations SET done = ? WHERE user_id = ? AND id = ?",
        (done, tx.user, evaluation_id),
    )


def spend(tx: Tx, evaluation_id: str, used: Usage) -> None:
    """A call was made for it."""
    tx.run(
        "UPDATE evaluations SET calls = calls + 1, spent = spent + ?, unpriced = unpriced + ?"
        " WHERE user_id = ? AND id = ?",
        (used.cost or 0, int(used.cost is None), tx.user, evaluation_id),
    )


def end(
    tx: Tx,
    evaluation_id: str,
    state: Literal["finished", "cancelled", "failed"],
    now: int,
    message: str = "",
) -> bool:
    """It is over; False where it was already."""
    return bool(
        tx.run(
            "UPDATE evaluations SET state = ?, ended_at = ?, message = ?"
            " WHERE user_id = ? AND id = ? AND state IN ('waiting', 'running')",
            (state, now, message, tx.user, evaluation_id),
        )
    )


def take_up(tx: Tx, evaluation_id: str, judge: str, judge_hash: str) -> None:
    """An ended run goes on, with this judge: what could not be found out is tried again."""
    tx.run(
        "UPDATE evaluations SET state = 'waiting', ended_at = NULL, message = '', judge = ?,"
        " judge_hash = ? WHERE user_id = ? AND id = ?",
        (judge, judge_hash, tx.user, evaluation_id),
    )


def keep_results(tx: Tx, evaluation_id: str, results: str) -> None:
    """Keep its results, as JSON."""
    tx.run(
        "UPDATE evaluations SET results = ? WHERE user_id = ? AND id = ?",
        (results, tx.user, evaluation_id),
    )


def bless(tx: Tx, evaluation_id: str, now: int | None) -> Evaluation:
    """Make a finished run the one that later ones are compared with (None: not any more)."""
    run = get(tx, evaluation_id)
    if run.state != "finished":
        raise Conflict(
            f"This evaluation is {run.state}.", "Only a finished run can be compared with."
        )
    tx.run(
        "UPDATE evaluations SET blessed_at = ? WHERE user_id = ? AND id = ?",
        (now, tx.user, evaluation_id),
    )
    return get(tx, evaluation_id)
