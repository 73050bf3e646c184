"""`polyvox chat` and `polyvox agent`: a conversation line by line, with the council, with one
companion, or with one advisor alone.

Messages go to the advisors, lines that begin with / are commands. A conversation is made with its
first message, so that looking in leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from polyvox.app import Polyvox
from polyvox.cli import slash
from polyvox.cli.answers import view_for
from polyvox.cli.command import Council, Earlier, Phases, Recipe
from polyvox.cli.failure import FAILED, STOPPED, report, tell
from polyvox.cli.lookup import SCOPE, choose_conversation, find_advisor, read_phases
from polyvox.cli.output import is_terminal, note, note_kindly
from polyvox.cli.prompt import interruptible, read_line, read_message, remember
from polyvox.cli.talk import Talk, tell_stopped
from polyvox.companion.personas import RECIPE, find_or_make
from polyvox.errors import Invalid, PolyvoxError
from polyvox.values import Advisor, Conversation

PROMPT = "› "


async def chat(
    app: Polyvox,
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
    phases: Phases = None,
) -> int:
    """Talk with the council, or (--recipe companion) with one companion who remembers you.

    /help lists what can be typed besides messages.
    """
    chosen = await choose_conversation(app, conversation, recipe, council)
    of = chosen.recipe if chosen is not None else recipe or (RECIPE if persona else "council")
    named = (await app.traits(SCOPE, of)).persona
    alone = await _companion_of(app, chosen) if chosen is not None and named else None
    if chosen is None and council is None and (persona or named):
        if not named:
            raise Invalid(f"A persona is no part of the recipe {of}.", "Leave --recipe away.")
        alone, chosen = await _companion(app, persona or "harbor", of)
    elif persona:
        raise Invalid(
            "A companion is talked with alone.", "Leave --conversation and --council away."
        )
    app.work()  # what is said here is remembered, whether or not a server runs
    view = view_for(named=named)
    talk = Talk(app, view, chosen, of if alone is not None else recipe, council, alone)
    if phases is not None:
        await talk.set_phases(read_phases(phases))
    return await _stay(talk)


async def _companion_of(app: Polyvox, conversation: Conversation) -> Advisor | None:
    """The companion of a conversation; None where it has several."""
    advisors = await app.advisors.list(SCOPE)
    return next((each for each in advisors if conversation.advisors == (each.id,)), None)


async def _companion(app: Polyvox, name: str, recipe: str) -> tuple[Advisor, Conversation | None]:
    """The companion of that name, and the conversation with it that was spoken in last."""
    now = app.clock()
    companion = await app.database.write(lambda tx: find_or_make(tx, name, now), SCOPE)
    latest = await app.conversations.latest(SCOPE, recipe=recipe, advisor_id=companion.id)
    return companion, latest


async def agent(
    app: Polyvox,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its slug, @slug, @ai-slug or name.")],
    session: Annotated[
        str, typer.Option(metavar="ID", help="Which conversation with it to go on with; or: last.")
    ] = "last",
    new: Annotated[bool, typer.Option("--new", help="Begin a new conversation.")] = False,
    say: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Say this, print the answer and end; - for stdin."),
    ] = None,
) -> int:
    """Talk with one advisor as an agent: alone, with its own prompt and nothing else."""
    advisors = await app.advisors.list(SCOPE)
    advisor = find_advisor(name, advisors)
    if advisor is None:  # never somebody else in its stead
        slugs = ", ".join(each.slug for each in advisors) or "none yet"
        raise Invalid(f"There is no agent {name!r}.", f"Known are: {slugs}.")
    chosen = None if new else await _session(app, advisor, session)
    talk = Talk(app, view_for(), chosen, "agent", alone=advisor)
    return await (_stay(talk) if say is None else _say_once(talk, say))


async def _session(app: Polyvox, advisor: Advisor, name: str) -> Conversation | None:
    if name == "last":
        return await app.conversations.latest(SCOPE, recipe="agent", advisor_id=advisor.id)
    conversation = await app.conversations.get(SCOPE, name)
    endless = (await app.traits(SCOPE, conversation.recipe)).endless
    if not endless or conversation.advisors != (advisor.id,):
        raise Invalid(
            f"The conversation {name} is not one with {advisor.name} as an agent.",
            "`polyvox conversations list` shows all; --new begins one.",
        )
    return conversation


async def _say_once(talk: Talk, words: str) -> int:
    outcome = await talk.send(read_message(words, talk.app.settings.limits.message_chars))
    answer = outcome.answers[0]
    if outcome.stopped:
        return tell_stopped(outcome.answers)
    if answer.failure is not None:
        tell(answer.failure.message, answer.failure.hint)
    return 0 if answer.state == "completed" else FAILED


async def _stay(talk: Talk) -> int:
    """Talk until the person leaves; answers the exit code."""
    await talk.note_tiny_model()
    slugs = []
    if talk.alone is None:
        slugs = [advisor.slug for advisor in await talk.app.advisors.list(SCOPE)]
    await _greet(talk)
    store = remember(
        talk.app.settings.home / "chat_history",
        lambda: [
            *(f"/{name}" for name in slash.orders(talk)),
            *slugs,
            *(f"@{slug}" for slug in slugs),
        ],
    )
    try:
        with interruptible():
            return await _listen(talk)
    except slash.Leave:
        return 0
    finally:
        store()


async def _greet(talk: Talk) -> None:
    if not is_terminal():
        return
    name = talk.alone.name if talk.alone is not None else "the council"
    title = talk.conversation.title if talk.conversation is not None else ""
    going = f", going on with “{title}”" if title else ""
    note(f"Talking with {name}{going}. /help lists the commands, Ctrl-D leaves.")
    persona = talk.recipe and (await talk.app.traits(SCOPE, talk.recipe)).persona
    if persona and (words := await slash.greeting(talk)):
        note_kindly(words)


async def _listen(talk: Talk) -> int:
    interrupted = False
    while True:
        try:
            line = read_line(PROMPT)
        except KeyboardInterrupt:
            if interrupted or not sys.stdin.isatty():
                note("")
                return STOPPED
            interrupted = True
            note("\n(Ctrl-C again, Ctrl-D or /quit leaves)")
            continue
        interrupted = False
        if line is None:
            return 0
        # While the line was read, connections may have been closed: let that be noticed.
        await asyncio.sleep(0)
        try:
            await _take(talk, line.strip())
        except PolyvoxError as error:
            report(error)


async def _take(talk: Talk, line: str) -> None:
    """A command, or a message; // begins one with a /."""
    if line.startswith("/") and not line.startswith("//"):
        await slash.obey(talk, line)
    elif line:
        slash.close(talk, await talk.send(line.removeprefix("/")))
