"""A small real provider on 127.0.0.1: OpenAI chat completions and Anthropic Messages, with faults.

In a test:

    async with ProviderServer() as provider:
        provider.script("gpt-x", Script(text="Yes."))              # every request for gpt-x
        provider.queue("gpt-x", Script(status=429), Script())      # the next two, then as above
        provider.default = Script(tokens=50, pace=0.001)           # every other model
        settings = Settings(providers={"lab": {"base_url": provider.base_url}})
        ...                                                        # ask "lab:gpt-x"
        request = provider.log[0]                                  # what was received
        request.body, request.headers, request.json()              # exact bytes, lower-case names
        await provider.arrived(2)                                  # until two requests came
        await provider.gone(request)                               # until that client went away
        provider.gate("mid").set()                                 # let Script(gates={3: "mid"}) on

`base_url` serves both wires: {base_url}/chat/completions and {base_url}/messages, and also
{base_url}/embeddings (see `meaning`; `size` is that of a vector). A script is taken
from the model's queue, else from `script`, else from the name itself ("lab:tokens=200;pace=0.01",
"lab:status=429;retry_after=1", "lab:fault=stall;after=3"), else it is the default. `Script` lists
everything that a script can do.

As a process (for tests that kill things, for the command line, for benchmarks):

    python -m tests.provider [--port 0] [--model-config FILE-OR-JSON] [--key KEY] [--no-log]

prints its base_url as the first line on stdout and then answers until it is ended (or its standard
input closes, with --until-eof). The configuration is JSON: {"model": {script} | [{script}, …]}, a
list being a queue, and "*" the default. The same can be changed while it runs:

    GET  /log             [{"number", "path", "headers", "body", "model", "at", "closed_at", …}]
    GET  /arrived/MODEL/N the same, once that model has been asked so often
    POST /scripts         the configuration, merged into what is there
    POST /gates/NAME      opens that gate
    POST /clear           forgets the log, the scripts and the gates

`closed_at` is when the client went away while its answer was still being written; None: it did not.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self, cast

import msgspec
from tests.provider import meaning
from tests.provider.script import Script, fill, from_data, from_name
from tests.provider.wire import GARBAGE, PAGE, Anthropic, OpenAI, Wire, complaint, last_user

SSE = "text/event-stream; charset=utf-8"
JSON = "application/json"


@dataclass(slots=True, eq=False)
class Logged:
    """One request as it was received. Times are of the monotonic clock, in seconds."""

    number: int
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    model: str = ""
    at: float = 0.0
    first_at: float | None = None
    ended_at: float | None = None
    closed_at: float | None = None
    tokens: int = 0
    """Tokens written so far."""
    left: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    def json(self) -> Any:
        """The body as data."""
        return msgspec.json.decode(self.body)

    def data(self) -> dict[str, Any]:
        """This request for GET /log."""
        row = {n: getattr(self, n) for n in ("number", "method", "path", "headers", "model", "at")}
        row |= {n: getattr(self, n) for n in ("first_at", "ended_at", "closed_at", "tokens")}
        return {**row, "body": self.body.decode("utf-8", "replace")}


class ProviderServer:
    """The server. All state is in memory and open to the test."""

    def __init__(self, *, key: str = "", keep_log: bool = True) -> None:
        self.key = key
        """When set, requests with another key get 401."""
        self.keep_log = keep_log
        self.default = Script()
        self.log: list[Logged] = []
        self.open_connections = 0
        self.connections_made = 0
        self._scripts: dict[str, Script] = {}
        self._makers: dict[str, Callable[[Any], Script]] = {}
        self._queues: dict[str, deque[Script]] = {}
        self._gates: dict[str, asyncio.Event] = {}
        self._count = 0
        self._changed = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._links: set[_Link] = set()

    # what a test says

    def script(self, model: str, script: Script) -> None:
        """Answer every request for `model` so."""
        self._scripts[model] = script

    def queue(self, model: str, *scripts: Script) -> None:
        """Answer the next requests for `model` so, in this order."""
        self._queues.setdefault(model, deque()).extend(scripts)

    def made(self, model: str, maker: Callable[[Any], Script]) -> None:
        """Answer every request for `model` by what `maker` makes of its body (a queue goes first,
        as ever)."""
        self._makers[model] = maker

    def gate(self, name: str) -> asyncio.Event:
        """The gate of that name; `.set()` opens it."""
        return self._gates.setdefault(name, asyncio.Event())

    def configure(self, data: dict[str, Any]) -> None:
        """Merge a --model-config into what is there."""
        for model, given in data.items():
            if isinstance(given, list):
                self.queue(model, *(from_data(each) for each in given))
            elif model == "*":
                self.default = from_data(given)
            else:
                self.script(model, from_data(given))

    def clear(self) -> None:
        """Forget everything that was said and seen."""
        self.default = Script()
        for store in (self.log, self._scripts, self._makers, self._queues, self._gates):
            store.clear()

    # what a test asks

    @property
    def port(self) -> int:
        """The port it listens on."""
        assert self._server is not None, "the provider is not started"
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        """Its address without any path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """Where the API begins, for both wires."""
        return f"{self.url}/v1"

    def requests(self, model: str) -> list[Logged]:
        """The logged requests for one model."""
        return [request for request in self.log if request.model == model]

    async def until(self, true: Callable[[], bool], timeout: float = 60) -> None:
        """Wait until `true()`, looking whenever something happens here."""
        async with asyncio.timeout(timeout):
            while not true():
                self._changed.clear()
                await self._changed.wait()

    async def arrived(self, count: int) -> None:
        """Wait until this many model requests have come in."""
        await self.until(lambda: self._count >= count)

    async def gone(self, request: Logged) -> None:
        """Wait until the client of that request went away."""
        async with asyncio.timeout(60):
            await request.left.wait()

    # its life

    async def start(self, port: int = 0) -> None:
        """Begin to listen."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Link(self), "127.0.0.1", port)

    async def close(self) -> None:
        """Stop listening and drop every connection."""
        if self._server is not None:
            self._server.close()
            for link in list(self._links):
                link.drop()
            await self._server.wait_closed()
            self._server = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def changed(self) -> None:
        """Something happened."""
        self._changed.set()

    def choose(self, model: str, data: Any = None) -> Script:
        """The script for the next request of `model`, whose body is `data`."""
        if queue := self._queues.get(model):
            return queue.popleft()
        if maker := self._makers.get(model):
            return maker(data)
        return self._scripts.get(model) or from_name(model) or self.default

    def receive(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Logged:
        """Log a model request."""
        self._count += 1
        data = msgspec.json.decode(body) if body else {}
        request = Logged(self._count, method, path, headers, body, str(data.get("model", "")))
        request.at = time.monotonic()
        if self.keep_log:
            self.log.append(request)
        self.changed()
        return request


class _Link(asyncio.Protocol):
    """One connection: requests one after another, answered by a task that ends with the client."""

    def __init__(self, server: ProviderServer) -> None:
        self.server = server
        self.buffer = b""
        self.task: asyncio.Task[None] | None = None
        self.request: Logged | None = None
        self.paused = False
        self.writable = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's own is no subclass of it
        self.server._links.add(self)
        self.server.open_connections += 1
        self.server.connections_made += 1

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if self.task is None:
            self._next()

    def eof_received(self) -> bool:
        self._left()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._left()
        if self in self.server._links:
            self.server._links.discard(self)
            self.server.open_connections -= 1
            self.server.changed()

    def pause_writing(self) -> None:
        self.paused = True
        self.writable.clear()

    def resume_writing(self) -> None:
        self.paused = False
        self.writable.set()

    def drop(self) -> None:
        """End this connection from our side."""
        if self.task is not None:
            self.task.cancel()
        self.transport.abort()

    def _left(self) -> None:
        if self.request is not None and self.request.ended_at is None:
            self.request.closed_at = self.request.closed_at or time.monotonic()
            self.request.left.set()
            self.server.changed()
        if self.task is not None:
            self.task.cancel()

    def _next(self) -> None:
        head, mark, rest = self.buffer.partition(b"\r\n\r\n")
        if not mark:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        pairs = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        length = int(headers.get("content-length", 0))
        if len(rest) < length:
            return
        self.buffer = rest[length:]
        self.task = asyncio.ensure_future(self._answer(method, path, headers, rest[:length]))
        self.task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self.task = None
        if not task.cancelled():
            if (error := task.exception()) is not None:
                self.transport.abort()
                raise error
            if self.buffer:
                self._next()

    async def _answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        kind = path.rpartition("/v1/")[2] if method == "POST" else ""
        if kind in {"chat/completions", "messages", "embeddings"}:
            self.request = request = self.server.receive(method, path, headers, body)
            await self._model(request, Anthropic if kind == "messages" else OpenAI)
            if request.closed_at is None:
                request.ended_at = time.monotonic()
                self.server.changed()
        else:
            if path.startswith("/arrived/"):
                model, count = path.removeprefix("/arrived/").split("/")
                await self.server.until(lambda: len(self.server.requests(model)) >= int(count))
            self._control(method, path, body)

    def _control(self, method: str, path: str, body: bytes) -> None:
        server = self.server
        answer: Any = {"ok": True}
        if (method, path) == ("GET", "/v1/models"):
            names = sorted({*server._scripts, *server._queues} - {"*"}) or ["default"]
            rows = [{"id": name, "object": "model"} for name in names]
            answer = {"object": "list", "data": rows}
        elif method == "GET" and path.startswith(("/log", "/arrived/")):
            answer = [request.data() for request in server.log]
        elif (method, path) == ("POST", "/scripts"):
            server.configure(msgspec.json.decode(body))
        elif method == "POST" and path.startswith("/gates/"):
            server.gate(path.removeprefix("/gates/")).set()
        elif (method, path) == ("POST", "/clear"):
            server.clear()
        else:
            self._plain(404, JSON, b'{"error":{"message":"There is no such path."}}')
            return
        self._plain(200, JSON, msgspec.json.encode(answer))

    def _plain(
        self, status: int, kind: str, body: bytes, more: dict[str, str] | None = None
    ) -> None:
        lines = [f"HTTP/1.1 {status} X", f"content-type: {kind}", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in (more or {}).items()]
        self.transport.write("\r\n".join([*lines, "", ""]).encode() + body)

    async def _model(self, request: Logged, wire_type: type[Wire]) -> None:
        server, data = self.server, request.json()
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        key = request.headers.get("x-api-key") or bearer
        script = server.choose(request.model, data)
        if server.key and key != server.key:
            script = Script(status=401, error=f"Incorrect API key provided: {key}.")
        if script.fault == "alternate" and (words := complaint(data)):
            script = Script(status=400, error=words)
        values = {"n": str(request.number), "model": request.model, "key": key[:8]}
        parts = script.parts({**values, "last": last_user(data)})
        wire = wire_type(script, data, request.number, parts)
        if script.hold:
            await server.gate(script.hold).wait()
        if script.delay:
            await asyncio.sleep(script.delay)
        if script.fault == "silence":
            await asyncio.Event().wait()
        if script.fault == "reset":
            self.transport.abort()
            return
        request.first_at = time.monotonic()
        more = dict(script.headers)
        if script.retry_after:
            more["retry-after"] = script.retry_after
        if script.status != 200:
            body = wire.error() if script.body is None else fill(script.body, {"key": key}).encode()
            self._plain(script.status, JSON, body, more)
        elif script.fault == "html":
            self._plain(200, "text/html", PAGE, more)
        elif script.fault == "garbage":
            self._plain(200, SSE, GARBAGE, more)
        elif request.path.endswith("/embeddings"):
            self._plain(200, JSON, meaning.answer(script, data), more)
        elif script.plain or not data.get("stream"):
            self._plain(200, JSON, wire.whole(), more)
        else:
            lines = ["HTTP/1.1 200 OK", f"content-type: {SSE}", "transfer-encoding: chunked"]
            lines += [f"{name}: {value}" for name, value in more.items()]
            self.transport.write("\r\n".join([*lines, "", ""]).encode())
            await self._stream(request, script, wire)

    async def _stream(self, request: Logged, script: Script, wire: Wire) -> None:
        if script.raw is not None:
            await self._send(script.raw.encode("utf-8", "surrogateescape"), script)
            self.transport.write(b"0\r\n\r\n")
            return
        faults = {"stall", "cut", "unfinished", "malformed", "error_event", "refusal"}
        parts = wire.parts[: script.after] if script.fault in faults else wire.parts
        for event in wire.start():
            await self._send(event, script)
        if script.simple:
            await self._fast(request, [wire.token(part) for part in parts])
            parts = []
        for index, part in enumerate(parts):
            if index in script.gates:
                await self.server.gate(script.gates[index]).wait()
            if script.pace:
                await asyncio.sleep(script.pace)
            text = f" t{time.monotonic_ns()}" if script.stamped else part
            await self._send(wire.token(text), script)
            request.tokens += 1
        if script.fault == "stall":
            await asyncio.Event().wait()
        elif script.fault == "cut":
            event = wire.token("cut here")
            self.transport.write(b"%x\r\n" % len(event) + event[: len(event) // 2])
            self.transport.close()
            return
        elif script.fault == "malformed":
            await self._send(b'data: {"choices": [{"delta": {"content": oops\n\n', script)
        elif script.fault == "error_event":
            await self._send(wire.error_event(), script)
        elif script.fault != "unfinished":
            named = {"refusal", "length", "no_finish"}
            for event in wire.end(script.fault if script.fault in named else "stop"):
                await self._send(event, script)
        if script.fault == "hangup":
            self.transport.close()
        else:
            self.transport.write(b"0\r\n\r\n")

    async def _fast(self, request: Logged, events: list[bytes]) -> None:
        """Still one write per token and a yield after each, and nothing else."""
        write, sleep = self.transport.write, asyncio.sleep
        for event in events:
            write(b"%x\r\n%b\r\n" % (len(event), event))
            request.tokens += 1
            if self.paused:
                await self.writable.wait()
            await sleep(0)

    async def _send(self, event: bytes, script: Script) -> None:
        """One event, one write, and then everybody else's turn."""
        if script.comments:
            event = b": PROCESSING\n\n" + event
        if script.newline == "crlf":
            event = event.replace(b"\n", b"\r\n")
        step = script.split or len(event) or 1
        for start in range(0, len(event), step):
            piece = event[start : start + step]
            self.transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            if self.paused:
                await self.writable.wait()
            await asyncio.sleep(0)
