"""Whether the server says how it is."""

from __future__ import annotations

import re
from contextlib import aclosing
from pathlib import Path

import pytest
from tests.provider import Script
from tests.web.house import House, open_house

from polyvox import __version__

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_who_comes_by_with_curl_is_told_where_to_go(house: House) -> None:
    reply = await house.get("/")
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert "/openapi.json" in reply.text
    assert "/v1" in reply.text


async def test_health_names_what_runs(house: House) -> None:
    reply = await house.get("/healthz")
    assert reply.status == 200
    data = reply.json()
    assert data["status"] == "ok"
    assert data["version"] == __version__
    assert data["database"] == "sqlite"
    assert data["default_model"] == "lab:default"
    assert data["trouble"] == ""


async def test_health_and_metrics_count_what_runs_and_who_listens(house: House) -> None:
    advisor = await house.advisor(script=Script(hold="health"))
    conversation = await house.conversation(advisor)
    before = (await house.get("/healthz")).json()
    turn = await house.send(conversation, "Well?")
    async with aclosing(house.events(conversation)) as listening:
        assert (await anext(listening)).kind == "turn.started"
        during = (await house.get("/healthz")).json()
        assert during["answers"] == before["answers"] + 1
        assert during["listeners"] == before["listeners"] + 1
        rows = numbers((await house.get("/metrics")).text)
        assert rows["polyvox_answers_running"] == during["answers"]
        assert rows["polyvox_listeners"] == during["listeners"]
    house.provider.gate("health").set()
    await house.ended(conversation, turn["turn_id"])
    await house.until(lambda: not house.polyvox.turns.queue.busy)
    assert (await house.get("/healthz")).json()["answers"] == before["answers"]


async def test_metrics_are_prometheus_text(house: House) -> None:
    reply = await house.get("/metrics")
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = reply.text.splitlines()
    for kind, value in zip(lines[::2], lines[1::2], strict=True):
        found = re.fullmatch(r"# TYPE (polyvox_\w+) (gauge|counter)", kind)
        assert found is not None, kind
        assert re.fullmatch(rf"{found[1]} \d+", value), value
    before = numbers(reply.text)["polyvox_commits_total"]
    await house.advisor()
    after = numbers((await house.get("/metrics")).text)
    assert after["polyvox_commits_total"] > before
    assert after["polyvox_resident_bytes_peak"] > 10_000_000
    assert after["polyvox_store_ok"] == 1


def numbers(text: str) -> dict[str, int]:
    rows = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {name: int(value) for name, value in rows}


async def test_health_tells_of_a_store_that_takes_nothing(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        house.polyvox.journal.trouble = "There is no space left."
        data = (await house.get("/healthz")).json()
        assert (data["status"], data["trouble"]) == ("degraded", "There is no space left.")
        assert numbers((await house.get("/metrics")).text)["polyvox_store_ok"] == 0
