"""What the next session is told at its start, for the person to look at and veto."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from polyvox.fields import Body, Id, RecipeName, Vetoes
from polyvox.session.lifecycle import set_veto
from polyvox.session.preview import Strip, strip
from polyvox.web.dependencies import App, Key, Who
from polyvox.web.errors import responses
from polyvox.web.openapi import Router

router = Router("memory")


class VetoBody(Body):
    """What a session shall not be told; an empty list takes every veto back."""

    items: Vetoes


@router.get("/api/memory/start", responses=responses(404))
async def get_start(
    app: App,
    who: Who,
    recipe: RecipeName = "council",
    conversation: Annotated[Id | None, Query()] = None,
) -> Strip:
    """What I remember and will use: what the next message's session is told at its start, and what
    it is told only where it comes up. With a conversation, its own recipe counts. No model is
    asked: one that writes handovers may put it in other words."""
    await app.check_recipe(who, recipe)
    return await strip(app.resources, app.services.current, who, recipe, conversation)


@router.put("/api/conversations/{conversation}/memory/veto", responses=responses(409))
async def put_veto(app: App, who: Who, conversation: Key, body: VetoBody) -> Strip:
    """Change what the session that is running shall not be told; it holds from the next message
    on."""
    await set_veto(app.resources, who, conversation, body.items)
    return await strip(app.resources, app.services.current, who, "council", conversation)
