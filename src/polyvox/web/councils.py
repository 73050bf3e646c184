"""Routes of councils."""

from __future__ import annotations

from pydantic import Field

from polyvox.fields import Asking, Body, Id, Name, RecipeName, Slug
from polyvox.values import Council
from polyvox.web.dependencies import App, Key, Who
from polyvox.web.errors import responses
from polyvox.web.openapi import Router

router = Router("advisors")


class CouncilCreate(Body):
    """A new council."""

    name: Name
    slug: Slug | None = None
    advisors: list[Id] = Field(default_factory=list, max_length=200)
    recipe: RecipeName = "council"
    phases: Asking | None = None
    """Answers in which its advisors only ask, at most; 0: none, null: as the recipe says."""


class CouncilPatch(Body):
    """Changes to a council."""

    name: Name | None = None
    slug: Slug | None = None
    advisors: list[Id] | None = Field(None, max_length=200)
    recipe: RecipeName | None = None
    phases: Asking | None = None
    """As above; null goes back to what the recipe says."""


@router.get("/api/councils")
async def list_councils(app: App, who: Who) -> list[Council]:
    """Every council."""
    return await app.councils.list(who)


@router.post("/api/councils", status_code=201, responses=responses(404, 409))
async def create_council(app: App, who: Who, body: CouncilCreate) -> Council:
    """A new council."""
    await app.check_recipe(who, body.recipe)
    return await app.councils.create(who, **body.model_dump(exclude_none=True))


@router.get("/api/councils/{council}")
async def get_council(app: App, who: Who, council: Key) -> Council:
    """One council, by id or slug."""
    return await app.councils.get(who, council)


@router.patch("/api/councils/{council}", responses=responses(409))
async def update_council(app: App, who: Who, council: Key, body: CouncilPatch) -> Council:
    """Change a council."""
    await app.check_recipe(who, body.recipe)
    return await app.councils.update(who, council, **body.given("phases"))


@router.delete("/api/councils/{council}", status_code=204)
async def remove_council(app: App, who: Who, council: Key) -> None:
    """Delete a council; its advisors stay."""
    await app.councils.remove(who, council)
