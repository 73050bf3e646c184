"""The one HTTP client. Foreign failures become our errors here and nowhere else.

A `Response` is read as it comes: `read()` gives whatever has arrived, so one network read is one
step for the reader. `close()` ends the connection at once. Nothing follows redirects, nothing
loopback goes through a proxy, and the number of connections has no hidden limit.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from polyvox.errors import ModelError, ModelTimeout, ProtocolError, Unavailable

if TYPE_CHECKING:
    import aiohttp

ERROR_BYTES = 65_536
"""No more than this is read of an error's body."""
EAGER_READS = 4
"""Reads served from the buffer before the loop gets its turn: a reader that finds data each time it
looks never suspends by itself, and meanwhile other answers' first tokens wait (14 → 110 ms)."""
LINGER = 1.0
"""Seconds that a finished response may take to end its body, so that its connection is kept."""


@lru_cache(maxsize=256)
def is_loopback(url: str) -> bool:
    """True if this address is on this machine."""
    host = _split(url).hostname or ""
    return host.endswith(".localhost") or is_loopback_host(host)


@lru_cache(maxsize=256)
def is_loopback_host(host: str) -> bool:
    """True if a name or address can only mean this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Transport:
    """Owns the connections. Made by the app, which closes it."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._lingering: set[Response] = set()

    async def post(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        first_byte: float | None = None,
        stall: float | None = None,
    ) -> Response:
        """Send `body`; return once the status is known. `first_byte` seconds may pass until the
        first byte of the answer's body, `stall` seconds between two reads that bring something."""
        return await self._request("POST", url, headers, body, first_byte, stall)

    async def get(
        self, url: str, headers: Mapping[str, str], *, first_byte: float | None = None
    ) -> Response:
        """The same without a body."""
        return await self._request("GET", url, headers, None, first_byte, first_byte)

    async def prepare(self) -> None:
        """Load the client now (0.15 s) rather than with the first request."""
        self._open()

    async def close(self) -> None:
        """Close every connection."""
        for response in list(self._lingering):
            response.close()
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    async def _request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        first_byte: float | None,
        stall: float | None,
    ) -> Response:
        session = self._open()
        started = time.monotonic()
        try:
            async with asyncio.timeout(first_byte):
                raw = await session.request(
                    method,
                    url,
                    data=body,
                    headers=headers,
                    allow_redirects=False,
                    proxy=_proxy_for(url),
                )
        except TimeoutError:
            raise _silent(url, first_byte) from None
        except Exception as error:
            raise mapped(error, url) from error
        left = None if first_byte is None else max(0.001, first_byte - time.monotonic() + started)
        return Response(self, raw, url, (first_byte, left), stall)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            import aiohttp

            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60, ttl_dns_cache=60),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
                cookie_jar=aiohttp.DummyCookieJar(),
                # A compressed stream arrives in the compressor's blocks, not word by word.
                headers={"User-Agent": "polyvox", "Accept-Encoding": "identity"},
                trust_env=False,
            )
        return self._session


