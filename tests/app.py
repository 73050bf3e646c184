"""The whole app in this process: a real server on a free port, a real database, a real provider.

    async with open_app(tmp_path) as app:
        advisor = await app.advisor("lab:calm")             # answered by app.provider
        conversation = await app.conversation(advisor)
        turn = await app.say(conversation, "Is it so?")      # to the end of its answers
        reply = await app.get(f"/api/conversations/{conversation}")
        assert reply.status == 200

Tests that share an app keep apart by names: every advisor and every model has its own.
"""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import socket
import threading
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Coroutine,
    Iterator,
    Mapping,
)
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from tests import databases
from tests.provider import ProviderServer, Script

from polyvox.app import Polyvox
from polyvox.ids import Clock, system_clock
from polyvox.settings import Settings
from polyvox.web.server import address_of, bind, running

KEY = "sk-lab-0123456789abcdef"
"""The provider's key, written into the settings as it is: it must not show anywhere."""
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Reply:
    """A response, read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def error(self) -> dict[str, Any]:
        """The error, which has exactly the one shape."""
        data = self.json()
        assert list(data) == ["error"], data
        error: dict[str, Any] = data["error"]
        assert set(error) == {"code", "message", "hint", "type", "param"}, error
        assert all(isinstance(error[name], str) for name in ("code", "message", "hint", "type"))
        assert error["message"], "an error says what happened"
        assert self.headers["Content-Type"].startswith("application/json")
        return error


@dataclass(kw_only=True)
class Visitor:
    """Whoever reaches a server over HTTP: its address, the provider behind it, and a client."""

    provider: ProviderServer
    url: str
    client: aiohttp.ClientSession
    headers: dict[str, str] = field(default_factory=dict)

    async def ask(
        self,
        method: str,
        path: str,
        value: Any = None,
        *,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One request with a JSON body (or these very bytes), and its whole response."""
        given = {**self.headers, **(headers or {})}
        if value is not None:
            given["Content-Type"] = "application/json"
            body = json.dumps(value).encode()
        async with self.client.request(
            method, f"{self.url}{path}", headers=given, data=io.BytesIO(body) if body else None
        ) as response:
            return Reply(response.status, response.headers.copy(), await response.read())

    async def get(self, path: str, **more: Any) -> Reply:
        return await self.ask("GET", path, **more)

    async def post(self, path: str, data: Any = None, **more: Any) -> Reply:
        return await self.ask("POST", path, data, **more)

    async def patch(self, path: str, data: Any = None, **more: Any) -> Reply:
        return await self.ask("PATCH", path, data, **more)

    async def put(self, path: str, data: Any = None, **more: Any) -> Reply:
        return await self.ask("PUT", path, data, **more)

    async def delete(self, path: str, **more: Any) -> Reply:
        return await self.ask("DELETE", path, **more)

    async def make(self, path: str, data: Any) -> dict[str, Any]:
        """Create something, and it as data."""
        reply = await self.post(path, data)
        assert reply.status in (201, 202), reply.text
        made: dict[str, Any] = reply.json()
        return made

    # the nouns, each with a name of its own

    def model(self, script: Script | None = None, wire: str = "lab") -> str:
        """A model that nobody else uses, answering so."""
        name = f"m{next(_numbers)}"
        if script is not None:
            self.provider.script(name, script)
        return f"{wire}:{name}"

    async def advisor(self, model: str = "", script: Script | None = None, **more: Any) -> Any:
        """A new advisor with a model of its own."""
        name = more.pop("name", f"Advisor {next(_numbers)}")
        given = {"name": name, "description": f"{name} looks at the other side.", **more}
        return await self.make("/api/advisors", {**given, "model": model or self.model(script)})

    async def council(self, *advisors: Any, **more: Any) -> Any:
        """A new named council."""
        name = more.pop("name", f"Council {next(_numbers)}")
        return await self.make(
            "/api/councils", {"name": name, "advisors": [a["id"] for a in advisors], **more}
        )

    async def conversation(self, *advisors: Any, **more: Any) -> str:
        """The id of a new conversation with these advisors."""
        if advisors:
            more["advisors"] = [advisor["id"] for advisor in advisors]
        return str((await self.make("/api/conversations", more))["id"])

    async def send(self, conversation: str, content: str, **more: Any) -> Any:
        """Begin a turn."""
        return await self.make(
            f"/api/conversations/{conversation}/turns", {"content": content, **more}
        )

    async def say(self, conversation: str, content: str, **more: Any) -> Any:
        """A whole turn: begun, and all its answers ended."""
        turn = await self.send(conversation, content, **more)
        await self.ended(conversation, turn["turn_id"])
        return turn

    async def ended(self, conversation: str, turn_id: str) -> None:
        """Wait until the newest events say that the turn is complete."""
        async with aclosing(self.events(conversation)) as events:
            async for event in events:
                if event.kind == "turn.completed" and event.data["turn_id"] == turn_id:
                    seen = (await self.get(f"/api/conversations/{conversation}")).json()
                    states = {m["turn_id"]: m["state"] for m in seen["messages"]}
                    if states.get(turn_id, "completed") == "completed":
                        return

    async def answer(self, answer_id: str) -> Any:
        """One answer as it is now."""
        return (await self.get(f"/api/answers/{answer_id}")).json()

    async def texts(self, conversation: str) -> dict[str, str]:
        """Every current answer's text by its id."""
        seen = (await self.get(f"/api/conversations/{conversation}")).json()
        return {a["answer_id"]: a["text"] for m in seen["messages"] for a in m["answers"]}

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until something is so inside the app, looking after each answer of the server."""
        async with asyncio.timeout(60):
            while not true():
                await self.get("/healthz")

    # what happens

    async def events(
        self, conversation: str, after: int = 0, **query: Any
    ) -> AsyncGenerator[Event, None]:
        """The events of a conversation after a number, as they come."""
        url = f"{self.url}/api/conversations/{conversation}/events"
        params = {"after": str(after), **query}
        async with self.client.get(url, params=params, headers=self.headers) as response:
            assert response.status == 200, await response.text()
            parser = Parser()
            async for data, _ in response.content.iter_chunks():
                for event in parser.feed(data):
                    yield event

    async def stored(self, conversation: str, after: int = 0) -> list[Event]:
        """The events that are stored after a number."""
        return [event async for event in self.events(conversation, after, live="false")]


@dataclass(kw_only=True)
class App(Visitor):
    """A visitor with the app itself at hand."""

    polyvox: Polyvox


@dataclass(frozen=True)
class Event:
    """One server-sent event."""

    id: int
    kind: str
    data: Any


class Parser:
    """A reader of event streams that takes nothing but what the specification of HTTP names: each
    event is exactly `id`, `event` and `data`, in this order, then an empty line."""

    def __init__(self) -> None:
        self._rest = b""
        self.comments: list[bytes] = []

    def feed(self, data: bytes) -> list[Event]:
        *blocks, self._rest = (self._rest + data).split(b"\n\n")
        return [event for block in blocks if (event := self._event(block)) is not None]

    def _event(self, block: bytes) -> Event | None:
        if block.startswith(b":"):
            self.comments.append(block)
            return None
        number, kind, data = block.split(b"\n")
        assert number.startswith(b"id: "), block
        assert kind.startswith(b"event: "), block
        assert data.startswith(b"data: "), block
        return Event(int(number[4:]), kind[7:].decode(), msgspec.json.decode(data[6:]))


class Page:
    """What a page shows: the texts, kept by honouring `at` as the interface promises."""

    def __init__(self) -> None:
        self.last = 0
        self.text: dict[str, str] = {}
        self.thinking: dict[str, str] = {}
        self.ended: dict[str, str] = {}
        self.completed: list[str] = []
        self.doubled = 0

    def take(self, event: Event) -> None:
        assert event.id >= self.last, f"{event} after {self.last}: ids never go backwards"
        self.last = event.id
        data = event.data
        if event.kind in ("answer.delta", "answer.thinking"):
            side = self.text if event.kind == "answer.delta" else self.thinking
            have = side.get(data["answer_id"], "")
            assert data["at"] <= len(have), f"a gap before {event}"
            known = have[data["at"] :]
            again = data["text"][: len(known)]
            assert known.startswith(again), f"{event} contradicts {known!r}"
            self.doubled += len(again)
            side[data["answer_id"]] = have + data["text"][len(known) :]
        elif event.kind == "turn.completed":
            self.completed.append(data["turn_id"])
        elif event.kind.startswith("answer.") and event.kind != "answer.started":
            self.ended[data["answer_id"]] = event.kind.removeprefix("answer.")


def bare(advisor: Any) -> str:
    """The name of an advisor's model as the provider knows it."""
    return str(advisor["model"]).partition(":")[2]


