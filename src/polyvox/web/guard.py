"""What may come in: our own Host names, our own pages, a token where there is one, bounded bodies.

Without a login the only protection of a server on loopback is that no foreign page can talk to it.
A page elsewhere can reach 127.0.0.1 in two ways: under its own name (DNS rebinding: the Host header
gives it away) or across sites (the Origin header, or Sec-Fetch-Site, gives it away). Both are
refused before anything is read.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from polyvox.errors import Forbidden, NotAuthorized, PolyvoxError, TooLarge
from polyvox.web.failures import failed

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Message, Receive, Send], Awaitable[None]]

LOOPBACK = {"localhost", "127.0.0.1", "::1"}
OPEN = {"/healthz"}


def is_loopback(host: str) -> bool:
    """Whether a name or address can only mean this machine."""
    if host in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(value: str) -> str:
    """The name in a Host header, without its port, in lower case; empty if it is not one."""
    try:
        return (urlsplit(f"//{value}").hostname or "").lower()
    except ValueError:
        return ""


class Guard:
    """An ASGI layer in front of everything else."""

    def __init__(
        self, app: Asgi, *, hosts: frozenset[str], token: str, max_body: int
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._token = token.encode()
        self._max_body = max_body

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it in the one error shape."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        try:
            self._check(scope["path"], headers)
            length = headers.get(b"content-length", b"0")
            if length.isdigit() and int(length) > self._max_body:
                raise self._too_large()
        except PolyvoxError as error:
            await failed(error)(scope, receive, send)
            return
        if b"content-length" in headers or b"transfer-encoding" not in headers:
            await self._app(scope, receive, send)
            return
        await self._counted(scope, receive, send)

    def _check(self, path: str, headers: dict[bytes, bytes]) -> None:
        host = host_of(headers.get(b"host", b"").decode("latin-1"))
        if not (is_loopback(host) or host in self._hosts):
            raise Forbidden(
                f"This server does not answer to the name {host!r}.",
                "Use http://127.0.0.1, or add the name to server.hosts.",
            )
        origin = headers.get(b"origin", b"").decode("latin-1")
        if origin and not self._ours(origin):
            raise Forbidden(
                f"Pages of {origin!r} may not use this server.",
                "Open the page of this server itself, or add the name to server.hosts.",
            )
        if not origin and headers.get(b"sec-fetch-site", b"") == b"cross-site":
            raise Forbidden("Foreign pages may not use this server.", "Open its own page.")
        if self._token and path not in OPEN:
            given = headers.get(b"authorization", b"")
            given = given[7:].strip() if given[:7].lower() == b"bearer " else b""
            if not hmac.compare_digest(given, self._token):
                raise NotAuthorized(
                    "This server needs a token.", "Send it as Authorization: Bearer TOKEN."
                )

    def _ours(self, origin: str) -> bool:
        try:
            parts = urlsplit(origin)
            host = (parts.hostname or "").lower()
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and (is_loopback(host) or host in self._hosts)

    def _too_large(self) -> TooLarge:
        return TooLarge(
            f"The request is larger than {self._max_body:,} bytes.",
            "Send less, or raise server.max_body.",
        )

    async def _counted(self, scope: Message, receive: Receive, send: Send) -> None:
        """A body of unknown length is counted while it comes."""
        seen = 0
        started = False

        async def counting() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._max_body:
                raise self._too_large()
            return message

        async def sending(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, counting, sending)
        except TooLarge as error:
            if started:
                raise
            await failed(error)(scope, receive, send)
