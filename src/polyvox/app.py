"""Polyvox: builds everything from the settings and owns its lifetime; delegates the rest."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Self

from polyvox.advisors import starter_council
from polyvox.configure import Configuration
from polyvox.errors import PolyvoxError, StoreError
from polyvox.evaluation import run as evaluating
from polyvox.evaluation.optimise import run as optimising
from polyvox.evaluation.optimise.run import Optimisations
from polyvox.evaluation.run import Evaluations
from polyvox.events import Numbered, TurnCompleted
from polyvox.ids import Clock, system_clock
from polyvox.memory.derive import EXTRACT
from polyvox.memory.remote import RemoteMemory
from polyvox.memory.service import Memory
from polyvox.models.registry import Models
from polyvox.session.briefing import RoadWriter
from polyvox.session.changes import change
from polyvox.session.council import check_recipes
from polyvox.session.inspect import Inspected, View, inspect, view
from polyvox.session.lifecycle import end_session, sweep
from polyvox.session.recovery import recover
from polyvox.session.remembering import MemoryService, OwnMemory, RemoteService
from polyvox.session.road import Road
from polyvox.session.summing import running_summaries
from polyvox.session.turns import Turns
from polyvox.settings import Settings, load
from polyvox.settings.layers import with_stored
from polyvox.store import advisors as advisor_rows
from polyvox.store import conversations as conversation_rows
from polyvox.store import turns as turn_rows
from polyvox.store import users
from polyvox.store.advisors import Advisors
from polyvox.store.conversations import Conversations
from polyvox.store.councils import Councils
from polyvox.store.database import Database, Tx
from polyvox.store.open import open_database
from polyvox.store.recipes import Recipes
from polyvox.store.runners import Runner, register
from polyvox.store.sessions import INGEST, Session
from polyvox.stream import follow
from polyvox.stream.hub import Hub
from polyvox.stream.journal import Journal
from polyvox.transport import Transport
from polyvox.values import Answer, Conversation, Scope, Turn
from polyvox.work.worker import Worker

log = logging.getLogger("polyvox")

SWEEP = 30.0
"""Seconds between two looks for sessions that nobody came back to."""


class Polyvox:
    """The whole program, for every door and for library use:

    async with Polyvox() as polyvox:
        conversation, turn = await polyvox.ask("Should I take the job?")
        async for event in polyvox.events(conversation.id, until=turn.id):
            ...
    """

    configuration: Configuration
    database: Database
    models: Models
    road: Road
    turns: Turns
    memory: Memory
    evaluations: Evaluations
    optimisations: Optimisations
    worker: Worker
    hub: Hub
    journal: Journal
    advisors: Advisors
    councils: Councils
    conversations: Conversations
    recipes: Recipes

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        clock: Clock = system_clock,
        env: Mapping[str, str] = os.environ,
    ) -> None:
        self.settings = settings or load(env=env)
        self.clock = clock
        self.recovered = 0
        self._env = env
        self._runner: Runner | None = None
        self._sweeping: asyncio.Task[None] | None = None
        self._transport = Transport()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(self) -> None:
        """Open the database (making or migrating it), close what a crash left open, get ready."""
        settings = self.settings = with_stored(self.settings)
        check_recipes(settings)
        models = Models(settings, self._transport, self._env, clock=self.clock)
        models.check_settings()
        self.database = await open_database(settings.database_url, settings.home)
        try:
            self._runner = await register(self.database, self.clock)
            self.recovered = await recover(self.database, self._runner, self.clock)
            self.hub = Hub()
            self.journal = Journal(self.database, self.hub, self.clock)
            self.models = models
            self.memory = Memory(
                self.database,
                models,
                lambda: self.settings,
                self.clock,
                lambda: self.worker.ring(),
                lambda conversation: self.hub.refresh(conversation),
                lambda: self._remote(self.settings),
            )
            self.road = Road(
                settings,
                self.database,
                self.models,
                self.journal,
                self.hub,
                self.clock,
                self._runner.id,
                self._memory(settings),
                ring=lambda: self.worker.ring(),
                catch_up=self._before_a_session,
            )
            self.turns = Turns(self.road)
            self.evaluations = Evaluations(self.road, lambda: self.worker.ring())
            self.road.badges = self.evaluations
            self.optimisations = Optimisations(self.road, lambda: self.worker.ring())
            self.worker = Worker(
                self.database,
                self._runner,
                self.clock,
                {
                    **self.memory.handlers,
                    **self.evaluations.handlers,
                    **self.optimisations.handlers,
                    **running_summaries(self.road, self.memory.asker).handlers,
                },
                apart={
                    evaluating.KIND: evaluating.AT_ONCE,
                    optimising.KIND: optimising.AT_ONCE,
                },
            )
            self.configuration = Configuration(settings, self._use)
            self.advisors = Advisors(self.database, self.clock)
            self.councils = Councils(self.database, self.clock)
            self.conversations = Conversations(self.database, self.clock)
            self.recipes = Recipes(self.database, self.clock)
            await self.database.write(self._first_run, Scope())
        except BaseException:
            if self._runner is not None:
                await self._runner.close()
            await self.database.close()
            raise

    def _use(self, settings: Settings) -> None:
        """From now on these settings; what is under way goes on."""
        self.settings = self.road.settings = settings
        self.models.use(settings)
        self.road.memory = self._memory(settings)

    def _memory(self, settings: Settings) -> MemoryService:
        """The memory that companions draw on: a remote one where there is an address."""

        def zone() -> str:
            return self.settings.timezone

        remote = self._remote(settings)
        if remote is None:
            writer = RoadWriter(lambda: self.road)
            return OwnMemory(self.database, zone, self.memory.embeddings, writer)
        return RemoteService(remote, zone)

    def _remote(self, settings: Settings) -> RemoteMemory | None:
        """The memory service elsewhere, where there is an address."""
        given = settings.memory
        if not given.url:
            return None
        return RemoteMemory(
            self._transport,
            given.url,
            given.token.reveal(),
            given.budget,
            given.recall_seconds,
            given.ingest_seconds,
        )

    def _first_run(self, tx: Tx) -> None:
        """The local user and, once, the starter council."""
        now = self.clock()
        if users.add(tx, "You", self.settings.timezone or None, now):
            for one in starter_council(now):
                advisor_rows.create(
                    tx,
                    now,
                    "starter council",
                    {
                        "slug": one.slug,
                        "name": one.name,
                        "description": one.description,
                        "color": one.color,
                    },
                )

    def work(self) -> None:
        """Do background work in this process from now on: what is due, and what idleness ends."""
        self.worker.start()
        if self._sweeping is None:
            self._sweeping = asyncio.create_task(self._sweep(), name="sweep")

    async def _sweep(self) -> None:
        while True:
            try:
                idle = self.settings.sessions.idle_minutes
                swept = await sweep(self.database, self.clock, idle)
                if await self.memory.embeddings.keep_up() or swept:
                    self.worker.ring()
            except PolyvoxError as error:
                log.warning("sessions could not be swept: %s", error.message)
            await asyncio.sleep(SWEEP)

    async def catch_up(self, scope: Scope) -> None:
        """Have remembered now what has ended by now, whether or not anybody works in the
        background. What a service elsewhere, or a model, has to do with it takes its time."""
        if not self.settings.memory.url:
            await sweep(self.database, self.clock, self.settings.sessions.idle_minutes)
            quick = (INGEST,) if self.memory.asker.model else (INGEST, EXTRACT)
            # Another program that has it in hand may have stopped there.
            with suppress(TimeoutError):
                async with asyncio.timeout(self.settings.memory.budget):
                    for kind in quick:
                        await self.worker.run_all_due(scope, kind)
        self.worker.ring()

    async def _before_a_session(self, scope: Scope, follows: bool) -> None:
        """Whoever works in the background keeps up by themselves, but for what ended just now."""
        if follows or self._sweeping is None:
            await self.catch_up(scope)

    async def end_session(self, scope: Scope, session_id: str) -> Session:
        """End a session because the person says so; it is remembered in the background."""
        ended = await end_session(self.database, scope, session_id, self.clock)
        self.worker.ring()
        return ended

    async def close(self, drain: float = 0) -> None:
        """Let answers end for a while, then keep what they have; let go of everything."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.wait([self._sweeping])
        await self.worker.close()
        await self.turns.conductor.drain(drain)
        await self.turns.conductor.close()
        await self.journal.close()
        self.hub.end()
        await self.models.close()
        await self._transport.close()
        try:
            if self._runner is not None:
                await self._runner.close()
        except StoreError as error:  # its lock is released all the same
            log.warning("the end of this process was not noted: %s", error.message)
        finally:
            await self.database.close()

    def check_model(self, name: str | None) -> None:
        """Refuse a model whose provider nobody knows."""
        if name:
            self.models.check_name(name)

    async def ask(
        self,
        content: str,
        *,
        conversation: str | None = None,
        advisors: Sequence[str] | None = None,
        recipe: str | None = None,
        scope: Scope = Scope(),  # noqa: B008 - a frozen value
    ) -> tuple[Conversation, str]:
        """Send a message, in a new conversation if none is named; answers the turn's id."""
        if conversation is None:
            details: conversation_rows.ConversationDetails = {"recipe": recipe} if recipe else {}
            made = await self.conversations.create(scope, **details)
        else:
            made = await self.conversations.get(scope, conversation)
        try:
            begun = await self.turns.send(scope, made.id, content, advisors=advisors)
        except PolyvoxError:
            if conversation is None:
                await self.conversations.delete(scope, made.id)
            raise
        return made, begun.turn.id

    async def events(
        self,
        conversation: str,
        *,
        after: int = 0,
        until: str | None = None,
        scope: Scope = Scope(),  # noqa: B008 - a frozen value
    ) -> AsyncGenerator[Numbered, None]:
        """What happens in a conversation; `until` ends it when that turn is complete."""
        listener = self.hub.listen(conversation)
        seen = follow.watch(self.database, listener, scope, conversation, after)
        async with aclosing(seen) as items:
            async for item in items:
                yield item
                if isinstance(item.event, TurnCompleted) and item.event.turn_id == until:
                    return

    async def answer(self, answer_id: str, scope: Scope = Scope()) -> Answer:  # noqa: B008
        """One answer as it is stored."""
        return await self.turns.answer(scope, answer_id)

    async def view(
        self, scope: Scope, conversation_id: str, before: int | None = None, limit: int = 200
    ) -> View:
        """A conversation's current branch."""
        return await self.database.read(lambda tx: view(tx, conversation_id, before, limit), scope)

    async def receipt(self, scope: Scope, answer_id: str) -> Inspected:
        """What an advisor was sent for an answer, and why."""
        return await self.database.read(lambda tx: inspect(tx, answer_id), scope)

    async def change_conversation(
        self,
        scope: Scope,
        conversation_id: str,
        details: conversation_rows.ConversationDetails,
        head: str | None = None,
    ) -> Conversation:
        """Change what is named, all of it or nothing. `head` is the turn that the next message
        answers to: to go on from another branch."""
        return await change(self.road, scope, conversation_id, details, head)

    async def delete_conversation(self, scope: Scope, conversation_id: str) -> None:
        """Stop what runs in a conversation, delete it, and end whoever listens to it."""
        await self.conversations.get(scope, conversation_id)
        await self.turns.stop_conversation(scope, conversation_id)
        await self.memory.forget_conversation(scope, conversation_id)
        if await self.conversations.delete(scope, conversation_id):
            await self.memory.scrubbed(scope)
        self.turns.conductor.forget(conversation_id)  # what was sent while it was deleted
        self.hub.end(conversation_id)

    async def turn_of_message(self, scope: Scope, message_id: str) -> tuple[Turn, list[Answer]]:
        """A message's turn and its answers."""

        def read(tx: Tx) -> tuple[Turn, list[Answer]]:
            turn = turn_rows.turn_of_message(tx, message_id)
            return turn, turn_rows.answers_of(tx, turn.id)

        return await self.database.read(read, scope)

    async def warm(self) -> None:
        """Load the embedded model where it is the default one."""
        await self.models.warm()
