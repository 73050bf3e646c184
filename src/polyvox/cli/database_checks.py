"""The doctor's look at the database: there, whole, of the right version, and what was cut off.

Nothing is created or migrated: an older database is only reported.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

from polyvox.cli import words
from polyvox.cli.checks import Finding
from polyvox.cli.jobs import described, stands
from polyvox.cli.lookup import SCOPE
from polyvox.errors import PolyvoxError
from polyvox.ids import system_clock
from polyvox.memory import probes
from polyvox.memory.tables import vectors
from polyvox.settings import Settings
from polyvox.store import jobs, postgres
from polyvox.store.database import Tx
from polyvox.store.migrate import shipped
from polyvox.store.open import sqlite_path
from polyvox.store.sqlite import SqliteTx, connect, explain

CUT_OFF = (
    "SELECT COUNT(*) FROM answers WHERE current = 1 AND state IN ('interrupted', 'pending',"
    " 'streaming')"
)
WHAT = "database"

Count = Callable[[str], int]
"""Runs a query that answers one number."""


async def check_database(settings: Settings) -> AsyncIterator[Finding]:
    """Check the database: there, whole, of the right version."""
    url = settings.database_url
    try:
        if url.startswith(("postgresql://", "postgres://")):
            findings = await asyncio.to_thread(_postgres, url, settings)
        else:
            path = sqlite_path(url, settings.home)
            findings = await asyncio.to_thread(_sqlite, path, settings)
    except PolyvoxError as error:
        findings = [Finding("fail", WHAT, error.message, error.hint)]
    for finding in findings:
        yield finding


def _sqlite(path: Path, settings: Settings) -> list[Finding]:
    if not path.exists():
        return [Finding("ok", WHAT, f"{path} does not exist yet; the first command makes it")]
    if path.is_dir():
        return [Finding("fail", WHAT, f"{path} is a directory", "Name a file in it.")]
    connection = connect(path, read_only=True)
    try:

        def number_of(sql: str) -> int:
            return int(connection.execute(sql).fetchone()[0] or 0)

        tables = number_of("SELECT COUNT(*) FROM sqlite_master WHERE name = 'schema_version'")
        if not tables:
            return [
                Finding(
                    "fail",
                    WHAT,
                    f"{path} holds no tables of Polyvox",
                    "Choose another file with the setting `database`.",
                )
            ]
        problems = [row[0] for row in connection.execute("PRAGMA quick_check(3)")]
        if problems != ["ok"]:
            return [
                Finding(
                    "fail",
                    WHAT,
                    f"{path} is damaged: {problems[0]}",
                    "Move it away and put a backup (a .bak file beside it) in its place.",
                )
            ]
        size = words.size(path.stat().st_size)
        return _common(f"{path}, {size}, whole", number_of, SqliteTx(connection, SCOPE), settings)
    except sqlite3.Error as error:
        raise explain(error, path) from error
    finally:
        connection.close()


def _postgres(url: str, settings: Settings) -> list[Finding]:
    connection = postgres.connect(url)
    try:

        def number_of(sql: str) -> int:
            row = connection.execute(sql.encode()).fetchone()
            return int(row[0] or 0) if row is not None else 0

        where = postgres.shown(url)
        tables = number_of(
            "SELECT COUNT(*) FROM pg_tables WHERE tablename = 'schema_version'"
            " AND schemaname = current_schema()"
        )
        if not tables:
            return [Finding("ok", WHAT, f"{where} answers; the first command makes its tables")]
        size = words.size(number_of("SELECT pg_database_size(current_database())"))
        return _common(
            f"{where}, {size}", number_of, postgres.PostgresTx(connection, SCOPE), settings
        )
    finally:
        connection.close()


def _common(where: str, number_of: Count, tx: Tx, settings: Settings) -> list[Finding]:
    version, ours = number_of("SELECT MAX(version) FROM schema_version"), shipped()[-1].version
    if version > ours:
        return [
            Finding(
                "fail",
                WHAT,
                f"{where}, written by a newer Polyvox (tables {version}, known {ours})",
                "Upgrade Polyvox, or choose another database.",
            )
        ]
    if version < ours:
        return [
            Finding(
                "warn",
                WHAT,
                f"{where}, tables of version {version} ({ours} is the newest)",
                "The next command brings them up to date; a backup is made before.",
            )
        ]
    return [
        Finding("ok", WHAT, f"{where}, tables of version {version}"),
        _cut_off(number_of(CUT_OFF)),
        *background(tx, system_clock(), settings.timezone),
        *embeddings(tx, settings),
    ]


def _cut_off(number: int) -> Finding:
    if not number:
        return Finding("ok", "answers", "none was cut off")
    return Finding(
        "warn",
        "answers",
        f"{words.count(number, 'answer')} cut off or under way",
        "Their words are kept; `polyvox chat --conversation last` and /retry completes them.",
    )


WORK = "background work"
MOST = 10
"""So many failures are told one by one."""
LATE = 10 * 60_000_000
"""What has been due for longer than this waits for somebody to do it."""


def background(
    tx: Tx,
    now: int,
    zone: str = "",
) -> Iterator[Finding]:
    """Count the jobs that wait, and name those that failed; times in the person's zone."""
    counts = jobs.counts(tx)
    if not any(counts.values()):
        yield Finding("ok", WORK, "nothing waits, nothing failed")
        return
    rows = jobs.list_jobs(tx, limit=10_000)
    waiting = [job for job in rows if job.state == "pending"]
    summary = f"{counts['pending']} waiting, {counts['running']} running, {counts['failed']} failed"
    then = ""
    if waiting:
        oldest = min(waiting, key=lambda job: (job.created_at, job.id))
        since = words.when(oldest.created_at, zone)
        summary += f"; the oldest wants to {described(oldest)} since {since}"
        if min(job.due_at for job in waiting) < now - LATE:
            then = "Nobody does it: start `polyvox serve` or `polyvox worker`."
    yield Finding("warn" if then or counts["failed"] else "ok", WORK, summary, then)
    failing = [job for job in rows if job.failure and job.state in ("failed", "pending")]
    failing.sort(key=lambda job: job.state != "failed")
    for job in failing[:MOST]:
        yield Finding(
            "warn",
            f"{WORK}, {described(job)}",
            f"{stands(job, zone)}: {job.failure}",
            f"Try it again with `polyvox jobs retry '{job.id}'`.",
        )
    if len(failing) > MOST:
        more = words.count(len(failing) - MOST, "more job")
        yield Finding("warn", WORK, f"{more} failed", "`polyvox jobs` lists all of them.")


def embeddings(tx: Tx, settings: Settings) -> Iterator[Finding]:
    """Count the vectors of recall, where a model is set that makes them."""
    model = settings.models.embeddings
    if not model:
        return
    if vectors.space(tx) is None and not vectors.possible(tx):
        error = vectors.no_extension()
        yield Finding("warn", "vectors", error.message, error.hint)
        return
    scale = vectors.scale(tx, model)
    if scale is None:
        yield Finding("ok", "vectors", f"none of {model} yet; they are made in the background")
    elif not probes.useful(scale):
        yield Finding(
            "warn",
            "vectors",
            f"{model} does not tell texts that belong together from others, so recall goes by words"
            " alone",
            "Name an embeddings model as models.embeddings.",
        )
    else:
        number = words.count(vectors.count(tx, model), "vector")
        yield Finding("ok", "vectors", f"{number} of {model}, {scale.size} numbers each")
