"""One house for every test that can share it, and a client of the official kind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import openai
import pytest
import pytest_asyncio
from tests.web.caller import client_of
from tests.web.house import House, open_house


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """The app with its usual settings. Tests that use it run on the session's loop."""
    async with open_house(tmp_path_factory.mktemp("house")) as found:
        yield found


@pytest.fixture(name="own")
async def own_house(tmp_path: Path) -> AsyncIterator[House]:
    """A house of the test's own, on its own loop: what it changes is nobody else's."""
    async with open_house(tmp_path) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def client(house: House) -> AsyncIterator[openai.AsyncOpenAI]:
    """The official asynchronous client at that house's door."""
    async with client_of(house) as found:
        yield found
