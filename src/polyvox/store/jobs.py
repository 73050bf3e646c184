"""Jobs: work that must be done some time, and survives whoever does it.

A job is enqueued in the very transaction that makes it necessary, so it can be neither lost nor
wanted for something that did not happen. One living runner claims it; what a runner that died had
claimed is claimed again. Invariant: a job holds ids, never texts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from polyvox.errors import Conflict
from polyvox.store.database import Tx
from polyvox.store.table import Table, known
from polyvox.values import Scope

JobState = Literal["pending", "running", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of background work."""

    user_id: str
    id: str
    kind: str
    subject: str
    """The id of what it is about."""
    state: JobState
    attempts: int
    due_at: int
    runner_id: str | None
    failure: str | None
    """The reason its last attempt failed."""
    created_at: int
    updated_at: int

    @property
    def scope(self) -> Scope:
        """The user as a value."""
        return Scope(self.user_id)


JOBS = Table("jobs", Job)


def enqueue(tx: Tx, kind: str, subject: str, now: int, *, due_at: int | None = None) -> bool:
    """Enqueue a job, once; False where it was enqueued before, done or not."""
    return bool(
        tx.run(
            "INSERT INTO jobs (user_id, id, kind, subject, state, attempts, due_at, created_at,"
            " updated_at) VALUES (?, ?, ?, ?, 'pending', 0, ?, ?, ?) ON CONFLICT DO NOTHING",
            (
                tx.user,
                f"{kind}:{subject}",
                kind,
                subject,
                now if due_at is None else due_at,
                now,
                now,
            ),
        )
    )


def enqueue_again(tx: Tx, kind: str, subject: str, now: int) -> None:
    """Enqueue a job that may have been done before. One that runs now may have read too early: it
    runs once more when it ends."""
    if enqueue(tx, kind, subject, now):
        return
    # One statement: between two, somebody might begin it.
    tx.run(
        "UPDATE jobs SET again = CASE WHEN state = 'running' THEN 1 ELSE 0 END,"
        " attempts = CASE WHEN state = 'running' THEN attempts ELSE 0 END,"
        " due_at = CASE WHEN state = 'running' THEN due_at ELSE ? END,"
        " failure = CASE WHEN state = 'running' THEN failure ELSE NULL END,"
        " state = CASE WHEN state = 'running' THEN state ELSE 'pending' END,"
        " updated_at = ? WHERE user_id = ? AND id = ?",
        (now, now, tx.user, f"{kind}:{subject}"),
    )


def claim(tx: Tx, kinds: Iterable[str], runner_id: str, now: int) -> Job | None:
    """Claim the job that has been due for longest; None where none is due."""
    wanted = tuple(kinds)
    marks = ", ".join("?" * len(wanted))
    lock = " FOR UPDATE SKIP LOCKED" if tx.dialect == "postgresql" else ""
    row = tx.one(
        "SELECT user_id, id FROM jobs WHERE state = 'pending' AND due_at <= ?"
        f" AND kind IN ({marks}) ORDER BY due_at, id LIMIT 1{lock}",
        (now, *wanted),
    )
    return None if row is None else _claimed(tx.of(Scope(row[0])), row[1], runner_id, now)


def claim_one(tx: Tx, job_id: str, runner_id: str, now: int) -> Job | None:
    """Claim this job; None where it is not due or another runner has it."""
    touched = tx.run(
        "UPDATE jobs SET updated_at = ? WHERE user_id = ? AND id = ? AND state = 'pending'"
        " AND due_at <= ?",
        (now, tx.user, job_id, now),
    )
    return _claimed(tx, job_id, runner_id, now) if touched else None


def _claimed(tx: Tx, job_id: str, runner_id: str, now: int) -> Job:
    tx.run(
        "UPDATE jobs SET state = 'running', runner_id = ?, attempts = attempts + 1, updated_at = ?"
        " WHERE user_id = ? AND id = ?",
        (runner_id, now, tx.user, job_id),
    )
    return get(tx, job_id)


def next_due(tx: Tx, kinds: Iterable[str]) -> int | None:
    """When the next job is due; None where none waits."""
    wanted = tuple(kinds)
    row = tx.one(
        "SELECT MIN(due_at) FROM jobs WHERE state = 'pending'"
        f" AND kind IN ({', '.join('?' * len(wanted))})",
        wanted,
    )
    return None if row is None or row[0] is None else int(row[0])


def unfinished(tx: Tx, kind: str, now: int) -> list[str]:
    """Subjects of the jobs of a kind that are due by now or running, the longest due first."""
    rows = tx.all(
        "SELECT subject, due_at FROM jobs WHERE user_id = ? AND kind = ? AND state = 'pending'"
        " AND due_at <= ? UNION ALL SELECT subject, due_at FROM jobs WHERE user_id = ?"
        " AND kind = ? AND state = 'running' ORDER BY 2, 1",
        (tx.user, kind, now, tx.user, kind),
    )
    return [row[0] for row in rows]


def finish(tx: Tx, job: Job, runner_id: str, now: int) -> None:
    """Mark a job done, unless it was enqueued again meanwhile."""
    _settle(tx, job, runner_id, "done", now, None, now)


def postpone(tx: Tx, job: Job, runner_id: str, failure: str, due_at: int, now: int) -> None:
    """Note a failed attempt; there will be another."""
    _settle(tx, job, runner_id, "pending", due_at, failure, now)


