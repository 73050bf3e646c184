"""What may come in: no foreign name or page, no one without the token, nothing too large."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.web.house import House, Reply, open_house

from polyvox.transport import is_loopback_host
from polyvox.web.guard import host_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

TOKEN = "tok-0123456789abcdef"


async def raw(house: House, head: str, body: bytes = b"") -> Reply:
    """A request written by hand, and its response."""
    where = urlsplit(house.url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    lines = [line for line in head.strip().split("\n") if line]
    writer.write("\r\n".join([*lines, "connection: close", "", ""]).encode("latin-1") + body)
    async with asyncio.timeout(60):
        data = await reader.read()
    writer.close()
    await writer.wait_closed()
    top, _, content = data.partition(b"\r\n\r\n")
    status, *rows = top.decode("latin-1").split("\r\n")
    pairs = (row.partition(": ") for row in rows)
    headers = {name.title(): value for name, _, value in pairs}
    return Reply(int(status.split()[1]), headers, content)


# -- names -----------------------------------------------------------------------------------------

FOREIGN_HOSTS = [
    "evil.example",
    "evil.example:4242",
    "127.0.0.1.evil.example",
    "localhost.evil.example:4242",
    "evil.example@127.0.0.1",
    "127.0.0.1/evil.example",
    "127.0.0.1 evil.example",
    "[::1].evil.example",
    "10.0.0.7:4242",
    "0.0.0.0:4242",
    "[fe80::1]:4242",
    "friend.example",
    "",
]


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
@pytest.mark.parametrize("path", ["/healthz", "/api/advisors", "/v1/models", "/nowhere"])
async def test_a_foreign_name_is_refused(house: House, host: str, path: str) -> None:
    reply = await raw(house, f"GET {path} HTTP/1.1\nhost: {host}")
    assert reply.status == 403
    assert reply.error["code"] == "forbidden"
    assert reply.error["type"] == "permission_error"
    assert "server.hosts" in reply.error["hint"]


@pytest.mark.parametrize("version", ["HTTP/1.0", "HTTP/1.1"])
async def test_a_missing_name_is_refused(house: House, version: str) -> None:
    reply = await raw(house, f"GET /healthz {version}")
    assert reply.status == 403
    assert reply.error["code"] == "forbidden"


@pytest.mark.parametrize("first", ["127.0.0.1", "evil.example"])
async def test_a_second_name_hides_nothing(house: House, first: str) -> None:
    second = "evil.example" if first == "127.0.0.1" else "127.0.0.1"
    reply = await raw(house, f"GET /healthz HTTP/1.1\nhost: {first}\nhost: {second}")
    assert reply.status in (400, 403)


@pytest.mark.parametrize(
    "host", ["localhost", "LocalHost:4242", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:4242"]
)
async def test_our_own_names_are_answered(house: House, host: str) -> None:
    assert (await raw(house, f"GET /healthz HTTP/1.1\nhost: {host}")).status == 200


async def test_names_of_the_settings_are_answered(tmp_path: Path) -> None:
    async with open_house(tmp_path, server={"hosts": ["Friend.Example"]}) as house:
        for host in ("friend.example", "FRIEND.example:4242"):
            head = f"GET /api/advisors HTTP/1.1\nhost: {host}"
            assert (await raw(house, head)).status == 200
            ours = f"{head}\norigin: https://friend.example"
            assert (await raw(house, ours)).status == 200
        for host in ("not.friend.example", "friend.example.evil.example"):
            assert (await raw(house, f"GET /healthz HTTP/1.1\nhost: {host}")).status == 403


async def test_host_of() -> None:
    assert host_of("A.example:80") == "a.example"
    assert host_of("[::1]:80") == "::1"
    assert host_of("a:b") == host_of("a:1:2") == host_of("") == host_of("a b") == ""


async def test_is_loopback_host() -> None:
    assert all(is_loopback_host(one) for one in ("localhost", "127.0.0.1", "127.9.9.9", "::1"))
    assert not any(
        is_loopback_host(one) for one in ("", "0.0.0.0", "::", "10.0.0.1", "example.org")
    )


# -- pages -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://evil.example:4242",
        "http://127.0.0.1.evil.example",
        "null",
        "file://",
        "chrome-extension://abcdef",
        "http://evil.example@127.0.0.1.evil.example",
        "ftp://127.0.0.1",
        "nonsense",
        "http://[",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
async def test_a_foreign_page_is_refused(house: House, origin: str, method: str) -> None:
    advisors = (await house.get("/api/advisors")).json()
    reply = await raw(
        house,
        f"{method} /api/advisors HTTP/1.1\nhost: 127.0.0.1\norigin: {origin}\n"
        "content-type: text/plain\ncontent-length: 35",
        b'{"name": "Mole", "description": ""}',
    )
    assert reply.status == 403
    assert reply.error["code"] == "forbidden"
    assert not [name for name in reply.headers if name.startswith("Access-Control")]
    assert (await house.get("/api/advisors")).json() == advisors


async def test_a_foreign_page_without_an_origin_is_refused(house: House) -> None:
    head = "GET /api/advisors HTTP/1.1\nhost: localhost\nsec-fetch-site: "
    assert (await raw(house, head + "cross-site")).status == 403
    for site in ("same-origin", "same-site", "none"):
        assert (await raw(house, head + site)).status == 200


@pytest.mark.parametrize("host", ["localhost:4242", "127.0.0.1:4242", "[::1]:4242", "LOCALHOST"])
async def test_our_own_page_is_answered(house: House, host: str) -> None:
    head = f"GET /api/advisors HTTP/1.1\nhost: {host}\norigin: http://"
    assert (await raw(house, head + host.lower())).status == 200
    # a page of another program on this machine is a foreign page
    for other in ("localhost:3000", "127.0.0.1:3000", "[::1]:3000", f"{host}9"):
        assert (await raw(house, head + other)).status == 403


async def test_a_second_origin_hides_nothing(house: House) -> None:
    ours, theirs = "origin: http://localhost", "origin: http://evil.example"
    for pair in (f"{ours}\n{theirs}", f"{theirs}\n{ours}"):
        reply = await raw(house, f"GET /api/advisors HTTP/1.1\nhost: localhost\n{pair}")
        assert reply.status == 403


async def test_a_body_that_does_not_say_it_is_json_is_not_taken_for_it(house: House) -> None:
    """A page can send text/plain across sites without asking first."""
    model = house.model()
    bodies = {
        "/api/advisors": b'{"name": "Mole", "description": "Digs."}',
        "/v1/chat/completions": b'{"model": "%b", "messages": [{"role": "user", "content": "x"}]}'
        % model.encode(),
    }
    for path, data in bodies.items():
        head = f"POST {path} HTTP/1.1\nhost: localhost\ncontent-length: {len(data)}\n"
        for kind in ("text/plain", "application/x-www-form-urlencoded", "", "json"):
            reply = await raw(house, f"{head}content-type: {kind}", data)
            assert reply.status == 422, kind
            assert reply.error["message"]
        taken = await raw(house, f"{head}content-type: application/json; charset=utf-8", data)
        assert taken.status in (200, 201)
    assert len(house.provider.requests(model.partition(":")[2])) == 1


# -- the token -------------------------------------------------------------------------------------


@pytest.fixture(name="locked")
async def locked_house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path, server={"token": TOKEN}) as house:
        yield house


@pytest.mark.asyncio(loop_scope="function")
async def test_the_token(locked: House) -> None:
    paths = ("/api/advisors", "/metrics", "/openapi.json", "/v1/models", "/nowhere")
    wrong = ["", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}"]
    wrong += [TOKEN, "Bearer ü", f"Bearer {TOKEN.upper()}"]
    for path in paths:
        for given in wrong:
            head = f"GET {path} HTTP/1.1\nhost: localhost\nauthorization: {given}"
            reply = await raw(locked, head if given else head.rsplit("\n", 1)[0])
            assert reply.status == 401, (path, given)
            assert reply.error["code"] == "not_authorized"
            assert reply.error["type"] == "authentication_error"
            assert reply.headers["Www-Authenticate"] == "Bearer"
            assert TOKEN not in reply.text
    assert (await locked.get("/api/advisors")).status == 200
    assert (await locked.get("/nowhere")).status == 404
    lower = f"GET /api/advisors HTTP/1.1\nhost: localhost\nauthorization: bearer {TOKEN}"
    assert (await raw(locked, lower)).status == 200
    foreign = f"GET /api/advisors HTTP/1.1\nhost: evil.example\nauthorization: Bearer {TOKEN}"
    assert (await raw(locked, foreign)).status == 403
    # open to those who only want to know whether it runs, under its own name
    assert (await raw(locked, "GET /healthz HTTP/1.1\nhost: localhost")).status == 200
    assert (await raw(locked, "GET /healthz HTTP/1.1\nhost: evil.example")).status == 403


# -- size ------------------------------------------------------------------------------------------


@pytest.fixture(name="narrow")
async def narrow_house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path, server={"max_body": 1000}) as house:
        yield house


@pytest.mark.asyncio(loop_scope="function")
async def test_a_body_too_large_is_refused_before_it_is_read(narrow: House) -> None:
    head = "POST /api/advisors HTTP/1.1\nhost: localhost\ncontent-type: application/json\n"
    announced = await raw(narrow, head + "content-length: 1001")  # and not a byte of it sent
    assert announced.status == 413
    assert announced.error["code"] == "too_large"
    assert "1,000 bytes" in announced.error["message"]
    assert "server.max_body" in announced.error["hint"]
    huge = await raw(narrow, head + "content-length: 99999999999999999999")
    assert huge.status in (400, 413)


@pytest.mark.asyncio(loop_scope="function")
async def test_a_body_of_unknown_length_is_counted(narrow: House) -> None:
    head = (
        "POST /api/advisors HTTP/1.1\nhost: localhost\ncontent-type: application/json\n"
        "transfer-encoding: chunked"
    )

    def chunked(data: bytes, size: int) -> bytes:
        parts = [data[i : i + size] for i in range(0, len(data), size)]
        return b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in parts) + b"0\r\n\r\n"

    fits = b'{"name": "Chunked", "description": "%b"}' % (b"x" * 900)
    taken = await raw(narrow, head, chunked(fits, 7))
    assert taken.status == 201
    assert taken.json()["description"] == "x" * 900
    over = b'{"name": "Chunked", "description": "%b"}' % (b"x" * 1000)
    for size in (7, 5000):
        refused = await raw(narrow, head, chunked(over, size))
        assert refused.status == 413
        assert refused.error["code"] == "too_large"
    endless = await raw(narrow, head, chunked(over, 500).removesuffix(b"0\r\n\r\n"))
    assert endless.status == 413
    assert len((await narrow.get("/api/advisors")).json()) == 7


@pytest.mark.asyncio(loop_scope="function")
async def test_the_server_goes_on_after_refusing(narrow: House) -> None:
    for _ in range(3):
        reply = await narrow.post("/api/advisors", {"name": "A", "description": "x" * 5000})
        assert reply.status == 413
    assert (await narrow.post("/api/advisors", {"name": "A", "description": "x"})).status == 201
