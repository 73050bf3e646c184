"""Background work as doors show it."""

from __future__ import annotations

from dataclasses import dataclass

from polyvox.memory.derive import EXTRACT, JUDGE, SUMMARISE, parse, subject_of
from polyvox.memory.values import Partition
from polyvox.shapes import shape
from polyvox.store.jobs import Job, JobState
from polyvox.store.sessions import INGEST
from polyvox.values import Scope


@dataclass(frozen=True, slots=True)
class JobOut:
    """A piece of background work."""

    id: str
    kind: str
    subject: str
    """The id of what it is about."""
    session_id: str | None
    """The session that it is about, where it is about one of yours."""
    state: JobState
    attempts: int
    due_at: int
    failure: str | None
    """The reason why its last attempt failed."""
    created_at: int
    updated_at: int

    @classmethod
    def of(cls, job: Job) -> JobOut:
        """From the value."""
        return shape(cls, job, session_id=session_of(job))


def session_of(job: Job) -> str | None:
    """The session of the person's own that a job is about."""
    if job.kind in (INGEST, JUDGE):
        return job.subject
    if job.kind not in (EXTRACT, SUMMARISE):
        return None
    partition, session_id = parse(job.subject)
    return session_id if partition == Partition.own(job.scope) else None


def subjects_of(scope: Scope, session_id: str) -> tuple[str, str]:
    """The subjects of the jobs about a session."""
    return session_id, subject_of(Partition.own(scope), session_id)
