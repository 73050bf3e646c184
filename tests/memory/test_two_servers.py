"""One server is another's memory: over HTTP, by the contract, and what it costs when it fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.companion.lounge import reading_text
from tests.memory.canary import (
    ASKING,
    DAY,
    FILLER,
    FRIDAY,
    ME,
    MINUTE,
    NOTES,
    SAYS,
    WORD,
    Nest,
    items_of,
    open_nest,
)
from tests.memory.test_remote import Service, reply
from tests.provider import Script

from polyvox.memory.tables import episodes
from polyvox.memory.values import Partition
from polyvox.store import jobs
from polyvox.store.jobs import Job
from polyvox.store.sessions import INGEST

OWN = Partition.own(ME)
TOKEN = "a token of the other server"


OFTEN = ("bread", "rain", "the dentist", "a long walk", "football", "my taxes", "the neighbours")
LIFE = {
    "tenantId": "polyvox", "userId": "local", "sessionId": "earlier",
    "startedAt": "2024-05-09T08:00:00Z", "endedAt": "2024-05-09T09:00:00Z",
    "messages": [
        {"role": "user", "text": f"Today it was mostly {one}, as usual on a weekday.",
         "timestamp": "2024-05-09T08:00:00Z"}
        for one in OFTEN
    ],
}  # fmt: skip
"""What else there is to remember: a word is worth something only among others."""


@asynccontextmanager
async def pair(tmp_path: Path, url: str = "", **more: Any) -> AsyncIterator[tuple[Nest, Nest]]:
    """The one that people talk to, and the one that remembers for it."""
    server = {"server": {"token": TOKEN}}
    async with open_nest(url, tmp_path / "there", **server) as there:
        memory = {"url": there.house.url, "token": TOKEN, "budget": 20, **more}
        async with open_nest("", tmp_path / "here", memory=memory) as here:
            for one in (here, there):
                one.clock[0] = FRIDAY + 600 * MINUTE
            here.house.provider.script("gate", Script(text=reading_text(ASKING)))
            here.house.provider.script("talker", Script(text="I see."))
            yield here, there


async def chat(nest: Nest, text: str) -> tuple[Any, Any]:
    """A companion turn: what it answered, and its trace."""
    said = await nest.house.post("/api/chat", {"personaId": "harbor", "text": text})
    assert said.status == 200, said.text
    await nest.house.until(lambda: not nest.polyvox.turns.queue.busy)
    trace = await nest.house.get(f"/api/turns/{said.json()['requestId']}/trace")
    return said.json(), trace.json()


async def kept(nest: Nest, session: str) -> list[str]:
    found = await nest.polyvox.database.read(lambda tx: episodes.episodes_of(tx, OWN, session), ME)
    return [one.text for one in found]


async def job(nest: Nest, session: str) -> Job:
    return await nest.polyvox.database.read(lambda tx: jobs.get(tx, f"{INGEST}:{session}"), ME)


async def test_what_is_said_here_is_remembered_there_and_told_again_here(
    tmp_path: Path, database_url: str
) -> None:
    url = "" if database_url.startswith("sqlite") else database_url
    async with pair(tmp_path, url) as (here, there):
        _, first = await chat(here, SAYS)
        assert first["degrades"] == []
        for text in (FILLER, f"{FILLER} Really."):
            await chat(here, text)
        session = await here.close_session(first["conversation_id"])
        assert (await job(here, session)).state == "done"
        told = [SAYS, "I see.", FILLER, "I see.", f"{FILLER} Really.", "I see."]
        assert await kept(there, session) == told
        assert await kept(here, session) == [], "there is one memory"
        there.note(NOTES, {"summary": "They spoke of a boathouse."})
        await there.work()
        there.house.headers["Authorization"] = f"Bearer {TOKEN}"
        assert (await there.house.post("/session/ingest", LIFE)).status == 200

        for one in (here, there):
            one.clock[0] = FRIDAY + DAY + 600 * MINUTE
        _, trace = await chat(here, "Which boathouse was it, by the herons?")
        assert [one for one in trace["degrades"] if "handover" not in one] == []
        assert trace["startbrief_used"]
        assert trace["startbrief_runtime"]["startbrief_fetch"] == "fetched"
        assert {"handover", "supplemental_context"} <= set(trace["system_blocks"])
        assert trace["recall"]["found"] > 0
        sent = here.house.provider.requests("talker")[-1].body.decode()
        assert "boathouse" in sent
        assert WORD in sent.lower(), "recalled from there"

        await here.polyvox.database.write(
            lambda tx: jobs.enqueue_again(tx, INGEST, session, here.clock[0]), ME
        )
        await here.work()
        assert (await job(here, session)).state == "done"
        assert await kept(there, session) == told, "once by its id"


@asynccontextmanager
async def serving(service: Service) -> AsyncIterator[str]:
    server = await asyncio.start_server(service.handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_session_waits_until_it_is_taken(tmp_path: Path) -> None:
    service = Service()
    async with serving(service) as url, pair(tmp_path) as (here, _):
        use(here, url)
        service.answers["/session/ingest"] = reply({"error": {}}, 503)
        _, trace = await chat(here, SAYS)
        session = await here.close_session(trace["conversation_id"])
        waiting = await job(here, session)
        assert (waiting.state, waiting.attempts) == ("pending", 1)
        assert waiting.failure is not None
        assert "503" in waiting.failure
        assert waiting.due_at > here.clock[0], "later, not at once"
        listed = (await here.house.get("/api/jobs")).json()
        assert any(one.get("failure") == waiting.failure for one in items_of(listed))

        service.answers["/session/ingest"] = reply(b"<html>what?</html>")
        here.clock[0] = waiting.due_at
        await here.work()
        second = await job(here, session)
        assert second.attempts == 2
        assert second.due_at - here.clock[0] > waiting.due_at - (FRIDAY + 600 * MINUTE) - MINUTE
        assert "malformed" in (second.failure or "")

        service.answers["/session/ingest"] = reply({"status": "ingested", "sessionId": session})
        here.clock[0] = second.due_at
        await here.work()
        assert (await job(here, session)).state == "done"
        told = [one.body for one in service.asked if one.path == "/session/ingest"]
        assert len(told) == 3
        assert [one["text"] for one in told[-1]["messages"]] == [SAYS, "I see."]
        assert told[0] == told[-1]
        assert (told[-1]["tenantId"], told[-1]["userId"]) == ("polyvox", "local")


async def test_what_is_excluded_between_two_sendings_moves_nothing(tmp_path: Path) -> None:
    async with pair(tmp_path, judge=True) as (here, there):
        _, first = await chat(here, SAYS)
        await here.work()
        sessions = (await here.house.get("/api/sessions")).json()
        session = items_of(sessions)[0]["id"]
        assert await kept(there, session) == [SAYS, "I see."], "each turn at once"
        view = await here.house.get(f"/api/conversations/{first['conversation_id']}")
        message = view.json()["messages"][0]["id"]
        await here.house.patch(f"/api/messages/{message}", {"excluded": True})
        await chat(here, FILLER)
        await here.work()
        await here.close_session(first["conversation_id"])
        assert (await job(here, session)).state == "done"
        assert await kept(there, session) == [SAYS, "I see.", FILLER, "I see."]


async def test_a_refusal_is_not_tried_again_by_itself(tmp_path: Path) -> None:
    async with pair(tmp_path) as (here, there):
        _, trace = await chat(here, SAYS)
        sessions = (await here.house.get("/api/sessions")).json()
        session = items_of(sessions)[0]["id"]
        taken = {
            "tenantId": "polyvox", "userId": "local", "sessionId": session,
            "startedAt": "2024-05-10T10:00:00Z", "endedAt": "2024-05-10T10:01:00Z",
            "messages": [{"role": "user", "text": "Other words.",
                          "timestamp": "2024-05-10T10:00:00Z"}],
        }  # fmt: skip
        there.house.headers["Authorization"] = f"Bearer {TOKEN}"
        assert (await there.house.post("/session/ingest", taken)).status == 200
        await here.close_session(trace["conversation_id"])
        failed = await job(here, session)
        assert failed.state == "failed"
        assert "409" in (failed.failure or "")
        assert await kept(there, session) == ["Other words."]


def use(nest: Nest, url: str, **more: Any) -> None:
    """Have a nest use the memory at this address."""
    old = nest.polyvox.settings
    memory = old.memory.model_copy(update={"url": url, **more})
    nest.polyvox._use(old.model_copy(update={"memory": memory}))


SLOW: Callable[[], bytes | None] = lambda: None  # noqa: E731 - one word for it
PATHS = (
    "/session/startbrief", "/session/brief", "/user/model", "/analysis/daily", "/memory/loops",
    "/memory/query",
)  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "reason", "recall"),
    [
        (SLOW, "timeout", True),
        (reply(b"<html>nothing here</html>"), "malformed", True),
        (reply(b"\xff\x00garbage"), "malformed", True),
        (reply([1, 2, 3]), "malformed", False),
        (reply({"error": "down"}, 500), "status", True),
        (b"no HTTP at all\r\n\r\n", "malformed", True),
    ],
    ids=["slow", "html", "garbage", "a list", "broken", "not http"],
)
async def test_a_turn_is_answered_whatever_its_memory_does(
    tmp_path: Path, answer: Any, reason: str, recall: bool
) -> None:
    """(A list without a fact in it is a reply that found nothing.)"""
    service = Service(answers=dict.fromkeys(PATHS, answer))
    seconds = 0.2 if answer is SLOW else 20
    memory = {"budget": seconds, "recall_seconds": seconds}
    async with (
        serving(service) as url,
        open_nest("", tmp_path / "home", memory={"url": url, **memory}) as here,
    ):
        here.house.provider.script("gate", Script(text=reading_text(ASKING)))
        here.house.provider.script("talker", Script(text="I am here."))
        said, trace = await chat(here, "Which boathouse was it?")
        assert said["response"] == "I am here."
        assert any(one.startswith(f"startbrief: {reason}") for one in trace["degrades"])
        assert any(one.startswith("query: ") for one in trace["degrades"]) == recall
        assert not trace["startbrief_used"]
