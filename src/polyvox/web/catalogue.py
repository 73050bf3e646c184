"""Routes around the conversation: recipes, settings, models, usage, search."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Query
from pydantic import BaseModel

from polyvox.context.recipe import BUILT_IN, as_data, changed
from polyvox.errors import NotFound
from polyvox.session.council import find_recipe
from polyvox.settings import Secret
from polyvox.store import search, usage
from polyvox.web.context import App, Who
from polyvox.web.failures import responses
from polyvox.web.schemas import usd

router = APIRouter(tags=["catalogue"])


class RecipeOut(BaseModel):
    """A recipe as it is in force."""

    name: str
    recipe: dict[str, Any]
    changed: dict[str, Any]
    """What the user changed of it."""


@router.get("/api/recipes", responses=responses())
async def list_recipes(app: App, who: Who) -> list[RecipeOut]:
    """Every recipe."""
    return [await _recipe(app, who, name) for name in BUILT_IN]


@router.get("/api/recipes/{name}", responses=responses(404))
async def get_recipe(app: App, who: Who, name: str) -> RecipeOut:
    """One recipe."""
    return await _recipe(app, who, name)


@router.patch("/api/recipes/{name}", responses=responses(404))
async def change_recipe(app: App, who: Who, name: str, body: dict[str, Any]) -> RecipeOut:
    """Change parts of a recipe: phases, window, visibility, stamps, texts. Holds from the next
    message on."""
    now = await _recipe(app, who, name)
    change = {**now.changed, **body}
    base = changed(BUILT_IN[name], app.settings.recipes.get(name, {}))
    changed(base, change)
    await app.recipes.put(who, name, change)
    return await _recipe(app, who, name)


@router.delete("/api/recipes/{name}", status_code=204, responses=responses(404))
async def reset_recipe(app: App, who: Who, name: str) -> None:
    """Undo every change to a recipe."""
    await _recipe(app, who, name)
    await app.recipes.delete(who, name)


async def _recipe(app: App, who: Who, name: str) -> RecipeOut:
    if name not in BUILT_IN:
        raise NotFound(
            f"There is no recipe {name!r}.", f"Known recipes: {', '.join(sorted(BUILT_IN))}."
        )
    recipe = await app.database.read(lambda tx: find_recipe(tx, who, app.settings, name))
    stored = await app.recipes.get(who, name)
    return RecipeOut(name=name, recipe=as_data(recipe), changed=dict(stored or {}))


@router.get("/api/settings", responses=responses())
async def settings(app: App) -> dict[str, Any]:
    """The settings in force; of secrets only where they come from."""
    shown: dict[str, Any] = _without_secrets(app.settings.model_dump())
    shown["models"]["default"] = app.models.default
    return shown


def _without_secrets(value: Any) -> Any:  # noqa: ANN401 - any tree of settings
    if isinstance(value, Secret):
        return value.origin
    if isinstance(value, dict):
        return {key: _without_secrets(inner) for key, inner in value.items()}
    return [_without_secrets(inner) for inner in value] if isinstance(value, list | tuple) else value


@router.get("/api/models", responses=responses())
async def models(app: App) -> dict[str, Any]:
    """Providers, whether each has its key, and their models; which model is the default."""
    return {
        "default": app.models.default,
        "note": app.models.facts(app.models.default).note,
        "providers": msgspec.to_builtins(app.models.listing()),
    }


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
async def usage_totals(
    app: App,
    who: Who,
    by: Literal["day", "advisor", "model", "conversation"] = "day",
    conversation: str | None = None,
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
async def full_text(
    app: App,
    who: Who,
    q: Annotated[str, Query(max_length=1000)],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> list[HitOut]:
    """Full text over messages, answers and titles."""
    hits = await search.search(app.database, who, q, limit)
    return [
        HitOut(**{n: getattr(hit, n) for n in HitOut.model_fields if n != "marks"}, marks=list(hit.marks))
        for hit in hits
    ]
