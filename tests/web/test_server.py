"""The server's life: where it may listen, and how it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.provider import ProviderServer
from tests.web.house import Page, Parser, open_house, settings_for

from polyvox.app import Polyvox
from polyvox.errors import ConfigError
from polyvox.web.server import address_of, bind, build, serve

WORDS = 40


# -- where -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org", ""])
async def test_other_machines_need_a_token(tmp_path: Path, host: str) -> None:
    async with ProviderServer() as provider:
        polyvox = Polyvox(settings_for(tmp_path, provider), env={})
        with pytest.raises(ConfigError, match="a token is needed") as raised:
            await serve(polyvox, host, 0, lambda _: pytest.fail("it listens"))
        assert "POLYVOX_SERVER_TOKEN" in raised.value.hint


async def test_a_token_that_is_named_but_not_there_is_no_open_door(tmp_path: Path) -> None:
    async with ProviderServer() as provider:
        token = {"server": {"token": "env:POLYVOX_TEST_NO_SUCH_TOKEN"}}
        polyvox = Polyvox(settings_for(tmp_path, provider, **token), env={})
        with pytest.raises(ConfigError, match="holds nothing"):
            build(polyvox)


async def test_a_port_in_use_is_told() -> None:
    first = bind("127.0.0.1", 0)
    port = first.getsockname()[1]
    with pytest.raises(ConfigError, match=f"127.0.0.1:{port}") as raised:
        bind("127.0.0.1", port)
    assert "--port" in raised.value.hint
    first.close()
    with pytest.raises(ConfigError, match="Cannot listen"):
        bind("no.such.name.invalid", 0)


async def test_addresses_are_shown_as_they_are_typed() -> None:
    with bind("127.0.0.1", 0) as sock:
        assert address_of(sock) == f"http://127.0.0.1:{sock.getsockname()[1]}"
    if socket.has_ipv6:
        with bind("::1", 0) as sock:
            assert address_of(sock) == f"http://[::1]:{sock.getsockname()[1]}"


async def test_small_writes_leave_at_once(tmp_path: Path) -> None:
    """Without this every reply in two writes waits 40 ms for the other side's acknowledgement."""
    seen: list[int] = []

    class Spy(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            sock = transport.get_extra_info("socket")
            seen.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            transport.close()

    sock = bind("127.0.0.1", 0)
    server = await asyncio.get_running_loop().create_server(Spy, sock=sock)
    reader, writer = await asyncio.open_connection(*sock.getsockname())
    assert await reader.read() == b""
    writer.close()
    server.close()
    assert seen
    assert seen[0] != 0


# -- its end ---------------------------------------------------------------------------------------


@asynccontextmanager
async def process(home: Path, **more: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """The server as a process, and its address."""
    env = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
    env |= {"HOME": str(home), "POLYVOX_HOME": str(home), **more}
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.web.serving"),
        cwd=Path(__file__).parents[2],
        env=env,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert running.stdout is not None
    try:
        async with asyncio.timeout(60):
            address = (await running.stdout.readline()).decode().strip()
        assert address, (await running.communicate())[1].decode()
        yield running, address
    finally:
        if running.returncode is None:
            running.kill()
            await running.wait()


async def ask(client: aiohttp.ClientSession, content: str) -> tuple[str, Any]:
    """The id of a new conversation, and a turn in it."""
    async with client.post("/api/conversations", json={}) as response:
        conversation = str((await response.json())["id"])
    path = f"/api/conversations/{conversation}/turns"
    async with client.post(path, json={"content": content}) as response:
        return conversation, await response.json()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_asked_to_end_it_lets_answers_finish(tmp_path: Path, number: signal.Signals) -> None:
    say = "_".join(f"w{n}" for n in range(WORDS))
    model = f"scripted:say={say};pace=0.02"
    page, parser = Page(), Parser()
    async with (
        process(tmp_path, POLYVOX_MODELS_DEFAULT=model) as (server, address),
        aiohttp.ClientSession(address) as client,
    ):
        conversation, turn = await ask(client, "Finish?")
        asked = False
        async with client.get(f"/api/conversations/{conversation}/events") as response:
            async for data, _ in response.content.iter_chunks():
                for event in parser.feed(data):
                    page.take(event)
                    if event.kind == "answer.delta" and not asked:
                        server.send_signal(number)
                        asked = True
        async with asyncio.timeout(60):
            _, err = await server.communicate()
        assert server.returncode == 0, err.decode()
        assert err == b""
    # everybody was heard to the end, and then the stream ended by itself
    assert page.completed == [turn["turn_id"]]
    assert set(page.ended.values()) == {"completed"}
    assert set(page.text.values()) == {say.replace("_", " ")}


@pytest.mark.slow
async def test_what_was_stored_is_there_after_a_kill(tmp_path: Path) -> None:
    model = f"scripted:say={'_'.join('x' * WORDS)};pace=0.05"
    page, parser = Page(), Parser()
    async with (
        process(tmp_path, POLYVOX_MODELS_DEFAULT=model) as (server, address),
        aiohttp.ClientSession(address) as client,
    ):
        conversation, turn = await ask(client, "Killed?")
        async with client.get(f"/api/conversations/{conversation}/events") as response:
            async for data, _ in response.content.iter_chunks():
                for event in parser.feed(data):
                    page.take(event)
                if len("".join(page.text.values())) > 10:
                    break
        server.kill()
        await server.wait()
    async with open_house(tmp_path, models={"default": "scripted:echo"}) as house:
        whole = (await house.get(f"/api/conversations/{conversation}")).json()
        (message,) = whole["messages"]
        assert message["content"] == "Killed?"
        assert message["state"] == "completed"
        for answer in message["answers"]:
            assert answer["state"] == "interrupted"
            assert answer["text"].startswith(page.text.get(answer["answer_id"], ""))
        # a page that comes back with its last number goes on without a gap
        for event in await house.stored(conversation, page.last):
            page.take(event)
        assert page.ended == dict.fromkeys(page.ended, "interrupted")
        assert page.completed == [turn["turn_id"]]
        retried = await house.post(f"/api/answers/{turn['answers'][0]['answer_id']}/retry")
        assert retried.status == 202
        await house.ended(conversation, turn["turn_id"])
        assert (await house.answer(retried.json()["answer_id"]))["state"] == "completed"
