"""What the next session is told at its start, for the person to look at and veto."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel

from polyvox.fields import Body, Id, RecipeName, Vetoes
from polyvox.memory.packets import ItemKind
from polyvox.session.lifecycle import set_veto
from polyvox.session.preview import Shown, Strip, strip
from polyvox.web.dependencies import App, Key, Who
from polyvox.web.errors import responses

router = APIRouter(tags=["memory"])


class SourceOut(BaseModel):
    """Where something remembered comes from, as far as that is known."""

    quote: str | None
    """The person's very words."""
    said_at: int | None
    session_id: str | None
    elsewhere: bool
    """True: that session is none of the conversations here."""


class StartItemOut(BaseModel):
    """Something that a session is told."""

    id: str
    """What a veto names it by; what rests on the same words has the same."""
    kind: ItemKind
    text: str
    source: SourceOut
    when: Literal["start", "later"]
    """Told at once, or only where it comes up."""
    vetoed: bool

    @classmethod
    def of(cls, one: Shown) -> StartItemOut:
        """From the value."""
        item = one.item
        source = SourceOut(
            quote=item.quote,
            said_at=item.said_at,
            session_id=item.session_id,
            elsewhere=one.elsewhere,
        )
        return cls(
            id=item.id,
            kind=item.kind,
            text=item.text,
            source=source,
            when=one.when,
            vetoed=one.vetoed,
        )


class StartOut(BaseModel):
    """What the next message's session is told; a running one: what it was told, and what may come
    up in it."""

    session: Literal["new", "running"]
    session_id: str | None
    memory: bool
    """False: it is switched off, by the setting or in the recipe."""
    recall: Literal["auto", "off"]
    """Whether its turns look things up as well."""
    items: list[StartItemOut]
    degrades: list[str]
    """What may be missing, and why."""

    @classmethod
    def of(cls, one: Strip) -> StartOut:
        """From the value."""
        return cls(
            session="new" if one.session is None else "running",
            session_id=None if one.session is None else one.session.id,
            memory=one.memory,
            recall="auto" if one.recall else "off",
            items=[StartItemOut.of(each) for each in one.items],
            degrades=list(one.degrades),
        )


class VetoBody(Body):
    """What a session shall not be told; an empty list takes every veto back."""

    items: Vetoes


@router.get("/api/memory/start", responses=responses(404))
async def get_start(
    app: App,
    who: Who,
    recipe: RecipeName = "council",
    conversation: Annotated[Id | None, Query()] = None,
) -> StartOut:
    """What I remember and will use: what the next message's session is told at its start, and what
    it is told only where it comes up. With a conversation, its own recipe counts. No model is
    asked: one that writes handovers may put it in other words."""
    return StartOut.of(await strip(app.resources, app.services.current, who, recipe, conversation))


@router.put("/api/conversations/{conversation}/memory/veto", responses=responses(404, 409))
async def put_veto(app: App, who: Who, conversation: Key, body: VetoBody) -> StartOut:
    """Change what the session that is running shall not be told; it holds from the next message
    on."""
    await set_veto(app.resources, who, conversation, body.items)
    return StartOut.of(
        await strip(app.resources, app.services.current, who, "council", conversation)
    )
