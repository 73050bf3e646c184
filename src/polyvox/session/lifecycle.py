"""When a session ends: by idleness, measured from the last *user* message, or by the person."""

from __future__ import annotations

from typing import NamedTuple

from polyvox.errors import Conflict
from polyvox.ids import Clock
from polyvox.store import sessions
from polyvox.store.database import Database, Tx
from polyvox.store.sessions import Session
from polyvox.values import Scope

ENDLESS = {"agent"}
"""Recipes whose session is never cut by idleness: it is continued by name."""


def is_over(last_user_at: int, now: int, idle_minutes: float) -> bool:
    """Whether a message now belongs to a new session. Answers never extend one."""
    return now - last_user_at > idle_minutes * 60_000_000


class Placed(NamedTuple):
    """Where a message belongs."""

    session_id: str
    begins: bool
    """Whether its session begins with it."""
    follows: bool = False
    """Whether it closed another one."""


def placed(tx: Tx, conversation_id: str, now: int, idle_minutes: float | None) -> Placed:
    """The session a message said now belongs to; an idle one is closed and a new one opened.
    `idle_minutes` None: the session is never cut by idleness."""
    current = sessions.open_session(tx, conversation_id)
    if current is not None:
        goes_on = idle_minutes is None or not is_over(current.last_user_at, now, idle_minutes)
        # Somebody else may be ending it right now: then a new one begins all the same.
        if goes_on and sessions.touch(tx, current.id, now):
            return Placed(current.id, begins=False)
        sessions.close(tx, current, "idle", now)
    begun = sessions.begin(tx, conversation_id, now)
    return Placed(begun.id, begins=True, follows=current is not None)


async def end_session(database: Database, scope: Scope, session_id: str, clock: Clock) -> Session:
    """End a session because the person says so."""

    def write(tx: Tx) -> Session:
        session = sessions.get(tx, session_id)
        if not sessions.close(tx, session, "person", clock()):
            raise Conflict("This session has ended.", "Your next message opens a new one.")
        return sessions.get(tx, session_id)

    return await database.write(write, scope)


async def sweep(database: Database, clock: Clock, idle_minutes: float) -> int:
    """Close the sessions nobody came back to; answers how many those were."""
    now = clock()
    before = now - int(idle_minutes * 60_000_000)
    over = await database.read(lambda tx: sessions.idle(tx, before, ENDLESS))

    def write(tx: Tx) -> int:
        closed = 0
        for scope, session in over:
            own = tx.of(scope)
            fresh = sessions.get(own, session.id)
            if fresh.ended_at is None and is_over(fresh.last_user_at, now, idle_minutes):
                closed += sessions.close(own, fresh, "idle", now)
        return closed

    return await database.write(write) if over else 0
