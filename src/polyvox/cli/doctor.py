"""`polyvox doctor`: is everything as it should be, and what to do where it is not.

No secret is ever shown. Nothing is created or migrated: an older database is only reported.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Literal

import typer

from polyvox.cli import words
from polyvox.cli.command import Json
from polyvox.cli.failure import FAILED
from polyvox.cli.jobs import described
from polyvox.cli.lookup import SCOPE
from polyvox.cli.output import note, say_json, say_styled
from polyvox.cli.run import read_settings
from polyvox.errors import ModelError, PolyvoxError
from polyvox.ids import system_clock
from polyvox.memory import consent
from polyvox.memory.asking import model_for
from polyvox.memory.embeddings import useful
from polyvox.memory.remote import RemoteMemory
from polyvox.memory.tables import vectors
from polyvox.memory.values import Partition
from polyvox.models.llama_file import EMBEDDED, find_gguf
from polyvox.models.registry import Models
from polyvox.recipes import check_recipes
from polyvox.settings import Settings, shown_url, stored
from polyvox.settings.layers import leaves
from polyvox.store import jobs, postgres
from polyvox.store.database import Database, Tx
from polyvox.store.migrate import shipped
from polyvox.store.open import sqlite_path
from polyvox.store.sqlite import SqliteDatabase
from polyvox.transport import Transport, is_loopback_host

TIGHT = 500_000_000
"""Bytes of free disk below which one should know."""
LATE = 10 * 60_000_000
"""What has been due for longer than this waits for somebody to do it."""
TABLES = {
    "sqlite": "SELECT COUNT(*) FROM sqlite_master WHERE name = 'schema_version'",
    "postgresql": "SELECT COUNT(*) FROM pg_tables WHERE tablename = 'schema_version'"
    " AND schemaname = current_schema()",
}
SIZE = {
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
    "postgresql": "SELECT pg_database_size(current_database())",
}
VERSION = "SELECT MAX(version) FROM schema_version"
CUT_OFF = (
    "SELECT COUNT(*) FROM answers WHERE current = 1 AND state IN ('interrupted', 'pending',"
    " 'streaming')"
)

Offline = Annotated[bool, typer.Option("--offline", help="Do not ask the default model.")]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's."""

    state: Literal["ok", "warn", "fail"]
    what: str
    found: str
    next: str = ""


def doctor(offline: Offline = False, json: Json = False) -> None:
    """Check the configuration, the database, the models and the port; say what to do next.

    Ends with 1 if something must be put right.
    """
    findings: list[Finding] = []

    async def whole() -> None:
        async for raw in examine(offline=offline):
            finding = replace(raw, found=shown_url(raw.found), next=shown_url(raw.next))
            findings.append(finding)
            if not json:
                _tell(finding)

    asyncio.run(whole())
    if json:
        say_json([asdict(finding) for finding in findings])
    if any(finding.state == "fail" for finding in findings):
        raise typer.Exit(FAILED)


def _tell(finding: Finding) -> None:
    then = f"\n      → {finding.next}" if finding.next else ""
    line = f"{finding.what}: {finding.found}{then}"
    color = {"ok": "green", "warn": "yellow", "fail": "bold red"}[finding.state]
    say_styled((f"{finding.state:<4}", color), (f"  {line}", ""))


def _wait(what: str) -> None:
    """Name what is asked, to a person who waits."""
    if sys.stderr.isatty():
        note(f"...   asking {what}…")


