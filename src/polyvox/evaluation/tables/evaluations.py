"""Evaluations as rows: what a run is to find out, how far it is, and what it found.

Invariants: a run ends in `finished`, `cancelled` or `failed`; what it is to do is decided when it
begins and written down, so that whoever takes it up again does the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from polyvox.errors import Conflict
from polyvox.evaluation.suite import Results, Unit
from polyvox.evaluation.tables.runs import UNDER_WAY, RunFacts, RunTable
from polyvox.store.database import Tx, Value
from polyvox.store.pages import Page

EvaluationState = Literal["waiting", "running", "finished", "cancelled", "failed"]
Mode = Literal["judge", "replay"]
"""Judge the stored answer, or have the advisor answer anew in the source's context."""
Origin = Literal["person", "suite", "badge"]
"""Its origin: somebody on a card or a list, `polyvox eval`, or the setting for live badges."""


@dataclass(frozen=True, slots=True)
class EvaluationFacts(RunFacts):
    """The part of an evaluation that is shown as it is stored."""

    advisor_id: str | None = None
    """Whose assertions; None: those of several advisors."""
    mode: Mode = "replay"
    origin: Origin = "person"
    answer_id: str | None = None
    """The stored answer that is judged; None: each assertion's own."""
    model: str = ""
    """Answers in place of those that had; empty: the same ones."""
    confirm: bool = False
    early: bool = True
    """True if repeats that can change nothing are left out."""
    judge_hash: str = ""
    state: EvaluationState = "waiting"
    done: int = 0
    total: int = 0
    """Verdicts that there will be at most."""


@dataclass(frozen=True, slots=True)
class Evaluation(EvaluationFacts):
    """A run over chosen assertions."""

    repeats: int = 1
    plan: tuple[Unit, ...] = ()
    """By ids and hashes alone."""
    spent: int = 0
    """Nano-dollars known to be spent."""
    results: Results | None = None
    """Kept once it has ended."""
    blessed_at: int | None = None


RUNS = RunTable("evaluations", Evaluation, "evaluation", "GET /api/evaluations")
add, get, start, spend, change = RUNS.insert, RUNS.get, RUNS.start, RUNS.spend, RUNS.change


def list_page(
    tx: Tx, advisor_id: str | None = None, limit: int = 50, before: str | None = None
) -> Page[Evaluation]:
    """Runs, newest first, without those of live badges; `before` is a page's `next`."""
    return RUNS.page(tx, advisor_id, limit, before, "AND origin <> 'badge'")


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
    return RUNS.one(tx, f"{where} ORDER BY {order} DESC, id DESC LIMIT 1", *params)


def under_way(tx: Tx, answer_id: str) -> bool:
    """True while a stored answer is judged, or waits for it."""
    return RUNS.one(tx, f"AND answer_id = ? {UNDER_WAY}", answer_id) is not None


def bless(tx: Tx, now: int, evaluation_id: str, *, blessed: bool = True) -> Evaluation:
    """Make a finished run the one that later ones are compared with, or not any more."""
    run = get(tx, evaluation_id)
    if run.state != "finished":
        raise Conflict(
            f"This evaluation is {run.state}.", "Only a finished run can be compared with."
        )
    change(tx, evaluation_id, blessed_at=now if blessed else None)
    return get(tx, evaluation_id)
