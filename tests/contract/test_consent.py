"""What was told to a model on this machine is read by an online one only if the person agrees."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.app import App, serve, settings_for
from tests.provider import ProviderServer, Script

pytestmark = pytest.mark.contract
SAYS = "My new employer is Feedzai, since Monday."
NOTES = {
    "facts": [{"n": 0, "quote": "My new employer is Feedzai", "subject": "user",
               "attribute": "employer", "text": "Works at Feedzai."}],
    "loops": [], "profile": [], "instructions": [], "summary": "They spoke of work.",
    "themes": [], "scores": {}, "confidence": 0.1, "steering_note": "",
}  # fmt: skip


@asynccontextmanager
async def opened(home: Path, **memory: Any) -> AsyncIterator[App]:
    """An app whose conversations are answered here, and whose memory model is online."""
    async with ProviderServer() as provider:
        provider.script("notes", Script(pieces=(json.dumps(NOTES),)))
        # That address is none of this machine's own.
        online = provider.base_url.replace("127.0.0.1", "0.0.0.0")
        settings = settings_for(
            home,
            provider,
            models={"default": "lab:talker", "memory": "far:notes"},
            providers={"far": {"base_url": online, "api_key": "k"}},
            memory=memory,
        )
        async with serve(settings, provider) as app:
            yield app


async def told(app: App, model: str) -> None:
    """A conversation with one advisor that ends and is remembered."""
    talk = await app.conversation(await app.advisor(model))
    await app.say(talk, SAYS)
    (session,) = (await app.get(f"/api/sessions?conversation={talk}")).json()
    await app.post(f"/api/sessions/{session['id']}/end")
    await app.polyvox.worker.run_due()


async def facts(app: App) -> list[str]:
    return [one["text"] for one in (await app.get("/api/memory/facts")).json()]


async def test_an_online_model_reads_what_was_told_here_only_when_allowed(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        await told(app, "lab:talker")
        assert app.provider.requests("notes") == []
        overview = (await app.get("/api/memory/overview")).json()
        assert (overview["keptLocal"], overview["model"]) == (1, "far:notes")
        found = (await app.get("/api/memory/search?q=Feedzai")).json()
        assert found["factItems"], "the person finds it all the same"
        agreed = await app.post("/api/memory/share")
        assert agreed.json()["keptLocal"] == 0
        await app.polyvox.worker.run_due()
        assert await facts(app) == ["Works at Feedzai."]


async def test_what_was_told_online_is_read_online(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        await told(app, "far:talker")
        assert (await app.get("/api/memory/overview")).json()["keptLocal"] == 0
        assert await facts(app) == ["Works at Feedzai."]


async def test_whoever_always_agrees_is_not_asked(tmp_path: Path) -> None:
    async with opened(tmp_path, share="always") as app:
        await told(app, "lab:talker")
        assert (await app.get("/api/memory/overview")).json()["keptLocal"] == 0
        assert await facts(app) == ["Works at Feedzai."]
