"""A remote memory service over real sockets: what it tells, and what its failures cost."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from polyvox.memory.packets import StartBrief
from polyvox.memory.remote import LARGEST, Degrade, RemoteMemory
from polyvox.memory.values import Message, Partition
from polyvox.transport import Transport

ANNA = Partition("boats & co", "anna#1")
NOW = 1_778_610_600_000_000  # 2026-05-12T18:30:00Z
START = {"handover_text": "It is Tuesday evening.", "handover_depth": "today", "items": None}
BRIEF = {"facts": ["Owns a boat"], "briefContext": "x"}


@dataclass
class Asked:
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class Service:
    """A memory service that answers each path as it is told to."""

    answers: dict[str, bytes | Callable[[], bytes | None]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    url: str = ""
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a caller hangs up without having got an answer."""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = await self._take(head, reader)
                answer = self.answers.get(path, reply({}, 404))
                made = answer if isinstance(answer, bytes) else answer()
                if made is not None:
                    writer.write(made)
                    await writer.drain()
                    continue
                await reader.read()  # until the caller hangs up
                self.gone.set()
        writer.close()

    async def _take(self, head: bytes, reader: asyncio.StreamReader) -> str:
        first, *lines = head.decode().strip().split("\r\n")
        method, target, _ = first.split(" ")
        headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query))
        told = json.loads(body) if body else None
        self.asked.append(Asked(method, parts.path, query, headers, told))
        return parts.path