async def examine(*, offline: bool) -> AsyncIterator[Finding]:
    """Run every check in the order of need."""
    try:
        settings = read_settings()
    except PolyvoxError as error:
        yield Finding("fail", "configuration", error.message, error.hint)
        return
    yield configuration(settings)
    try:
        check_recipes(settings)
    except PolyvoxError as error:
        yield Finding("fail", "recipes", error.message, error.hint)
    yield disk(settings)
    transport = Transport()
    models = Models(settings, transport)
    try:
        for finding in await database(settings, models):
            yield finding
    except PolyvoxError as error:
        yield Finding("fail", "database", error.message, error.hint)
    try:
        models.check_settings()
    except PolyvoxError as error:
        yield Finding("fail", "models", error.message, error.hint)
    try:
        if settings.memory.url:
            yield await memory_service(settings, transport, offline=offline)
        yield keys(models)
        yield embedded(settings, models)
        if not settings.memory.url:
            yield notes(settings, models)
        if not offline:
            yield await default_model(models)
            if settings.models.embeddings:
                yield await embeddings_model(settings, models)
    except PolyvoxError as error:
        yield Finding("fail", "default model", error.message, error.hint)
    finally:
        await models.close()
        await transport.close()
    yield exposure(settings)
    yield port(settings)


def configuration(settings: Settings) -> Finding:
    """Name the files of the settings, and secrets that stand where they should not."""
    what, where = "configuration", settings.source or "no polyvox.toml"
    if changed := list(leaves(settings.page)):
        where += f", and from the page {', '.join(changed)} ({settings.home / stored.SETTINGS})"
    elif not settings.source:
        where += ", so every setting has its default"
    kept = settings.home / stored.KEYS
    if settings.keys and kept.stat().st_mode & 0o077:
        where += f"; others on this machine can read {kept}"
        return Finding("warn", what, where, f"Run `chmod 600 {kept}`.")
    literal = [
        f"providers.{name}.api_key"
        for name, provider in settings.providers.items()
        if provider.api_key.literal
    ]
    if settings.server.token.literal and "POLYVOX_SERVER_TOKEN" not in os.environ:
        literal.append("server.token")
    if literal:
        where += f"; {', '.join(literal)} holds the secret itself"
        then = "Put it into a variable and write env:NAME, or the keyring and write keyring:NAME."
        return Finding("warn", what, where, then)
    return Finding("ok", what, where)


def disk(settings: Settings) -> Finding:
    """Name the home and the room on its disk."""
    place, own = settings.home, "Set POLYVOX_HOME to a directory of your own."
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        return Finding("fail", "home", f"{place} is a file", own)
    if not os.access(place, os.W_OK):
        return Finding("fail", "home", f"{place} is not writable", own)
    free = shutil.disk_usage(place).free
    found = f"{settings.home}, {words.size(free)} free"
    if free < TIGHT:
        return Finding("warn", "home", found, "Free some space soon.")
    return Finding("ok", "home", found)


async def database(settings: Settings, models: Models) -> list[Finding]:
    """Look at the database: there, whole, of the right version, and what was cut off in it."""
    url = settings.database_url
    reader: Database
    if url.startswith(("postgresql://", "postgres://")):
        reader, where = postgres.PostgresDatabase(url), postgres.shown(url)
    else:
        path = sqlite_path(url, settings.home)
        if not path.exists():
            found = f"{path} does not exist yet; the first command makes it"
            return [Finding("ok", "database", found)]
        if path.is_dir():
            return [Finding("fail", "database", f"{path} is a directory", "Name a file in it.")]
        reader, where = SqliteDatabase(path), str(path)
    try:
        return await reader.read(lambda tx: list(_look(tx, where, settings, models)), SCOPE)
    finally:
        await reader.close()


