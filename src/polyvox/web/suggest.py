"""Suggesting advisors for a question."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from polyvox.errors import Unavailable
from polyvox.suggest import suggest_advisors
from polyvox.web.context import App, Who
from polyvox.web.failures import responses
from polyvox.web.fields import Message, ModelName
from polyvox.web.schemas import Body

router = APIRouter(tags=["advisors"])

T = TypeVar("T")


class SuggestBody(Body):
    """A question that advisors are wanted for; without a model, the default one is asked."""

    question: Message
    count: int = Field(5, ge=2, le=8)
    model: ModelName | None = None


class SuggestionOut(BaseModel):
    """An advisor that could be made: `name` and `description` are what a new one needs."""

    name: str
    description: str
    why: str
    """What this one would see that others miss."""


class SuggestedOut(BaseModel):
    """Perspectives that would disagree usefully, and the model that proposed them."""

    suggestions: list[SuggestionOut]
    model: str
    note: str
    """What to know of that model (the embedded one is tiny)."""


@router.post("/api/advisors/suggest", responses=responses(402, 404, 429, 502, 504))
async def suggest_perspectives(
    app: App, who: Who, body: SuggestBody, request: Request
) -> SuggestedOut:
    """Have a model propose advisors for a question. Nothing is made; pick, then create them."""
    work = suggest_advisors(app.resources, who, body.question, body.count, body.model)
    found = await while_wanted(request, work)
    return SuggestedOut(
        suggestions=[
            SuggestionOut(name=one.name, description=one.description, why=one.why)
            for one in found.suggestions
        ],
        model=found.model,
        note=found.note,
    )


async def while_wanted(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Do something that costs money as long as the client is there to hear of it."""
    doing = asyncio.create_task(work)
    gone = asyncio.create_task(_gone(request))
    try:
        await asyncio.wait((doing, gone), return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise Unavailable("The client has left.")  # nobody is there to read this
        return doing.result()
    finally:
        gone.cancel()
        if not doing.done():
            doing.cancel()
            await asyncio.wait((doing,))


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
