"""The line between the browser and the server, which a test can cut.

async with Line(house.url) as line:
    page = await Desk(browser, line.url).open("/")
    line.cut()      # whatever is open breaks off, and nothing gets through
    line.mend()
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit


class Line:
    """A relay on 127.0.0.1 for one server."""

    def __init__(self, url: str) -> None:
        self._port = urlsplit(url).port
        self._ends: set[asyncio.StreamWriter] = set()
        self._whole = True
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """Where it begins."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        """Nothing gets through from now on."""
        self._whole = False
        for end in self._ends:
            end.transport.abort()

    def mend(self) -> None:
        """New connections get through again."""
        self._whole = True

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._meet, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self.cut()
        self._server.close()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._whole:
            writer.transport.abort()
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
        ends = {writer, far_writer}
        self._ends |= ends
        ways = ((reader, far_writer), (far_reader, writer))
        await asyncio.gather(*(self._carry(*way) for way in ways))
        self._ends -= ends

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()
