"""A provider on 127.0.0.1, a client, and models of both wires that lead from one to the other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pytest
from tests.models.asking import MakeModels
from tests.provider import ProviderServer

from polyvox.models.registry import Models
from polyvox.settings import Settings
from polyvox.transport import Transport


@pytest.fixture
async def provider() -> AsyncIterator[ProviderServer]:
    async with ProviderServer() as server:
        yield server


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    client = Transport()
    await client.prepare()
    yield client
    await client.close()


@pytest.fixture
def make_models(provider: ProviderServer, transport: Transport) -> MakeModels:
    """Models with two providers of the user's own: openai-like `lab`, anthropic-like `claude`."""

    def make(limits: dict[str, float] | None = None, **more: Mapping[str, object]) -> Models:
        settings = Settings.model_validate(
            {
                "limits": {"retries": 0, **(limits or {})},
                "providers": {
                    "lab": {"base_url": provider.base_url, "api_key": "env:LAB_KEY"},
                    "claude": {
                        "kind": "anthropic",
                        "base_url": provider.base_url,
                        "api_key": "env:LAB_KEY",
                    },
                },
                **more,
            }
        )
        return Models(settings, transport, {"LAB_KEY": "sk-lab-0123456789"})

    return make
