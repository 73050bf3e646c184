"""Which conversation and which message a command means."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from polyvox.cli.output import note
from polyvox.errors import Invalid, NotFound
from polyvox.receive import mentioned
from polyvox.values import Conversation, Scope

if TYPE_CHECKING:
    from polyvox.app import Polyvox
    from polyvox.store.conversations import ConversationDetails

SCOPE = Scope()


async def find_conversation(app: Polyvox, name: str) -> Conversation:
    """A conversation by its id, or the `last` one that was spoken in."""
    if name != "last":
        return await app.conversations.get(SCOPE, name)
    found = await app.conversations.latest(SCOPE)
    if found is None:
        raise NotFound("There is no conversation yet.", 'Begin one: polyvox ask "…"')
    return found


async def check_recipe(app: Polyvox, name: str | None, chosen: Conversation | None) -> None:
    """Refuse a recipe that does not exist, or that is not the conversation's own."""
    if name is None:
        return
    from polyvox.session.council import find_recipe

    await app.database.read(lambda tx: find_recipe(tx, SCOPE, app.settings, name))
    if chosen is not None and chosen.recipe != name:
        raise Invalid(
            f"That conversation has the recipe {chosen.recipe}, not {name}.",
            "Leave --recipe away, or begin a new conversation.",
        )


async def begin_conversation(app: Polyvox, recipe: str | None, council: str | None) -> Conversation:
    """A new conversation, of a council where one is named: then with the council's own recipe."""
    details: ConversationDetails = {}
    if council is not None:
        details["council"] = council
    if recipe is not None:
        details["recipe"] = recipe
    return await app.conversations.create(SCOPE, **details)


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


async def note_unknown_mention(app: Polyvox, message: str) -> None:
    """Say so where a message begins with an @name that is nobody's; the @ is just text then."""
    word = re.match(r"@(\w[\w-]*)", message.lstrip())
    if word is None:
        return
    known = await app.advisors.list(SCOPE)
    slugs = [one.slug for one in known]
    if word[1].casefold() in slugs:
        return
    near = difflib.get_close_matches(word[1].casefold(), slugs, 1)
    perhaps = f"; did you mean @{near[0]}?" if near else "."
    asked = "" if mentioned(message, known) else " Everyone is asked."
    note(f"There is no advisor @{word[1]}{perhaps}{asked}")


def read_message(given: str | None, longest: int) -> str:
    """The message: the one given, or what stands on stdin where it is `-` or a pipe."""
    if given is not None and given != "-":
        return given
    if given is None and sys.stdin.isatty():
        raise Invalid("There is no message.", 'Write polyvox ask "…", or send it through a pipe.')
    try:
        return sys.stdin.buffer.read(longest * 4 + 1).decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise Invalid("The message on stdin is not UTF-8 text.", "Send text.") from None


async def tiny_note(app: Polyvox, names: Sequence[str] | None = None) -> str:
    """What to say of the default model, if any of those who are asked uses it: the embedded one is
    tiny."""
    told = app.models.facts(app.models.default).note
    if not told:
        return ""
    wanted = {name.removeprefix("@").casefold() for name in names or ()}
    everyone = await app.advisors.list(SCOPE)
    asked = [one for one in everyone if (one.slug in wanted if names else one.active)]
    return told if not asked or any(one.model is None for one in asked) else ""
