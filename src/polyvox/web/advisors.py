"""Routes of advisors: list, make, change, suggest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Request
from pydantic import Field

from polyvox.fields import (
    Body,
    Color,
    Filled,
    Id,
    Message,
    ModelName,
    Name,
    ParamsBody,
    Prompt,
    Slug,
)
from polyvox.suggest import Suggested, suggest_advisors
from polyvox.values import Advisor, PromptVersion
from polyvox.web.dependencies import App, Key, Who, while_wanted
from polyvox.web.errors import responses
from polyvox.web.openapi import Router

router = Router("advisors")
Description = Annotated[Filled, Field(min_length=1, max_length=20_000)]


class AdvisorPatch(Body):
    """Changes to an advisor; what is left out stays."""

    name: Name | None = None
    description: Description | None = None
    prompt: Prompt | None = None
    model: ModelName | None = None
    color: Color | None = None
    voice: Name | None = None
    active: bool | None = None
    params: ParamsBody | None = None
    slug: Slug | None = None


class AdvisorCreate(AdvisorPatch):
    """A new advisor."""

    name: Name
    description: Description
    color: Color = ""
    active: bool = True


class Rollback(Body):
    """The version to go back to, by number or id."""

    version: Annotated[int, Field(ge=1, le=2**31)] | Id


class Reorder(Body):
    """Advisors in their new order; those not named follow."""

    advisors: list[Id] = Field(max_length=1000)


class SuggestBody(Body):
    """A question that advisors are wanted for; without a model, the default one is asked."""

    question: Message
    count: int = Field(5, ge=2, le=8)
    model: ModelName | None = None


def _details(body: AdvisorPatch) -> dict[str, Any]:
    details = body.given("prompt", "model", "voice")
    if "params" in body.model_fields_set:
        details["params"] = (body.params or ParamsBody()).value()
    return details


@router.get("/api/advisors")
async def list_advisors(app: App, who: Who, active: bool = False) -> list[Advisor]:
    """Every advisor in its order."""
    return await app.advisors.list(who, active=active)


@router.post("/api/advisors", status_code=201, responses=responses(409))
async def create_advisor(app: App, who: Who, body: AdvisorCreate) -> Advisor:
    """A new advisor."""
    app.check_model(body.model)
    return await app.advisors.create(who, **_details(body))


@router.post("/api/advisors/suggest", responses=responses(402, 404, 429, 502, 504))
async def suggest_perspectives(
    app: App, who: Who, body: SuggestBody, request: Request
) -> Suggested:
    """Have a model propose advisors for a question. Nothing is made; pick, then create them."""
    work = suggest_advisors(app.resources, who, body.question, body.count, body.model)
    return await while_wanted(request, work)


@router.post("/api/advisors/order", responses=responses(404))
async def reorder_advisors(app: App, who: Who, body: Reorder) -> Sequence[Advisor]:
    """Put the named advisors first, in this order."""
    return await app.advisors.reorder(who, body.advisors)


@router.get("/api/advisors/{advisor}")
async def get_advisor(app: App, who: Who, advisor: Key) -> Advisor:
    """One advisor, by id or slug."""
    return await app.advisors.get(who, advisor)


@router.patch("/api/advisors/{advisor}", responses=responses(409))
async def update_advisor(app: App, who: Who, advisor: Key, body: AdvisorPatch) -> Advisor:
    """Change an advisor. Another prompt (or description) makes a new version."""
    app.check_model(body.model)
    return await app.advisors.update(who, advisor, **_details(body))


@router.delete("/api/advisors/{advisor}", status_code=204)
async def remove_advisor(app: App, who: Who, advisor: Key) -> None:
    """Take an advisor off the list; its answers stay."""
    await app.advisors.remove(who, advisor)


@router.get("/api/advisors/{advisor}/versions")
async def list_versions(app: App, who: Who, advisor: Key) -> Sequence[PromptVersion]:
    """Every text its identity has had, newest first."""
    return await app.advisors.versions(who, advisor)


@router.post("/api/advisors/{advisor}/rollback")
async def rollback_advisor(app: App, who: Who, advisor: Key, body: Rollback) -> Advisor:
    """Give it an earlier identity again, as a new version."""
    return await app.advisors.rollback(who, advisor, body.version)
