"""The wire of embeddings: what is sent, what is read, what is refused."""

from __future__ import annotations

import base64
import json
import math
from array import array
from pathlib import Path
from typing import Any

import pytest
from tests.provider import ProviderServer, Script
from tests.provider.meaning import vector

from polyvox.errors import (
    AuthenticationFailed,
    ConfigError,
    Invalid,
    ModelError,
    ModelTimeout,
    ProtocolError,
)
from polyvox.models.embeddings import Embedded, unit
from polyvox.models.registry import Models
from polyvox.settings import ModelSettings as ModelSettings
from polyvox.settings import Provider, Secret, Settings
from polyvox.transport import Transport

KEY = "sk-lab-0123456789"


async def asked(provider: ProviderServer, *texts: str, seconds: float = 5, **more: Any) -> Embedded:
    lab = Provider(base_url=provider.base_url, api_key=Secret(KEY), **more)
    transport = Transport()
    try:
        models = Models(Settings(providers={"lab": lab}), transport, {})
        embedder = models.embedder("lab:e")
        assert embedder.here
        assert embedder.id == "lab:e"
        return await embedder.embed(texts, seconds)
    finally:
        await transport.close()


async def test_texts_become_vectors_in_their_order() -> None:
    async with ProviderServer(key=KEY) as provider:
        made = await asked(provider, "a red car", "green tea", headers={"X-Mine": "1"})
        (request,) = provider.log

    assert request.json() == {
        "model": "e", "input": ["a red car", "green tea"], "encoding_format": "float",
    }  # fmt: skip
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["x-mine"] == "1"
    assert made.vectors == (unit(vector("a red car")), unit(vector("green tea")))
    assert all(math.isclose(sum(x * x for x in one), 1, abs_tol=1e-6) for one in made.vectors)
    assert (made.usage.input_tokens, made.usage.estimated) == (5, False)


async def test_base64_is_read_too_and_missing_usage_is_estimated() -> None:
    packed = base64.b64encode(array("f", [3.0, 4.0]).tobytes()).decode()
    raw = json.dumps({"data": [{"embedding": packed}]})
    async with ProviderServer() as provider:
        provider.script("e", Script(raw=raw))
        made = await asked(provider, "four letters")

    assert list(made.vectors[0]) == pytest.approx([0.6, 0.8])
    assert (made.usage.input_tokens, made.usage.estimated) == (3, True)


def rows(*vectors: Any) -> str:
    return json.dumps({"data": [{"embedding": one} for one in vectors]})


@pytest.mark.parametrize(
    "raw",
    [
        "", "[]", "{}", '{"data": 1}', '{"data": [1, 2]}', '{"data": [{}, {}]}',
        rows([1], [1], [1]), rows([1]), rows([1, 2], [1]), rows([], []), rows([0], [0]),
        rows(["a"], ["b"]), rows([None], [1]), rows("#", "#"), rows([1e400], [1]),
        rows([1.0] * 16_001, [1.0] * 16_001),
    ],
)  # fmt: skip
async def test_whatever_is_no_list_of_vectors_is_a_protocol_error(raw: str) -> None:
    async with ProviderServer() as provider:
        provider.script("e", Script(raw=raw))
        with pytest.raises(ProtocolError, match="What lab:e replied"):
            await asked(provider, "one", "two")


async def test_a_refusal_is_told_without_the_key() -> None:
    async with ProviderServer(key="other") as provider:
        with pytest.raises(AuthenticationFailed) as refused:
            await asked(provider, "x")
    assert "Incorrect API key" in refused.value.message
    assert KEY not in refused.value.message + refused.value.hint


async def test_silence_ends_and_nothing_is_left_open() -> None:
    async with ProviderServer() as provider:
        provider.script("e", Script(fault="silence"))
        with pytest.raises(ModelTimeout):
            await asked(provider, "x", seconds=0.05)
        await provider.until(lambda: provider.open_connections == 0)


async def test_the_pace_of_a_provider_holds() -> None:
    """A failure gives its place back too."""
    async with ProviderServer() as provider:
        lab = Provider(base_url=provider.base_url, concurrency=1)
        transport = Transport()
        models = Models(Settings(providers={"lab": lab}), transport, {})
        provider.queue("e", Script(status=500))
        with pytest.raises(ModelError):
            await models.embedder("lab:e").embed(["x"], 5)
        assert len((await models.embedder("lab:e").embed(["x"], 5)).vectors) == 1
        await transport.close()


@pytest.mark.parametrize("name", ["local:smollm2", "scripted:x", "anthropic:claude", "nobody:x"])
def test_who_makes_no_embeddings_is_refused_at_once(name: str, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, models=ModelSettings(embeddings=name))
    models = Models(settings, Transport(), {})
    with pytest.raises(ConfigError, match=r"makes no embeddings|no provider"):
        models.check_settings()
    with pytest.raises(Invalid):
        models.embedder(name)


def test_who_makes_them_is_not() -> None:
    for name in ("openai:text-embedding-3-small", "ollama:nomic-embed-text", "gemini:e"):
        models = Models(Settings(models=ModelSettings(embeddings=name)), Transport(), {})
        models.check_settings()
        assert models.embedder(name).id == name
        assert models.embedder(name).here is name.startswith("ollama")