def reply(data: Any, status: int = 200) -> bytes:
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class Timers:
    """Time-outs that pass when a test says so."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._open: list[asyncio.Timeout] = []

    def __call__(self, seconds: float) -> asyncio.Timeout:
        self.seconds.append(seconds)
        made = asyncio.timeout(None)
        self._open.append(made)
        return made

    def pass_(self, number: int = -1) -> None:
        self._open[number].reschedule(0)


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    found = Service()
    server = await asyncio.start_server(found.handle, "127.0.0.1", 0)
    found.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/base"
    async with server:
        yield found


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    client = Transport()
    yield client
    await client.close()


@pytest.fixture
def timers() -> Timers:
    return Timers()


@pytest.fixture
def remote(service: Service, transport: Transport, timers: Timers) -> RemoteMemory:
    return RemoteMemory(transport, service.url, within=timers)


async def test_a_startbrief_is_asked_for_as_the_contract_says(
    service: Service, remote: RemoteMemory
) -> None:
    service.answers["/base/session/startbrief"] = reply(START)
    got = await remote.startbrief(ANNA, NOW, "s 1", "Europe/Lisbon")
    assert got.degrade is None
    assert got.value == StartBrief("It is Tuesday evening.", "today")
    (asked,) = service.asked
    assert (asked.method, asked.path) == ("GET", "/base/session/startbrief")
    assert asked.query == {
        "tenantId": "boats & co",
        "userId": "anna#1",
        "now": "2026-05-12T18:30:00Z",
        "sessionId": "s 1",
        "timezone": "Europe/Lisbon",
    }
    assert "authorization" not in asked.headers


async def test_a_token_is_sent_and_never_shown(service: Service, transport: Transport) -> None:
    service.answers["/base/user/model"] = reply({"model": {"current_focus": "The survey"}})
    remote = RemoteMemory(transport, service.url, "t0ken")
    got = await remote.user_model(ANNA)
    assert got.value is not None
    assert got.value.current_focus is not None
    assert got.value.current_focus.text == "The survey"
    assert service.asked[0].headers["authorization"] == "Bearer t0ken"
    assert "t0ken" not in repr(remote)


async def test_the_older_shape_is_understood(service: Service, remote: RemoteMemory) -> None:
    older = {"timeOfDayLabel": "EVENING", "timeGapHuman": "3 days", "bridgeText": "The shed."}
    service.answers["/base/session/startbrief"] = reply(older)
    got = await remote.startbrief(ANNA, NOW)
    assert got.value is not None
    assert (got.value.handover_text, got.value.handover_depth) == ("The shed.", "multi_day")
    assert set(service.asked[0].query) == {"tenantId", "userId", "now"}


async def test_a_query_is_asked_without_context(service: Service, remote: RemoteMemory) -> None:
    found = {"facts": [{"text": "Owns a boat"}], "factItems": [], "entities": []}
    service.answers["/base/memory/query"] = reply(found)
    got = await remote.query(ANNA, "boat \ud800", now=NOW, limit=3)
    assert got.value is not None
    assert [item.text for item in got.value.items] == ["Owns a boat"]
    assert service.asked[0].body == {
        "tenantId": "boats & co",
        "userId": "anna#1",
        "query": "boat ?",
        "limit": 3,
        "referenceTime": "2026-05-12T18:30:00Z",
        "includeContext": False,
    }


async def test_a_session_is_sent_whole(service: Service, remote: RemoteMemory) -> None:
    service.answers["/base/session/ingest"] = reply({"status": "ingested", "sessionId": "s"})
    said = [Message("user", "Ahoy", NOW), Message("assistant", "Ahoy!", None, "a1")]
    got = await remote.ingest(ANNA, "s", None, NOW, NOW + 1_000_000, said)
    assert (got.value, got.degrade) == ("ingested", None)
    body = service.asked[0].body
    assert body["messages"] == [
        {"role": "user", "text": "Ahoy", "timestamp": "2026-05-12T18:30:00Z"},
        {
            "role": "assistant",
            "text": "Ahoy!",
            "timestamp": "2026-05-12T18:30:00Z",
            "advisorId": "a1",
        },
    ]
    assert (body["startedAt"], body["endedAt"]) == ("2026-05-12T18:30:00Z", "2026-05-12T18:30:01Z")
    assert "personaId" not in body
    service.answers["/base/session/ingest"] = reply({"status": "perhaps"})
    lost = await remote.ingest(ANNA, "s", "p", NOW, NOW, said)
    assert lost.degrade == Degrade("ingest", "malformed", "no status")


@pytest.mark.parametrize(
    ("answer", "degrade"),
    [
        (reply({"error": "x"}, 500), Degrade("startbrief", "status", "500")),
        (reply({}, 302), Degrade("startbrief", "status", "302")),
        (reply(b"<html>"), Degrade("startbrief", "malformed", "not JSON")),
        (reply(b"\xff\xfe{"), Degrade("startbrief", "malformed", "not JSON")),
        (reply(b""), Degrade("startbrief", "malformed", "not JSON")),
        (reply(b"[" * 100_000), Degrade("startbrief", "malformed", "not JSON")),
        (
            reply(b'"' + b"x" * (LARGEST + 10) + b'"'),
            Degrade("startbrief", "malformed", "not JSON"),
        ),
        (reply("text"), Degrade("startbrief", "malformed", "no packet")),
        (reply({}), Degrade("startbrief", "malformed", "says nothing")),
        (b"ICY 200 OK\r\n\r\n", Degrade("startbrief", "malformed", "not HTTP")),
    ],
)
async def test_what_cannot_be_used_is_a_degrade(
    service: Service, remote: RemoteMemory, answer: bytes, degrade: Degrade
) -> None:
    service.answers["/base/session/startbrief"] = answer
    got = await remote.startbrief(ANNA, NOW)
    assert (got.value, got.degrade) == (None, degrade)


async def test_a_service_that_is_not_there_is_unreachable(
    transport: Transport, timers: Timers
) -> None:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{place.getsockname()[1]}"
    remote = RemoteMemory(transport, url, within=timers)
    start = await remote.session_start(ANNA, NOW)
    assert {(one.what, one.reason) for one in start.degrades} == {
        ("startbrief", "unreachable"),
        ("brief", "unreachable"),
        ("user_model", "unreachable"),
        ("daily", "unreachable"),
        ("loops", "unreachable"),
    }
    assert (start.startbrief, start.brief, start.user_model, start.loops) == (None, None, None, ())
    assert (await remote.query(ANNA, "boat", now=NOW)).degrade == Degrade("query", "unreachable")


async def test_a_service_that_hangs_up_in_the_middle_is_unreachable(
    service: Service, remote: RemoteMemory
) -> None:
    server = await asyncio.start_server(_cut, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        got = await RemoteMemory(remote.transport, url).loops(ANNA)
    assert got.degrade == Degrade("loops", "unreachable")


async def _cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"items": [')
    await writer.drain()
    writer.close()


@pytest.mark.parametrize("begun", [False, True])
async def test_a_silent_or_slow_service_costs_its_budget_and_is_let_go(
    service: Service, remote: RemoteMemory, timers: Timers, begun: bool
) -> None:
    def silent() -> bytes | None:
        timers.pass_()
        return None

    service.answers["/base/session/startbrief"] = silent
    if begun:
        server = await asyncio.start_server(_half(timers, service.gone), "127.0.0.1", 0)
        slow = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server:
            got = await RemoteMemory(remote.transport, slow, within=timers).startbrief(ANNA, NOW)
            await service.gone.wait()
    else:
        got = await remote.startbrief(ANNA, NOW)
        await service.gone.wait()
    assert got.degrade == Degrade("startbrief", "timeout", "3 s")
    assert timers.seconds == [3.0]


def _half(
    timers: Timers, gone: asyncio.Event
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"hand')
        await writer.drain()
        timers.pass_()
        with contextlib.suppress(ConnectionError):
            await reader.read()
        gone.set()
        writer.close()

    return handle


async def test_a_session_starts_with_all_of_it(
    service: Service, remote: RemoteMemory, timers: Timers
) -> None:
    service.answers |= {
        "/base/session/startbrief": reply(START),
        "/base/user/model": reply({"model": {"work_context": "A yard"}}),
        "/base/analysis/daily": reply({"themes": ["boats"], "exists": True}),
        "/base/memory/loops": reply({"items": [{"text": "Call", "type": "thread"}, 4]}),
    }
    start = await remote.session_start(ANNA, NOW)
    assert start.degrades == ()
    assert start.startbrief is not None
    assert start.brief is None
    assert start.user_model is not None
    assert start.daily is not None
    assert start.daily.themes == ("boats",)
    assert [loop.text for loop in start.loops] == ["Call"]
    assert sorted(one.path for one in service.asked) == [
        "/base/analysis/daily",
        "/base/memory/loops",
        "/base/session/startbrief",
        "/base/user/model",
    ]
    assert max(timers.seconds) <= 3.0


async def test_the_brief_comes_where_the_startbrief_does_not(
    service: Service, transport: Transport, timers: Timers
) -> None:
    service.answers |= {
        "/base/session/startbrief": reply({}, 503),
        "/base/session/brief": reply(BRIEF),
    }
    seconds = itertools.count(10.0, 0.5)
    remote = RemoteMemory(transport, service.url, within=timers, clock=lambda: next(seconds))
    start = await remote.session_start(ANNA, NOW)
    assert start.startbrief is None
    assert start.brief is not None
    assert start.brief.facts == ("Owns a boat",)
    assert [str(one) for one in start.degrades] == [
        "startbrief: status (503)",
        "user_model: status (404)",
        "daily: status (404)",
        "loops: status (404)",
    ]
    assert timers.seconds[-1] == 2.5, "what half a second left of three"


async def test_a_silent_startbrief_leaves_the_brief_its_part_of_the_budget(
    service: Service, transport: Transport, timers: Timers
) -> None:
    def silent() -> bytes | None:
        timers.pass_(0)  # the first call is the startbrief's
        return None

    service.answers |= {"/base/session/startbrief": silent, "/base/session/brief": reply(BRIEF)}
    times = iter((0.0, 2.1))
    remote = RemoteMemory(transport, service.url, within=timers, clock=lambda: next(times))
    start = await remote.session_start(ANNA, NOW)
    assert start.degrades[0].reason == "timeout"
    assert start.brief is not None
    assert timers.seconds[0] == pytest.approx(2.1)
    assert timers.seconds[-1] == pytest.approx(0.9)


async def test_once_the_budget_is_spent_nothing_more_is_waited_for(
    service: Service, transport: Transport
) -> None:
    service.answers["/base/session/startbrief"] = reply({}, 503)
    service.answers["/base/session/brief"] = lambda: None
    times = iter((0.0, 99.0))
    remote = RemoteMemory(transport, service.url, budget=60, clock=lambda: next(times))
    start = await remote.session_start(ANNA, NOW)
    assert Degrade("brief", "timeout", "0 s") in start.degrades


@pytest.mark.parametrize("how", ["its own end", "let go late", "let go early"])
async def test_a_query_that_was_waited_for_in_vain_is_not_asked_again_for_a_minute(
    service: Service, transport: Transport, timers: Timers, how: str
) -> None:
    now, came = [100.0], asyncio.Event()

    def silent() -> bytes | None:
        came.set()
        if how == "its own end":
            timers.pass_()
        return None

    service.answers = {"/base/memory/query": silent, "/base/session/startbrief": reply(START)}
    remote = RemoteMemory(transport, service.url, within=timers, clock=lambda: now[0])
    task = asyncio.create_task(remote.query(ANNA, "boat", now=NOW))
    await came.wait()
    if how == "its own end":
        assert (await task).degrade == Degrade("query", "timeout", "5 s")
    else:
        now[0] += 4.9 if how == "let go late" else 1.0
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    service.answers["/base/memory/query"] = reply({"facts": ["Owns a boat"]})
    rests = how != "let go early"
    for after, asked in ((0.0, not rests), (59.0, not rests), (2.0, True)):
        now[0] += after
        before = len(service.asked)
        got = await remote.query(ANNA, "boat", now=NOW)
        assert (len(service.asked) > before) is asked
        if not asked:
            assert str(got.degrade) == "query: not asked (it timed out a moment ago)"
        else:
            assert got.value is not None
        assert (await remote.startbrief(ANNA, NOW)).value is not None, "it costs only itself"


async def test_an_answer_that_is_no_answer_is_asked_for_again(
    service: Service, remote: RemoteMemory
) -> None:
    service.answers["/base/memory/query"] = reply({}, 500)
    for number in (1, 2):
        got = await remote.query(ANNA, "boat", now=NOW)
        assert got.degrade == Degrade("query", "status", "500")
        assert len(service.asked) == number
