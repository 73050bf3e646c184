"""A Polyvox that remembers: what the scenes of the memory room show."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.app import serve
from tests.page.house import configuration
from tests.page.notes import MODEL, ingest, lived, replies
from tests.page.world import NOW, Watch, World
from tests.provider import ProviderServer, Script

from polyvox.settings import Settings


@asynccontextmanager
async def open_memory(home: Path) -> AsyncIterator[World]:
    """Weeks of notes, a conversation among them, a pinned and an excluded one, a correction, a
    pinned loop, and a piece of work that failed."""
    home.mkdir(parents=True, exist_ok=True)
    async with ProviderServer() as provider:
        clock = Watch(NOW)
        usual = configuration(provider.base_url, models={"memory": MODEL})
        usual["providers"]["lab"]["api_key"] = "sk-lab-0123456789abcdef"
        settings = Settings.model_validate({**usual, "home": home, "timezone": "UTC"})
        async with serve(settings, provider, clock=clock) as app:
            world = World(**vars(app), watch=clock)
            await _remembers(world)
            yield world


async def _remembers(world: World) -> None:
    await lived(world, NOW, world.polyvox.worker.run_due)
    await _talked(world)
    known = {
        one["fact"]["text"]: one["fact"]["id"]
        for one in (await world.get("/api/memory/items?limit=100")).json()["items"]
    }
    nurse = next(one for text, one in known.items() if "nurse" in text)
    tree = next(one for text, one in known.items() if "lemon" in text)
    await world.patch(f"/api/memory/facts/{nurse}", {"pinned": True})
    await world.patch(f"/api/memory/facts/{nurse}", {"text": "Marta, her sister, is a midwife."})
    await world.patch(f"/api/memory/facts/{tree}", {"excluded": True})
    loops = (await world.get("/api/memory/loops?status=open&status=needs_review")).json()
    sunday = next(one["id"] for one in loops if "Sunday" in one["text"])
    await world.patch(f"/api/memory/loops/{sunday}", {"pinned": True})
    world.provider.script("notes", Script(text="I would rather not."))
    await ingest(world, "refused", "I dreamt of the audit again.", at=NOW)
    await world.polyvox.worker.run_due()


async def _talked(world: World) -> None:
    """A conversation that is still here: what was said in it leads back to it."""
    replies(
        world.provider,
        facts=[
            {"n": 0, "quote": "the choir asked me to sing the solo", "subject": "user",
             "attribute": "", "text": "The choir asked her to sing the solo."}
        ],
        loops=[
            {"n": 0, "quote": "I'll answer them by Friday", "type": "decision",
             "text": "Answer the choir about the solo", "horizon": "this_week",
             "due": "2026-11-20", "domain": "general"}
        ],
        summary="The choir asked her to sing the solo; she wants to answer by Friday.",
    )  # fmt: skip
    advisor = await world.advisor(script=Script(text="What would you regret?"), name="Listener")
    there = await world.conversation(advisor, title="The solo")
    await world.say(
        there, "Suddenly the choir asked me to sing the solo. I'll answer them by Friday, I think."
    )
    (session,) = (await world.get("/api/sessions")).json()
    await world.post(f"/api/sessions/{session['id']}/end")
    await world.polyvox.worker.run_due()
