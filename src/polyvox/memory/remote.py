"""A remote memory service, by its address: the client of the contract.

It never raises and never costs more than its time budget. Whatever goes wrong is a `Degrade` beside
the values: `timeout`, `unreachable`, `status` (an answer that is no success) or `malformed` (one
that is not JSON, or holds nothing of what was asked for). What comes is normalised.

A query that timed out is not waited for again at once: for a minute the next ones are `not asked`.
What else is asked for is asked once in a session, and kept.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Generic, Literal, TypeVar
from urllib.parse import urlencode

import msgspec

from polyvox.errors import ModelError, ModelTimeout, PolyvoxError, ProtocolError
from polyvox.memory import normalise
from polyvox.memory.packets import (
    Brief,
    Daily,
    LoopRow,
    QueryReply,
    StartBrief,
    StartItem,
    UserModel,
)
from polyvox.memory.values import Message, Partition
from polyvox.settings import shown_url
from polyvox.transport import Response, Transport

LARGEST = 4_000_000
"""Bytes of one answer."""
BRIEF_SHARE = 0.7
"""Of the budget, what a startbrief may take while there is still the brief to fall back to."""
REST = 60.0
"""Seconds for which a call is not made again after it timed out."""
OPENING = ("startbrief", "brief")
NEARLY = 0.9
"""Whoever is told to stop waiting after this part of the time has waited for nothing."""

T = TypeVar("T")
Reason = Literal["timeout", "unreachable", "status", "malformed", "words alone", "not asked"]
Within = Callable[[float], AbstractAsyncContextManager[object]]
"""A block that raises TimeoutError after so many seconds."""


@dataclass(frozen=True, slots=True)
class Degrade:
    """Why something is missing."""

    what: str
    """The call: startbrief, brief, user_model, daily, loops, query or ingest."""
    reason: Reason
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.what}: {self.reason}" + (f" ({self.detail})" if self.detail else "")

    def explained(self) -> tuple[str, str]:
        """The reason in words, and what to do."""
        if self.reason == "timeout":
            hint = "memory.budget and memory.recall_seconds are how long we wait."
            return "does not answer in time", f"Look whether it runs; {hint}"
        if self.reason == "unreachable":
            return "cannot be reached", "Look whether it runs, and at memory.url."
        if self.detail in ("401", "403"):
            return f"refuses us ({self.detail})", "Put the token that it wants in memory.token."
        if self.reason == "status":
            return f"answers with status {self.detail}", "Look at memory.url and at its own log."
        hint = "Look whether memory.url is such a service."
        return f"answers nothing of use ({self.detail})", hint


@dataclass(frozen=True, slots=True)
class Got(Generic[T]):
    """What a call brought, or why it brought nothing."""

    value: T | None
    degrade: Degrade | None = None


@dataclass(frozen=True, slots=True)
class SessionStart:
    """Everything that a session starts with, as far as it came in time."""

    startbrief: StartBrief | None = None
    brief: Brief | None = None
    """Only where there is no startbrief."""
    user_model: UserModel | None = None
    daily: Daily | None = None
    loops: tuple[LoopRow, ...] = ()
    degrades: tuple[Degrade, ...] = ()
    items: tuple[StartItem, ...] = ()
    """What a person may veto of it; what they did veto is here, and nowhere else in it."""
    hidden: tuple[str, ...] = ()
    """The messages ("session#index") that speak of what was vetoed: nothing recalls them."""

    @property
    def timed_out(self) -> bool:
        """Whether nothing but a time-out is known of how things stand: neither packet came."""
        waited = any(one.what in OPENING and one.reason == "timeout" for one in self.degrades)
        return waited and self.startbrief is None and self.brief is None


LATE = Degrade("query", "not asked", "the session's start timed out")
"""In a turn that has waited for a start in vain."""


@dataclass(frozen=True, slots=True)
class RemoteMemory:
    """One remote service. `budget` is for a session's start, all its calls together."""

    transport: Transport
    url: str
    token: str = field(default="", repr=False)
    budget: float = 3.0
    recall_seconds: float = 5.0
    ingest_seconds: float = 60.0
    within: Within = asyncio.timeout
    clock: Callable[[], float] = time.monotonic
    resting: dict[str, float] = field(default_factory=dict, repr=False, compare=False)
    """Until when a call is not made, by its name."""

    def value(self, got: Got[T]) -> T:
        """The value that a call brought; an error where it brought none."""
        if got.degrade is None and got.value is not None:
            return got.value
        why, hint = got.degrade.explained() if got.degrade else ("answers nothing", "")
        raise PolyvoxError(f"The memory service at {shown_url(self.url)} {why}.", hint)

    async def session_start(
        self,
        partition: Partition,
        now: int,
        session_id: str | None = None,
        timezone: str | None = None,
    ) -> SessionStart:
        """All at once, and the brief where the startbrief does not come. Each call has its own end,
        none later than the budget: what came is kept, whichever of the others did not."""
        asked = (partition, now, session_id, timezone)
        opening, model, daily, loops = await asyncio.gather(
            self._opening(*asked),
            self.user_model(partition),
            self.daily(partition),
            self.loops(partition),
        )
        start, brief = opening
        calls = (start, brief, model, daily, loops)
        return SessionStart(
            startbrief=start.value,
            brief=brief.value if brief else None,
            user_model=model.value,
            daily=daily.value,
            loops=loops.value or (),
            degrades=tuple(one.degrade for one in calls if one is not None and one.degrade),
        )

    async def startbrief(
        self,
        partition: Partition,
        now: int,
        session_id: str | None = None,
        timezone: str | None = None,
        seconds: float | None = None,
    ) -> Got[StartBrief]:
        """What a session starts with."""
        about = {"now": _iso(now), "sessionId": session_id, "timezone": timezone}
        got = await self._get("startbrief", "/session/startbrief", partition, about, seconds)
        return _read(got, "startbrief", normalise.startbrief, StartBrief())

    async def brief(
        self,
        partition: Partition,
        now: int,
        session_id: str | None = None,
        timezone: str | None = None,
        seconds: float | None = None,
    ) -> Got[Brief]:
        """The plainer packet."""
        about = {"now": _iso(now), "sessionId": session_id, "timezone": timezone}
        got = await self._get("brief", "/session/brief", partition, about, seconds)
        return _read(got, "brief", normalise.brief, Brief())

    async def user_model(self, partition: Partition) -> Got[UserModel]:
        """The profile."""
        got = await self._get("user_model", "/user/model", partition)
        return _read(got, "user_model", normalise.user_model, None)

    async def daily(self, partition: Partition, date: str | None = None) -> Got[Daily]:
        """A day's analysis; of the last day where none is named."""
        got = await self._get("daily", "/analysis/daily", partition, {"date": date})
        return _read(got, "daily", normalise.daily, None)

    async def loops(
        self, partition: Partition, limit: int = 10, domain: str | None = None
    ) -> Got[tuple[LoopRow, ...]]:
        """What is open, by priority."""
        query = {"limit": str(limit), "domain": domain}
        got = await self._get("loops", "/memory/loops", partition, query)
        return _read(got, "loops", normalise.loops, None)

    async def query(
        self,
        partition: Partition,
        words: str,
        *,
        now: int,
        limit: int = 10,
        seconds: float | None = None,
    ) -> Got[QueryReply]:
        """What is remembered of something."""
        began = self.clock()
        if began < self.resting.get("query", began):
            return Got(None, Degrade("query", "not asked", "it timed out a moment ago"))
        body = {
            "query": words.encode("utf-8", "replace").decode(),
            "limit": limit,
            "referenceTime": _iso(now),
            "includeContext": False,
        }
        wait = self.recall_seconds if seconds is None else seconds
        try:
            got = await self._post("query", "/memory/query", partition, body, wait)
        except asyncio.CancelledError:  # whoever asked may have the same time, and began earlier
            if self.clock() - began >= wait * NEARLY:
                self._rest("query")
            raise
        if got.degrade is not None and got.degrade.reason == "timeout":
            self._rest("query")
        return _read(got, "query", normalise.query, None)

    def _rest(self, what: str) -> None:
        self.resting[what] = self.clock() + REST

    async def ingest(
        self,
        partition: Partition,
        session_id: str,
        persona_id: str | None,
        started_at: int,
        ended_at: int,
        messages: Sequence[Message],
    ) -> Got[str]:
        """Have a session remembered: ingested, duplicate or empty."""
        body = {
            "sessionId": session_id,
            **({} if persona_id is None else {"personaId": persona_id}),
            "startedAt": _iso(started_at),
            "endedAt": _iso(ended_at),
            "messages": [_message(one, started_at) for one in messages],
        }
        got = await self._post("ingest", "/session/ingest", partition, body, self.ingest_seconds)
        if got.degrade is not None:
            return Got(None, got.degrade)
        status = normalise.ingested(got.value)
        if status is None:
            return Got(None, Degrade("ingest", "malformed", "no status"))
        return Got(status)

    async def _opening(
        self, partition: Partition, now: int, session_id: str | None, timezone: str | None
    ) -> tuple[Got[StartBrief], Got[Brief] | None]:
        """The startbrief, else the brief, both within the one budget."""
        asked = (partition, now, session_id, timezone)
        began = self.clock()
        start = await self.startbrief(*asked, seconds=self.budget * BRIEF_SHARE)
        if start.value is not None:
            return start, None
        left = max(0.0, self.budget - (self.clock() - began))
        return start, await self.brief(*asked, seconds=left)

    async def _get(
        self,
        what: str,
        path: str,
        partition: Partition,
        query: Mapping[str, str | None] | None = None,
        seconds: float | None = None,
    ) -> Got[object]:
        named = {"tenantId": partition.tenant, "userId": partition.user, **(query or {})}
        given = {name: value for name, value in named.items() if value is not None}
        url = f"{self.url}{path}?{urlencode(given)}"
        wait = self.budget if seconds is None else seconds
        return await self._call(what, wait, lambda: self.transport.get(url, self._headers()))

    async def _post(
        self,
        what: str,
        path: str,
        partition: Partition,
        body: Mapping[str, object],
        seconds: float,
    ) -> Got[object]:
        named = {"tenantId": partition.tenant, "userId": partition.user, **body}
        headers = {**self._headers(), "Content-Type": "application/json"}
        data = msgspec.json.encode(named)
        url = f"{self.url}{path}"
        return await self._call(what, seconds, lambda: self.transport.post(url, headers, data))

    def _headers(self) -> dict[str, str]:
        bearer = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return {"Accept": "application/json", **bearer}

    async def _call(
        self, what: str, seconds: float, send: Callable[[], Awaitable[Response]]
    ) -> Got[object]:
        response: Response | None = None
        body = b""
        wrong: Degrade | None = None
        try:
            async with self.within(seconds):
                response = await send()
                body = await response.read_all(LARGEST)
        except TimeoutError:
            wrong = Degrade(what, "timeout", f"{round(seconds, 2):g} s")
        except ModelTimeout:
            wrong = Degrade(what, "timeout")
        except ProtocolError:
            wrong = Degrade(what, "malformed", "not HTTP")
        except ModelError:
            wrong = Degrade(what, "unreachable")
        finally:
            if response is not None and (wrong is not None or not body):
                response.close()
        if response is None or wrong is not None:
            return Got(None, wrong)
        if not 200 <= response.status < 300:
            return Got(None, Degrade(what, "status", str(response.status)))
        try:
            return Got(msgspec.json.decode(body))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return Got(None, Degrade(what, "malformed", "not JSON"))


def _read(got: Got[object], what: str, read: Callable[[object], T], empty: T | None) -> Got[T]:
    if got.degrade is not None:
        return Got(None, got.degrade)
    if not isinstance(got.value, dict | list):
        return Got(None, Degrade(what, "malformed", "no packet"))
    value = read(got.value)
    if value == empty:
        return Got(None, Degrade(what, "malformed", "says nothing"))
    return Got(value)


def _iso(time: int) -> str:
    return datetime.fromtimestamp(time / 1_000_000, UTC).isoformat().replace("+00:00", "Z")


def _message(one: Message, started_at: int) -> dict[str, str]:
    said = _iso(started_at if one.said_at is None else one.said_at)
    whose = {} if one.advisor_id is None else {"advisorId": one.advisor_id}
    return {"role": one.role, "text": one.text, "timestamp": said, **whose}
