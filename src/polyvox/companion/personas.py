"""Companion personas as advisors: those that come with the program are made when first talked to,
inactive, so that no council has them unasked; and the one conversation with each."""

from __future__ import annotations

from dataclasses import dataclass

from polyvox.companion.kernel import kernel, opening, shipped
from polyvox.errors import NotFound
from polyvox.ids import Clock
from polyvox.store import advisors, conversations
from polyvox.store.database import Database, Tx
from polyvox.values import Advisor, Conversation, Scope

RECIPE = "companion"
COLORS = {"harbor": "#2f6f73", "flint": "#a4502f", "margin": "#5d5a8c"}
ABOUT = {
    "harbor": "Warm and unhurried: for the end of a day, or the start of a hard one.",
    "flint": "Brief and direct: for what you have been circling and want to begin.",
    "margin": "A careful reader: marks, questions, and a line back to an earlier page.",
}
"""Who those that come with the program are, for the person who chooses one, in this order."""


@dataclass(frozen=True, slots=True)
class Persona:
    """Somebody to talk to, made or not, and the conversation with it that was spoken in last."""

    slug: str
    name: str
    about: str
    color: str
    shipped: bool
    advisor: Advisor | None = None
    conversation: Conversation | None = None


def personas(tx: Tx) -> list[Persona]:
    """Those that come with the program, then the advisors that somebody talks to alone."""
    ours = [*ABOUT, *(slug for slug in shipped() if slug not in ABOUT)]
    found = [_persona(tx, slug, advisors.find(tx, slug)) for slug in ours]
    known = {one.advisor.id for one in found if one.advisor is not None}
    for one in conversations.sole_advisors(tx, RECIPE):
        advisor = None if one in known else advisors.find(tx, one)
        if advisor is not None:
            found.append(_persona(tx, advisor.slug, advisor))
    return found


def _persona(tx: Tx, slug: str, advisor: Advisor | None) -> Persona:
    ours = slug in shipped()
    if advisor is None:
        return Persona(slug, slug.capitalize(), ABOUT.get(slug, ""), COLORS.get(slug, ""), ours)
    as_it_came = ours and kernel(advisor) == shipped()[slug]
    about = ABOUT.get(slug, "") if as_it_came else advisor.description
    talk = _latest(tx, advisor)
    return Persona(advisor.slug, advisor.name, about, advisor.color, ours, advisor, talk)


def find_or_make(tx: Tx, key: str, now: int) -> Advisor:
    """A persona by its id or slug; a shipped one is made where it is missing."""
    found = advisors.find(tx, key)
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
        persona = advisors.find(tx, key)
        talk = None if persona is None else _latest(tx, persona)
        return None if persona is None or talk is None else (persona, talk)

    def make(tx: Tx) -> tuple[Advisor, Conversation]:
        now = clock()
        persona = find_or_make(tx, key, now)
        talk = _latest(tx, persona) or conversations.create(
            tx, now, {"title": persona.name, "recipe": RECIPE, "advisors": [persona.id]}
        )
        return persona, talk

    found = await database.read(look, scope)
    return found if found is not None else await database.write(make, scope)


def _latest(tx: Tx, persona: Advisor) -> Conversation | None:
    return conversations.latest(tx, recipe=RECIPE, advisor_id=persona.id)
