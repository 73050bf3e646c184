"""A memory with something in it: what somebody said on several days, and what a model noted of it.

The model is the provider's `notes`, which replies to whatever it is shown with the notes whose
quotes occur in it; those that do not are dropped by the memory itself.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from tests.provider import ProviderServer, Script
from tests.web.house import Visitor

from polyvox.values import Scope

MODEL = "lab:notes"
READS = {"models": {"memory": MODEL}}
"""Settings of a house whose memory has a model."""
OWN = {"tenantId": "polyvox", "userId": Scope().user}
NOTES: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("notes.yaml").read_text(encoding="utf-8")
)


def iso(at: datetime) -> str:
    """As the memory's routes write it."""
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def replies(provider: ProviderServer, gates: dict[int, str] | None = None, **more: Any) -> None:
    """What the model notes from now on, whatever it is shown."""
    told = {
        "facts": [], "loops": [], "profile": [], "instructions": [], "summary": "They talked.",
        "themes": ["talking"], "scores": {}, "confidence": 0.9, "steering_note": "", **more,
    }  # fmt: skip
    provider.script(MODEL.partition(":")[2], Script(pieces=(json.dumps(told),), gates=gates or {}))


async def ingest(
    house: Visitor, name: str, *texts: str, at: datetime | None = None, **more: Any
) -> None:
    """Say this in a session of one's own, a minute apart."""
    start = at or datetime.now(UTC)
    times = [iso(start + timedelta(minutes=number)) for number in range(len(texts) + 1)]
    messages = [
        {"role": "user", "text": text, "timestamp": time}
        for text, time in zip(texts, times, strict=False)
    ]
    body = {**OWN, "sessionId": name, "startedAt": times[0], "endedAt": times[-1]}
    told = await house.post("/session/ingest", {**body, "messages": messages, **more})
    assert (told.status, told.json()["status"]) == (200, "ingested"), told.text


async def worked(house: Visitor) -> None:
    """Wait until nothing is left to be done that was not put off."""
    while True:
        told = (await house.get("/api/jobs?limit=200")).json()["items"]
        now = datetime.now(UTC).timestamp() * 1e6
        if not [one for one in told if one["state"] == "running" or _due(one, now)]:
            return


def _due(job: dict[str, Any], now: float) -> bool:
    return job["state"] == "pending" and job["failure"] is None and job["due_at"] <= now


async def remember(
    house: Visitor, name: str, *texts: str, at: datetime | None = None, **notes: Any
) -> None:
    """Say this, have it noted so, and wait until it is."""
    replies(house.provider, **notes)
    await ingest(house, name, *texts, at=at)
    await worked(house)


def fact(quote: str, text: str, attribute: str = "", **more: Any) -> dict[str, Any]:
    """A note of a fact."""
    return {"quote": quote, "text": text, "subject": "user", "attribute": attribute, **more}


def loop(quote: str, text: str, **more: Any) -> dict[str, Any]:
    """A note of a loop."""
    return {"quote": quote, "text": text, "type": "commitment", "horizon": "this_week", **more}


async def lived(house: Visitor, now: datetime, work: Callable[[], Awaitable[Any]]) -> None:
    """Weeks of somebody's life, as notes.yaml tells them."""
    for number, one in enumerate(NOTES["sessions"]):
        replies(house.provider, **one["notes"])
        at = now - timedelta(days=one["days_ago"], hours=2)
        await ingest(house, f"earlier-{number}", *one["said"], at=at)
        await work()
