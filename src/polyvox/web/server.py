"""The HTTP door: builds the ASGI app around a running Polyvox, and serves it."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from polyvox import __version__
from polyvox.app import Polyvox
from polyvox.errors import ConfigError, PolyvoxError
from polyvox.transport import is_loopback_host
from polyvox.web import (
    advisors,
    companion,
    conversations,
    councils,
    errors,
    export,
    health,
    models,
    openai,
    receipts,
    recipes,
    search,
    sessions,
    settings,
    static,
    turns,
    usage,
)
from polyvox.web.evaluation import assertions, evaluations, optimizations
from polyvox.web.guard import Asgi, Guard
from polyvox.web.memory import browse, contract, own, start
from polyvox.web.openapi import Api

log = logging.getLogger("polyvox.web")

BEAT = 15.0
HEAD_BYTES = 65_536
TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n\r\n"
DRAIN = 5.0
"""Seconds that running answers get to finish when the server is asked to stop."""


def build_api(polyvox: Polyvox) -> FastAPI:
    """The API without its guard; for the OpenAPI page and for `build`."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        beating = asyncio.create_task(_beat(polyvox))
        try:
            yield
        finally:
            beating.cancel()

    api = Api(
        title="Polyvox",
        version=__version__,
        description="Several advisors at once, each in its own thread. Errors have one shape. "
        "Where the server has a token, send it as `Authorization: Bearer TOKEN`.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    api.state.polyvox = polyvox
    modules = (
        health,
        static,
        advisors,
        councils,
        assertions,
        export,
        conversations,
        search,
        turns,
        companion,
        sessions,
        evaluations,
        optimizations,
        browse,
        start,
        own,
        contract,
        receipts,
        recipes,
        settings,
        models,
        usage,
        openai,
    )
    routes = [route for module in modules for route in module.router.routes]
    errors.install(api, routes)
    # The routes themselves: `include_router` would build every one of them anew for each app when
    # its first request comes, which takes a second.
    api.router.routes += [openai.lane, *routes]
    return api


def build(polyvox: Polyvox) -> Asgi:
    """The whole ASGI app."""
    server = polyvox.settings.server
    token = server.token.reveal()
    if server.token and not token:
        raise ConfigError(
            f"server.token is set, but {server.token.origin} holds nothing.",
            "Put a token there, or take the setting out.",
        )
    return Guard(
        build_api(polyvox),
        hosts=frozenset(name.lower() for name in server.hosts),
        token=token,
        max_body=server.max_body,
    )


async def _beat(polyvox: Polyvox) -> None:
    while True:
        await asyncio.sleep(BEAT)
        polyvox.hub.beat()


async def _warm(polyvox: Polyvox) -> None:
    """Load the embedded model. Where that fails, each answer will say so for itself."""
    try:
        await polyvox.warm()
    except PolyvoxError as error:
        log.warning("the embedded model is not ready: %s %s", error.message, error.hint)


class BoundedHead(HttpToolsProtocol):
    """HTTP whose heads end: the parser itself would take in an endless header, and slow everybody
    down with it, before anyone could look at it."""

    _head = 0
    _unfinished = False

    def data_received(self, data: bytes) -> None:
        """Take in data; hang up on a head that is too long."""
        super().data_received(data)
        self._head = self._head + len(data) if self._unfinished else 0
        if self._head > HEAD_BYTES:
            self.transport.write(TOO_LONG)
            self.transport.close()

    def on_message_begin(self) -> None:
        """A head begins."""
        self._unfinished = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """A head is whole."""
        self._unfinished = False
        super().on_headers_complete()


class _Server(uvicorn.Server):
    """uvicorn without its own signal handling: we drain before we close."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()
        self.leaving = asyncio.Event()

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]  # theirs: a generator
        """Leave signals to us."""
        return nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, and set `listening`."""
        await super().startup(sockets)
        self.listening.set()

    async def main_loop(self) -> None:
        """Wait until it is told to leave. uvicorn looks ten times a second, to keep a date that we
        do not send."""
        await self.on_tick(0)
        await self.leaving.wait()


def bind(host: str, port: int) -> socket.socket:
    """A listening socket, or a clear error."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, so that asyncio sends small writes at once: without, each reply took 40 ms more.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise ConfigError(
            f"Cannot listen on {host}:{port}: {error.strerror or error}.",
            "Choose another port with --port, or stop the program that uses it.",
        ) from None
    sock.listen(2048)
    sock.setblocking(False)
    return sock


def address_of(sock: socket.socket) -> str:
    """The address of a listening socket."""
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@asynccontextmanager
async def running(polyvox: Polyvox, sock: socket.socket) -> AsyncIterator[asyncio.Task[None]]:
    """Answer requests on `sock`, as the task that is given, until the block is left."""
    config = uvicorn.Config(
        build(polyvox),
        log_config=None,
        access_log=False,
        lifespan="on",
        http=BoundedHead,
        ws="none",
        timeout_keep_alive=75,
        timeout_graceful_shutdown=2,
        server_header=False,
        date_header=False,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[sock]), name="server")
    listening = asyncio.create_task(server.listening.wait())
    try:
        await asyncio.wait([listening, serving], return_when=asyncio.FIRST_COMPLETED)
        yield serving
    finally:
        listening.cancel()
        server.leaving.set()
        await serving


async def serve(polyvox: Polyvox, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until asked to stop; then drain and close. Calls `ready` with the address."""
    if not is_loopback_host(host) and not polyvox.settings.server.token.reveal():
        raise ConfigError(
            f"To listen on {host}, which other machines can reach, a token is needed.",
            "Set server.token (POLYVOX_SERVER_TOKEN), or listen on 127.0.0.1.",
        )
    sock = bind(host, port)
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    async with running(polyvox, sock) as serving:
        ready(address_of(sock))
        # What is loaded by now stays: a full search for garbage through it held all streams for
        # 40 ms.
        gc.freeze()
        polyvox.work()
        warming = asyncio.create_task(_warm(polyvox))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait([stopping, serving], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        warming.cancel()
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(name)
        await polyvox.turns.queue.drain(DRAIN)
        await polyvox.turns.queue.close()
        polyvox.hub.end()
