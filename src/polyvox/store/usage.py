"""Usage, one row per answer, and its sums.

Invariant: an unknown price is never summed as 0. It is left out of `cost` and counted in
`unpriced`, so that whoever shows a sum can say that it is not all.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from polyvox.errors import CapReached, StoreError
from polyvox.events import NANO
from polyvox.ids import new_id
from polyvox.settings import Limits
from polyvox.store.database import Database, Tx, Value
from polyvox.values import Scope, Usage

log = logging.getLogger("polyvox.store")

Group = Literal["conversation", "advisor", "model", "day"]
_KEYS: dict[Group, str] = {
    "conversation": "conversation_id",
    "advisor": "advisor_id",
    "model": "model",
    "day": "day",
}


@dataclass(frozen=True, slots=True)
class Total:
    """A sum over answers."""

    key: str | None
    """The thing that is summed; None for all, or for conversations that were deleted."""
    answers: int
    input_tokens: int
    output_tokens: int
    cost: int
    """Nano-dollars of those answers whose price is known."""
    unpriced: int
    """Answers whose price is not known."""
    estimated: int
    """Answers whose tokens are estimated, because the provider reported none."""


def record(
    tx: Tx,
    *,
    usage: Usage,
    model: str,
    advisor_id: str,
    at: int,
    conversation_id: str | None = None,
    answer_id: str | None = None,
    purpose: str = "advisor",
) -> None:
    """Note what one call consumed."""
    tx.run(
        "INSERT INTO usage (user_id, id, day, at, conversation_id, answer_id, advisor_id, model,"
        " purpose, input_tokens, output_tokens, cost, estimated)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            tx.user,
            new_id(),
            day_of(at),
            at,
            conversation_id,
            answer_id,
            advisor_id,
            model,
            purpose,
            usage.input_tokens,
            usage.output_tokens,
            usage.cost,
            int(usage.estimated),
        ),
    )


async def note(
    database: Database,
    scope: Scope,
    now: int,
    purpose: str,
    calls: Sequence[tuple[str, str, Usage]],
) -> None:
    """Store what calls (advisor, model, usage) consumed that belong to no answer. Their words are
    there by now and shall not be lost for their bill: a failure is only logged."""

    def write(tx: Tx) -> None:
        for who, model, spent in calls:
            record(tx, usage=spent, model=model, advisor_id=who, at=now, purpose=purpose)

    try:
        if calls:
            await database.write(write, scope)
    except StoreError as error:
        log.warning("usage not recorded: %s", error.message)


def day_of(at: int) -> str:
    """The UTC day of a time."""
    return datetime.fromtimestamp(at // 1_000_000, UTC).date().isoformat()


def spent(
    tx: Tx,
    *,
    turn_id: str | None = None,
    conversation_id: str | None = None,
    day: str | None = None,
) -> int:
    """Nano-dollars known to be spent where all that is given holds."""
    where, params = _where(tx.scope, conversation_id, day)
    if turn_id is not None:
        where += " AND answer_id IN (SELECT id FROM answers WHERE user_id = ? AND turn_id = ?)"
        params += (tx.user, turn_id)
    row = tx.one(f"SELECT COALESCE(SUM(cost), 0) FROM usage WHERE {where}", params)
    return int(row[0]) if row is not None else 0


def totals(tx: Tx, by: Group | None = None, conversation_id: str | None = None) -> list[Total]:
    """Sums of each conversation, advisor, model or day (days newest first, the rest dearest
    first); without `by` one sum of everything."""
    where, params = _where(tx.scope, conversation_id, None)
    key = "NULL" if by is None else _KEYS[by]
    group = "" if by is None else f" GROUP BY {key}"
    # The two databases sort NULL to different ends.
    dearest = f" ORDER BY 5 DESC, 3 DESC, {key} IS NULL, 1"
    order = {None: "", "day": " ORDER BY 1 DESC"}.get(by, dearest)
    rows = tx.all(
        f"SELECT {key}, COUNT(*), COALESCE(SUM(input_tokens), 0), COALESCE(SUM(output_tokens), 0),"
        " COALESCE(SUM(cost), 0), COUNT(*) - COUNT(cost), COALESCE(SUM(estimated), 0)"
        f" FROM usage WHERE {where}{group}{order}",
        params,
    )
    return [Total(row[0], *(int(number) for number in row[1:])) for row in rows]


def _where(
    scope: Scope, conversation_id: str | None, day: str | None
) -> tuple[str, tuple[Value, ...]]:
    conditions: tuple[tuple[str, Value], ...] = (
        ("user_id = ?", scope.user),
        ("conversation_id = ?", conversation_id),
        ("day = ?", day),
    )
    given = [(sql, value) for sql, value in conditions if value is not None]
    return " AND ".join(sql for sql, _ in given), tuple(value for _, value in given)


# -- caps on cost ----------------------------------------------------------------------------------


def check_caps(tx: Tx, limits: Limits, conversation_id: str, turn_id: str | None, now: int) -> None:
    """Raise CapReached when a cap of the user's own is used up. Answers already in flight are let
    through, so concurrent turns can overshoot by at most those."""
    spending: dict[str, dict[str, str | None]] = {
        "cost_per_turn": {"turn_id": turn_id},
        "cost_per_conversation": {"conversation_id": conversation_id},
        "cost_per_day": {"day": day_of(now)},
    }
    for name, where in spending.items():
        cap: float | None = getattr(limits, name)
        if cap is None or (name == "cost_per_turn" and not turn_id):
            continue
        cost = spent(tx, **where)
        if cost >= cap * NANO:
            raise CapReached(
                f"The cap limits.{name} of {cap:g} USD is reached: {cost / NANO:.4f} USD spent.",
                f"Raise limits.{name} in the settings, or wait.",
            )


# -- tokens that a model really counts for one that we estimate ------------------------------------

KEEP = 0.5
LOWEST, HIGHEST = 0.1, 10.0
"""A report beyond these says more about the report than about the model."""


def learn_ratio(tx: Tx, model: str, reported: float, estimated: float) -> None:
    """Learn from one answer: input tokens as reported and as estimated before (without ratio).
    A running mean that forgets: each report halves the weight of all before it, so three alike
    outweigh any past, whatever their sizes."""
    if reported <= 0 or estimated <= 0:
        return
    seen = min(HIGHEST, max(LOWEST, reported / estimated))
    tx.run(
        "INSERT INTO ratios (user_id, model, reported, estimated, samples) VALUES (?, ?, ?, ?, 1)"
        " ON CONFLICT (user_id, model) DO UPDATE SET"
        f" reported = ratios.reported * {KEEP} + excluded.reported,"
        f" estimated = ratios.estimated * {KEEP} + excluded.estimated,"
        " samples = ratios.samples + 1",
        (tx.user, model, seen, 1.0),
    )


def token_ratio(tx: Tx, model: str) -> float:
    """Reported over estimated; 1.0 for a model that has reported nothing yet."""
    row = tx.one(
        "SELECT reported, estimated FROM ratios WHERE user_id = ? AND model = ?",
        (tx.user, model),
    )
    return 1.0 if row is None else float(row[0] / row[1])
