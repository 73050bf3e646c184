"""Have something answered in the terminal: begin it, watch it, and let Ctrl-C stop it.

What is shown on the way comes from events; what is shown in the end is what is stored. The turn
belongs to the app, so watching ends when the app has nothing left to do for it.
"""

from __future__ import annotations

import asyncio
import difflib
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import typer

from polyvox.app import Polyvox
from polyvox.cli.failure import STOPPED
from polyvox.cli.lookup import SCOPE
from polyvox.cli.output import note, note_kindly
from polyvox.cli.people import People
from polyvox.cli.show.views import AnswerView
from polyvox.receive import mentioned
from polyvox.store import turns as turn_rows
from polyvox.values import Answer

FRAME = 0.08
"""Seconds between two pictures."""
FOREVER = 1e7

Begin = Callable[[], Awaitable[str]]
"""Starts the work; answers the turn's id."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answers of one sending."""

    turn_id: str
    answers: tuple[Answer, ...]
    """Those that were written just now."""
    stopped: bool = False


class Talk:
    """One conversation with the app."""

    def __init__(self, app: Polyvox, view: AnswerView, model: str | None = None) -> None:
        self.app = app
        self.view = view
        self.model = model
        self.note = ""
        """Said once, when the first answers are on their way."""
        self.warming: asyncio.Task[None] | None = None

    async def send(
        self,
        conversation_id: str,
        content: str,
        advisors: Sequence[str] | None = None,
        veto: Sequence[str] = (),
    ) -> Outcome:
        """A message and its answers; `veto` is what its session shall not be told."""

        async def begin() -> str:
            begun = await self.app.turns.send(
                SCOPE, conversation_id, content, advisors=advisors, model=self.model, veto=veto
            )
            return begun.turn.id

        return await self._watch(conversation_id, None, begin)

    async def again(self, answers: Sequence[Answer], *, retry: bool) -> Outcome:
        """These answers (of one turn) once more."""
        turn_id = answers[0].turn_id

        async def begin() -> str:
            for answer in answers:
                await self.app.turns.again(SCOPE, answer.id, retry=retry)
            return turn_id

        return await self._watch(answers[0].conversation_id, turn_id, begin)

    async def exchange(self, conversation_id: str, turn_id: str, rounds: int) -> Outcome:
        """The advisors of a turn respond to each other."""

        async def begin() -> str:
            await self.app.turns.exchange(SCOPE, turn_id, rounds, self.model)
            return turn_id

        return await self._watch(conversation_id, turn_id, begin)

    async def synthesize(self, conversation_id: str, turn_id: str) -> Outcome:
        """The answers of a turn brought together."""

        async def begin() -> str:
            await self.app.turns.synthesize(SCOPE, turn_id)
            return turn_id

        return await self._watch(conversation_id, turn_id, begin)

    async def answers(self, turn_id: str) -> list[Answer]:
        """Every answer of a turn as it is stored."""
        return await self.app.database.read(lambda tx: turn_rows.answers_of(tx, turn_id), SCOPE)

    def warm(self) -> None:
        """Have the embedded model loaded meanwhile, if it is the default one."""
        if self.warming is None and self.app.models.default.startswith("local:"):
            self.warming = asyncio.create_task(self.app.warm())
            # A model that cannot be loaded is told of by each answer that needed it.
            self.warming.add_done_callback(lambda task: task.cancelled() or task.exception())

    def waiting(self) -> str:
        """The reason why answers have not begun."""
        loading = self.warming is not None and not self.warming.done()
        return "loading the embedded model…" if loading else "waiting"

    async def _watch(self, conversation_id: str, turn_id: str | None, begin: Begin) -> Outcome:
        app = self.app
        before = {answer.id for answer in await self.answers(turn_id)} if turn_id else set()
        after = (await app.conversations.get(SCOPE, conversation_id)).last_number
        people = await People.of(app, SCOPE)
        turn_id = await begin()
        self.warm()
        if self.note:
            note_kindly(self.note)
            self.note = ""
        self.view.begin(people, turn_id, self.waiting)
        stopped = False
        try:
            async with _stoppable(app, conversation_id) as stop:
                async with self._shown(conversation_id, after):
                    await app.turns.queue.drain(FOREVER)
                stopped = stop.asked
        except BrokenPipeError:
            await app.turns.stop_conversation(SCOPE, conversation_id)
            raise
        finally:
            self.view.drop()
        whole = await self.answers(turn_id)
        new = [answer for answer in whole if answer.id not in before]
        self.view.end(new, whole)
        return Outcome(turn_id, tuple(new), stopped)

    @asynccontextmanager
    async def _shown(self, conversation_id: str, after: int) -> AsyncIterator[None]:
        """Let the view see what happens, meanwhile."""
        view = self.view

        async def seeing() -> None:
            async for item in self.app.events(conversation_id, after=after):
                view.see(item.event)

        async def ticking() -> None:
            while True:
                await asyncio.sleep(FRAME)
                view.tick()

        tasks = [asyncio.create_task(seeing()), asyncio.create_task(ticking())]
        body = asyncio.current_task()
        for task in tasks:
            task.add_done_callback(lambda done: _pass_on(done, body))
        try:
            yield
        except asyncio.CancelledError:
            for task in tasks:
                if task.done() and not task.cancelled() and (error := task.exception()):
                    if body is not None:
                        body.uncancel()
                    raise error from None
            raise
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError, BrokenPipeError):
                    await task


