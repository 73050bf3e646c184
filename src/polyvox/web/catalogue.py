"""Routes around the conversation: settings, models, usage, search."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel

from polyvox.settings import Secret, shown_url
from polyvox.store import search, usage
from polyvox.web.context import App, Who
from polyvox.web.failures import responses
from polyvox.web.fields import Id, Text
from polyvox.web.schemas import usd

router = APIRouter(tags=["catalogue"])


@router.get("/api/settings", responses=responses())
async def get_settings(app: App) -> dict[str, Any]:
    """The settings in force; of secrets only where they come from."""
    shown: dict[str, Any] = _without_secrets(app.settings.model_dump())
    shown["models"]["default"] = app.models.default
    return shown


def _without_secrets(value: Any) -> Any:  # noqa: ANN401 - any tree of settings
    if isinstance(value, Secret):
        return value.origin
    if isinstance(value, str):
        return shown_url(value)
    if isinstance(value, dict):
        shown = {key: _without_secrets(inner) for key, inner in value.items()}
        if isinstance(headers := shown.get("headers"), dict):
            shown["headers"] = dict.fromkeys(headers, "***")  # a key may be among them
        return shown
    return (
        [_without_secrets(inner) for inner in value] if isinstance(value, list | tuple) else value
    )


class ProviderOut(BaseModel):
    """A provider, whether its key is there (never the key), and its models by full name."""

    name: str
    kind: str
    base_url: str
    key: Literal["present", "missing", "not needed"]
    key_source: str
    models: list[str]


class ModelsOut(BaseModel):
    """The models there are."""

    default: str
    note: str
    """What to know of the default model (the embedded one is tiny)."""
    providers: list[ProviderOut]


@router.get("/api/models", responses=responses())
async def list_models(app: App) -> ModelsOut:
    """Providers, whether each has its key, and their models; which model is the default."""
    return ModelsOut(
        default=app.models.default,
        note=app.models.facts(app.models.default).note,
        providers=[ProviderOut(**_without_secrets(asdict(row))) for row in app.models.listing()],
    )


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