def _look(tx: Tx, where: str, settings: Settings, models: Models) -> Iterator[Finding]:
    what, is_file = "database", tx.dialect == "sqlite"
    there = _number(tx, TABLES[tx.dialect])
    if not there and is_file:
        then = "Choose another file with the setting `database`."
        yield Finding("fail", what, f"{where} holds no tables of Polyvox", then)
        return
    if not there:
        yield Finding("ok", what, f"{where} answers; the first command makes its tables")
        return
    problem = tx.all("PRAGMA quick_check(1)")[0][0] if is_file else "ok"
    if problem != "ok":
        then = "Move it away and put a backup (a .bak file beside it) in its place."
        yield Finding("fail", what, f"{where} is damaged: {problem}", then)
        return
    found = f"{where}, {words.size(_number(tx, SIZE[tx.dialect]))}{', whole' if is_file else ''}"
    version, newest = _number(tx, VERSION), shipped()[-1].version
    if version > newest:
        found += f", written by a newer Polyvox (tables {version}, known {newest})"
        yield Finding("fail", what, found, "Upgrade Polyvox, or choose another database.")
    elif version < newest:
        found += f", tables of version {version} ({newest} is the newest)"
        then = "The next command brings them up to date; a backup is made before."
        yield Finding("warn", what, found, then)
    else:
        yield Finding("ok", what, f"{found}, tables of version {version}")
        yield _cut_off(_number(tx, CUT_OFF))
        yield background(tx, system_clock(), settings.timezone)
        yield from private(tx, settings, models)
        yield from kept_vectors(tx, settings)


def _number(tx: Tx, sql: str) -> int:
    row = tx.one(sql)
    return int(row[0] or 0) if row is not None else 0


def _cut_off(number: int) -> Finding:
    if not number:
        return Finding("ok", "answers", "none was cut off")
    found = f"{words.count(number, 'answer')} cut off or under way"
    then = "Their words are kept; `polyvox chat --conversation last` and /retry completes them."
    return Finding("warn", "answers", found, then)


def background(tx: Tx, now: int, zone: str = "") -> Finding:
    """Count the jobs that wait and those that failed; times in the person's zone."""
    what, counts = "background work", jobs.counts(tx)
    if not any(counts.values()):
        return Finding("ok", what, "nothing waits, nothing failed")
    found = f"{counts['pending']} waiting, {counts['running']} running, {counts['failed']} failed"
    then = "`polyvox jobs` lists them and why; `polyvox jobs retry --all` tries them again."
    then = then if counts["failed"] else ""
    if waiting := jobs.list_jobs(tx, ("pending",), 10_000):
        oldest = min(waiting, key=lambda job: (job.created_at, job.id))
        since = words.when(oldest.created_at, zone)
        found += f"; the oldest wants to {described(oldest)} since {since}"
        if min(job.due_at for job in waiting) < now - LATE:
            then = "Nobody does it: start `polyvox serve` or `polyvox worker`."
    return Finding("warn" if then else "ok", what, found, then)


def private(tx: Tx, settings: Settings, models: Models) -> Iterator[Finding]:
    """Ask whether the online memory model may read conversations held on this machine."""
    model, share = model_for(settings, models.default), settings.memory.share
    if settings.memory.url or model is None or models.stays_here(model) or share == "never":
        return
    if kept := len(consent.kept_local(tx)):
        held = f"{words.count(kept, 'conversation')} held with a model on this computer"
        then = "`polyvox memory share` lets it read them; `polyvox memory share --never` does not."
        yield Finding("warn", "memory", f"{held}; {model} runs online and may not read yet", then)


def notes(settings: Settings, models: Models) -> Finding:
    """Name the model that takes notes for memory."""
    if (model := model_for(settings, models.default)) is not None:
        return Finding("ok", "memory model", f"{model} takes notes of what you say")
    found = "none is capable: nothing is noted by itself; what you said is found, what you tell"
    then = "Name one as models.memory, or add a key."
    return Finding("ok", "memory model", f"{found} memory (/remember) is kept", then)


