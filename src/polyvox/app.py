"""Polyvox: builds everything from the settings and owns its lifetime; delegates the rest."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Self

from polyvox.companion.council import CouncilMemory
from polyvox.companion.tell import CompanionMemory
from polyvox.configure import Configuration
from polyvox.context.recipe import Traits
from polyvox.errors import PolyvoxError, StoreError
from polyvox.evaluation import run as evaluating
from polyvox.evaluation.optimise import run as optimising
from polyvox.evaluation.optimise.run import Optimisations
from polyvox.evaluation.run import Evaluations
from polyvox.events import Numbered, TurnCompleted
from polyvox.ids import Clock, system_clock
from polyvox.memory.remembering import Services, remote_memory
from polyvox.memory.running import RunningSummaries
from polyvox.memory.service import Memory
from polyvox.memory.session_start import BriefWriter
from polyvox.memory.tell import Telling
from polyvox.models.registry import Models
from polyvox.recipes import check_recipes, find_recipe, usable_recipe
from polyvox.resources import Resources
from polyvox.session.changes import change
from polyvox.session.commands import Turns
from polyvox.session.council import starter_council, thread_of
from polyvox.session.inspect import Inspected, View, inspect, view
from polyvox.session.lifecycle import CatchUp, end_session, sweep
from polyvox.settings import Settings, load
from polyvox.settings.layers import with_stored
from polyvox.store import advisors as advisor_rows
from polyvox.store import conversations as conversation_rows
from polyvox.store import turns as turn_rows
from polyvox.store import users
from polyvox.store.advisors import Advisors
from polyvox.store.conversations import Conversations
from polyvox.store.councils import Councils
from polyvox.store.database import Tx
from polyvox.store.endings import recover
from polyvox.store.open import open_database
from polyvox.store.runners import Runner, register
from polyvox.store.sessions import Session
from polyvox.stream import follow
from polyvox.stream.hub import Hub
from polyvox.stream.journal import Journal
from polyvox.transport import Transport
from polyvox.values import Answer, Conversation, Scope, Turn
from polyvox.work.worker import Bell, Worker

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
            bell = Bell()
            resources = self.resources = Resources(
                settings,
                self.database,
                models,
                self.journal,
                self.hub,
                self.clock,
                self._runner.id,
                bell,
            )
            self.memory = Memory(
                self.database,
                models,
                lambda: resources.settings,
                self.clock,
                bell.ring,
                self.hub.refresh,
                lambda: remote_memory(resources.settings, self._transport),
            )
            self.services = Services(
                resources, self._transport, self.memory.embeddings, BriefWriter(resources)
            )
            self.evaluations = Evaluations(resources)
            self.optimisations = Optimisations(resources)
            summaries = RunningSummaries(
                self.memory.asker,
                lambda tx, name: usable_recipe(tx, resources.settings, name),
                partial(thread_of, resources),
            )
            self.worker = Worker(
                self.database,
                self._runner,
                self.clock,
                {
                    **self.memory.handlers,
                    **self.evaluations.handlers,
                    **self.optimisations.handlers,
                    **summaries.handlers,
                },
                apart={
                    evaluating.KIND: evaluating.AT_ONCE,
                    optimising.KIND: optimising.AT_ONCE,
                },
                bell=bell,
            )
            self.catch_up = CatchUp(resources, self.memory, self.worker)
            telling = Telling(
                resources,
                {
                    "council": CouncilMemory(resources, self.services),
                    "companion": CompanionMemory(resources, self.services),
                },
                self.catch_up.before_session,
            )
            self.turns = Turns(resources, telling, self.evaluations.want_badges)
            self.configuration = Configuration(settings, self._use)
            self.advisors = Advisors(self.database, self.clock)
            self.councils = Councils(self.database, self.clock)
            self.conversations = Conversations(self.database, self.clock)
            await self.database.write(self._first_run, Scope())
        except BaseException:
            if self._runner is not None:
                await self._runner.close()
            await self.database.close()
            raise

    def _use(self, settings: Settings) -> None:
        """Use these settings from now on; what is under way goes on."""
        self.settings = self.resources.settings = settings
        self.models.use(settings)
        self.services.choose()

    def _first_run(self, tx: Tx) -> None:
        """The local user and, once, the starter council."""
        now = self.clock()
        if users.add(tx, "You", self.settings.timezone or None, now):
            for advisor in starter_council(now):
                advisor_rows.create(
                    tx,
                    now,
                    reason="starter council",
                    slug=advisor.slug,
                    name=advisor.name,
                    description=advisor.description,
                    color=advisor.color,
                )

    def work(self) -> None:
        """Do background work in this process from now on: what is due, and what idleness ends."""
        self.worker.start()
        if self._sweeping is None:
            self._sweeping = asyncio.create_task(self._sweep(), name="sweep")

    async def _sweep(self) -> None:
        while True:
            try:
                swept = await sweep(self.database, self.clock, self.settings)
                if await self.memory.embeddings.keep_up() or swept:
                    self.resources.bell.ring()
            except PolyvoxError as error:
                log.warning("sessions could not be swept: %s", error.message)
            await asyncio.sleep(SWEEP)

    async def end_session(self, scope: Scope, session_id: str) -> Session:
        """End a session because the person says so; it is remembered in the background."""
        ended = await end_session(self.database, scope, session_id, self.clock)
        self.resources.bell.ring()
        return ended

    async def close(self, drain: float = 0) -> None:
        """Let answers end for a while, then keep what they have; let go of everything."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.wait([self._sweeping])
        await self.worker.close()
        await self.turns.queue.drain(drain)
        await self.turns.queue.close()
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

    async def check_recipe(self, scope: Scope, name: str | None) -> None:
        """Refuse a recipe that there is not."""
        if name:
            await self.database.read(lambda tx: find_recipe(tx, self.settings, name), scope)

    async def traits(self, scope: Scope, recipe: str) -> Traits:
        """The fixed side of a recipe, by its name."""
        return await self.database.read(
            lambda tx: usable_recipe(tx, self.settings, recipe).traits, scope
        )

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
            await self.check_recipe(scope, recipe)
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
        """The events of a conversation; `until` ends it when that turn is complete."""
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
        """The receipt of an answer: what its advisor was sent, and why."""
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
        return await change(self.resources, scope, conversation_id, details, head)

    async def delete_conversation(self, scope: Scope, conversation_id: str) -> None:
        """Stop what runs in a conversation, delete it, and end whoever listens to it."""
        await self.conversations.get(scope, conversation_id)
        await self.turns.stop_conversation(scope, conversation_id)
        await self.memory.forget_conversation(scope, conversation_id)
        if await self.conversations.delete(scope, conversation_id):
            await self.memory.scrubbed(scope)
        self.turns.queue.forget(conversation_id)  # what was sent while it was deleted
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