class Response:
    """An answer that is being received. One reader at a time."""

    def __init__(
        self,
        owner: Transport,
        raw: aiohttp.ClientResponse,
        url: str,
        first: tuple[float | None, float | None],
        stall: float | None,
    ) -> None:
        self.status = raw.status
        self.headers: Mapping[str, str] = raw.headers
        self._owner, self._raw, self._url = owner, raw, url
        self._content = raw.content
        self._first, self._stall = first, stall
        self._begun = False
        self.first_at: float | None = None
        """When the first byte of the body came, by the monotonic clock."""
        self._eager = 0
        self._waiting = 0.0
        """Since when the reader has been waiting; 0 while it is not."""
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._reason: ModelError | None = None
        limits = [limit for limit in (first[1], stall) if limit is not None]
        if limits:
            self._timer = self._loop.call_later(min(limits), self._watch)

    async def read(self) -> bytes:
        """Return the bytes that have arrived, at least one; b"" at the end."""
        if self._reason is not None:
            raise self._reason
        content = self._content
        try:
            if data := content.read_nowait():
                if not self._begun:
                    self._begin()
                self._eager += 1
                if self._eager >= EAGER_READS:
                    self._eager = 0
                    await asyncio.sleep(0)
                return data
            self._eager = 0
            self._waiting = self._loop.time()
            data = await content.readany()
        except ModelError:
            raise
        except Exception as error:
            # The buffer is checked after the error inside: what came before it is still ours.
            reason = mapped(error, self._url, begun=True)
            self._raw.close()
            self._rest()
            if data := bytes(content._read_nowait(-1)):  # noqa: SLF001 - no public way to it
                self._reason = reason
                return data
            raise reason from error
        finally:
            self._waiting = 0.0
        if not self._begun:
            self._begin()
        if not data:
            self._rest()
        return data

    async def read_all(self, limit: int = ERROR_BYTES) -> bytes:
        """The rest of the body, but no more than about `limit` bytes of it."""
        whole = bytearray()
        while len(whole) < limit and (data := await self.read()):
            whole += data
        if len(whole) >= limit:
            self.close()
        return bytes(whole[:limit])

    def close(self, reason: ModelError | None = None) -> None:
        """End the connection now. A reader that waits, or comes later, gets `reason`."""
        if self._reason is None:
            self._reason = reason or Unavailable("The answer was closed before it ended.")
            self._content.set_exception(self._reason)
        self._raw.close()
        self._rest()

    def finish(self) -> None:
        """Nothing more is wanted: keep the connection if the body ends soon, as it should."""
        self._rest()
        if not self._content.is_eof():
            self._owner._lingering.add(self)  # noqa: SLF001 - the owner closes what lingers
            self._content.on_eof(self._rest)
            self._timer = self._loop.call_later(LINGER, self.close)

    def _begin(self) -> None:
        self._begun = True
        self.first_at = time.monotonic()

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._owner._lingering.discard(self)  # noqa: SLF001 - see finish

    def _watch(self) -> None:
        """One timer per response, moved when it fires: a read costs it nothing but a clock."""
        limit = self._stall if self._begun else self._first[1]
        if limit is None:  # only one of the two limits is set, and it is the other one
            again = None if self._begun else self._stall
            self._timer = None if again is None else self._loop.call_later(again, self._watch)
            return
        due = (self._waiting or self._loop.time()) + limit
        if self._loop.time() >= due - 0.001:
            error = (
                _stalled(self._url, limit) if self._begun else _silent(self._url, self._first[0])
            )
            self.close(error)
        else:
            self._timer = self._loop.call_at(due, self._watch)


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _proxy_for(url: str) -> str | None:
    if is_loopback(url):
        return None
    parts = _split(url)
    proxies = getproxies()
    if not proxies or proxy_bypass(parts.hostname or ""):
        return None
    return proxies.get(parts.scheme) or proxies.get("all")


def _where(url: str) -> str:
    parts = _split(url)
    if not parts.netloc:
        return repr(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"  # a password may stand before it


def _silent(url: str, limit: float | None) -> ModelTimeout:
    return ModelTimeout(
        f"{_where(url)} sent nothing for {limit:g} seconds.",
        "Try again, use another model, or raise limits.first_byte.",
    )


def _stalled(url: str, limit: float) -> ModelTimeout:
    return ModelTimeout(
        f"{_where(url)} stopped sending in the middle of the answer (for {limit:g} seconds).",
        "Retry the answer, or raise limits.stall.",
    )


def mapped(error: Exception, url: str, *, begun: bool = False) -> ModelError:
    """A failure of the client library, of TLS or of the system as one of ours."""
    import aiohttp

    where = _where(url)
    check = f"Check that the server runs and that base_url ({where}) is right."
    if isinstance(error, ModelError):
        return error
    if isinstance(error, aiohttp.ClientPayloadError) or (begun and _is_cut(error)):
        return Unavailable(
            f"The answer from {where} ended in the middle: the connection was cut.",
            "Retry the answer.",
        )
    if isinstance(error, aiohttp.ClientSSLError):
        return Unavailable(
            f"No secure connection to {where}: {error}.",
            "Check the certificate, the clock of this machine, and base_url.",
        )
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return Unavailable(
            f"There is no address for {_split(url).hostname!r}.",
            f"Check the network connection and base_url ({where}).",
        )
    if isinstance(error, aiohttp.ClientConnectorError):
        reason = error.os_error.strerror or str(error.os_error)
        return Unavailable(f"{where} cannot be reached: {reason}.", check)
    if isinstance(error, aiohttp.ServerDisconnectedError | ConnectionError | aiohttp.ClientOSError):
        return Unavailable(f"{where} closed the connection without an answer.", check)
    if isinstance(error, TimeoutError):
        return ModelTimeout(f"{where} did not answer in time.", "Try again, or use another model.")
    if isinstance(error, aiohttp.InvalidURL | ValueError):
        return Unavailable(f"{where} is not an address that can be called.", check)
    if isinstance(error, aiohttp.ClientError | aiohttp.http.HttpProcessingError):
        return ProtocolError(f"{where} does not speak HTTP as expected: {error}.", check)
    if isinstance(error, OSError):
        return Unavailable(f"{where} cannot be reached: {error.strerror or error}.", check)
    raise error


def _is_cut(error: Exception) -> bool:
    import aiohttp

    return isinstance(error, aiohttp.ClientError | OSError | RuntimeError)
