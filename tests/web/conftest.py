"""One house for every test that can share it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.web.house import House, open_house


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """The app with its usual settings. Tests that use it run on the session's loop."""
    async with open_house(tmp_path_factory.mktemp("house")) as found:
        yield found
