"""`polyvox conversations`: finding, reading, keeping and deleting them."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyvox.cli.files import DryRun, Force, Output, put, taken
from polyvox.cli.invocation import command
from polyvox.cli.options import Json, Yes, new_group, sure

if TYPE_CHECKING:
    from polyvox.app import Polyvox

group = new_group("The conversations: find, read, keep, delete.")

Which = Annotated[str, typer.Argument(metavar="ID", help="Its id, or: last.")]


class Format(StrEnum):
    """What a conversation can be written as."""

    jsonl = "jsonl"
    markdown = "markdown"
    html = "html"


@group.callback()
def conversations(context: typer.Context) -> None:
    """The conversations: find, read, keep, delete."""
    if context.invoked_subcommand is None:
        list_conversations(limit=20, json=False)


@command(group, "list")
def list_conversations(
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many.")] = 20,
    json: Json = False,
) -> None:
    """Conversations by their newest message."""
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> None:
        from polyvox.cli.choosing import SCOPE
        from polyvox.cli.output import note, say_json, table
        from polyvox.cli.words import one_line, when
        from polyvox.shapes import ConversationOut

        page = await app.conversations.list(SCOPE, limit=limit)
        if json:
            say_json([ConversationOut.of(one) for one in page.items])
            return
        zone = app.settings.timezone
        shown = [
            (one.id, when(one.updated_at, zone), one.recipe, one_line(one.title, 72))
            for one in page.items
        ]
        empty = 'There is no conversation yet. Begin one: polyvox ask "…"'
        table(("id", "last", "recipe", "title"), shown, empty=empty)
        if page.next:
            note(f"There are more; --limit {limit * 5} shows them.")

    run(work)


@command(group, "show")
def show(
    conversation: Which,
    json: Json = False,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="The newest turns.")] = 200,
) -> None:
    """The current branch: every message and every answer to it."""
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> None:
        from polyvox.cli.choosing import SCOPE, find_conversation
        from polyvox.cli.output import say_json
        from polyvox.cli.people import People
        from polyvox.cli.show.transcript import print_transcript
        from polyvox.shapes import ConversationOut, MessageOut

        found = await find_conversation(app, conversation)
        seen = await app.view(SCOPE, found.id, None, limit)
        if json:
            whole = asdict(ConversationOut.of(seen.conversation))
            whole["messages"] = [MessageOut.of(turn, answers) for turn, answers in seen.turns]
            whole["branches"] = {parent: list(ids) for parent, ids in seen.branches.items()}
            say_json({**whole, "more": seen.more})
            return
        print_transcript(seen, await People.of(app, SCOPE), app.settings.timezone)

    run(work)


@command(group, "search")
def search(
    words: Annotated[str, typer.Argument(help='All of them must occur; "a phrase" as it is.')],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many places.")] = 20,
    json: Json = False,
) -> None:
    """Find words in messages, answers and titles."""
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> None:
        from polyvox.cli.choosing import SCOPE
        from polyvox.cli.output import say_json
        from polyvox.cli.show.hits import as_data, print_hits
        from polyvox.store.search import search as find

        hits = await find(app.database, SCOPE, words, limit)
        if json:
            say_json([as_data(hit) for hit in hits])
        else:
            print_hits(hits, app.settings.timezone)

    run(work)


@command(group, "export")
def export(
    conversation: Which,
    format_: Annotated[
        Format,
        typer.Option("--format", "-f", help="jsonl keeps everything; the others are to read."),
    ] = Format.jsonl,
    output: Output = None,
    force: Force = False,
) -> None:
    """Write a conversation as JSON Lines (all of it), Markdown or HTML."""
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> None:
        from polyvox.cli.choosing import SCOPE, find_conversation
        from polyvox.interop import jsonl, markdown, page, telling
        from polyvox.interop.conversation import read_whole

        found = await find_conversation(app, conversation)
        whole = await app.database.read(lambda tx: read_whole(tx, SCOPE, found.id))
        if format_ is Format.jsonl:
            put("".join(f"{line}\n" for line in jsonl.lines(whole)), output, force=force)
        elif format_ is Format.markdown:
            put(markdown.as_markdown(telling.tell(whole)), output, force=force)
        else:
            put(page.as_html(telling.tell(whole)), output, force=force)

    run(work)


@command(group, "import")
def import_(
    file: Annotated[Path, typer.Argument(help="JSON Lines that `export` wrote.")],
    dry_run: DryRun = False,
) -> None:
    """Take a conversation from a file, with its ids. Taking it twice adds nothing."""
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> int:
        from polyvox.cli.choosing import SCOPE
        from polyvox.interop import conversation_import, files, jsonl

        whole = jsonl.parse(files.read_text(file, jsonl.LARGEST).split("\n"))
        report = await conversation_import.store(
            app.database, SCOPE, app.clock(), whole, dry=dry_run
        )
        return taken(report, dry=dry_run)

    run(work)


@command(group, "delete")
def delete(conversation: Which, yes: Yes = False) -> None:
    """Delete a conversation with everything in it."""
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> None:
        from polyvox.cli.choosing import SCOPE, find_conversation
        from polyvox.cli.output import say

        found = await find_conversation(app, conversation)
        sure(f"Delete “{found.title or found.id}” with everything in it, for good?", yes)
        await app.delete_conversation(SCOPE, found.id)
        say(f"deleted {found.id}")

    run(work)
