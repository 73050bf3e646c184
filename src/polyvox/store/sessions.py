"""Sessions: stretches of activity inside a conversation, ended by idleness or by the person.

Closing one enqueues its ingest in the same transaction: what was said will be remembered, whatever
happens next, and exactly once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, NamedTuple

from polyvox.ids import new_id
from polyvox.store import jobs
from polyvox.store.database import Tx, Value
from polyvox.store.table import Table, known
from polyvox.values import Scope

INGEST = "ingest"
EndedBy = Literal["idle", "person"]


@dataclass(frozen=True, slots=True)
class Session:
    """One session. `ended_at` of an idle one is its last user message's time."""

    id: str
    conversation_id: str
    started_at: int
    last_user_at: int
    ended_at: int | None
    ended_by: EndedBy | None


SESSIONS = Table("sessions", Session)


def open_session(tx: Tx, conversation_id: str) -> Session | None:
    """The session that is going on in a conversation."""
    return SESSIONS.one(
        tx,
        "AND conversation_id = ? AND ended_at IS NULL ORDER BY started_at DESC LIMIT 1",
        conversation_id,
    )


def begin(tx: Tx, conversation_id: str, now: int) -> Session:
    """A new session, which a message opens."""
    session = Session(new_id(), conversation_id, now, now, None, None)
    SESSIONS.insert(tx, session)
    return session


def touch(tx: Tx, session_id: str, now: int) -> bool:
    """Note a new message in a session; False where it was ended meanwhile."""
    touched = tx.run(
        "UPDATE sessions SET last_user_at = ? WHERE user_id = ? AND id = ? AND ended_at IS NULL",
        (now, tx.user, session_id),
    )
    return touched > 0


def close(tx: Tx, session: Session, by: EndedBy, now: int) -> bool:
    """End a session and enqueue its ingest; False where it has ended already, or is not idle after
    all: a message came since it was read."""
    idle = by == "idle"
    closed = tx.run(
        "UPDATE sessions SET ended_at = ?, ended_by = ? WHERE user_id = ? AND id = ?"
        f" AND ended_at IS NULL{' AND last_user_at = ?' if idle else ''}",
        (
            session.last_user_at if idle else now,
            by,
            tx.user,
            session.id,
            *((session.last_user_at,) if idle else ()),
        ),
    )
    if closed:
        jobs.enqueue(tx, INGEST, session.id, now)
    return closed > 0


def get(tx: Tx, session_id: str) -> Session:
    """One session."""
    words = f"There is no session {session_id}." if session_id else "A session's id is needed."
    session = SESSIONS.one(tx, "AND id = ?", session_id)
    return known(session, words, "`polyvox sessions list` shows them.")


def counted(tx: Tx, session_id: str) -> tuple[Session, int]:
    """One session and the number of the person's messages in it."""
    rows = _counted(tx, " AND s.id = ?", (tx.user, session_id, 1))
    return rows[0] if rows else (get(tx, session_id), 0)


def list_sessions(
    tx: Tx, conversation_id: str | None = None, limit: int = 50, after: str | None = None
) -> list[tuple[Session, int]]:
    """Sessions, newest first, each with the number of the person's messages in it; `after` is the
    last one of the page before."""
    only, params = "", (tx.user,)
    values: tuple[Value, ...] = params
    if conversation_id is not None:
        only, values = " AND s.conversation_id = ?", (*params, conversation_id)
    if after is not None:
        last = get(tx, after)
        only += " AND (s.started_at < ? OR (s.started_at = ? AND s.id < ?))"
        values = (*values, last.started_at, last.started_at, last.id)
    return _counted(tx, only, (*values, limit))


def of_conversation(tx: Tx, conversation_id: str) -> list[Session]:
    """Every session of a conversation, oldest first."""
    return SESSIONS.all(tx, "AND conversation_id = ? ORDER BY started_at, id", conversation_id)


def newest(tx: Tx, limit: int) -> list[Session]:
    """The newest sessions first."""
    return SESSIONS.all(tx, "ORDER BY started_at DESC, id DESC LIMIT ?", limit)