def kept_vectors(tx: Tx, settings: Settings) -> Iterator[Finding]:
    """Count the vectors of recall, where a model is set that makes them."""
    model, what = settings.models.embeddings, "vectors"
    if not model:
        return
    scale = vectors.scale(tx, model)
    if vectors.space(tx) is None and not vectors.possible(tx):
        error = vectors.no_extension()
        yield Finding("warn", what, error.message, error.hint)
    elif scale is None:
        yield Finding("ok", what, f"none of {model} yet; they are made in the background")
    elif not useful(scale):
        found = f"{model} does not tell texts that belong together from others, so recall goes by"
        then = "Name an embeddings model as models.embeddings."
        yield Finding("warn", what, f"{found} words alone", then)
    else:
        number = words.count(vectors.count(tx, model), "vector")
        yield Finding("ok", what, f"{number} of {model}, {scale.size} numbers each")


async def memory_service(settings: Settings, transport: Transport, *, offline: bool) -> Finding:
    """Ask the service that keeps memory in place of this program. Without it turns go
    on, and sessions wait to be remembered."""
    given, what = settings.memory, "memory service"
    place, token = shown_url(given.url), given.token.reveal()
    if offline:
        return Finding("ok", what, f"{place} keeps memory; it was not asked")
    _wait(place)
    remote = RemoteMemory(transport, given.url, token, given.budget)
    got = await remote.loops(Partition.own(SCOPE), limit=1)
    if got.degrade is not None:
        why, hint = got.degrade.explained()
        return Finding("warn", what, f"{place} {why}", hint)
    return Finding("ok", what, f"{place} answers{', with the token' if token else ''}")


def keys(models: Models) -> Finding:
    """Name the providers that have their key. The keys themselves are not shown."""
    present = [f"{row.name} ({row.key_source})" for row in models.listing() if row.key == "present"]
    if present:
        return Finding("ok", "keys", ", ".join(present))
    state: Literal["warn", "ok"] = "warn" if models.default.startswith("local:") else "ok"
    return Finding(state, "keys", "none was found", models.facts(models.default).note)


def embedded(settings: Settings, models: Models) -> Finding:
    """Look for the embedded model's file; it must be there where it is the default model."""
    try:
        path = find_gguf(settings, EMBEDDED)
    except ModelError as error:
        needed = models.default.startswith("local:")
        return Finding("fail" if needed else "warn", "embedded model", error.message, error.hint)
    return Finding("ok", "embedded model", f"{path}, {words.size(path.stat().st_size)}")


async def default_model(models: Models) -> Finding:
    """Ask the default model."""
    _wait(models.default)
    check = await models.check(models.default)
    if not check.ok:
        return Finding("fail", "default model", f"{check.model}: {check.message}", check.hint)
    return Finding("ok", "default model", words.answers(check))


async def embeddings_model(settings: Settings, models: Models) -> Finding:
    """Ask the model that makes vectors for recall; without it recall goes on."""
    name, seconds = settings.models.embeddings, settings.memory.embedding_seconds
    _wait(name)
    try:
        made = await models.embedder(name).embed(["Does it answer?"], settings.limits.first_byte)
    except PolyvoxError as error:
        return Finding("warn", "embeddings", f"{name}: {error.message}", error.hint)
    size = len(made.vectors[0])
    found = f"{name} answers with {size} numbers; a question waits {seconds:g} s"
    return Finding("ok", "embeddings", found)


def exposure(settings: Settings) -> Finding:
    """Warn if others can reach the server without a token."""
    host = settings.server.host
    if is_loopback_host(host):
        return Finding("ok", "access", f"{host}: from this machine only")
    if settings.server.token.reveal():
        return Finding("ok", "access", f"{host}: from other machines, with the token")
    found = f"{host} can be reached from other machines, and there is no token"
    then = "Set POLYVOX_SERVER_TOKEN, or server.host to 127.0.0.1."
    return Finding("fail", "access", found, then)


def port(settings: Settings) -> Finding:
    """Try the server's port."""
    server = settings.server
    where = f"{server.host}:{server.port}"
    family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((server.host, server.port))
        except OSError as error:
            then = "Polyvox may be running there already; else choose another with --port."
            return Finding("warn", "port", f"{where}: {error.strerror}", then)
    return Finding("ok", "port", f"{where} is free")
