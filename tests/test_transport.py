"""The HTTP client over real sockets: what it reads, how it ends, and what its failures become."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import msgspec
import pytest
from tests.provider import ProviderServer, Script

from polyvox.errors import ModelTimeout, ProtocolError, Unavailable
from polyvox.transport import Response, Transport, is_loopback


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    client = Transport()
    await client.prepare()
    yield client
    await client.close()


@pytest.fixture
async def provider() -> AsyncIterator[ProviderServer]:
    async with ProviderServer() as server:
        yield server


async def ask(
    transport: Transport,
    url: str,
    *,
    model: str = "m",
    first_byte: float | None = 60,
    stall: float | None = 60,
) -> Response:
    body = msgspec.json.encode({"model": model, "stream": True, "messages": []})
    url = f"{url}/chat/completions"
    return await transport.post(url, {}, body, first_byte=first_byte, stall=stall)


async def rest(response: Response) -> bytes:
    whole = b""
    while data := await response.read():
        whole += data
    return whole


async def dead_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


async def serve_bytes(answer: bytes) -> tuple[asyncio.Server, str]:
    """A server that takes anything and says just this."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    return server, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def test_a_stream_is_read_as_it_comes(provider: ProviderServer, transport: Transport) -> None:
    provider.script("m", Script(pieces=("one", "two"), gates={1: "second"}))
    response = await ask(transport, provider.base_url)
    assert response.status == 200
    assert response.headers["Content-Type"].startswith("text/event-stream")
    first = b""
    while b"one" not in first:
        first += await response.read()
    assert b"two" not in first
    provider.gate("second").set()
    assert b"two" in await rest(response)
    assert response.first_at is not None


async def test_connections_are_kept_for_the_next_request(
    provider: ProviderServer, transport: Transport
) -> None:
    for _ in range(3):
        await rest(await ask(transport, provider.base_url))
    assert provider.connections_made == 1


async def test_a_finished_answer_keeps_its_connection_though_its_end_was_not_read(
    provider: ProviderServer, transport: Transport
) -> None:
    provider.script("m", Script(pieces=("one", "two"), gates={1: "end"}))
    response = await ask(transport, provider.base_url)
    while b"one" not in await response.read():
        pass
    response.finish()
    provider.gate("end").set()
    await provider.until(lambda: provider.log[0].ended_at is not None)
    provider.script("m", Script())
    await rest(await ask(transport, provider.base_url))
    assert provider.connections_made == 1


async def test_close_ends_the_connection_at_once(
    provider: ProviderServer, transport: Transport
) -> None:
    provider.script("m", Script(fault="stall"))
    response = await ask(transport, provider.base_url)
    await response.read()
    response.close()
    await provider.gone(provider.log[0])
    with pytest.raises(Unavailable, match="closed before it ended"):
        await rest(response)


async def test_close_wakes_a_waiting_reader_with_its_reason(
    provider: ProviderServer, transport: Transport
) -> None:
    provider.script("m", Script(fault="stall", after=0))
    response = await ask(transport, provider.base_url)
    waiting = asyncio.create_task(rest(response))
    await provider.arrived(1)
    while not response._waiting:  # noqa: ASYNC110 - it has no event of its own
        await asyncio.sleep(0)
    response.close(ModelTimeout("The time is up."))
    with pytest.raises(ModelTimeout, match="The time is up"):
        await waiting
    await provider.gone(provider.log[0])


async def test_silence_before_the_status(provider: ProviderServer, transport: Transport) -> None:
    provider.script("m", Script(fault="silence"))
    with pytest.raises(ModelTimeout, match=r"sent nothing for 0\.05"):
        await ask(transport, provider.base_url, first_byte=0.05)
    await provider.gone(provider.log[0])


async def test_silence_after_the_status_counts_as_no_first_byte(transport: Transport) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
    done = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head)
        await done.wait()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    response = await ask(transport, url, first_byte=0.1, stall=None)
    with pytest.raises(ModelTimeout, match=r"sent nothing for 0\.1"):
        await response.read()
    done.set()
    server.close()
    await server.wait_closed()


async def test_a_stall_is_noticed_also_without_a_first_byte_limit(
    provider: ProviderServer, transport: Transport
) -> None:
    provider.script("m", Script(fault="stall"))
    response = await ask(transport, provider.base_url, first_byte=None, stall=0.05)
    with pytest.raises(ModelTimeout, match="stopped sending"):
        await rest(response)
    await provider.gone(provider.log[0])


async def test_a_slow_reader_is_not_a_stalled_server(
    provider: ProviderServer, transport: Transport
) -> None:
    """The limit runs while the reader waits for the server, not while the server waits for it."""
    provider.script("m", Script(pieces=("one", "two"), gates={1: "second"}))
    response = await ask(transport, provider.base_url, stall=0.2)
    while b"one" not in await response.read():
        pass
    waited = asyncio.Event()
    asyncio.get_running_loop().call_later(0.5, waited.set)  # longer than the limit
    await waited.wait()
    provider.gate("second").set()
    assert b"two" in await rest(response)


