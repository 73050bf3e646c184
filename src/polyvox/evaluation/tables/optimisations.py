"""Optimisations as rows: what a run is to do, how far it is, every attempt, and what came of it.

Invariants: a run ends in one of `finished`, `cancelled`, `failed` and `spent`, and only a failed or
spent one can be taken up again; an attempt's text is written before it is tried; what was decided
about a result is decided once, and can be undone once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from polyvox.errors import NotFound
from polyvox.memory.tables.redaction import Found, Needles, excerpt, place
from polyvox.store.database import Tx, Value
from polyvox.store.pages import Page, page_of, place_in
from polyvox.store.table import Table
from polyvox.values import Usage

OptimisationState = Literal["waiting", "running", "finished", "cancelled", "failed", "spent"]
Decision = Literal["", "accepted", "rejected", "rolled back"]
ENDED: frozenset[OptimisationState] = frozenset({"finished", "cancelled", "failed", "spent"})
_ATTEMPT = "number, parent, ask_hash, text, state, note, rate, scores, spent, created_at"


@dataclass(frozen=True, slots=True)
class Optimisation:
    """A run that looks for a better prompt."""

    id: str
    advisor_id: str
    advisor_name: str
    target: str
    """`prompt`, or `phase:NAME`."""
    recipe: str
    """The recipe whose phase it is; empty for the advisor's prompt."""
    engine: str
    judge: str
    """The judge's model; empty: there is none."""
    optimizer: str
    """The model that rewrites."""
    plan: str
    """The plan as JSON: ids and hashes alone."""
    estimate: str
    """The most it was to take, as JSON."""
    warnings: tuple[str, ...]
    budget: int | None
    """Nano-dollars that it may spend; None: no limit of its own."""
    base_version: str
    """The prompt version that it began with; empty for a phase."""
    base_text: str
    state: OptimisationState = "waiting"
    stage: str = ""
    """baseline, search or confirmation."""
    iteration: int = 0
    iterations: int = 10
    best: int = 0
    """The number of the best attempt; 0: the prompt as it was."""
    best_rate: float | None = None
    base_rate: float | None = None
    calls: int = 0
    spent: int = 0
    """Nano-dollars known to be spent."""
    unpriced: int = 0
    """Calls whose price is not known."""
    verdict: str | None = None
    """improved, not distinguishable or regressed, once that was found out."""
    message: str = ""
    """The verdict in words, or why there is none."""
    results: str | None = None
    """Its results as JSON: ids, numbers, names of samples."""
    decision: Decision = ""
    decided_at: int | None = None
    final_text: str | None = None
    """The best attempt's prompt, where there is a better one."""
    final_version: str = ""
    """The prompt version that accepting it made."""
    created_at: int = 0
    started_at: int | None = None
    ended_at: int | None = None

    @property
    def ended(self) -> bool:
        """True once it is over, however."""
        return self.state in ENDED


@dataclass(frozen=True, slots=True)
class StoredAttempt:
    """A rewritten prompt and what became of it."""

    number: int
    parent: int
    ask_hash: str
    text: str | None
    """None: what the rewriter gave was not taken."""
    state: str
    """proposed, scored, hopeless, guarded or refused."""
    note: str
    rate: float | None
    scores: str
    """By case, as JSON."""
    spent: int
    """Nano-dollars known to be spent on it."""
    created_at: int


_TABLE = Table("optimisations", Optimisation)


def add(tx: Tx, run: Optimisation) -> None:
    """Store a new run."""
    _TABLE.insert(tx, run)


def get(tx: Tx, optimisation_id: str) -> Optimisation:
    """One run, or NotFound."""
    run = _TABLE.one(tx, "AND id = ?", optimisation_id)
    if run is None:
        raise NotFound(
            f"There is no optimisation {optimisation_id}.", "GET /api/optimizations lists them."
        )
    return run


def list_page(
    tx: Tx, *, advisor_id: str | None = None, limit: int = 50, before: str | None = None
) -> Page[Optimisation]:
    """Runs, newest first; `before` is a page's `next`."""
    where, params = "", list[Value]()
    if advisor_id is not None:
        where += " AND advisor_id = ?"
        params.append(advisor_id)
    if before is not None:
        where += " AND (created_at < ? OR (created_at = ? AND id < ?))"
        params += place_in(before, "before")
    runs = _TABLE.all(tx, f"{where} ORDER BY created_at DESC, id DESC LIMIT ?", *params, limit + 1)
    return page_of(runs, limit, lambda run: run.created_at)


def under_way(tx: Tx, advisor_id: str, target: str, recipe: str) -> Optimisation | None:
    """The run that is looking for the same prompt right now: a phase is shared by all advisors."""
    whose, params = " AND recipe = ?", list[Value]([recipe])
    if not recipe:
        whose, params = " AND advisor_id = ?", [advisor_id]
    rest = " AND state IN ('waiting', 'running') ORDER BY created_at, id LIMIT 1"
    return _TABLE.one(tx, f"AND target = ?{whose}{rest}", target, *params)


def start(tx: Tx, optimisation_id: str, now: int) -> Optimisation:
    """It is being worked on, unless it has ended meanwhile."""
    tx.run(
        "UPDATE optimisations SET state = 'running', started_at = COALESCE(started_at, ?)"
        " WHERE user_id = ? AND id = ? AND state IN ('waiting', 'running')",
        (now, tx.user, optimisation_id),
    )
    return get(tx, optimisation_id)


