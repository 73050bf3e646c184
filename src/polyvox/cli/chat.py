"""`polyvox chat`: a conversation with the council, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from polyvox.cli.options import Council

if TYPE_CHECKING:
    from polyvox.app import Polyvox


def chat(
    conversation: Annotated[
        str | None,
        typer.Option("--conversation", "-c", metavar="ID", help="Go on with this one; or: last."),
    ] = None,
    recipe: Annotated[
        str | None, typer.Option(metavar="NAME", help="The recipe of a new conversation.")
    ] = None,
    council: Council = None,
) -> None:
    """Talk with the council. /help lists what can be typed besides messages."""
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> int:
        from polyvox.cli.choosing import check_council, check_recipe, find_conversation
        from polyvox.cli.room import Room

        chosen = await find_conversation(app, conversation) if conversation else None
        await check_recipe(app, recipe, chosen)
        await check_council(app, council, chosen)
        return await Room(app, chosen, recipe=recipe, council=council).stay()

    run(work)
