"""One conversation in the terminal: begin it, have something answered in it, watch the answers, and
let Ctrl-C stop them.

What is shown on the way comes from events; what is shown in the end is what is stored. The turn
belongs to the app, so watching ends when the app has nothing left to do for it.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import typer

from polyvox.app import Polyvox
from polyvox.cli.answers import AnswerView, Board
from polyvox.cli.failure import STOPPED, tell
from polyvox.cli.lookup import SCOPE, People
from polyvox.cli.output import note_kindly
from polyvox.errors import Invalid, PolyvoxError
from polyvox.session.inspect import crises
from polyvox.session.preview import Shown
from polyvox.store import events as event_rows
from polyvox.store import turns as turn_rows
from polyvox.store.conversations import ConversationDetails
from polyvox.values import Advisor, Answer, Conversation

FRAME = 0.08
"""Seconds between two pictures."""
FOREVER = 1e7


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answers of one sending."""

    turn_id: str
    answers: tuple[Answer, ...]
    """Those that were written just now."""
    stopped: bool = False


def tell_stopped(answers: Sequence[Answer]) -> int:
    """Say that Ctrl-C stopped them; answers the exit code."""
    kept = any(answer.text for answer in answers)
    tell("stopped; what had come is kept." if kept else "stopped before any words came.")
    return STOPPED


