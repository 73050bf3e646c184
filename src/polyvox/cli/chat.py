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
from polyvox.cli.command import Council, Earlier, Recipe
from polyvox.cli.failure import FAILED, STOPPED, report, tell
from polyvox.cli.lookup import (
    SCOPE,
    begin_conversation,
    check_council,
    check_recipe,
    find_advisor,
    find_conversation,
)
from polyvox.cli.output import is_terminal, note, note_kindly
from polyvox.cli.prompt import interruptible, read_line, read_message, remember
from polyvox.cli.run import run
from polyvox.cli.show.transcript import print_closing
from polyvox.cli.show.views import view_for
from polyvox.cli.talk import Outcome, Talk, note_unknown_mention, tiny_note
from polyvox.companion.personas import RECIPE, find_or_make
from polyvox.context.recipe import traits_of
from polyvox.errors import Invalid, PolyvoxError
from polyvox.session.preview import Shown
from polyvox.values import Advisor, Conversation

PROMPT = "› "


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

    async def work(app: Polyvox) -> int:
        chosen = await find_conversation(app, conversation) if conversation else None
        await check_recipe(app, recipe, chosen)
        await check_council(app, council, chosen)
        alone = await _companion_of(app, chosen) if chosen is not None else None
        if chosen is None and council is None and (persona or traits_of(recipe or "").persona):
            alone, chosen = await _companion(app, persona or "harbor", recipe)
        elif persona:
            raise Invalid(
                "A companion is talked with alone.", "Leave --conversation and --council away."
            )
        app.work()  # what is said here is remembered, whether or not a server runs
        of = RECIPE if alone is not None else recipe
        return await Room(app, chosen, recipe=of, council=council, alone=alone).stay()

    run(work)


async def _companion_of(app: Polyvox, conversation: Conversation) -> Advisor | None:
    """The companion of a conversation; None where it is a council's."""
    if not traits_of(conversation.recipe).persona:
        return None
    advisors = await app.advisors.list(SCOPE)
    return next((each for each in advisors if conversation.advisors == (each.id,)), None)


async def _companion(
    app: Polyvox, name: str, recipe: str | None
) -> tuple[Advisor, Conversation | None]:
    """The companion of that name, and the conversation with it that was spoken in last."""
    if recipe not in (None, RECIPE):
        raise Invalid(f"A persona is no part of the recipe {recipe}.", "Leave --recipe away.")
    now = app.clock()
    companion = await app.database.write(lambda tx: find_or_make(tx, name, now), SCOPE)
    latest = await app.conversations.latest(SCOPE, recipe=RECIPE, advisor_id=companion.id)
    return companion, latest


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

    async def work(app: Polyvox) -> int:
        advisor = await _advisor(app, name)
        chosen = None if new else await _session(app, advisor, session)
        room = Room(app, chosen, recipe="agent", alone=advisor)
        if say is None:
            return await room.stay()
        return await _say_once(app, room, say)

    run(work)


async def _advisor(app: Polyvox, name: str) -> Advisor:
    """The advisor of that name; never somebody else in its stead."""
    advisors = await app.advisors.list(SCOPE)
    advisor = find_advisor(name, advisors)
    if advisor is None:
        slugs = ", ".join(each.slug for each in advisors) or "none yet"
        raise Invalid(f"There is no agent {name!r}.", f"Known are: {slugs}.")
    return advisor


async def _session(app: Polyvox, advisor: Advisor, name: str) -> Conversation | None:
    if name == "last":
        return await app.conversations.latest(SCOPE, recipe="agent", advisor_id=advisor.id)
    conversation = await app.conversations.get(SCOPE, name)
    if not traits_of(conversation.recipe).endless or conversation.advisors != (advisor.id,):
        raise Invalid(
            f"The conversation {name} is not one with {advisor.name} as an agent.",
            "`polyvox conversations list` shows all; --new begins one.",
        )
    return conversation


