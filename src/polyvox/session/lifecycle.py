"""The life of a session. It ends by idleness, measured from the last *user* message, or by the
person."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from polyvox.errors import Conflict
from polyvox.ids import Clock
from polyvox.memory.derive import EXTRACT
from polyvox.memory.service import Memory
from polyvox.memory.tables import companions
from polyvox.recipes import endless_recipes, recipe_for
from polyvox.resources import Resources
from polyvox.settings import Settings
from polyvox.store import conversations, sessions
from polyvox.store.database import Database, Tx
from polyvox.store.sessions import INGEST, Session
from polyvox.values import Conversation, Scope
from polyvox.work.worker import Worker


def running_session(
    tx: Tx, settings: Settings, conversation: Conversation, now: int
) -> Session | None:
    """The session that a message sent now would belong to."""
    session = sessions.open_session(tx, conversation.id)
    if session is None or recipe_for(tx, settings, conversation).traits.endless:
        return session
    idle = settings.sessions.idle_minutes
    return None if sessions.is_over(session.last_user_at, now, idle) else session


async def set_veto(
    resources: Resources, scope: Scope, conversation_id: str, ids: Iterable[str]
) -> None:
    """Set what the running session shall not be told, in place of what was set before."""
    now = resources.clock()

    def write(tx: Tx) -> None:
        conversation = conversations.get(tx, conversation_id)
        session = running_session(tx, resources.settings, conversation, now)
        if session is None:
            raise Conflict(
                "No session is running in this conversation.",
                "Send `veto` with the message that opens the next one.",
            )
        companions.veto(tx, session.id, conversation_id, ids, now)

    await resources.database.write(write, scope)


async def end_session(database: Database, scope: Scope, session_id: str, clock: Clock) -> Session:
    """End a session because the person says so."""

    def write(tx: Tx) -> Session:
        session = sessions.get(tx, session_id)
        if not sessions.close(tx, session, "person", clock()):
            raise Conflict("This session has ended.", "Your next message opens a new one.")
        return sessions.get(tx, session_id)

    return await database.write(write, scope)


async def sweep(database: Database, clock: Clock, settings: Settings) -> int:
    """Close the sessions nobody came back to; returns how many."""
    now, idle_minutes = clock(), settings.sessions.idle_minutes
    before = now - int(idle_minutes * 60_000_000)
    over = await database.read(lambda tx: sessions.idle(tx, before, endless_recipes(tx, settings)))

    def write(tx: Tx) -> int:
        closed = 0
        for scope, session in over:
            own = tx.of(scope)
            fresh = sessions.get(own, session.id)
            if fresh.ended_at is None and sessions.is_over(fresh.last_user_at, now, idle_minutes):
                closed += sessions.close(own, fresh, "idle", now)
        return closed

    return await database.write(write) if over else 0


class CatchUp:
    """Has remembered, before a session begins, what has ended by then."""

    def __init__(self, resources: Resources, memory: Memory, worker: Worker) -> None:
        self._resources = resources
        self._memory = memory
        self._worker = worker

    async def all(self, scope: Scope) -> None:
        """Have everything remembered that has ended by now, though nobody works in the background.
        What a service elsewhere, or a model, has to do with it takes its time."""
        resources = self._resources
        settings = resources.settings
        if not settings.memory.url:
            await sweep(resources.database, resources.clock, settings)
            quick = (INGEST,) if self._memory.asker.model else (INGEST, EXTRACT)
            # Another program that has it in hand may have stopped there.
            with suppress(TimeoutError):
                async with asyncio.timeout(settings.memory.budget):
                    for kind in quick:
                        await self._worker.run_all_due(scope, kind)
        resources.bell.ring()

    async def before_session(self, scope: Scope, follows: bool) -> None:
        """Catch up before a session begins. Whoever works in the background keeps up by itself,
        but for what ended just now (`follows`)."""
        if follows or not self._worker.working:
            await self.all(scope)