@dataclass(slots=True)
class Talk:
    """One person, one app, one conversation at a time.

    A conversation is made with its first message, so that looking in leaves nothing behind.
    """

    app: Polyvox
    view: AnswerView
    conversation: Conversation | None
    recipe: str | None = None
    """Of the next conversation that begins here; None: the council's own."""
    council: str | None = None
    alone: Advisor | None = None
    """The companion or agent that is talked with."""
    only: list[str] | None = None
    """Slugs of the advisors who are asked; None: all of the conversation."""
    model: str | None = None
    phases: int | None = None
    """Answers in which advisors of the next conversation only ask; None: as its council or recipe
    says."""
    turn_id: str | None = None
    note: str = ""
    """Said once, when the first answers are on their way."""
    veto: set[str] = field(default_factory=set)
    """Ids of what the session that the next message begins shall not be told."""
    listed: tuple[Shown, ...] = ()
    """What is remembered, as it was listed last."""
    named: str = ""
    """The conversation whose id was printed."""
    warming: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        if self.conversation is not None:
            self.recipe, self.turn_id = self.conversation.recipe, self.conversation.head_id

    @property
    def conversation_id(self) -> str:
        """The conversation, which must have begun."""
        if self.conversation is None:
            raise Invalid("Nothing has been said yet.", "Send a message first.")
        return self.conversation.id

    @property
    def last_turn(self) -> str:
        """The turn that was spoken last."""
        if self.turn_id is None:
            raise Invalid("Nothing has been said yet.", "Send a message first.")
        return self.turn_id

    async def send(self, content: str, *, answer_now: bool = False) -> Outcome:
        """Send a message to whoever is asked now; `answer_now` ends the phase of questions."""
        conversation = self.conversation or await self._begin()
        sending = self.app.turns.send(
            SCOPE,
            conversation.id,
            content,
            advisors=self.only,
            model=self.model,
            veto=tuple(self.veto),
            answer_now=answer_now,
        )
        try:
            outcome = await self._watch(sending, conversation.id)
        except PolyvoxError:
            if self.conversation is None:
                await self.app.conversations.delete(SCOPE, conversation.id)
            raise
        self.veto = set()
        self.turn_id = outcome.turn_id
        self.conversation = await self.app.conversations.get(SCOPE, conversation.id)
        return outcome

    async def _begin(self) -> Conversation:
        """Begin a conversation, of a council where one is named: then with its own recipe."""
        details: ConversationDetails = {}
        if self.alone is not None:
            details["advisors"] = [self.alone.id]
        if self.council is not None:
            details["council"] = self.council
        if self.recipe is not None:
            details["recipe"] = self.recipe
        if self.phases is not None:
            details["phases"] = self.phases
        return await self.app.conversations.create(SCOPE, **details)

    async def set_phases(self, phases: int | None) -> None:
        """Set how long advisors only ask, in this conversation or in the one that begins next."""
        self.phases = phases
        if self.conversation is not None:
            self.conversation = await self.app.change_conversation(
                SCOPE, self.conversation.id, {"phases": phases}
            )

    async def again(self, answers: Sequence[Answer], *, retry: bool) -> Outcome:
        """Have these answers (of one turn) written once more."""

        async def begin() -> None:
            for answer in answers:
                await self.app.turns.again(SCOPE, answer.id, retry=retry)

        return await self._watch(begin(), self.conversation_id, answers[0].turn_id)

    async def exchange(self, rounds: int) -> Outcome:
        """Let the advisors of the last turn respond to each other."""
        turn_id = self.last_turn
        begun = self.app.turns.exchange(SCOPE, turn_id, rounds, self.model)
        return await self._watch(begun, self.conversation_id, turn_id)

    async def synthesize(self) -> Outcome:
        """Bring the answers of the last turn together."""
        turn_id = self.last_turn
        begun = self.app.turns.synthesize(SCOPE, turn_id)
        return await self._watch(begun, self.conversation_id, turn_id)

    async def answers(self, turn_id: str) -> list[Answer]:
        """Every answer of a turn as it is stored."""
        return await self.app.database.read(lambda tx: turn_rows.answers_of(tx, turn_id), SCOPE)

    async def note_tiny_model(self) -> None:
        """Note that the default model is tiny, if any of those who are asked uses it."""
        warning = self.app.models.facts(self.app.models.default).note
        names = [self.alone.slug] if self.alone is not None else self.only or ()
        slugs = {name.removeprefix("@").casefold() for name in names}
        asked = [
            advisor
            for advisor in await self.app.advisors.list(SCOPE)
            if (advisor.slug in slugs if names else advisor.active)
        ]
        if not asked or any(advisor.model is None for advisor in asked):
            self.note = warning

    def _warm(self) -> None:
        """Have the embedded model loaded meanwhile, if it is the default one."""
        if self.warming is None and self.app.models.default.startswith("local:"):
            self.warming = asyncio.create_task(self.app.warm())
            # A model that cannot be loaded is told of by each answer that needed it.
            self.warming.add_done_callback(lambda task: task.cancelled() or task.exception())

    def _waiting(self) -> str:
        """The reason why answers have not begun."""
        loading = self.warming is not None and not self.warming.done()
        return "loading the embedded model…" if loading else "waiting"

    async def _watch(
        self, begun: Awaitable[Any], conversation_id: str, turn_id: str | None = None
    ) -> Outcome:
        """Begin it and watch it to its end. A message's own turn is known when it has begun."""
        app = self.app
        before = {answer.id for answer in await self.answers(turn_id)} if turn_id else set()
        after = (await app.conversations.get(SCOPE, conversation_id)).last_number
        people = await People.of(app, SCOPE)
        result = await begun
        board = Board(people, turn_id or result.turn.id)
        self._warm()
        if self.note:
            note_kindly(self.note)
            self.note = ""
        try:
            with self.view.watching(board, self._waiting):
                async with self._stoppable(conversation_id) as stops:
                    await self._show(board, conversation_id, after)
        except BrokenPipeError:
            await app.turns.stop_conversation(SCOPE, conversation_id)
            raise
        whole = await self.answers(board.turn_id)
        new = [answer for answer in whole if answer.id not in before]
        board.settle(new, whole)
        self.view.end()
        for notice in await app.database.read(
            lambda tx: event_rows.notices(tx, conversation_id, after), SCOPE
        ):
            note_kindly(f"{notice.message} {notice.hint}".strip())
        await self._note_help(conversation_id, board.turn_id)
        return Outcome(board.turn_id, tuple(new), bool(stops))

    async def _note_help(self, conversation_id: str, turn_id: str) -> None:
        """Say where to find help, where the person may be in danger."""
        conversation = await self.app.conversations.get(SCOPE, conversation_id)
        turn, crisis = await self.app.database.read(
            lambda tx: (turn_rows.get_turn(tx, turn_id), crises(tx, conversation.id)), SCOPE
        )
        if turn_id in crisis and (text := await self.app.help_for(turn.content)):
            note_kindly(text)

    async def _show(self, board: Board, conversation_id: str, after: int) -> None:
        """Let the view see what happens until nothing is left to do. A view that cannot go on
        (nobody reads any more) ends the watching."""

        async def see() -> None:
            async for item in self.app.events(conversation_id, after=after):
                board.apply(item.event)

        async def tick() -> None:
            while True:
                await asyncio.sleep(FRAME)
                self.view.tick()

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(see()), group.create_task(tick())]
                await self.app.turns.queue.drain(FOREVER)
                for task in tasks:
                    task.cancel()
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None

    @asynccontextmanager
    async def _stoppable(self, conversation_id: str) -> AsyncIterator[list[asyncio.Task[None]]]:
        """Let Ctrl-C stop the answers and keep what they have; a second one leaves. The list holds
        the stopping once for each."""
        loop, body = asyncio.get_running_loop(), asyncio.current_task()
        stops: list[asyncio.Task[None]] = []

        def interrupted() -> None:
            if stops and body is not None:
                stops.append(stops[0])
                body.cancel()
                return
            # Of the conversation, not of the turn: an exchange must not go on between two rounds.
            stopping = self.app.turns.stop_conversation(SCOPE, conversation_id)
            stops.append(asyncio.create_task(stopping))

        before = signal.getsignal(signal.SIGINT)
        loop.add_signal_handler(signal.SIGINT, interrupted)
        try:
            yield stops
            for task in stops:
                await task
        except asyncio.CancelledError:
            if len(stops) > 1:
                raise typer.Exit(STOPPED) from None
            raise
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            signal.signal(signal.SIGINT, before)
