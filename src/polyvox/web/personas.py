"""Routes of companion personas: whom one can talk to alone, and the conversation with each."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from polyvox.companion.personas import Persona, meet, personas
from polyvox.shapes import ConversationOut
from polyvox.web.dependencies import App, Key, Who
from polyvox.web.errors import responses

router = APIRouter(tags=["companion"])


class PersonaOut(BaseModel):
    """Somebody to talk to alone."""

    slug: str
    name: str
    about: str
    """Who it is, for the person who chooses."""
    color: str
    shipped: bool
    """Whether it comes with the program."""
    advisor_id: str | None
    """Null until somebody talks to it."""
    conversation_id: str | None
    """The conversation with it alone that was spoken in last."""

    @classmethod
    def of(cls, one: Persona) -> PersonaOut:
        """From the value."""
        same = {name: getattr(one, name) for name in ("slug", "name", "about", "color", "shipped")}
        return cls(
            **same,
            advisor_id=None if one.advisor is None else one.advisor.id,
            conversation_id=None if one.conversation is None else one.conversation.id,
        )


@router.get("/api/personas", responses=responses())
async def list_personas(app: App, who: Who) -> list[PersonaOut]:
    """Those that come with the program, then the advisors that you talk to alone."""
    found = await app.database.read(lambda tx: personas(tx), who)
    return [PersonaOut.of(one) for one in found]


@router.post("/api/personas/{persona}/conversation", responses=responses(404))
async def meet_persona(app: App, who: Who, persona: Key) -> ConversationOut:
    """The conversation with a persona alone: the one spoken in last, or a new one."""
    _, conversation = await meet(app.database, app.clock, who, persona)
    return ConversationOut.of(conversation)
