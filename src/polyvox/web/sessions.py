"""Routes of sessions and of the background work that follows them."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from polyvox.memory import derive
from polyvox.memory.values import Partition
from polyvox.store import conversations, jobs, sessions, turns
from polyvox.store.database import Tx
from polyvox.store.jobs import Job, JobState
from polyvox.store.sessions import INGEST, Session
from polyvox.values import Answer, Conversation, Scope, Turn
from polyvox.web.dependencies import App, Who
from polyvox.web.errors import responses
from polyvox.web.fields import Id, Key

router = APIRouter(tags=["sessions"])
Few = Annotated[int, Query(ge=1, le=200)]
LONGEST = 600
"""Characters of a message in the list of a session's turns."""
FIRST = 200
"""Characters of what a session, or an answer, begins with."""


class SessionOut(BaseModel):
    """A stretch of activity inside a conversation."""

    id: str
    conversation_id: str
    started_at: int
    last_user_at: int
    ended_at: int | None
    ended_by: Literal["idle", "person"] | None
    messages: int
    """How many messages the person sent in it."""
    title: str = ""
    """Of its conversation."""
    recipe: str = ""
    first: str = ""
    """What it began with: the beginning of the first message."""

    @classmethod
    def of(
        cls,
        session: Session,
        messages: int,
        conversation: Conversation | None = None,
        first: str = "",
    ) -> SessionOut:
        """From the values."""
        given = {"messages", "title", "recipe", "first"}
        names = [name for name in cls.model_fields if name not in given]
        said = {name: getattr(session, name) for name in names}
        if conversation is not None:
            said |= {"title": conversation.title, "recipe": conversation.recipe}
        return cls(**said, messages=messages, first=first)


class VoiceOut(BaseModel):
    """An answer of a turn, with the beginning of its text."""

    answer_id: str
    advisor_id: str
    name: str
    kind: str
    state: Literal["pending", "streaming", "completed", "failed", "stopped", "interrupted"]
    first: str = ""

    @classmethod
    def of(cls, answer: Answer) -> VoiceOut:
        """From the value."""
        return cls(
            answer_id=answer.id,
            advisor_id=answer.advisor_id,
            name=answer.advisor_name,
            kind=answer.kind,
            state=answer.state,
            first=answer.text.strip()[:FIRST],
        )


class SessionTurnOut(BaseModel):
    """A turn of a session: what the person said, and who answered."""

    turn_id: str
    content: str
    """What the person said, or its beginning."""
    cut: bool
    """Whether that is only the beginning."""
    said_at: int
    state: Literal["queued", "running", "completed"]
    answers: list[VoiceOut]

    @classmethod
    def of(cls, turn: Turn, answers: list[Answer]) -> SessionTurnOut:
        """From the values; of an answer that was written anew only the newest."""
        return cls(
            turn_id=turn.id,
            content=turn.content[:LONGEST],
            cut=len(turn.content) > LONGEST,
            said_at=turn.created_at if turn.said_at is None else turn.said_at,
            state=turn.state,
            answers=[VoiceOut.of(one) for one in answers if one.current],
        )


class JobOut(BaseModel):
    """A piece of background work."""

    id: str
    kind: str
    subject: str
    """The id of what it is about."""
    session_id: str | None
    """The session that it is about, where it is about one of yours."""
    state: Literal["pending", "running", "done", "failed"]
    attempts: int
    due_at: int
    failure: str | None
    """Why its last attempt failed."""
    created_at: int
    updated_at: int

    @classmethod
    def of(cls, job: Job) -> JobOut:
        """From the value."""
        names = [name for name in cls.model_fields if name != "session_id"]
        return cls(**{name: getattr(job, name) for name in names}, session_id=_session_of(job))


class Jobs(BaseModel):
    """How much is left to do, and what it is."""

    pending: int
    running: int
    failed: int
    now: int = Field(description="when this was so, by the clock that `due_at` goes by")
    items: list[JobOut]


@router.get("/api/sessions", responses=responses(404))
async def list_sessions(
    app: App, who: Who, conversation: Id | None = None, limit: Few = 50, after: Id | None = None
) -> list[SessionOut]:
    """The newest sessions first, of one conversation or of all; `after` is the last one of the page
    before."""

    return await app.database.read(lambda tx: listed(tx, conversation, limit, after), who)


@router.get("/api/sessions/{session}", responses=responses(404))
async def get_session(app: App, who: Who, session: Key) -> SessionOut:
    """One session."""
    return await app.database.read(lambda tx: shown(tx, session), who)


@router.get("/api/sessions/{session}/turns", responses=responses(404))
async def get_session_turns(
    app: App, who: Who, session: Key, limit: Few = 200
) -> list[SessionTurnOut]:
    """What was said in it, the newest `limit` turns, oldest first."""

    def look(tx: Tx) -> list[SessionTurnOut]:
        ids = sessions.turns_in(tx, sessions.get(tx, session), limit)
        return [
            SessionTurnOut.of(turns.get_turn(tx, one), turns.answers_of(tx, one)) for one in ids
        ]

    return await app.database.read(look, who)


@router.post("/api/sessions/{session}/end", responses=responses(404, 409))
async def end_session(app: App, who: Who, session: Key) -> SessionOut:
    """End it now; the next message opens a new one."""
    await app.end_session(who, session)
    return await app.database.read(lambda tx: shown(tx, session), who)


def listed(
    tx: Tx, conversation: str | None, limit: int = 50, after: str | None = None
) -> list[SessionOut]:
    """Sessions with what is told of their conversations."""
    found = sessions.list_sessions(tx, conversation, limit, after)
    ids = {session.conversation_id for session, _ in found}
    known = {one: conversations.find(tx, one) for one in ids}
    first = sessions.first_words(tx, [session.id for session, _ in found], FIRST)
    return [
        SessionOut.of(session, messages, known[session.conversation_id], first[session.id])
        for session, messages in found
    ]


def shown(tx: Tx, session_id: str) -> SessionOut:
    """One of them."""
    session, messages = sessions.counted(tx, session_id)
    talk = conversations.find(tx, session.conversation_id)
    first = sessions.first_words(tx, [session_id], FIRST)
    return SessionOut.of(session, messages, talk, first[session_id])


def _session_of(job: Job) -> str | None:
    """The session of the person's own that a job is about."""
    if job.kind in (INGEST, derive.JUDGE):
        return job.subject
    if job.kind not in (derive.EXTRACT, derive.SUMMARISE):
        return None
    partition, session_id = derive.parse(job.subject)
    return session_id if partition == Partition.own(job.scope) else None


def _about(who: Scope, session_id: str) -> tuple[str, str]:
    """What the jobs about a session name as their subject."""
    return session_id, derive.subject_of(Partition.own(who), session_id)


@router.get("/api/jobs", responses=responses())
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
    about = None if session is None else _about(who, session)
    counts = await app.database.read(lambda tx: jobs.counts(tx), who)
    found = await app.database.read(lambda tx: jobs.list_jobs(tx, wanted, limit, about), who)
    return Jobs(**counts, now=app.clock(), items=[JobOut.of(job) for job in found])


@router.post("/api/jobs/{job}/retry", responses=responses(404, 409))
async def retry_job(app: App, who: Who, job: Key) -> JobOut:
    """Try a failed job again now, or one that waits for its next attempt."""
    now = app.clock()
    retried = await app.database.write(lambda tx: jobs.retry(tx, job, now), who)
    app.resources.bell.ring()
    return JobOut.of(retried)
