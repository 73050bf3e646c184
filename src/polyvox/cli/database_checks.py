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

One = Callable[[str], int]
"""Runs a query that answers one number."""


async def check_database(settings: Settings) -> AsyncIterator[Finding]:
    """Everything there is to say of it."""
    url = settings.database_url
    try:
        if url.startswith(("postgresql://", "postgres://")):
            found = await asyncio.to_thread(_postgres, url, settings)
        else:
            path = sqlite_path(url, settings.home)
            found = await asyncio.to_thread(_sqlite, path, settings)
    except PolyvoxError as error:
        found = [Finding("fail", WHAT, error.message, error.hint)]
    for finding in found:
        yield finding


def _sqlite(path: Path, settings: Settings) -> list[Finding]:
    if not path.exists():
        return [Finding("ok", WHAT, f"{path} does not exist yet; the first command makes it")]
    if path.is_dir():
        return [Finding("fail", WHAT, f"{path} is a directory", "Name a file in it.")]
    connection = connect(path, read_only=True)
    try:

        def one(sql: str) -> int:
            return int(connection.execute(sql).fetchone()[0] or 0)

        tables = one("SELECT COUNT(*) FROM sqlite_master WHERE name = 'schema_version'")
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
        return _common(f"{path}, {size}, whole", one, SqliteTx(connection), settings)
    except sqlite3.Error as error:
        raise explain(error, path) from error
    finally:
        connection.close()


def _postgres(url: str, settings: Settings) -> list[Finding]:

    connection = postgres.connect(url)
    try:

        def one(sql: str) -> int:
            row = connection.execute(sql.encode()).fetchone()
            return int(row[0] or 0) if row is not None else 0

        where = postgres.shown(url)
        tables = one(
            "SELECT COUNT(*) FROM pg_tables WHERE tablename = 'schema_version'"
            " AND schemaname = current_schema()"
        )
        if not tables:
            return [Finding("ok", WHAT, f"{where} answers; the first command makes its tables")]
        size = words.size(one("SELECT pg_database_size(current_database())"))
        return _common(f"{where}, {size}", one, postgres.PostgresTx(connection), settings)
    finally:
        connection.close()


def _common(where: str, one: One, tx: Tx, settings: Settings) -> list[Finding]:
    version, ours = one("SELECT MAX(version) FROM schema_version"), shipped()[-1].version
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
        _cut_off(one(CUT_OFF)),
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
    """How much waits, what failed, and why; times in the person's zone."""
    found = jobs.counts(tx)
    if not any(found.values()):
        yield Finding("ok", WORK, "nothing waits, nothing failed")
        return
    rows = jobs.list_jobs(tx, limit=10_000)
    waiting = [one for one in rows if one.state == "pending"]
    told = f"{found['pending']} waiting, {found['running']} running, {found['failed']} failed"
    then = ""
    if waiting:
        oldest = min(waiting, key=lambda one: (one.created_at, one.id))
        since = words.when(oldest.created_at, zone)
        told += f"; the oldest wants to {described(oldest)} since {since}"
        if min(one.due_at for one in waiting) < now - LATE:
            then = "Nobody does it: start `polyvox serve` or `polyvox worker`."
    yield Finding("warn" if then or found["failed"] else "ok", WORK, told, then)
    failing = [one for one in rows if one.failure and one.state in ("failed", "pending")]
    failing.sort(key=lambda one: one.state != "failed")
    for one in failing[:MOST]:
        yield Finding(
            "warn",
            f"{WORK}, {described(one)}",
            f"{stands(one, zone)}: {one.failure}",
            f"Try it again with `polyvox jobs retry '{one.id}'`.",
        )
    if len(failing) > MOST:
        more = words.count(len(failing) - MOST, "more job")
        yield Finding("warn", WORK, f"{more} failed", "`polyvox jobs` lists all of them.")


def embeddings(tx: Tx, settings: Settings) -> Iterator[Finding]:
    """Whether recall has its vectors, where a model is set that makes them."""
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
