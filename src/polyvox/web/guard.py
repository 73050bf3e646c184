"""The guard: own Host names, own pages, a token where there is one, bounded bodies.

Without a login the only protection of a server on loopback is that no foreign page can talk to it.
A page elsewhere can reach 127.0.0.1 in two ways: under its own name (DNS rebinding: the Host header
gives it away) or across sites (the Origin header, or Sec-Fetch-Site, gives it away). Both are
refused before anything is read. The page itself holds nothing: a link elsewhere may lead to it,
and it is given without the token, for which it then asks.
"""

from __future__ import annotations

import hmac
import re
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from polyvox.errors import Forbidden, NotAuthorized, PolyvoxError, TooLarge
from polyvox.transport import is_loopback_host
from polyvox.web import static
from polyvox.web.errors import failed

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Message, Receive, Send], Awaitable[None]]

OPEN = {"/healthz"}
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/?#@\[\]]+))(?::\d{0,5})?")


@lru_cache(maxsize=256)
def host_of(value: str) -> str:
    """The name in a Host header, without its port, in lower case; empty if it is not one."""
    match = _HOST.fullmatch(value)
    return (match[1] or match[2]).lower() if match else ""


class Guard:
    """An ASGI layer in front of everything else."""

    def __init__(self, app: Asgi, *, hosts: frozenset[str], token: str, max_body: int) -> None:
        self._app = app
        self._hosts = hosts
        self._token = token.encode()
        self._max_body = max_body

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it in the one error shape."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        try:
            self._check(scope["method"], scope["path"], headers)
        except PolyvoxError as error:
            await failed(error)(scope, receive, send)
            return
        if any(name == b"transfer-encoding" for name, _ in headers):
            await self._counted(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _check(self, method: str, path: str, headers: list[tuple[bytes, bytes]]) -> None:
        """Every header of a name is looked at: a second one must not hide the first."""
        hosts = _all(headers, b"host")
        self._check_host(hosts)
        origins = _all(headers, b"origin")
        for origin in origins:
            if not self._ours(origin, hosts[0]):
                raise Forbidden(
                    f"Pages of {origin!r} may not use this server.",
                    "Open the page of this server itself, or add the name to server.hosts.",
                )
        reads = method in ("GET", "HEAD")
        foreign = not origins and "cross-site" in _all(headers, b"sec-fetch-site")
        if foreign and not (reads and static.is_page(path) and _navigates(headers)):
            raise Forbidden("Foreign pages may not use this server.", "Open its own page.")
        if self._token and path not in OPEN and not (reads and static.is_open(path)):
            self._check_token(_all(headers, b"authorization"))
        for length in _all(headers, b"content-length"):
            if length.isdecimal() and int(length) > self._max_body:
                raise self._too_large()

    def _check_host(self, values: list[str]) -> None:
        if not values:
            raise Forbidden("The request names no host.", "Send a Host header.")
        for value in values:
            host = host_of(value)
            if not (is_loopback_host(host) or host in self._hosts):
                raise Forbidden(
                    f"This server does not answer to the name {host or value!r}.",
                    "Use http://127.0.0.1, or add the name to server.hosts.",
                )

    def _check_token(self, values: list[str]) -> None:
        given = values[0] if len(values) == 1 else ""
        kind, _, token = given.partition(" ")
        token = token.strip() if kind.lower() == "bearer" else ""
        if not hmac.compare_digest(token.encode("latin-1"), self._token):
            raise NotAuthorized(
                "This server needs a token.", "Send it as Authorization: Bearer TOKEN."
            )

    def _ours(self, origin: str, host: str) -> bool:
        """True if a page is this server's own (same name and port), or of a host we trust."""
        try:
            parts = urlsplit(origin)
            name = (parts.hostname or "").lower()
        except ValueError:
            return False
        same = parts.netloc.lower() == host.lower()
        return parts.scheme in ("http", "https") and (same or name in self._hosts)

    def _too_large(self) -> TooLarge:
        return TooLarge(
            f"The request is larger than {self._max_body:,} bytes.",
            "Send less, or raise server.max_body.",
        )

    async def _counted(self, scope: Message, receive: Receive, send: Send) -> None:
        """A body of unknown length is taken in, as long as it is not too large, and handed on."""
        taken: deque[Message] = deque()
        size, more = 0, True
        while more:
            message = await receive()
            taken.append(message)
            size += len(message.get("body", b""))
            if size > self._max_body:
                await failed(self._too_large())(scope, receive, send)
                return
            more = message.get("more_body", False)

        async def again() -> Message:
            return taken.popleft() if taken else await receive()

        await self._app(scope, again, send)


def _navigates(headers: list[tuple[bytes, bytes]]) -> bool:
    """True if somebody followed a link: the answer becomes a page of ours, which whoever has the
    link cannot look into."""
    modes, kinds = _all(headers, b"sec-fetch-mode"), _all(headers, b"sec-fetch-dest")
    return modes == ["navigate"] and kinds == ["document"]


def _all(headers: list[tuple[bytes, bytes]], name: bytes) -> list[str]:
    """Every value of a header."""
    return [value.decode("latin-1") for key, value in headers if key == name]
