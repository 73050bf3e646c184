"""`polyvox agent`: one advisor by its name, its latest conversation continued."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from polyvox.cli.failing import FAILED, STOPPED, tell

if TYPE_CHECKING:
    from polyvox.app import Polyvox
    from polyvox.cli.room import Room
    from polyvox.values import Advisor, Conversation


def agent(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its slug, @slug, @ai-slug or name.")],
    session: Annotated[
        str, typer.Option(metavar="ID", help="Which conversation with it to go on with; or: last.")
    ] = "last",
    new: Annotated[bool, typer.Option("--new", help="Begin a new conversation.")] = False,
    say: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Say this, print the answer and end; - for stdin."),
    ] = None,
) -> None:
    """Talk with one advisor as an agent: alone, with its own prompt and nothing else."""
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> int:
        from polyvox.cli.room import Room

        who = await _find(app, name)
        chosen = None if new else await _session(app, who, session)
        room = Room(app, chosen, recipe="agent", alone=who)
        if say is None:
            return await room.stay()
        return await _once(app, room, say)

    run(work)


async def _find(app: Polyvox, name: str) -> Advisor:
    """The advisor of that name; never somebody else in its stead."""
    from polyvox.cli.choosing import SCOPE
    from polyvox.cli.people import look_up
    from polyvox.errors import Invalid

    known = await app.advisors.list(SCOPE)
    found = look_up(name, known)
    if found is None:
        slugs = ", ".join(one.slug for one in known) or "none yet"
        raise Invalid(f"There is no agent {name!r}.", f"Known are: {slugs}.")
    return found


async def _session(app: Polyvox, who: Advisor, name: str) -> Conversation | None:
    from polyvox.cli.choosing import SCOPE
    from polyvox.errors import Invalid

    if name == "last":
        return await app.conversations.latest(SCOPE, recipe="agent", advisor_id=who.id)
    found = await app.conversations.get(SCOPE, name)
    if found.recipe != "agent" or found.advisors != (who.id,):
        raise Invalid(
            f"The conversation {name} is not one with {who.name} as an agent.",
            "`polyvox conversations list` shows all; --new begins one.",
        )
    return found


async def _once(app: Polyvox, room: Room, words: str) -> int:
    from polyvox.cli.choosing import read_message

    outcome = await room.send(read_message(words, app.settings.limits.message_chars))
    answer = outcome.answers[0]
    if outcome.stopped:
        tell("stopped; what had come is kept." if answer.text else "stopped before any words came.")
        return STOPPED
    if answer.failure is not None:
        tell(answer.failure.message, answer.failure.hint)
    return 0 if answer.state == "completed" else FAILED
