"""`polyvox conversations`: finding, reading, keeping and deleting them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from polyvox.app import Polyvox
from polyvox.cli import words
from polyvox.cli.answers import Board, total
from polyvox.cli.command import DryRun, Force, Json, Output, Yes, command, new_group
from polyvox.cli.lookup import SCOPE, People, find_conversation
from polyvox.cli.output import (
    harmless,
    is_terminal,
    note,
    print_list,
    put,
    say,
    say_json,
    say_styled,
    taken,
)
from polyvox.cli.prompt import sure
from polyvox.cli.words import one_line, when
from polyvox.interop import files, jsonl
from polyvox.interop.conversation import read_whole, store_whole
from polyvox.interop.transcript import Format, written
from polyvox.session.inspect import View
from polyvox.shapes import ConversationOut, MessageOut
from polyvox.store.search import Hit
from polyvox.store.search import search as find
from polyvox.values import Turn

group = new_group()

Which = Annotated[str, typer.Argument(metavar="ID", help="Its id, or: last.")]


@command(group, "list")
async def list_conversations(
    app: Polyvox,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many.")] = 20,
    json: Json = False,
) -> None:
    """Conversations by their newest message."""
    page, zone = await app.conversations.list(SCOPE, limit=limit), app.settings.timezone
    print_list(
        page.items,
        ("id", "last", "recipe", "title"),
        lambda each: (each.id, when(each.updated_at, zone), each.recipe, one_line(each.title, 72)),
        empty='There is no conversation yet. Begin one: polyvox ask "…"',
        json=json,
        out=ConversationOut.of,
    )
    if page.next and not json:
        note(f"There are more; --limit {limit * 5} shows them.")


@command(group, "show")
async def show(
    app: Polyvox,
    conversation: Which,
    json: Json = False,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="The newest turns.")] = 200,
) -> None:
    """The current branch: every message and every answer to it."""
    chosen = await find_conversation(app, conversation)
    seen = await app.view(SCOPE, chosen.id, None, limit)
    if json:
        whole = asdict(ConversationOut.of(seen.conversation))
        whole["messages"] = [
            MessageOut.of(turn, answers, seen.notices.get(turn.id, ""))
            for turn, answers in seen.turns
        ]
        whole["branches"] = {parent: list(ids) for parent, ids in seen.branches.items()}
        say_json({**whole, "more": seen.more})
        return
    print_transcript(seen, await People.of(app, SCOPE), app.settings.timezone)


@command(group, "search")
async def search(
    app: Polyvox,
    words: Annotated[str, typer.Argument(help='All of them must occur; "a phrase" as it is.')],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many places.")] = 20,
    json: Json = False,
) -> None:
    """Find words in messages, answers and titles."""
    hits = await find(app.database, SCOPE, words, limit)
    if json:
        say_json(hits)
    else:
        print_hits(hits, app.settings.timezone)


@command(group, "export")
async def export(
    app: Polyvox,
    conversation: Which,
    format_: Annotated[
        Format,
        typer.Option("--format", "-f", help="jsonl keeps everything; the others are to read."),
    ] = "jsonl",
    output: Output = None,
    force: Force = False,
) -> None:
    """Write a conversation as JSON Lines (all of it), Markdown or HTML."""
    chosen = await find_conversation(app, conversation)
    whole = await app.database.read(lambda tx: read_whole(tx, chosen.id), SCOPE)
    put(written(whole, format_), output, force=force)


@command(group, "import")
async def import_(
    app: Polyvox,
    file: Annotated[Path, typer.Argument(help="JSON Lines that `export` wrote.")],
    dry_run: DryRun = False,
) -> int:
    """Take a conversation from a file, with its ids. Taking it twice adds nothing."""
    whole = jsonl.parse(files.read_text(file, jsonl.LARGEST).split("\n"))
    report = await store_whole(app.database, app.settings, SCOPE, app.clock(), whole, dry=dry_run)
    return taken(report, dry=dry_run)


@command(group, "delete")
async def delete(app: Polyvox, conversation: Which, yes: Yes = False) -> None:
    """Delete a conversation with everything in it."""
    chosen = await find_conversation(app, conversation)
    sure(f"Delete “{chosen.title or chosen.id}” with everything in it, for good?", yes)
    await app.delete_conversation(SCOPE, chosen.id)
    say(f"deleted {chosen.id}")


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


def print_transcript(seen: View, people: People, zone: str) -> None:
    """The turns of a view, oldest first."""
    conversation = seen.conversation
    say(conversation.title or "(without a title)")
    _dim(f"conversation {conversation.id} · {conversation.recipe}")
    if seen.more:
        _dim("older turns are left out; --limit shows more of them")
    if not seen.turns:
        _dim("nothing has been said yet")
    for turn, answers in seen.turns:
        say()
        _message(turn, zone)
        say()
        board = Board(people)
        board.settle([answer for answer in answers if answer.current], answers)
        _answers(board)
        for answer_id, watched in board.answers.items():
            _dim(f"{watched.advisor_name}: answer {answer_id}")
    spent = [answer for _, answers in seen.turns for answer in answers]
    say()
    _dim(total(spent))
    forks = sum(len(ids) - 1 for ids in seen.branches.values())
    if forks:
        _dim(f"{words.count(forks, 'other branch', 'other branches')} not shown")


def _message(turn: Turn, zone: str) -> None:
    excluded = " · excluded" if turn.excluded else ""
    line = f"you · {words.when(turn.said_at, zone)}{excluded}"
    if is_terminal():
        say_styled((line, "dim"))
        say_styled(("› ", "dim"), (turn.content, "bold"))
    else:
        say(f"# {line}\n\n{turn.content}")


def _answers(board: Board) -> None:
    if is_terminal():
        from polyvox.cli.columns import print_board

        print_board(board)
        return
    for watched in board.answers.values():
        state = "" if watched.state == "completed" else f" [{watched.state}]"
        excluded = " [excluded]" if watched.excluded else ""
        say(f"## {watched.title}{state}{excluded}\n\n{watched.text}")
        if watched.failure is not None:
            say(f"{watched.failure.message} {watched.failure.hint}".rstrip())
        say()


def _dim(text: str) -> None:
    if text:
        say_styled((text, "dim"), soft_wrap=True)
