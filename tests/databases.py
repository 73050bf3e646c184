"""Databases whose tables are there already: migrated once per run, then copied for each test."""

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


def create(server: str, *, empty: bool = False) -> str:
    """A new PostgreSQL database; the address of it."""
    import psycopg

    name = f"t{new_id().replace('-', '')}"
    with psycopg.connect(server, autocommit=True) as connection:
        if empty:
            connection.execute(f"CREATE DATABASE {name}".encode())
        else:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {_template(server)}".encode())
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