def _pass_on(task: asyncio.Task[None], body: asyncio.Task[object] | None) -> None:
    """A view that cannot go on (nobody reads any more) ends the watching."""
    if not task.cancelled() and task.exception() is not None and body is not None:
        body.cancel()


@dataclass(slots=True)
class _Stop:
    """Set once Ctrl-C is pressed."""

    asked: bool = False


@asynccontextmanager
async def _stoppable(app: Polyvox, conversation_id: str) -> AsyncIterator[_Stop]:
    """Ctrl-C stops the answers and keeps what they have; a second one leaves."""
    loop = asyncio.get_running_loop()
    stop, body = _Stop(), asyncio.current_task()
    stopping: set[asyncio.Task[None]] = set()
    left = False

    def interrupted() -> None:
        nonlocal left
        if stop.asked and body is not None:
            left = True
            body.cancel()
            return
        stop.asked = True
        # Of the conversation, not of the turn: an exchange must not go on between two rounds.
        stopping.add(asyncio.create_task(app.turns.stop_conversation(SCOPE, conversation_id)))

    before = signal.getsignal(signal.SIGINT)
    loop.add_signal_handler(signal.SIGINT, interrupted)
    try:
        yield stop
        for task in stopping:
            await task
    except asyncio.CancelledError:
        if left:
            raise typer.Exit(STOPPED) from None
        raise
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)


async def note_unknown_mention(app: Polyvox, message: str) -> None:
    """Say so where a message begins with an @name that is nobody's; the @ is just text then."""
    word = re.match(r"@(\w[\w-]*)", message.lstrip())
    if word is None:
        return
    advisors = await app.advisors.list(SCOPE)
    slugs = [advisor.slug for advisor in advisors]
    if word[1].casefold() in slugs:
        return
    near = difflib.get_close_matches(word[1].casefold(), slugs, 1)
    perhaps = f"; did you mean @{near[0]}?" if near else "."
    asked = "" if mentioned(message, advisors) else " Everyone is asked."
    note(f"There is no advisor @{word[1]}{perhaps}{asked}")


async def tiny_note(app: Polyvox, names: Sequence[str] | None = None) -> str:
    """The note about the default model (the embedded one is tiny), if any of those who are asked
    uses it."""
    warning = app.models.facts(app.models.default).note
    if not warning:
        return ""
    slugs = {name.removeprefix("@").casefold() for name in names or ()}
    asked = [
        advisor
        for advisor in await app.advisors.list(SCOPE)
        if (advisor.slug in slugs if names else advisor.active)
    ]
    return warning if not asked or any(advisor.model is None for advisor in asked) else ""
