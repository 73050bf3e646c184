"""Routes of sessions and of the background work that follows them."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel

from polyvox.store import jobs, sessions
from polyvox.store.jobs import Job, JobState
from polyvox.store.sessions import Session
from polyvox.web.context import App, Who
from polyvox.web.failures import responses
from polyvox.web.fields import Id, Key

router = APIRouter(tags=["sessions"])
Few = Annotated[int, Query(ge=1, le=200)]


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

    @classmethod
    def of(cls, session: Session, messages: int) -> SessionOut:
        """From the value."""
        names = [name for name in cls.model_fields if name != "messages"]
        return cls(**{name: getattr(session, name) for name in names}, messages=messages)


class JobOut(BaseModel):
    """A piece of background work."""

    id: str
    kind: str
    subject: str
    """The id of what it is about."""
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
        return cls(**{name: getattr(job, name) for name in cls.model_fields})


class Jobs(BaseModel):
    """How much is left to do, and what it is."""

    pending: int
    running: int
    failed: int
    items: list[JobOut]


@router.get("/api/sessions", responses=responses())
async def list_sessions(
    app: App, who: Who, conversation: Id | None = None, limit: Few = 50
) -> list[SessionOut]:
    """The newest sessions first, of one conversation or of all."""
    found = await app.database.read(lambda tx: sessions.list_sessions(tx, who, conversation, limit))
    return [SessionOut.of(session, messages) for session, messages in found]


@router.get("/api/sessions/{session}", responses=responses(404))
async def get_session(app: App, who: Who, session: Key) -> SessionOut:
    """One session."""
    return SessionOut.of(*await app.database.read(lambda tx: sessions.counted(tx, who, session)))


@router.post("/api/sessions/{session}/end", responses=responses(404, 409))
async def end_session(app: App, who: Who, session: Key) -> SessionOut:
    """End it now; the next message opens a new one."""
    await app.end_session(who, session)
    return SessionOut.of(*await app.database.read(lambda tx: sessions.counted(tx, who, session)))


@router.get("/api/jobs", responses=responses())
async def list_jobs(
    app: App,
    who: Who,
    state: Annotated[list[JobState] | None, Query()] = None,
    limit: Few = 100,
) -> Jobs:
    """The background work that waits, runs or has failed (or is in the states that are named)."""
    wanted: tuple[JobState, ...] = tuple(state or ("pending", "running", "failed"))
    counts = await app.database.read(lambda tx: jobs.counts(tx, who))
    found = await app.database.read(lambda tx: jobs.list_jobs(tx, who, wanted, limit))
    return Jobs(**counts, items=[JobOut.of(job) for job in found])


@router.post("/api/jobs/{job}/retry", responses=responses(404, 409))
async def retry_job(app: App, who: Who, job: Key) -> JobOut:
    """Try a failed job again now, behind the steps it has taken."""
    now = app.clock()
    retried = await app.database.write(lambda tx: jobs.retry(tx, who, job, now))
    app.worker.ring()
    return JobOut.of(retried)
