"""Usage, one row per answer, and its sums.

Invariant: an unknown price is never summed as 0. It is left out of `cost` and counted in
`unpriced`, so that whoever shows a sum can say that it is not all.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from polyvox.ids import new_id
from polyvox.store.database import Database, Tx, Value
from polyvox.values import Scope, Usage

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


def totals(
    tx: Tx,
    by: Group | None = None,
    *,
    conversation_id: str | None = None,
) -> list[Total]:
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


async def summary(
    database: Database,
    scope: Scope,
    by: Group | None = None,
    *,
    conversation_id: str | None = None,
) -> list[Total]:
    """`totals` in a transaction of its own."""
    return await database.read(lambda tx: totals(tx, by, conversation_id=conversation_id), scope)


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
