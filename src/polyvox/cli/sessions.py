"""`polyvox sessions`: the stretches of talk that memory is made from."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from polyvox.app import Polyvox
from polyvox.cli.command import Json, command, new_group
from polyvox.cli.lookup import SCOPE
from polyvox.cli.output import print_list, say, say_json
from polyvox.cli.words import one_line, when
from polyvox.session import inspect
from polyvox.session.inspect import SessionOut
from polyvox.store.sessions import counted, messages_in

group = new_group()

SessionId = Annotated[str, typer.Argument(metavar="SESSION", help="Its id.")]
InConversation = Annotated[
    str | None, typer.Option("--conversation", metavar="ID", help="Only those of one conversation.")
]


@command(group, "list")
async def list_sessions(
    app: Polyvox, conversation: InConversation = None, json: Json = False
) -> None:
    """The newest sessions first."""
    zone = app.settings.timezone
    print_list(
        await app.database.read(lambda tx: inspect.list_sessions(tx, conversation), SCOPE),
        ("session", "began", "ended", "messages", "first words"),
        lambda session: (
            session.id,
            when(session.started_at, zone),
            _ended(session, zone),
            str(session.messages),
            one_line(session.first, 72),
        ),
        empty="There are no sessions yet. The first message of a conversation opens one.",
        json=json,
    )


@command(group, "show")
async def show(app: Polyvox, session: SessionId, json: Json = False) -> None:
    """One session: when it was, and what the person said in it."""
    chosen, messages = await app.database.read(
        lambda tx: (inspect.get_session(tx, session), messages_in(tx, counted(tx, session)[0])),
        SCOPE,
    )
    if json:
        sent = [{"turn_id": turn, "said_at": at, "content": text} for turn, at, text in messages]
        say_json(asdict(chosen) | {"said": sent})
        return
    zone = app.settings.timezone
    say(f"session {chosen.id} in conversation {chosen.conversation_id}")
    say(f"began {when(chosen.started_at, zone)}, ended {_ended(chosen, zone)}")
    for _, at, text in messages:
        say(f"\n{when(at, zone)}  {text}")


@command(group, "end")
async def end(app: Polyvox, session: SessionId) -> None:
    """End a session now; the next message opens a new one."""
    await app.end_session(SCOPE, session)
    say(f"ended the session {session}")


def _ended(session: SessionOut, zone: str) -> str:
    if session.ended_at is None:
        return "still open"
    by = "by idleness" if session.ended_by == "idle" else "by you"
    return f"{when(session.ended_at, zone)} ({by})"
