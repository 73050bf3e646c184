"""Routes of usage: tokens and cost, summed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from polyvox.fields import Id
from polyvox.shapes import shape, usd
from polyvox.store import usage
from polyvox.web.dependencies import App, Who
from polyvox.web.openapi import Router

router = Router("catalogue")


@dataclass(frozen=True, slots=True)
class UsageRow:
    """A sum; `cost` is of what has a known price, `unpriced` counts the rest."""

    key: str | None
    answers: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    unpriced: int
    estimated: int


@dataclass(frozen=True, slots=True)
class UsageTotals:
    """Usage in all, and in groups."""

    total: UsageRow
    rows: list[UsageRow]


@router.get("/api/usage")
async def get_usage(
    app: App,
    who: Who,
    by: Literal["day", "advisor", "model", "conversation"] = "day",
    conversation: Id | None = None,
) -> UsageTotals:
    """Tokens and cost by day, advisor, model or conversation."""
    rows = await usage.summary(app.database, who, by, conversation_id=conversation)
    total = await usage.summary(app.database, who, conversation_id=conversation)
    return UsageTotals(_row(total[0]), [_row(row) for row in rows])


def _row(total: usage.Total) -> UsageRow:
    unknown = total.answers and total.unpriced == total.answers
    return shape(UsageRow, total, cost=None if unknown else usd(total.cost))
