"""`polyvox jobs`: what is done in the background, what failed and why, and trying it again."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from polyvox.app import Polyvox
from polyvox.cli.command import Json, command, new_group
from polyvox.cli.lookup import SCOPE
from polyvox.cli.output import note, print_list, say
from polyvox.cli.words import count, when
from polyvox.errors import Invalid
from polyvox.memory.shapes.jobs import JobOut
from polyvox.store import jobs as rows
from polyvox.store.database import Tx
from polyvox.store.jobs import Job

group = new_group()

JobId = Annotated[str | None, typer.Argument(metavar="[JOB]", help="Its id, as the list shows it.")]
AllFailed = Annotated[bool, typer.Option("--all", help="Every job that failed.")]


@command(group, "list")
async def list_jobs(app: Polyvox, json: Json = False) -> None:
    """What waits, runs or has failed, the longest due first."""
    zone = app.settings.timezone
    print_list(
        await app.database.read(lambda tx: rows.list_jobs(tx, limit=1000), SCOPE),
        ("job", "what it does", "state", "why it failed last"),
        lambda job: (job.id, described(job), stands(job, zone), job.failure or ""),
        empty="There is no background work to do.",
        json=json,
        out=JobOut.of,
    )


@command(group, "retry")
async def retry(app: Polyvox, job: JobId = None, every: AllFailed = False) -> None:
    """Try a job that failed, or waits for its next attempt, again now; or all that failed."""
    if (job is None) is not every:
        raise Invalid("Which job?", "Name one, or add --all; `polyvox jobs` lists them.")
    now = app.clock()

    def again(tx: Tx) -> int:
        failed = rows.list_jobs(tx, ("failed",), 10_000)
        ids = [job_id.id for job_id in failed] if job is None else [job]
        for job_id in ids:
            rows.retry(tx, job_id, now)
        return len(ids)

    number = await app.database.write(again, SCOPE)
    say(f"{count(number, 'job')} will be tried again")
    if number:
        note("The server does it if it runs; else start `polyvox worker`.")


def described(job: Job) -> str:
    """Describe a job in words."""
    try:
        about = json.loads(job.subject)[2]
    except (ValueError, TypeError, LookupError):
        about = job.subject  # a session of a conversation
    words = {
        "ingest": "remember the session {}",
        "extract": "note facts of the session {}",
        "summarise": "summarise the session {}",
        "daily": "look back on the day {}",
        "embed": "make vectors for recall",
        "running_summary": "sum up what left a window",
        "scrub": "scrub the files of what was forgotten",
    }
    return words.get(job.kind, f"{job.kind} {{}}").format(about)


def stands(job: Job, zone: str) -> str:
    """The state of a job in words, times in the person's zone."""
    if job.state == "pending":
        tried = f"tried {count(job.attempts, 'time')}, " if job.failure and job.attempts else ""
        return f"{tried}due {when(job.due_at, zone)}"
    if job.state == "failed":
        return f"failed after {count(job.attempts, 'attempt')}"
    return job.state