def _counted(tx: Tx, only: str, params: tuple[Value, ...]) -> list[tuple[Session, int]]:
    rows = tx.all(
        f"SELECT {SESSIONS.of('s')}, (SELECT COUNT(*) FROM turns t WHERE t.user_id = s.user_id"
        " AND t.session_id = s.id)"
        f" FROM sessions s WHERE s.user_id = ?{only} ORDER BY s.started_at DESC, s.id DESC LIMIT ?",
        params,
    )
    return [(SESSIONS.value(row), int(row[-1])) for row in rows]


def messages_in(tx: Tx, session: Session) -> list[tuple[str, int | None, str]]:
    """The person's messages in a session, oldest first: (turn, when, text)."""
    rows = tx.all(
        "SELECT id, said_at, content FROM turns WHERE user_id = ? AND session_id = ?"
        " ORDER BY created_at, id",
        (tx.user, session.id),
    )
    return [(row[0], row[1], row[2]) for row in rows]


def first_words(tx: Tx, ids: Collection[str], most: int) -> dict[str, str]:
    """The beginning of each session's first message, by session id."""
    rows = tx.all(
        "SELECT s.id, (SELECT SUBSTR(t.content, 1, ?) FROM turns t WHERE t.user_id = s.user_id"
        " AND t.session_id = s.id ORDER BY t.created_at, t.id LIMIT 1) FROM sessions s"
        f" WHERE s.user_id = ? AND s.id IN ({', '.join('?' * len(ids)) or 'NULL'})",
        (most, tx.user, *ids),
    )
    return {str(row[0]): str(row[1] or "") for row in rows}


def turns_in(tx: Tx, session: Session, limit: int) -> list[str]:
    """The turns of a session, the newest `limit` of them, oldest first."""
    rows = tx.all(
        "SELECT id FROM turns WHERE user_id = ? AND session_id = ?"
        " ORDER BY created_at DESC, id DESC LIMIT ?",
        (tx.user, session.id, limit),
    )
    return [str(row[0]) for row in reversed(rows)]


def idle(
    tx: Tx, before: int, endless: Collection[str] = (), limit: int = 100
) -> list[tuple[Scope, Session]]:
    """Open sessions of any user whose last message is older than `before`, without those of
    conversations by these recipes. The longest idle come first."""
    without = f" AND c.recipe NOT IN ({', '.join('?' * len(endless))})" if endless else ""
    rows = tx.all(
        f"SELECT {SESSIONS.of('s')}, s.user_id"
        " FROM sessions s JOIN conversations c ON c.user_id = s.user_id"
        " AND c.id = s.conversation_id WHERE s.ended_at IS NULL AND s.last_user_at < ?"
        f"{without} ORDER BY s.last_user_at LIMIT ?",
        (before, *endless, limit),
    )
    return [(Scope(row[-1]), SESSIONS.value(row)) for row in rows]


def is_over(last_user_at: int, now: int, idle_minutes: float) -> bool:
    """True if a message now belongs to a new session. Answers never extend one."""
    return now - last_user_at > idle_minutes * 60_000_000


class Placed(NamedTuple):
    """The session that a message belongs to."""

    session_id: str
    begins: bool
    """True if its session begins with it."""
    follows: bool = False
    """True if it closed another one."""


def placed(tx: Tx, conversation_id: str, now: int, idle_minutes: float | None) -> Placed:
    """The session a message said now belongs to; an idle one is closed and a new one opened.
    `idle_minutes` None: the session is never cut by idleness."""
    current = open_session(tx, conversation_id)
    if current is not None:
        goes_on = idle_minutes is None or not is_over(current.last_user_at, now, idle_minutes)
        # Somebody else may be ending it right now: then a new one begins all the same.
        if goes_on and touch(tx, current.id, now):
            return Placed(current.id, begins=False)
        close(tx, current, "idle", now)
    begun = begin(tx, conversation_id, now)
    return Placed(begun.id, begins=True, follows=current is not None)
