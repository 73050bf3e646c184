"""Databases whose tables are there already: migrated once per run, then copied for each test. One
of PostgreSQL is emptied after a test and taken again: a copy costs many times as much."""

from __future__ import annotations

import asyncio
import functools
import tempfile
import threading
import urllib.parse
from pathlib import Path

from polyvox.ids import new_id
from polyvox.store.open import open_database

TEMPLATE = "template_polyvox"


def seed(path: Path) -> None:
    """Put an empty SQLite database with its tables there, unless there is one."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(0o600)
        path.write_bytes(_sqlite())


@functools.cache
def _sqlite() -> bytes:
    with tempfile.TemporaryDirectory() as place:
        _migrate(f"sqlite:///{place}/polyvox.db")
        return Path(place, "polyvox.db").read_bytes()


def _migrate(url: str) -> None:
    """Open and close it, on a loop of its own: the test's may be running."""

    async def opened() -> None:
        await (await open_database(url, Path())).close()

    thread = threading.Thread(target=asyncio.run, args=[opened()])
    thread.start()
    thread.join()


def create(server: str) -> str:
    """A new PostgreSQL database without any table; the address of it."""
    return _create(server, "template1")


def borrow(server: str) -> str:
    """A PostgreSQL database with its tables and nothing in them; the address of it."""
    return _spare.pop() if _spare else _create(server, _template(server))


def give_back(url: str) -> None:
    """Take everything out of a PostgreSQL database, whoever is still connected to it."""
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        connection.execute(_emptying(url))
    _spare.append(url)


_spare: list[str] = []


@functools.cache
def _emptying(url: str) -> bytes:
    """What empties every table, whatever refers to it."""
    import psycopg

    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT tablename FROM pg_tables"
            " WHERE schemaname = 'public' AND tablename <> 'schema_version'"
        ).fetchall()
    deletes = [f"DELETE FROM {table}" for (table,) in rows]
    return "; ".join(["SET LOCAL session_replication_role = replica", *deletes]).encode()


def _create(server: str, template: str) -> str:
    import psycopg

    name = f"t{new_id().replace('-', '')}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
    return _address(server, name)


@functools.cache
def _template(server: str) -> str:
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {TEMPLATE}".encode())
    _migrate(_address(server, TEMPLATE))
    return TEMPLATE


def drop(server: str, url: str) -> None:
    """Remove a PostgreSQL database, whoever is still connected to it."""
    import psycopg

    name = urllib.parse.urlsplit(url).path[1:]
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def _address(server: str, name: str) -> str:
    return urllib.parse.urlsplit(server)._replace(path=f"/{name}").geturl()
