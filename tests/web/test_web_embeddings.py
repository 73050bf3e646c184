"""The embeddings arm over HTTP: found by meaning, a degrade that shows, a job that tells why."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.provider import Script
from tests.web.house import House, open_house

pytestmark = pytest.mark.contract

WHOSE = {"tenantId": "acme", "userId": "anna"}
CAR = "We sold the automobile."


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    models = {"default": "local:smollm2", "embeddings": "lab:e"}
    async with open_house(tmp_path, models=models) as house:
        yield house


async def ingest(house: House, name: str, text: str) -> None:
    reply = await house.post(
        "/session/ingest",
        {
            **WHOSE,
            "sessionId": name,
            "startedAt": "2024-05-10T09:00:00Z",
            "endedAt": "2024-05-10T09:05:00Z",
            "messages": [{"role": "user", "text": text, "timestamp": "2024-05-10T09:00:00Z"}],
        },
    )
    assert reply.json()["status"] == "ingested"


async def ask(house: House) -> dict[str, Any]:
    reply = await house.post("/memory/query", {**WHOSE, "query": "Which vehicle?"})
    assert reply.status == 200
    data: dict[str, Any] = reply.json()
    return data


async def test_found_by_what_it_means(house: House) -> None:
    await ingest(house, "s", CAR)
    await house.polyvox.worker.run_due()
    found = await ask(house)
    assert found["facts"] == [CAR]
    assert set(found["metadata"]) == {"query", "responseMode", "facts", "entities", "limit"}
    (item,) = found["factItems"]
    assert set(item) == {
        "id", "text", "relevance", "source", "evidence", "validFrom", "validTo", "status",
    }  # fmt: skip
    assert item["validTo"] is None

    house.provider.script("e", Script(status=500))
    degraded = await ask(house)
    assert degraded["facts"] == []
    assert degraded["metadata"]["degraded"].startswith("embeddings: unavailable")
    room = await house.get("/api/memory/search?q=vehicle&tenant=acme&user=anna")
    assert "degraded" in room.json()["metadata"]


async def test_a_job_tells_why_it_failed_and_is_tried_again(house: House) -> None:
    house.provider.script("e", Script(status=401, error="No such key."))
    await ingest(house, "s", CAR)
    await house.polyvox.worker.run_due()
    told = (await house.get("/api/jobs")).json()
    (job,) = [one for one in told["items"] if one["kind"] == "embed"]
    assert "No such key." in job["failure"]
    assert job["state"] == "pending"
    assert told["pending"] >= 1

    house.provider.script("e", Script())
    retried = await house.post(f"/api/jobs/{job['id']}/retry", {})
    assert retried.status == 200
    await house.polyvox.worker.run_due()
    assert not [
        one for one in (await house.get("/api/jobs")).json()["items"] if one["kind"] == "embed"
    ]
    assert (await ask(house))["facts"] == [CAR]
