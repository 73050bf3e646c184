"""Responses that stream: straight to the server's `send`, nothing in between.

Starlette's own streaming response costs a task group and two wrappers per chunk; at tens of
thousands of chunks a second that is half the machine. Here a chunk is one `await send`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from polyvox.errors import PolyvoxError

log = logging.getLogger("polyvox.web")

HEAD = {
    "type": "http.response.start",
    "status": 200,
    "headers": [
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"cache-control", b"no-cache, no-transform"),
        (b"x-accel-buffering", b"no"),
    ],
}
HELLO = b": connected\n\n"
"""The head goes out at once: who listens to a quiet conversation must know that it is heard."""


class EventStream(Response):
    """Server-sent events from ready bytes. `gone` is called when the client goes away; it has to
    make the iterator end."""

    media_type = "text/event-stream"

    def __init__(self, chunks: AsyncIterator[bytes], gone: Callable[[], object]) -> None:
        self.status_code = 200
        self.background = None
        self._chunks = chunks
        self._gone = gone

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's
        """Stream until the iterator ends."""
        await send(HEAD)
        await send({"type": "http.response.body", "body": HELLO, "more_body": True})
        watcher = asyncio.create_task(self._watch(receive))
        try:
            async for chunk in self._chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except PolyvoxError as error:  # the store, most likely: who listens comes back and is told
            log.warning("an event stream ended: %s", error.message)
        finally:
            watcher.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _watch(self, receive: Receive) -> None:
        await disconnected(receive)
        self._gone()


async def disconnected(receive: Receive) -> None:
    """Wait until the client goes away."""
    while (await receive())["type"] != "http.disconnect":
        pass