async def _say_once(app: Polyvox, room: Room, words: str) -> int:
    outcome = await room.send(read_message(words, app.settings.limits.message_chars))
    answer = outcome.answers[0]
    if outcome.stopped:
        tell("stopped; what had come is kept." if answer.text else "stopped before any words came.")
        return STOPPED
    if answer.failure is not None:
        tell(answer.failure.message, answer.failure.hint)
    return 0 if answer.state == "completed" else FAILED


class Room:
    """One person, one app, one conversation at a time."""

    def __init__(
        self,
        app: Polyvox,
        conversation: Conversation | None,
        *,
        recipe: str | None = None,
        council: str | None = None,
        alone: Advisor | None = None,
    ) -> None:
        self.app = app
        self.conversation = conversation
        self.recipe = conversation.recipe if conversation is not None else recipe
        """Of the next conversation that begins here; None: the council's own."""
        self.council = council
        self.alone = alone
        self.only: list[str] | None = None
        """Slugs of the advisors who are asked; None: all of the conversation."""
        self.turn_id = conversation.head_id if conversation is not None else None
        self.veto: set[str] = set()
        """Ids of what the session that the next message begins shall not be told."""
        self.listed: tuple[Shown, ...] = ()
        """What is remembered, as it was listed last."""
        self.talk = Talk(app, view_for(named=traits_of(self.recipe or "").persona))
        self._slugs: list[str] = []
        self._named = ""
        """The conversation whose id was printed."""

    async def stay(self) -> int:
        """Talk until the person leaves; answers the exit code."""
        self.talk.note = await tiny_note(self.app, [self.alone.slug] if self.alone else None)
        if self.alone is None:
            self._slugs = [advisor.slug for advisor in await self.app.advisors.list(SCOPE)]
        await self._greet()
        store = remember(
            self.app.settings.home / "chat_history",
            lambda: [
                *(f"/{name}" for name in slash.orders(self)),
                *self._slugs,
                *(f"@{slug}" for slug in self._slugs),
            ],
        )
        try:
            with interruptible():
                return await self._listen()
        except slash.Leave:
            return 0
        finally:
            store()

    async def _listen(self) -> int:
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
            await self._take(line.strip())

    async def send(self, content: str) -> Outcome:
        """Send a message to whoever is asked now."""
        conversation = self.conversation
        new = conversation is None
        if conversation is None:
            conversation = await self._begin()
        if self.only is None and self.alone is None:
            await note_unknown_mention(self.app, content)
        try:
            outcome = await self.talk.send(conversation.id, content, self.only, tuple(self.veto))
        except PolyvoxError:
            if new:
                await self.app.conversations.delete(SCOPE, conversation.id)
            raise
        self.veto = set()
        self.turn_id = outcome.turn_id
        self.conversation = await self.app.conversations.get(SCOPE, conversation.id)
        return outcome

    async def _begin(self) -> Conversation:
        if self.alone is None:
            return await begin_conversation(self.app, self.recipe, self.council)
        return await self.app.conversations.create(
            SCOPE, recipe=self.recipe or "agent", advisors=[self.alone.id]
        )

    def close(self, outcome: Outcome) -> None:
        """Print the line under answers."""
        if outcome.stopped:
            note("(stopped; what had come is kept)")
        elif self.conversation is not None:
            new = self.conversation.id if self.conversation.id != self._named else ""
            self._named = self.conversation.id
            print_closing(new, outcome.answers)

    async def _take(self, line: str) -> None:
        if not line:
            return
        try:
            if line.startswith("/") and not line.startswith("//"):
                await slash.obey(self, line)
            else:
                self.close(await self.send(line.removeprefix("/") if line[:2] == "//" else line))
        except PolyvoxError as error:
            report(error)

    async def _greet(self) -> None:
        if not is_terminal():
            return
        name = self.alone.name if self.alone is not None else "the council"
        title = self.conversation.title if self.conversation is not None else ""
        going = f", going on with “{title}”" if title else ""
        note(f"Talking with {name}{going}. /help lists the commands, Ctrl-D leaves.")
        if traits_of(self.recipe or "").persona and (words := await slash.greeting(self)):
            note_kindly(words)