async def test_what_came_before_a_cut_is_read_before_its_failure(
    provider: ProviderServer, transport: Transport
) -> None:
    """Also when the reader comes late, after the connection was lost."""
    provider.script("m", Script(fault="cut", after=2, pieces=("one", "two", "three")))
    response = await ask(transport, provider.base_url)
    await provider.until(lambda: provider.open_connections == 0)
    for _ in range(5):
        await asyncio.sleep(0)
    before = await response.read()
    assert b"one" in before
    assert b"two" in before
    with pytest.raises(Unavailable, match="ended in the middle"):
        await rest(response)


async def test_a_reader_of_buffered_data_lets_others_have_their_turn(
    provider: ProviderServer, transport: Transport
) -> None:
    class Full:
        """A buffer that is never empty."""

        def read_nowait(self) -> bytes:
            return b"data"

    response = await ask(transport, provider.base_url)
    content, response._content = response._content, Full()  # type: ignore[assignment]  # as much of one as is used
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())
    reads = 0
    while reads < 40:
        reads += 1
        await response.read()
    ticking.cancel()
    assert ticks >= 10
    response._content = content
    response.close()


async def test_a_refused_connection_names_the_address(transport: Transport) -> None:
    port = await dead_port()
    with pytest.raises(Unavailable, match="cannot be reached") as caught:
        await ask(transport, f"http://127.0.0.1:{port}/v1")
    assert f"base_url (http://127.0.0.1:{port})" in caught.value.hint


async def test_an_unknown_host_is_named(transport: Transport) -> None:
    with pytest.raises(Unavailable, match=r"nowhere\.invalid"):
        await ask(transport, "http://nowhere.invalid/v1")


async def test_no_tls_where_tls_is_expected(transport: Transport) -> None:
    server, url = await serve_bytes(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    with pytest.raises(Unavailable, match="No secure connection"):
        await ask(transport, url.replace("http:", "https:"))
    server.close()
    await server.wait_closed()


async def test_an_unusable_address(transport: Transport) -> None:
    with pytest.raises(Unavailable, match="not an address"):
        await ask(transport, "http://[half/v1")


async def test_what_is_not_http_is_a_protocol_error(transport: Transport) -> None:
    server, url = await serve_bytes(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
    with pytest.raises(ProtocolError, match="does not speak HTTP"):
        await ask(transport, url)
    server.close()
    await server.wait_closed()


async def test_redirects_are_not_followed(provider: ProviderServer, transport: Transport) -> None:
    provider.script("m", Script(status=307, headers={"location": f"{provider.base_url}/x"}))
    response = await ask(transport, provider.base_url)
    assert response.status == 307
    response.close()
    assert len(provider.log) == 1


async def test_an_error_body_is_read_up_to_a_limit(
    provider: ProviderServer, transport: Transport
) -> None:
    provider.script("m", Script(status=500, body="z" * 1_000_000))
    response = await ask(transport, provider.base_url)
    assert len(await response.read_all(1000)) == 1000
    await provider.until(lambda: provider.open_connections == 0)


async def test_many_connections_at_once(provider: ProviderServer, transport: Transport) -> None:
    """More than the hundred that the client library would allow by itself."""
    provider.script("m", Script(hold="all"))
    asked = [asyncio.create_task(ask(transport, provider.base_url)) for _ in range(130)]
    await provider.arrived(130)
    provider.gate("all").set()
    for response in await asyncio.gather(*asked):
        await rest(response)


async def test_no_proxy_for_this_machine_but_one_for_others(
    provider: ProviderServer, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{await dead_port()}")
    monkeypatch.delenv("no_proxy", raising=False)
    assert (await ask(transport, provider.base_url)).status == 200
    monkeypatch.setenv("http_proxy", provider.url)
    await rest(await ask(transport, "http://models.invalid/v1"))
    assert provider.log[-1].path == "http://models.invalid/v1/chat/completions"
    monkeypatch.setenv("no_proxy", "models.invalid")
    with pytest.raises(Unavailable):
        await ask(transport, "http://models.invalid/v1")


async def test_it_can_be_used_again_after_it_was_closed(provider: ProviderServer) -> None:
    transport = Transport()
    await transport.prepare()
    await rest(await ask(transport, provider.base_url))
    await transport.close()
    await provider.until(lambda: provider.open_connections == 0)
    await rest(await ask(transport, provider.base_url))
    await transport.close()


async def test_get(provider: ProviderServer, transport: Transport) -> None:
    response = await transport.get(f"{provider.base_url}/models", {}, first_byte=5)
    assert msgspec.json.decode(await response.read_all())["object"] == "list"


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://127.0.0.1:8080/v1", True),
        ("http://127.9.9.9", True),
        ("http://[::1]:80/", True),
        ("http://localhost:11434/v1", True),
        ("http://api.localhost/v1", True),
        ("https://api.openai.com/v1", False),
        ("http://10.0.0.1/v1", False),
        ("http://127.0.0.1.example.com/v1", False),
    ],
)
def test_is_loopback(url: str, loopback: bool) -> None:
    assert is_loopback(url) is loopback
