"""Routes of usage: tokens and cost, summed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from polyvox.fields import Id
from polyvox.shapes import UsageRow
from polyvox.store import usage
from polyvox.web.dependencies import App, Who
from polyvox.web.openapi import Router

router = Router("catalogue")


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
    (total,), rows = await app.database.read(
        lambda tx: (usage.totals(tx, None, conversation), usage.totals(tx, by, conversation)), who
    )
    return UsageTotals(UsageRow.of(total), [UsageRow.of(row) for row in rows])
