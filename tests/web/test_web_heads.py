"""An HTTP head that does not end is not taken in."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import pytest
from tests.web.house import House

pytestmark = [pytest.mark.contract, pytest.mark.asyncio(loop_scope="session")]


async def test_an_endless_header_is_hung_up_on(house: House) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(house.url).port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
    async with asyncio.timeout(60):
        try:
            while not reader.at_eof():
                writer.write(b"y" * 16_384)
                await writer.drain()
                await asyncio.sleep(0)
            told = await reader.read(64)
        except ConnectionError:  # hung up on while still talking
            told = b"HTTP/1.1 431"
    assert told.startswith(b"HTTP/1.1 431")
    assert (await house.get("/healthz")).status == 200
    writer.close()


async def test_a_large_body_behind_a_small_head_is_taken(house: House) -> None:
    reply = await house.post("/api/advisors", {"name": "Ann", "description": "x" * 19_000})
    assert reply.status == 201
    refused = await house.post("/api/advisors", {"name": "Ann", "description": "x" * 300_000})
    assert refused.status == 422
