"""`polyvox jobs`, and what the doctor says of background work and of embeddings."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from tests.cli.desk import Cli, Here, Provider
from tests.store.lacking import LackingTx

from polyvox.cli.doctor import kept_vectors
from polyvox.cli.words import when
from polyvox.memory.tables import vectors
from polyvox.memory.tables.vectors import Scale
from polyvox.settings import ModelSettings, Settings
from polyvox.store.database import Database, Tx
from polyvox.values import Scope

ME = Scope()


def ended(here: Here) -> str:
    """A session that wants to be remembered."""
    here("ask", "Is it so?", "--advisor", "keeper")
    (one,) = here("sessions", "list", "--json").json
    here("sessions", "end", one["id"])
    session: str = one["id"]
    return session


def change(cli: Cli, sql: str, *values: Any) -> None:
    with closing(sqlite3.connect(cli.home / "polyvox.db")) as connection:
        connection.execute(sql, values)
        connection.commit()


def doctor(here: Here) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = here("doctor", "--json", "--offline").json
    return [row for row in rows if row["what"].startswith("background work")]


def test_what_waits_what_failed_and_trying_it_again(
    cli: Cli, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no background work" in here("jobs").err
    assert doctor(here)[0]["found"] == "nothing waits, nothing failed"
    session = ended(here)
    job = f"ingest:{session}"

    (row,) = here("jobs", "list", "--json").json
    assert (row["id"], row["state"], row["session_id"]) == (job, "pending", session)
    assert f"remember the session {session}" in here("jobs").out
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        monkeypatch.setenv("POLYVOX_TIMEZONE", zone)
        assert f"due {when(row['due_at'], zone)}" in here("jobs").out
        assert doctor(here)[0]["found"].endswith(f"since {when(row['created_at'], zone)}")
    (told,) = doctor(here)
    assert told["state"] == "ok"
    assert told["found"].startswith("1 waiting, 0 running, 0 failed; the oldest wants to remember")
    change(cli, "UPDATE jobs SET due_at = 1")
    (told,) = doctor(here)
    assert (told["state"], "polyvox worker" in told["next"]) == ("warn", True)

    change(cli, "UPDATE jobs SET state = 'failed', attempts = 6, failure = 'No such key.'")
    assert "No such key." in here("jobs").out
    assert "failed after 6 attempts" in here("jobs").out
    (told,) = doctor(here)
    assert (told["state"], told["found"]) == ("warn", "0 waiting, 0 running, 1 failed")
    assert "`polyvox jobs retry --all`" in told["next"]

    run = here("jobs", "retry", job)
    assert run.out == "1 job will be tried again\n"
    assert "polyvox worker" in run.err
    (row,) = here("jobs", "list", "--json").json
    assert (row["state"], row["attempts"]) == ("pending", 0)


def test_retrying_all_or_what_is_not_there(cli: Cli, here: Here) -> None:
    session = ended(here)
    for name, state in (("x", "failed"), ("y", "failed"), ("z", "done")):
        change(
            cli,
            "INSERT INTO jobs (user_id, id, kind, subject, state, attempts, due_at, failure,"
            " created_at, updated_at) SELECT user_id, 'k:' || ?, 'k', ?, ?, 6, 1, 'Why.', 1, 1"
            " FROM jobs WHERE subject = ?",
            name, name, state, session,
        )  # fmt: skip
    assert here("jobs", "retry", "--all").out == "2 jobs will be tried again\n"
    assert here("jobs", "retry", "--all").out == "0 jobs will be tried again\n"
    assert here("jobs", "retry", "k:z").code == 2
    none = here("jobs", "retry", "none")
    assert (none.code, "There is no job none. `polyvox jobs` lists them." in none.err) == (2, True)
    assert here("jobs", "retry").code == 2
    assert here("jobs", "retry", "k:x", "--all").code == 2
    assert "k x" in here("jobs").out


def test_the_doctor_asks_the_embeddings_model(cli: Cli, here: Here, provider: Provider) -> None:
    def found() -> dict[str, tuple[str, str]]:
        rows = here("doctor", "--json").json
        return {row["what"]: (row["state"], row["found"]) for row in rows}

    assert not {"embeddings", "vectors"} & set(found())
    here("ask", "hi", "-a", "keeper")
    cli.config.write_text(
        cli.config.read_text().replace("[models]\n", '[models]\nembeddings = "lab:e"\n')
    )
    seen = found()
    assert seen["embeddings"][0] == "ok"
    assert "answers with 256 numbers" in seen["embeddings"][1]
    assert "none of lab:e yet" in seen["vectors"][1]
    provider.script(e={"status": 401, "error": "No such key."})
    state, told = found()["embeddings"]
    assert (state, "No such key." in told) == ("warn", True)


@pytest.fixture
def settings() -> Settings:
    return Settings(models=ModelSettings(embeddings="lab:e"))


def told(tx: Tx, settings: Settings) -> Iterator[str]:
    return (f"{one.state}: {one.found}" for one in kept_vectors(tx, settings))


async def test_what_is_said_of_vectors(database: Database, settings: Settings) -> None:
    def look(tx: Tx) -> None:
        assert list(told(tx, Settings())) == []
        assert list(told(tx, settings)) == [
            "ok: none of lab:e yet; they are made in the background"
        ]
        vectors.keep_scale(tx, "lab:e", Scale(8, 0.5, 0.2, 0.1), 1)
        assert list(told(tx, settings)) == ["ok: 0 vectors of lab:e, 8 numbers each"]
        vectors.keep_scale(tx, "lab:e", Scale(8, 0.5, 0.5, 0.1), 1)
        (line,) = told(tx, settings)
        assert line.startswith("warn: lab:e does not tell")

    await database.write(look, ME)


async def test_a_postgresql_server_without_pgvector(database: Database, settings: Settings) -> None:
    if database.dialect == "sqlite":
        return

    def look(tx: Tx) -> None:
        (line,) = told(LackingTx(tx), settings)
        assert line.startswith("warn: This PostgreSQL server has no pgvector")

    await database.read(look, ME)
