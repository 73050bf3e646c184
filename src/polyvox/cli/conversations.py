"""`polyvox conversations`: finding, reading, keeping and deleting them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from polyvox.app import Polyvox
from polyvox.cli import words
from polyvox.cli.command import Json, Yes, command, new_group
from polyvox.cli.files import DryRun, Force, Output, put, taken
from polyvox.cli.lookup import SCOPE, find_conversation
from polyvox.cli.output import harmless, is_terminal, note, say, say_json, say_styled, table
from polyvox.cli.people import People
from polyvox.cli.prompt import sure
from polyvox.cli.run import run
from polyvox.cli.show.transcript import print_transcript
from polyvox.cli.words import one_line, when
from polyvox.interop import files, jsonl
from polyvox.interop.conversation import read_whole, store_whole
from polyvox.interop.transcript import as_html, as_markdown, transcript_of
from polyvox.shapes import ConversationOut, MessageOut
from polyvox.store.search import Hit
from polyvox.store.search import search as find

group = new_group()

Which = Annotated[str, typer.Argument(metavar="ID", help="Its id, or: last.")]


class Format(StrEnum):
    """Formats of an export."""

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

    async def work(app: Polyvox) -> None:
        page = await app.conversations.list(SCOPE, limit=limit)
        if json:
            say_json([ConversationOut.of(each) for each in page.items])
            return
        zone = app.settings.timezone
        shown = [
            (each.id, when(each.updated_at, zone), each.recipe, one_line(each.title, 72))
            for each in page.items
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

    async def work(app: Polyvox) -> None:
        chosen = await find_conversation(app, conversation)
        seen = await app.view(SCOPE, chosen.id, None, limit)
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

    async def work(app: Polyvox) -> None:
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

    async def work(app: Polyvox) -> None:
        chosen = await find_conversation(app, conversation)
        whole = await app.database.read(lambda tx: read_whole(tx, chosen.id), SCOPE)
        if format_ is Format.jsonl:
            put("".join(f"{line}\n" for line in jsonl.lines(whole)), output, force=force)
        elif format_ is Format.markdown:
            put(as_markdown(transcript_of(whole)), output, force=force)
        else:
            put(as_html(transcript_of(whole)), output, force=force)

    run(work)


@command(group, "import")
def import_(
    file: Annotated[Path, typer.Argument(help="JSON Lines that `export` wrote.")],
    dry_run: DryRun = False,
) -> None:
    """Take a conversation from a file, with its ids. Taking it twice adds nothing."""

    async def work(app: Polyvox) -> int:
        whole = jsonl.parse(files.read_text(file, jsonl.LARGEST).split("\n"))
        report = await store_whole(app.database, SCOPE, app.clock(), whole, dry=dry_run)
        return taken(report, dry=dry_run)

    run(work)


@command(group, "delete")
def delete(conversation: Which, yes: Yes = False) -> None:
    """Delete a conversation with everything in it."""

    async def work(app: Polyvox) -> None:
        chosen = await find_conversation(app, conversation)
        sure(f"Delete “{chosen.title or chosen.id}” with everything in it, for good?", yes)
        await app.delete_conversation(SCOPE, chosen.id)
        say(f"deleted {chosen.id}")

    run(work)


def as_data(hit: Hit) -> dict[str, Any]:
    """The same as the API gives."""
    return {**asdict(hit), "marks": [list(mark) for mark in hit.marks]}


def print_hits(hits: Sequence[Hit], zone: str) -> None:
    """One below the other; in a terminal the words stand out."""
    if not hits:
        note("Nothing was found. All words must occur; fewer find more.")
        return
    for hit in hits:
        who = hit.advisor_name or {"message": "you", "title": "title"}.get(hit.kind, "")
        place = f"{words.one_line(hit.title, 60)} · {who} · {words.when(hit.at, zone)}"
        say_styled((place, ""))
        say_styled(("  ", ""), *(_marked(hit) if is_terminal() else ((hit.snippet, ""),)))
        say_styled((f"  {hit.conversation_id}", "dim"))


def _marked(hit: Hit) -> Iterator[tuple[str, str]]:
    """The words around a hit, those that were looked for in bold."""
    text, done = harmless(hit.snippet), 0
    for start, end in hit.marks:
        yield text[done:start], ""
        yield text[start:end], "bold"
        done = end
    yield text[done:], ""
