"""Routes of sessions and of the background work that follows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query

from polyvox.fields import Id
from polyvox.memory.shapes.jobs import JobOut, subjects_of
from polyvox.session import inspect
from polyvox.session.inspect import SessionOut
from polyvox.shapes import shape
from polyvox.store import jobs, sessions, turns
from polyvox.store.database import Tx
from polyvox.store.jobs import JobState
from polyvox.values import Answer, AnswerState, Turn, TurnState
from polyvox.web.dependencies import App, Key, Who
from polyvox.web.errors import responses
from polyvox.web.openapi import Router

router = Router("sessions")
Few = Annotated[int, Query(ge=1, le=200)]
LONGEST = 600
"""Characters of a message in the list of a session's turns."""
FIRST = 200
"""Characters of an answer's beginning."""


@dataclass(frozen=True, slots=True)
class VoiceOut:
    """An answer of a turn, with the beginning of its text."""

    answer_id: str
    advisor_id: str
    name: str
    kind: str
    state: AnswerState
    first: str

    @classmethod
    def of(cls, answer: Answer) -> VoiceOut:
        """From the value."""
        first = answer.text.strip()[:FIRST]
        return shape(cls, answer, answer_id=answer.id, name=answer.advisor_name, first=first)


@dataclass(frozen=True, slots=True)
class SessionTurnOut:
    """A turn of a session: the person's words, and the answers."""

    turn_id: str
    content: str
    """The message, or its beginning."""
    cut: bool
    """True if that is only the beginning."""
    said_at: int
    state: TurnState
    answers: list[VoiceOut]

    @classmethod
    def of(cls, turn: Turn, answers: Iterable[Answer]) -> SessionTurnOut:
        """From the values; of an answer that was written anew only the newest."""
        return shape(
            cls,
            turn,
            turn_id=turn.id,
            content=turn.content[:LONGEST],
            cut=len(turn.content) > LONGEST,
            said_at=turn.created_at if turn.said_at is None else turn.said_at,
            answers=[VoiceOut.of(answer) for answer in answers if answer.current],
        )


@dataclass(frozen=True, slots=True)
class Jobs:
    """Counts of the background work, and some of it."""

    pending: int
    running: int
    failed: int
    now: int
    """The time of this answer, by the clock that `due_at` goes by."""
    items: list[JobOut]


@router.get("/api/sessions", responses=responses(404))
async def list_sessions(
    app: App, who: Who, conversation: Id | None = None, limit: Few = 50, after: Id | None = None
) -> list[SessionOut]:
    """The newest sessions first, of one conversation or of all; `after` is the last one of the page
    before."""
    return await app.database.read(
        lambda tx: inspect.list_sessions(tx, conversation, limit, after), who
    )


@router.get("/api/sessions/{session}")
async def get_session(app: App, who: Who, session: Key) -> SessionOut:
    """One session."""
    return await app.database.read(lambda tx: inspect.get_session(tx, session), who)


@router.get("/api/sessions/{session}/turns")
async def get_session_turns(
    app: App, who: Who, session: Key, limit: Few = 200
) -> list[SessionTurnOut]:
    """Its turns, the newest `limit`, oldest first."""

    def look(tx: Tx) -> list[SessionTurnOut]:
        ids = sessions.turns_in(tx, sessions.get(tx, session), limit)
        return [
            SessionTurnOut.of(turns.get_turn(tx, id_), turns.answers_of(tx, id_)) for id_ in ids
        ]

    return await app.database.read(look, who)


@router.post("/api/sessions/{session}/end", responses=responses(409))
async def end_session(app: App, who: Who, session: Key) -> SessionOut:
    """End it now; the next message opens a new one."""
    await app.end_session(who, session)
    return await app.database.read(lambda tx: inspect.get_session(tx, session), who)


@router.get("/api/jobs")
async def list_jobs(
    app: App,
    who: Who,
    state: Annotated[list[JobState] | None, Query()] = None,
    limit: Few = 100,
    session: Id | None = None,
) -> Jobs:
    """The background work that waits, runs or has failed (or is in the states that are named); that
    about one session alone, if it is named."""
    wanted: tuple[JobState, ...] = tuple(state or ("pending", "running", "failed"))
    about = None if session is None else subjects_of(who, session)
    counts = await app.database.read(lambda tx: jobs.counts(tx), who)
    rows = await app.database.read(lambda tx: jobs.list_jobs(tx, wanted, limit, about), who)
    return Jobs(**counts, now=app.clock(), items=[JobOut.of(job) for job in rows])


@router.post("/api/jobs/{job}/retry", responses=responses(409))
async def retry_job(app: App, who: Who, job: Key) -> JobOut:
    """Try a failed job again now, or one that waits for its next attempt."""
    now = app.clock()
    retried = await app.database.write(lambda tx: jobs.retry(tx, job, now), who)
    app.resources.bell.ring()
    return JobOut.of(retried)
