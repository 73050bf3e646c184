"""The conversation, recipe, council or advisor that a name on the command line means."""

from __future__ import annotations

from collections.abc import Sequence

from polyvox.app import Polyvox
from polyvox.errors import Invalid, NotFound
from polyvox.session.council import find_recipe
from polyvox.store.conversations import ConversationDetails
from polyvox.values import Advisor, Conversation, Scope

SCOPE = Scope()


async def find_conversation(app: Polyvox, name: str) -> Conversation:
    """A conversation by its id, or the `last` one that was spoken in."""
    if name != "last":
        return await app.conversations.get(SCOPE, name)
    latest = await app.conversations.latest(SCOPE)
    if latest is None:
        raise NotFound("There is no conversation yet.", 'Begin one: polyvox ask "…"')
    return latest


async def begin_conversation(app: Polyvox, recipe: str | None, council: str | None) -> Conversation:
    """Begin a conversation, of a council where one is named: then with the council's own recipe."""
    details: ConversationDetails = {}
    if council is not None:
        details["council"] = council
    if recipe is not None:
        details["recipe"] = recipe
    return await app.conversations.create(SCOPE, **details)


async def check_recipe(app: Polyvox, name: str | None, chosen: Conversation | None) -> None:
    """Refuse a recipe that does not exist, or that is not the conversation's own."""
    if name is None:
        return
    await app.database.read(lambda tx: find_recipe(tx, app.settings, name), SCOPE)
    if chosen is not None and chosen.recipe != name:
        raise Invalid(
            f"That conversation has the recipe {chosen.recipe}, not {name}.",
            "Leave --recipe away, or begin a new conversation.",
        )


async def check_council(app: Polyvox, name: str | None, chosen: Conversation | None) -> None:
    """Refuse a council that does not exist, or for a conversation that has begun without it."""
    if name is None:
        return
    await app.councils.get(SCOPE, name)
    if chosen is not None:
        raise Invalid(
            "That conversation has its council already.",
            "Leave --council away, or begin a new conversation.",
        )


def find_advisor(name: str, advisors: Sequence[Advisor]) -> Advisor | None:
    """An advisor by slug, @slug, @ai-slug or name, in any case; by its id too."""
    wanted = name.strip().casefold()
    plain = wanted.removeprefix("@")
    for key in (wanted, plain, plain.removeprefix("ai-")):
        for advisor in advisors:
            if key in (advisor.slug, advisor.name.casefold(), advisor.id):
                return advisor
    return None
