"""A companion over HTTP: a real server and provider, a clock that tests set, a memory they write.

async with open_lounge(tmp_path) as lounge:
    talk = await lounge.talk("harbor")
    reply = await talk.say("Good morning.", at=MORNING, gate={"intent": "momentum"})
    reply.blocks, reply.system, reply.trace
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from tests.app import App as House
from tests.app import serve, settings_for
from tests.provider import ProviderServer, Script

from polyvox.companion.gate import NO_GATE
from polyvox.memory.packets import QueryReply
from polyvox.memory.remembering import Lookup, MemoryService, Start
from polyvox.memory.remote import Got
from polyvox.memory.veto import NO_VETO, Veto
from polyvox.values import Scope


@dataclass
class Told:
    """A memory that says what a test wrote."""

    starts_whole: ClassVar[bool] = False
    elsewhere: ClassVar[bool] = False

    packet: Start = field(default_factory=Start)
    wishes: tuple[str, ...] = ()
    found: Got[QueryReply] = field(default_factory=lambda: Got(QueryReply()))
    silent: bool = False
    """It never answers."""
    starts: int = 0
    lookups: list[Lookup] = field(default_factory=list)

    async def start(
        self,
        scope: Scope,
        session_id: str,
        now: int,
        *,
        cloud: bool,
        veto: Veto = NO_VETO,
        written: bool = True,
        talk: Any = None,
    ) -> Start:
        assert written in (True, False)
        assert not veto.ids
        assert scope.user
        assert session_id or not written
        assert now
        assert cloud in (True, False)
        self.starts += 1
        if self.silent:
            await asyncio.Event().wait()
        return self.packet

    async def standing(self, scope: Scope, *, cloud: bool) -> tuple[str, ...]:
        assert scope.user
        assert cloud in (True, False)
        return self.wishes

    async def look_up(self, scope: Scope, wanted: Lookup) -> Got[QueryReply]:
        assert scope.user
        self.lookups.append(wanted)
        return self.found

    async def look_up_all(
        self, scope: Scope, wanted: Sequence[Lookup]
    ) -> Sequence[Got[QueryReply]]:
        return [await self.look_up(scope, one) for one in wanted]

    def here(self) -> MemoryService:
        return self


@dataclass(frozen=True)
class Heard:
    """What a message led to."""

    status: int
    data: Any
    trace: Any
    system: list[str]
    """The system messages that the provider got, in their order."""
    sent: list[str]
    """The other messages."""

    @property
    def blocks(self) -> dict[str, str]:
        """The system messages by the names that the trace gives them."""
        return dict(zip(self.trace["system_blocks"], self.system, strict=True))


@dataclass
class Lounge:
    """The house, its clock and its memory."""

    house: House
    clock: list[int]
    memory: Told = field(default_factory=Told)

    def remember(self, memory: Told) -> Told:
        self.memory = self.house.polyvox.services.current = memory
        return memory

    def set(self, at: datetime) -> None:
        self.clock[0] = round(at.timestamp() * 1_000_000)

    async def say(
        self,
        persona: Mapping[str, Any],
        text: str,
        *,
        at: datetime | None = None,
        gate: Mapping[str, Any] | Script | None = None,
        reply: str = "I see.",
    ) -> Heard:
        """One message through the door; `gate` is what the gate's reply changes of the plain
        reading, or how the provider answers it."""
        provider = self.house.provider
        if at is not None:
            self.set(at)
        if not isinstance(gate, Script):
            gate = Script(text=reading_text(gate or {}))
        provider.script("gate", gate)
        provider.script("talker", Script(text=reply))
        answered = await self.house.post("/api/chat", {"personaId": persona["id"], "text": text})
        data = answered.json()
        if answered.status != 200:
            return Heard(answered.status, data, None, [], [])
        told = await self.house.get(f"/api/turns/{data['requestId']}/trace")
        assert told.status == 200, told.text
        messages = provider.requests("talker")[-1].json()["messages"]
        system = [one["content"] for one in messages if one["role"] == "system"]
        sent = [one["content"] for one in messages if one["role"] != "system"]
        return Heard(200, data, told.json(), system, sent)


def reading_text(changes: Mapping[str, Any]) -> str:
    return json.dumps(msgspec.to_builtins(NO_GATE) | dict(changes))


@asynccontextmanager
async def open_lounge(home: Path, **more: Any) -> AsyncIterator[Lounge]:
    """A lounge of one's own."""
    clock = [1]
    models = {"default": "lab:talker", "gate": "lab:gate", **more.pop("models", {})}
    async with ProviderServer() as provider:
        settings = settings_for(home, provider, models=models, **{"timezone": "UTC", **more})
        async with serve(settings, provider, clock=lambda: clock[0]) as app:
            lounge = Lounge(app, clock)
            lounge.remember(Told())
            yield lounge
