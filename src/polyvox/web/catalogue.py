"""Routes around the conversation: usage, search."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel

from polyvox.store import search, usage
from polyvox.web.context import App, Who
from polyvox.web.failures import responses
from polyvox.web.fields import Id, Text
from polyvox.web.schemas import usd

router = APIRouter(tags=["catalogue"])


class UsageRow(BaseModel):
    """A sum; `cost` is of what has a known price, `unpriced` counts the rest."""

    key: str | None
    answers: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    unpriced: int
    estimated: int


class UsageTotals(BaseModel):
    """Usage in all, and in groups."""

    total: UsageRow
    rows: list[UsageRow]


@router.get("/api/usage", responses=responses())
async def get_usage(
    app: App,
    who: Who,
    by: Literal["day", "advisor", "model", "conversation"] = "day",
    conversation: Id | None = None,
) -> UsageTotals:
    """Tokens and cost by day, advisor, model or conversation."""
    rows = await usage.summary(app.database, who, by, conversation_id=conversation)
    total = await usage.summary(app.database, who, conversation_id=conversation)
    return UsageTotals(total=_row(total[0]), rows=[_row(one) for one in rows])


def _row(total: usage.Total) -> UsageRow:
    return UsageRow(
        key=total.key,
        answers=total.answers,
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
        cost=None if total.answers and total.unpriced == total.answers else usd(total.cost),
        unpriced=total.unpriced,
        estimated=total.estimated,
    )


class HitOut(BaseModel):
    """One place where the words were found; `marks` are (start, end) in the snippet."""

    conversation_id: str
    title: str
    kind: str
    id: str
    turn_id: str | None
    advisor_id: str | None
    advisor_name: str | None
    snippet: str
    marks: list[tuple[int, int]]
    at: int


@router.get("/api/search", responses=responses())
async def search_texts(
    app: App,
    who: Who,
    q: Annotated[Text, Query(max_length=1000)],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> list[HitOut]:
    """Full text over messages, answers and titles."""
    hits = await search.search(app.database, who, q, limit)
    return [
        HitOut(
            **{n: getattr(hit, n) for n in HitOut.model_fields if n != "marks"},
            marks=list(hit.marks),
        )
        for hit in hits
    ]