def settings_for(home: Path, provider: ProviderServer, **more: Any) -> Settings:
    """Both wires at one provider, `lab` and `claude`; nothing is tried twice. `more` is laid over
    it."""
    limits = {"retries": 0, "first_byte": 60, "stall": 60, **more.pop("limits", {})}
    models = {"default": "lab:default", **more.pop("models", {})}
    here = {"base_url": provider.base_url, "api_key": KEY, "headers": more.pop("headers", {})}
    providers = {
        "lab": here,
        "claude": {"kind": "anthropic", **here},
        **more.pop("providers", {}),
    }
    given = {"limits": limits, "models": models, "providers": providers, "home": home, **more}
    return Settings.model_validate(given)


@asynccontextmanager
async def open_library(
    settings: Settings, env: Mapping[str, str] | None = None, *, clock: Clock = system_clock
) -> AsyncIterator[Polyvox]:
    """The app as a library: without a server."""
    if not settings.database:
        databases.seed(settings.home / "polyvox.db")
    async with Polyvox(settings, env=env or {}, clock=clock) as polyvox:
        yield polyvox


@asynccontextmanager
async def open_app(
    home: Path, *, clock: Clock = system_clock, **settings: Any
) -> AsyncIterator[App]:
    """The app with a provider of its own; `settings` are laid over the usual ones."""
    async with (
        ProviderServer() as provider,
        serve(settings_for(home, provider, **settings), provider, clock=clock) as app,
    ):
        yield app


@asynccontextmanager
async def serve(
    settings: Settings,
    provider: ProviderServer,
    env: Mapping[str, str] | None = None,
    *,
    clock: Clock = system_clock,
    door: socket.socket | None = None,
) -> AsyncIterator[App]:
    """The app with exactly these settings, at this provider; `door` is where it listens."""
    async with open_library(settings, env, clock=clock) as polyvox:
        sock = door or bind("127.0.0.1", 0)
        url = address_of(sock)
        patience = aiohttp.ClientTimeout(total=60)
        async with running(polyvox, sock), aiohttp.ClientSession(timeout=patience) as client:
            token = polyvox.settings.server.token.reveal()
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            yield App(polyvox=polyvox, provider=provider, url=url, client=client, headers=headers)
            polyvox.hub.end()


@contextmanager
def app_in_thread(
    home: Path, **settings: Any
) -> Iterator[tuple[App, Callable[[Coroutine[Any, Any, Any]], Any]]]:
    """The app on a loop of its own, for programs that block; and what runs something on that
    loop."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="app")
    thread.start()

    def run(work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(60)

    opened = open_app(home, **settings)
    try:
        app = run(opened.__aenter__())
        try:
            yield app, run
        finally:
            run(opened.__aexit__(None, None, None))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
