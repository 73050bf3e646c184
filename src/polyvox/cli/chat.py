"""`polyvox chat`: a conversation with the council, or with one companion, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from polyvox.cli.options import Council, Earlier, Recipe

if TYPE_CHECKING:
    from polyvox.app import Polyvox
    from polyvox.values import Advisor, Conversation


def chat(
    conversation: Earlier = None,
    recipe: Recipe = None,
    council: Council = None,
    persona: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The companion to talk with: harbor, flint, margin, or an advisor's slug.",
        ),
    ] = None,
) -> None:
    """Talk with the council, or (--recipe companion) with one companion who remembers you.

    /help lists what can be typed besides messages.
    """
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> int:
        from polyvox.cli.choosing import check_council, check_recipe, find_conversation
        from polyvox.cli.room import Room
        from polyvox.errors import Invalid

        chosen = await find_conversation(app, conversation) if conversation else None
        await check_recipe(app, recipe, chosen)
        await check_council(app, council, chosen)
        alone = await _with(app, chosen) if chosen is not None else None
        if chosen is None and council is None and (persona or recipe == "companion"):
            alone, chosen = await _companion(app, persona or "harbor", recipe)
        elif persona:
            raise Invalid(
                "A companion is talked with alone.", "Leave --conversation and --council away."
            )
        app.work()  # what is said here is remembered, whether or not a server runs
        of = "companion" if alone is not None else recipe
        return await Room(app, chosen, recipe=of, council=council, alone=alone).stay()

    run(work)


async def _with(app: Polyvox, chosen: Conversation) -> Advisor | None:
    """The companion whose conversation it is."""
    from polyvox.cli.choosing import SCOPE

    if chosen.recipe != "companion":
        return None
    everyone = await app.advisors.list(SCOPE)
    return next((one for one in everyone if chosen.advisors == (one.id,)), None)


async def _companion(
    app: Polyvox, name: str, recipe: str | None
) -> tuple[Advisor, Conversation | None]:
    """The companion, and the conversation with it that was spoken in last."""
    from polyvox.cli.choosing import SCOPE
    from polyvox.errors import Invalid
    from polyvox.session.personas import find_or_make

    if recipe not in (None, "companion"):
        raise Invalid(f"A persona is no part of the recipe {recipe}.", "Leave --recipe away.")
    now = app.clock()
    who = await app.database.write(lambda tx: find_or_make(tx, SCOPE, name, now))
    return who, await app.conversations.latest(SCOPE, recipe="companion", advisor_id=who.id)
