"""`polyvox jobs`: what is done in the background, what failed and why, and trying it again."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from polyvox.app import Polyvox
from polyvox.cli.command import Json, command, new_group
from polyvox.cli.lookup import SCOPE
from polyvox.cli.output import note, say, say_json, table
from polyvox.cli.run import run
from polyvox.cli.words import count, when
from polyvox.errors import Invalid
from polyvox.memory.jobs import JobOut
from polyvox.store import jobs as rows
from polyvox.store.database import Tx
from polyvox.store.jobs import Job

group = new_group()

JobId = Annotated[str | None, typer.Argument(metavar="[JOB]", help="Its id, as the list shows it.")]
AllFailed = Annotated[bool, typer.Option("--all", help="Every job that failed.")]


@group.callback()
def jobs(context: typer.Context) -> None:
    """Background work: what waits, what failed and why, and trying it again."""
    if context.invoked_subcommand is None:
        list_jobs(json=False)


@command(group, "list")
def list_jobs(json: Json = False) -> None:
    """What waits, runs or has failed, the longest due first."""

    async def work(app: Polyvox) -> None:
        waiting = await app.database.read(lambda tx: rows.list_jobs(tx, limit=1000), SCOPE)
        if json:
            say_json([JobOut.of(job) for job in waiting])
            return
        zone = app.settings.timezone
        cells = [(job.id, described(job), stands(job, zone), job.failure or "") for job in waiting]
        empty = "There is no background work to do."
        table(("job", "what it does", "state", "why it failed last"), cells, empty=empty)

    run(work)


@command(group, "retry")
def retry(job: JobId = None, every: AllFailed = False) -> None:
    """Try a job that failed, or waits for its next attempt, again now; or all that failed."""
    if (job is None) is not every:
        raise Invalid("Which job?", "Name one, or add --all; `polyvox jobs` lists them.")

    async def work(app: Polyvox) -> None:
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

    run(work)


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
