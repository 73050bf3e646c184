"""The lean reader counts every token once, however the network cuts what it reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from benchmarks.lean import Connection, Failed, tokens_of, unchunked
from benchmarks.load import answers, first, request, stamps
from tests.provider import ProviderServer

CHAT = "/v1/chat/completions"


@asynccontextmanager
async def serving(pieces: list[bytes]) -> AsyncIterator[int]:
    """A server that answers anything with these pieces, each a write of its own."""

    over = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            for _ in range(20):
                await asyncio.sleep(0)
        writer.close()
        await writer.wait_closed()
        over.set()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        await over.wait()


async def counted(port: int) -> int:
    connection = Connection(port)
    try:
        return await connection.count("/", b"")
    finally:
        await connection.close()


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


async def test_a_mark_that_two_reads_share_is_counted_once() -> None:
    async with serving([HEAD, b'9\r\n" t0 t1 ', b't2"\r\n0\r', b"\n\r\n"]) as port:
        assert await counted(port) == 3


async def test_a_cut_answer_is_no_answer() -> None:
    async with serving([HEAD, b'5\r\n" t0"\r\n']) as port:
        with pytest.raises(Failed, match="closed in the middle"):
            await counted(port)


async def test_an_error_is_no_answer() -> None:
    async with serving([b"HTTP/1.1 500 X\r\ncontent-length: 4\r\n\r\noops"]) as port:
        with pytest.raises(Failed, match="oops"):
            await counted(port)


async def test_tokens_of_the_provider_are_all_counted() -> None:
    async with ProviderServer() as provider:
        seen = await answers(provider.port, CHAT, "tokens=40", concurrency=3, each=2, tokens=40)
    assert seen["tokens"] == 240


async def test_a_missing_token_stops_the_measure() -> None:
    async with ProviderServer() as provider:
        with pytest.raises(Failed, match="40 tokens instead of 41"):
            await answers(provider.port, CHAT, "tokens=40", concurrency=1, each=1, tokens=41)


async def test_stamped_tokens_tell_their_age() -> None:
    model = "tokens=20;stamped=true"
    async with ProviderServer() as provider:
        seen = await stamps(provider.port, CHAT, model, concurrency=2, each=2, apart=0)
    assert len(seen["ages"]) == 80
    assert all(age > 0 for age in seen["ages"])


async def test_the_first_token_is_waited_for_once_per_answer() -> None:
    async with ProviderServer() as provider:
        seen = await first(provider.port, CHAT, "tokens=3", concurrency=2, each=3)
    assert len(seen["waits"]) == 6


def test_tokens_end_where_their_event_does() -> None:
    assert tokens_of(b'data: {"content":" t12"}\n\ndata: {"content":" t13 t14"}') == [
        b"12",
        b"13",
        b"14",
    ]


def test_chunks_lose_their_framing() -> None:
    assert unchunked(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n") == b"abcde"


def test_a_request_asks_for_a_stream() -> None:
    assert b'"stream":true' in request("x")
