"""`polyvox sessions`: the stretches of talk that memory is made from."""

from __future__ import annotations

from typing import Annotated

import typer

from polyvox.app import Polyvox
from polyvox.cli.command import Json, command, new_group
from polyvox.cli.lookup import SCOPE
from polyvox.cli.output import say, say_json, table
from polyvox.cli.run import run
from polyvox.cli.words import one_line, when
from polyvox.store.database import Tx
from polyvox.store.sessions import Session, counted, first_words, messages_in
from polyvox.store.sessions import list_sessions as found_in
from polyvox.web.sessions import listed, shown

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

        if json:
            told = await app.database.read(lambda tx: listed(tx, conversation), SCOPE)
            say_json([one.model_dump() for one in told])
            return

        def read(tx: Tx) -> list[tuple[Session, int, str]]:
            found = found_in(tx, conversation)
            said = first_words(tx, [one.id for one, _ in found], 200)
            return [(one, count, said.get(one.id, "")) for one, count in found]

        zone = app.settings.timezone
        rows = [
            (one.id, when(one.started_at, zone), _ended(one, zone), str(count), one_line(said, 72))
            for one, count, said in await app.database.read(read, SCOPE)
        ]
        empty = "There are no sessions yet. The first message of a conversation opens one."
        table(("session", "began", "ended", "messages", "first words"), rows, empty=empty)

    run(work)


@command(group, "show")
def show(session: SessionId, json: Json = False) -> None:
    """One session: when it was, and what the person said in it."""

    async def work(app: Polyvox) -> None:

        one, _ = await app.database.read(lambda tx: counted(tx, session), SCOPE)
        said = await app.database.read(lambda tx: messages_in(tx, one), SCOPE)
        if json:
            messages = [
                {"turn_id": turn, "said_at": at, "content": text} for turn, at, text in said
            ]
            told = await app.database.read(lambda tx: shown(tx, session), SCOPE)
            say_json(told.model_dump() | {"said": messages})
            return
        say(f"session {one.id} in conversation {one.conversation_id}")
        zone = app.settings.timezone
        say(f"began {when(one.started_at, zone)}, ended {_ended(one, zone)}")
        for _, at, text in said:
            say(f"\n{when(at, zone)}  {text}")

    run(work)


@command(group, "end")
def end(session: SessionId) -> None:
    """End a session now; the next message opens a new one."""

    async def work(app: Polyvox) -> None:

        await app.end_session(SCOPE, session)
        say(f"ended the session {session}")

    run(work)


def _ended(session: Session, zone: str) -> str:

    if session.ended_at is None:
        return "still open"
    by = "by idleness" if session.ended_by == "idle" else "by you"
    return f"{when(session.ended_at, zone)} ({by})"