def progress(
    tx: Tx,
    optimisation_id: str,
    *,
    stage: str,
    iteration: int,
    best: int,
    best_rate: float | None,
    base_rate: float | None,
) -> None:
    """Note its progress."""
    tx.run(
        "UPDATE optimisations SET stage = ?, iteration = ?, best = ?, best_rate = ?, base_rate = ?"
        " WHERE user_id = ? AND id = ? AND state = 'running'",
        (stage, iteration, best, best_rate, base_rate, tx.user, optimisation_id),
    )


def spend(tx: Tx, optimisation_id: str, used: Usage) -> None:
    """A call was made for it."""
    tx.run(
        "UPDATE optimisations SET calls = calls + 1, spent = spent + ?, unpriced = unpriced + ?"
        " WHERE user_id = ? AND id = ?",
        (used.cost or 0, int(used.cost is None), tx.user, optimisation_id),
    )


def end(
    tx: Tx,
    optimisation_id: str,
    state: Literal["finished", "cancelled", "failed", "spent"],
    now: int,
    message: str,
    *,
    verdict: str | None = None,
    results: str | None = None,
    final_text: str | None = None,
) -> bool:
    """It is over; False where it was already."""
    return bool(
        tx.run(
            "UPDATE optimisations SET state = ?, ended_at = ?, message = ?, verdict = ?,"
            " results = ?, final_text = ?"
            " WHERE user_id = ? AND id = ? AND state IN ('waiting', 'running')",
            (state, now, message, verdict, results, final_text, tx.user, optimisation_id),
        )
    )


def take_up(tx: Tx, optimisation_id: str, judge: str, budget: int | None) -> None:
    """A failed or spent run goes on, with this judge and this budget."""
    tx.run(
        "UPDATE optimisations SET state = 'waiting', ended_at = NULL, message = '', verdict = NULL,"
        " results = NULL, final_text = NULL, judge = ?, budget = ? WHERE user_id = ? AND id = ?",
        (judge, budget, tx.user, optimisation_id),
    )


def decide(tx: Tx, optimisation_id: str, decision: Decision, now: int, version: str = "") -> None:
    """Note the decision; `version` is the prompt version that accepting it made."""
    tx.run(
        "UPDATE optimisations SET decision = ?, decided_at = ?, final_version = ?"
        " WHERE user_id = ? AND id = ?",
        (decision, now, version, tx.user, optimisation_id),
    )


# attempts


def put_attempt(tx: Tx, optimisation_id: str, attempt: StoredAttempt) -> None:
    """Keep an attempt, in place of what was known of it before."""
    tx.run(
        f"INSERT INTO attempts (user_id, optimisation_id, {_ATTEMPT})"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (user_id, optimisation_id, number) DO UPDATE SET parent = excluded.parent,"
        " ask_hash = excluded.ask_hash, text = excluded.text, state = excluded.state,"
        " note = excluded.note, rate = excluded.rate, scores = excluded.scores,"
        " spent = excluded.spent",
        (
            tx.user,
            optimisation_id,
            attempt.number,
            attempt.parent,
            attempt.ask_hash,
            attempt.text,
            attempt.state,
            attempt.note,
            attempt.rate,
            attempt.scores,
            attempt.spent,
            attempt.created_at,
        ),
    )


def find_attempt(tx: Tx, optimisation_id: str, number: int) -> StoredAttempt | None:
    """One attempt, or None."""
    row = tx.one(
        f"SELECT {_ATTEMPT} FROM attempts WHERE user_id = ? AND optimisation_id = ? AND number = ?",
        (tx.user, optimisation_id, number),
    )
    return None if row is None else StoredAttempt(*row)


def attempts(tx: Tx, optimisation_id: str) -> list[StoredAttempt]:
    """Every attempt of a run, in their order."""
    rows = tx.all(
        f"SELECT {_ATTEMPT} FROM attempts WHERE user_id = ? AND optimisation_id = ?"
        " ORDER BY number",
        (tx.user, optimisation_id),
    )
    return [StoredAttempt(*row) for row in rows]


def drop_attempts(tx: Tx, optimisation_id: str, after: int) -> None:
    """Forget attempts beyond a number: a run that was taken up again went another way."""
    tx.run(
        "DELETE FROM attempts WHERE user_id = ? AND optimisation_id = ? AND number > ?",
        (tx.user, optimisation_id, after),
    )


@place("optimisation", tables=("optimisations", "attempts"))
def _told(tx: Tx, needles: Needles, dry: bool) -> list[Found]:
    """Rewritten prompts carry nothing over, as far as code can tell; here is the rest of it."""
    places: list[Found] = []
    for table, key, columns in (
        ("optimisations", "id", ("final_text", "message")),
        ("attempts", "optimisation_id || ' ' || number", ("text", "note")),
    ):
        for column in columns:
            rows = tx.all(
                f"SELECT {key}, {column} FROM {table} WHERE user_id = ? AND created_at >= ?"
                f" AND {column} IS NOT NULL AND {column} <> ''",
                (tx.user, needles.since),
            )
            for row_id, text in rows:
                if (clean := needles.redacted(text)) is None:
                    continue
                places.append(Found("optimisation", str(row_id).partition(" ")[0], excerpt(text)))
                if not dry:
                    tx.run(
                        f"UPDATE {table} SET {column} = ? WHERE user_id = ? AND {key} = ?",
                        (clean, tx.user, row_id),
                    )
    return places
