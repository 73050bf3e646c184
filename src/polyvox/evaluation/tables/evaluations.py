"""Evaluations as rows: what a run is to find out, how far it is, and what it found.

Invariants: a run ends in `finished`, `cancelled` or `failed`; what it is to do is decided when it
begins and written down, so that whoever takes it up again does the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from polyvox.errors import Conflict
from polyvox.evaluation.tables.runs import UNDER_WAY, RunTable
from polyvox.store.database import Tx, Value
from polyvox.store.pages import Page

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
    total: int
    """Verdicts that there will be at most."""
    created_at: int
    state: EvaluationState = "waiting"
    done: int = 0
    calls: int = 0
    spent: int = 0
    """Nano-dollars known to be spent."""
    unpriced: int = 0
    """Calls whose price is not known."""
    message: str = ""
    """The reason for a failure, or a word on how it ended."""
    results: str | None = None
    """Its results as JSON, once it has ended."""
    blessed_at: int | None = None
    started_at: int | None = None
    ended_at: int | None = None

    @property
    def ended(self) -> bool:
        """True once it is over, however."""
        return self.state in ENDED


_TABLE = RunTable("evaluations", Evaluation, "evaluation", "GET /api/evaluations")
get, start, spend = _TABLE.get, _TABLE.start, _TABLE.spend


def add(tx: Tx, run: Evaluation) -> None:
    """Store a new run."""
    _TABLE.insert(tx, run)


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
    return _TABLE.page(tx, limit, before, where, *params)


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
    where, params = "AND advisor_id IS NULL", list[Value]()
    if advisor_id is not None:
        where, params = "AND advisor_id = ?", [advisor_id]
    where += " AND state = 'finished' AND answer_id IS NULL AND id <> ?"
    params.append(other_than)
    if mode is not None:
        where += " AND mode = ?"
        params.append(mode)
    order = "created_at"
    if blessed:
        where += " AND blessed_at IS NOT NULL"
        order = "blessed_at"
    return _TABLE.one(tx, f"{where} ORDER BY {order} DESC, id DESC LIMIT 1", *params)


def under_way(tx: Tx, answer_id: str) -> bool:
    """True while a stored answer is judged, or waits for it."""
    return _TABLE.one(tx, f"AND answer_id = ? {UNDER_WAY}", answer_id) is not None


def progress(tx: Tx, evaluation_id: str, done: int) -> None:
    """So many verdicts there are by now."""
    _TABLE.change(tx, evaluation_id, done=done)


def end(tx: Tx, evaluation_id: str, state: EvaluationState, now: int, message: str = "") -> bool:
    """It is over; False where it was already."""
    return _TABLE.change(tx, evaluation_id, UNDER_WAY, state=state, ended_at=now, message=message)


def take_up(tx: Tx, evaluation_id: str, judge: str, judge_hash: str) -> None:
    """An ended run goes on, with this judge: what could not be found out is tried again."""
    again: dict[str, Value] = {"state": "waiting", "ended_at": None, "message": ""}
    _TABLE.change(tx, evaluation_id, **again, judge=judge, judge_hash=judge_hash)


def keep_results(tx: Tx, evaluation_id: str, results: str) -> None:
    """Keep its results, as JSON."""
    _TABLE.change(tx, evaluation_id, results=results)


def bless(tx: Tx, evaluation_id: str, now: int | None) -> Evaluation:
    """Make a finished run the one that later ones are compared with (None: not any more)."""
    run = get(tx, evaluation_id)
    if run.state != "finished":
        raise Conflict(
            f"This evaluation is {run.state}.", "Only a finished run can be compared with."
        )
    _TABLE.change(tx, evaluation_id, blessed_at=now)
    return get(tx, evaluation_id)
