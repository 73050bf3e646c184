"""`polyvox sessions`: the stretches of talk that memory is made from."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from polyvox.app import Polyvox
from polyvox.cli.command import Json, command, new_group
from polyvox.cli.lookup import SCOPE
from polyvox.cli.output import say, say_json, table
from polyvox.cli.run import run
from polyvox.cli.words import one_line, when
from polyvox.session import inspect
from polyvox.session.inspect import SessionOut
from polyvox.store.sessions import Session, counted, messages_in

group = new_group()

SessionId = Annotated[str, typer.Argument(metavar="SESSION", help="Its id.")]
InConversation = Annotated[
    str | None, typer.Option("--conversation", metavar="ID", help="Only those of one conversation.")
]


@group.callback()
def sessions(context: typer.Context) -> None:
    """Sessions: stretches of talk, ended by idleness or by you."""
    if context.invoked_subcommand is None:
        list_sessions(conversation=None, json=False)


@command(group, "list")
def list_sessions(conversation: InConversation = None, json: Json = False) -> None:
    """The newest sessions first."""

    async def work(app: Polyvox) -> None:
        bodies = await app.database.read(lambda tx: inspect.list_sessions(tx, conversation), SCOPE)
        if json:
            say_json(bodies)
            return
        zone = app.settings.timezone
        rows = [
            (
                body.id,
                when(body.started_at, zone),
                _ended(body, zone),
                str(body.messages),
                one_line(body.first, 72),
            )
            for body in bodies
        ]
        empty = "There are no sessions yet. The first message of a conversation opens one."
        table(("session", "began", "ended", "messages", "first words"), rows, empty=empty)

    run(work)


@command(group, "show")
def show(session: SessionId, json: Json = False) -> None:
    """One session: when it was, and what the person said in it."""

    async def work(app: Polyvox) -> None:
        chosen, _ = await app.database.read(lambda tx: counted(tx, session), SCOPE)
        messages = await app.database.read(lambda tx: messages_in(tx, chosen), SCOPE)
        if json:
            body = await app.database.read(lambda tx: inspect.get_session(tx, session), SCOPE)
            sent = [
                {"turn_id": turn, "said_at": at, "content": text} for turn, at, text in messages
            ]
            say_json(asdict(body) | {"said": sent})
            return
        say(f"session {chosen.id} in conversation {chosen.conversation_id}")
        zone = app.settings.timezone
        say(f"began {when(chosen.started_at, zone)}, ended {_ended(chosen, zone)}")
        for _, at, text in messages:
            say(f"\n{when(at, zone)}  {text}")

    run(work)


@command(group, "end")
def end(session: SessionId) -> None:
    """End a session now; the next message opens a new one."""

    async def work(app: Polyvox) -> None:
        await app.end_session(SCOPE, session)
        say(f"ended the session {session}")

    run(work)


def _ended(session: Session | SessionOut, zone: str) -> str:
    if session.ended_at is None:
        return "still open"
    by = "by idleness" if session.ended_by == "idle" else "by you"
    return f"{when(session.ended_at, zone)} ({by})"
