"""Companion personas as advisors: those that come with the program are made when first talked to,
inactive, so that no council has them unasked; and the one conversation with each."""

from __future__ import annotations

from polyvox.companion.kernel import opening, shipped
from polyvox.errors import NotFound
from polyvox.ids import Clock
from polyvox.store import advisors, conversations
from polyvox.store.database import Database, Tx
from polyvox.values import Advisor, Conversation, Scope

RECIPE = "companion"
COLORS = {"harbor": "#2f6f73", "flint": "#a4502f", "margin": "#5d5a8c"}


def find_or_make(tx: Tx, scope: Scope, key: str, now: int) -> Advisor:
    """A persona by its id or slug; a shipped one is made where it is missing."""
    found = advisors.find(tx, scope, key)
    if found is not None:
        return found
    slug = key.removeprefix("@").casefold()
    if slug not in shipped():
        raise NotFound(
            f"There is no persona {key[:80]!r}.",
            f"Give an advisor's id or slug, or one of: {', '.join(shipped())}.",
        )
    return advisors.create(
        tx,
        scope,
        now,
        "companion",
        {
            "slug": slug,
            "name": slug.capitalize(),
            "description": opening(slug),
            "color": COLORS.get(slug, ""),
            "active": False,
        },
    )


async def meet(
    database: Database, clock: Clock, scope: Scope, key: str
) -> tuple[Advisor, Conversation]:
    """A persona, and the conversation with it alone that was spoken in last (or a new one)."""

    def look(tx: Tx) -> tuple[Advisor, Conversation] | None:
        persona = advisors.find(tx, scope, key)
        talk = None if persona is None else _latest(tx, scope, persona)
        return None if persona is None or talk is None else (persona, talk)

    def make(tx: Tx) -> tuple[Advisor, Conversation]:
        now = clock()
        persona = find_or_make(tx, scope, key, now)
        talk = _latest(tx, scope, persona) or conversations.create(
            tx,
            scope,
            now,
            {"title": persona.name, "recipe": RECIPE, "advisors": [persona.id]},
        )
        return persona, talk

    found = await database.read(look)
    return found if found is not None else await database.write(make)


def _latest(tx: Tx, scope: Scope, persona: Advisor) -> Conversation | None:
    return conversations.latest(tx, scope, recipe=RECIPE, advisor_id=persona.id)
