"""A room to talk in: messages go to the advisors, lines that begin with / are commands.

A conversation is made with its first message, so that looking in leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from polyvox.cli.choosing import SCOPE, begin_conversation, note_unknown_mention, tiny_note
from polyvox.cli.failing import STOPPED, report
from polyvox.cli.output import is_terminal, note, note_kindly
from polyvox.cli.prompting import interruptible, read_line, remember
from polyvox.cli.show.closing import print_closing
from polyvox.cli.show.views import view_for
from polyvox.cli.slash_memory import greeting
from polyvox.cli.talk import Outcome, Talk
from polyvox.errors import PolyvoxError
from polyvox.session.starting import COMPANION, Shown
from polyvox.values import Advisor, Conversation

if TYPE_CHECKING:
    from polyvox.app import Polyvox

PROMPT = "› "


class Leave(Exception):
    """The person wants to go."""


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
        """Slugs of those who are asked; None: everyone of the conversation."""
        self.turn_id = conversation.head_id if conversation is not None else None
        self.veto: set[str] = set()
        """Ids of what the session that the next message begins shall not be told."""
        self.listed: tuple[Shown, ...] = ()
        """What is remembered, as it was listed last."""
        self.talk = Talk(app, view_for(named=self.recipe == COMPANION))
        self._slugs: list[str] = []
        self._named = ""
        """The conversation whose id was told."""

    async def stay(self) -> int:
        """Talk until the person leaves; answers the exit code."""
        from polyvox.cli.slash import orders

        self.talk.note = await tiny_note(self.app, [self.alone.slug] if self.alone else None)
        if self.alone is None:
            self._slugs = [one.slug for one in await self.app.advisors.list(SCOPE)]
        await self._greet()
        store = remember(
            self.app.settings.home / "chat_history",
            lambda: [
                *(f"/{name}" for name in orders(self)),
                *self._slugs,
                *(f"@{s}" for s in self._slugs),
            ],
        )
        try:
            with interruptible():
                return await self._listen()
        except Leave:
            return 0
        finally:
            store()

    async def _listen(self) -> int:
        tired = False
        while True:
            try:
                line = read_line(PROMPT)
            except KeyboardInterrupt:
                if tired or not sys.stdin.isatty():
                    note("")
                    return STOPPED
                tired = True
                note("\n(Ctrl-C again, Ctrl-D or /quit leaves)")
                continue
            tired = False
            if line is None:
                return 0
            # While the line was read, connections may have been closed: let that be noticed.
            await asyncio.sleep(0)
            await self._take(line.strip())

    async def send(self, content: str) -> Outcome:
        """A message to whoever is asked now."""
        made = self.conversation
        new = made is None
        if made is None:
            made = await self._begin()
        if self.only is None and self.alone is None:
            await note_unknown_mention(self.app, content)
        try:
            outcome = await self.talk.send(made.id, content, self.only, tuple(self.veto))
        except PolyvoxError:
            if new:
                await self.app.conversations.delete(SCOPE, made.id)
            raise
        self.veto = set()
        self.turn_id = outcome.turn_id
        self.conversation = await self.app.conversations.get(SCOPE, made.id)
        return outcome

    async def _begin(self) -> Conversation:
        if self.alone is None:
            return await begin_conversation(self.app, self.recipe, self.council)
        return await self.app.conversations.create(
            SCOPE, recipe=self.recipe or "agent", advisors=[self.alone.id]
        )

    def told(self, outcome: Outcome) -> None:
        """What is said under answers."""
        if outcome.stopped:
            note("(stopped; what had come is kept)")
        elif self.conversation is not None:
            new = self.conversation.id if self.conversation.id != self._named else ""
            self._named = self.conversation.id
            print_closing(new, outcome.answers)

    async def _take(self, line: str) -> None:
        from polyvox.cli import slash

        if not line:
            return
        try:
            if line.startswith("/") and not line.startswith("//"):
                await slash.obey(self, line)
            else:
                self.told(await self.send(line.removeprefix("/") if line[:2] == "//" else line))
        except PolyvoxError as error:
            report(error)

    async def _greet(self) -> None:
        if not is_terminal():
            return
        who = self.alone.name if self.alone is not None else "the council"
        found = self.conversation
        going = f", going on with “{found.title}”" if found is not None and found.title else ""
        note(f"Talking with {who}{going}. /help lists the commands, Ctrl-D leaves.")
        if self.recipe == COMPANION and (told := await greeting(self)):
            note_kindly(told)
