"""The leanest HTTP client that still counts: bare asyncio streams, one read at a time.

Every load generator uses it, for the provider itself ("direct"), for Polyvox and for LiteLLM alike,
so what is compared is the server. Tokens are counted by their text: the provider's are " t0", " t1"
…, so " t" occurs once for each, however the events around them look and however they were merged.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import msgspec

MARK = b" t"
END = b"0\r\n\r\n"


class Failed(Exception):
    """A server did not answer as it should."""


class Connection:
    """One kept-alive connection to a server on this machine."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def open(self) -> None:
        """Connect, if it is not connected."""
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def close(self) -> None:
        """Hang up."""
        if self._writer is not None:
            self._writer.close()
            with suppress(OSError):  # the other side may have done it already
                await self._writer.wait_closed()
            self._reader = self._writer = None

    async def begin(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes, bytes]:
        """Send a request; the status, the head and what came of the body with it."""
        await self.open()
        assert self._reader is not None
        assert self._writer is not None
        head = (
            f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{self._port}\r\n"
            f"authorization: Bearer bench\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        data = b""
        while b"\r\n\r\n" not in data:
            more = await self._reader.read(65536)
            if not more:
                raise Failed(f"{method} {path}: the connection was closed")
            data += more
        top, _, rest = data.partition(b"\r\n\r\n")
        return int(top[9:12]), top.lower(), rest

    async def read(self) -> bytes:
        """Whatever has arrived."""
        assert self._reader is not None
        data = await self._reader.read(65536)
        if not data:
            raise Failed("the connection was closed in the middle")
        return data

    async def call(self, method: str, path: str, body: Any = None) -> Any:  # noqa: ANN401 - JSON
        """A whole JSON exchange."""
        sent = b"" if body is None else msgspec.json.encode(body)
        status, head, data = await self.begin(method, path, sent)
        if b"transfer-encoding: chunked" in head:
            while not data.endswith(END):
                data += await self.read()
            data = unchunked(data)
        else:
            length = 0
            for line in head.split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    length = int(line[15:])
            while len(data) < length:
                data += await self.read()
        if status >= 400:
            raise Failed(f"{method} {path}: {status} {data[:300]!r}")
        return msgspec.json.decode(data) if data else None

    async def count(self, path: str, body: bytes) -> int:
        """Ask for a stream and count its tokens."""
        status, _, data = await self.begin("POST", path, body)
        if status != 200:
            raise Failed(f"POST {path}: {status} {data[:300]!r}")
        read, tokens, tail = self.read, 0, b""
        while True:
            tokens += data.count(MARK)
            if tail and data:
                # a mark that two reads share
                tokens += tail[-1:] + data[:1] == MARK
            tail = (tail + data)[-5:]
            if tail == END:
                return tokens
            data = await read()

    async def stamped(self, path: str, body: bytes) -> list[tuple[bytes, int]]:
        """Ask for a stream; each token's own text with the time it arrived, in nanoseconds."""
        status, _, data = await self.begin("POST", path, body)
        if status != 200:
            raise Failed(f"POST {path}: {status} {data[:300]!r}")
        found: list[tuple[bytes, int]] = []
        rest = b""
        while True:
            now = time.monotonic_ns()
            whole, cut, rest = (rest + data).rpartition(b"\n\n")
            if cut:
                found += [(text, now) for text in tokens_of(whole)]
            if (whole + cut + rest)[-5:] == END:
                return found
            data = await self.read()

    async def events(self, path: str) -> AsyncGenerator[bytes, None]:
        """Follow a stream of events: what each read brought."""
        status, _, data = await self.begin("GET", path)
        if status != 200:
            raise Failed(f"GET {path}: {status} {data[:300]!r}")
        while True:
            if data:
                yield data
            data = await self.read()


def tokens_of(data: bytes) -> list[bytes]:
    """The tokens in some events, each up to what ends it."""
    return [part.partition(b'"')[0].rstrip() for part in data.split(MARK)[1:]]


def unchunked(data: bytes) -> bytes:
    """A chunked body, or what has come of it, without its framing."""
    whole = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        whole, data = whole + data[:length], data[length + 2 :]
    return whole