def fail(tx: Tx, job: Job, runner_id: str, failure: str, now: int) -> None:
    """Give up after the last attempt; a person has to look at it."""
    _settle(tx, job, runner_id, "failed", now, failure, now)


def _settle(
    tx: Tx, job: Job, runner_id: str, state: JobState, due_at: int, failure: str | None, now: int
) -> None:
    """Write a job's outcome; only its holder may. A job that was enqueued again meanwhile waits
    again, with all its attempts."""
    mine = (job.user_id, job.id, runner_id)
    tx.run(
        "UPDATE jobs SET state = 'pending', attempts = 0, due_at = ?, failure = ?, again = 0,"
        " runner_id = NULL, updated_at = ?"
        " WHERE user_id = ? AND id = ? AND runner_id = ? AND again = 1",
        (due_at, failure, now, *mine),
    )
    tx.run(
        "UPDATE jobs SET state = ?, runner_id = NULL, due_at = ?, failure = ?, updated_at = ?"
        " WHERE user_id = ? AND id = ? AND runner_id = ?",
        (state, due_at, failure, now, *mine),
    )


def release(tx: Tx, job: Job, runner_id: str, now: int) -> None:
    """Let one job wait again: its runner has to end."""
    tx.run(
        "UPDATE jobs SET state = 'pending', runner_id = NULL, updated_at = ?"
        " WHERE user_id = ? AND id = ? AND state = 'running' AND runner_id = ?",
        (now, job.user_id, job.id, runner_id),
    )


def release_all(tx: Tx, runner_id: str, now: int, but: Iterable[tuple[str, str]] = ()) -> int:
    """Let the jobs of a runner that ended or died wait again, except these (user, id)."""
    kept = tuple(but)
    without = " AND NOT (user_id = ? AND id = ?)" * len(kept)
    return tx.run(
        "UPDATE jobs SET state = 'pending', runner_id = NULL, updated_at = ?"
        f" WHERE state = 'running' AND runner_id = ?{without}",
        (now, runner_id, *(part for pair in kept for part in pair)),
    )


def holders(tx: Tx) -> set[str]:
    """Every runner that holds a job."""
    rows = tx.all("SELECT DISTINCT runner_id FROM jobs WHERE state = 'running'")
    return {row[0] for row in rows if row[0] is not None}


def get(tx: Tx, job_id: str) -> Job:
    """One job."""
    job = JOBS.one(tx, "AND id = ?", job_id)
    return known(job, f"There is no job {job_id}.", "`polyvox jobs` lists them.")


def list_jobs(
    tx: Tx,
    states: Iterable[JobState] = ("pending", "running", "failed"),
    limit: int = 100,
    subjects: Iterable[str] | None = None,
) -> list[Job]:
    """The jobs in these states, the longest due first; about these subjects alone, if given."""
    wanted = tuple(states)
    about = None if subjects is None else tuple(subjects)
    only = "" if about is None else f" AND subject IN ({', '.join('?' * len(about))})"
    return JOBS.all(
        tx,
        f"AND state IN ({', '.join('?' * len(wanted))}){only} ORDER BY due_at, id LIMIT ?",
        *wanted,
        *(about or ()),
        limit,
    )


def counts(tx: Tx) -> dict[str, int]:
    """Count the jobs in each state but done."""
    rows = tx.all(
        "SELECT state, COUNT(*) FROM jobs WHERE user_id = ? AND state <> 'done' GROUP BY state",
        (tx.user,),
    )
    return {"pending": 0, "running": 0, "failed": 0} | {row[0]: int(row[1]) for row in rows}


def retry(tx: Tx, job_id: str, now: int) -> Job:
    """Let a failed job be tried again now."""
    job = get(tx, job_id)
    if job.state not in ("failed", "pending"):
        raise Conflict(
            f"This job is {job.state}.", "Only a job that failed or waits is tried again."
        )
    tx.run(
        "UPDATE jobs SET state = 'pending', attempts = 0, due_at = ?, updated_at = ?"
        " WHERE user_id = ? AND id = ?",
        (now, now, tx.user, job_id),
    )
    return get(tx, job_id)


def is_open(tx: Tx, kind: str) -> bool:
    """True if a job of a kind is still to be done."""
    row = tx.one(
        "SELECT 1 FROM jobs WHERE user_id = ? AND kind = ? AND state <> 'done' LIMIT 1",
        (tx.user, kind),
    )
    return row is not None


def mark_done(tx: Tx, kind: str, now: int) -> None:
    """Mark the open jobs of a kind done: their work was done another way."""
    tx.run(
        "UPDATE jobs SET state = 'done', failure = NULL, updated_at = ?"
        " WHERE user_id = ? AND kind = ? AND state IN ('pending', 'failed')",
        (now, tx.user, kind),
    )


def delete_about(tx: Tx, subject: str) -> None:
    """Delete the jobs about a subject."""
    tx.run("DELETE FROM jobs WHERE user_id = ? AND subject = ?", (tx.user, subject))


def clear_failures(tx: Tx, subjects: Iterable[str]) -> None:
    """Let go of the reasons why jobs about these subjects failed: they may quote what was read."""
    tx.many(
        "UPDATE jobs SET failure = '' WHERE user_id = ? AND subject = ? AND failure IS NOT NULL",
        [(tx.user, subject) for subject in subjects],
    )
