"""Memory with everything it works with: a database, a provider over HTTP, a worker, a clock.

async with open_desk(database, tmp_path) as desk:
    desk.reply({"facts": [...]})                  # what the model answers next
    await desk.ingest("s1", "I live in Porto.")   # told as the person's messages
    await desk.work()                             # everything that is due
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.provider import ProviderServer, Script
from tests.web.house import settings_for

from polyvox.memory.query import Query
from polyvox.memory.service import Memory
from polyvox.memory.values import Item, Message, Partition
from polyvox.models.registry import Models
from polyvox.settings import Settings
from polyvox.store import jobs
from polyvox.store.database import Database
from polyvox.store.jobs import Job
from polyvox.store.runners import Runner, register
from polyvox.transport import Transport
from polyvox.values import Scope
from polyvox.work.worker import Worker

ME, PART = Scope("anna"), Partition("polyvox", "anna")
MINUTE = 60_000_000
DAY = 24 * 60 * MINUTE
FRIDAY = 1_715_299_200_000_000  # 10 May 2024, midnight UTC
MODEL = "lab:notes"
EMPTY: dict[str, Any] = {"facts": [], "loops": [], "profile": [], "instructions": []}


@dataclass
class Clock:
    """Time as the test says."""

    now: int = FRIDAY + DAY // 2

    def __call__(self) -> int:
        return self.now


@dataclass
class Held:
    """The settings that hold now."""

    settings: Settings
    models: Models

    def use(self, section: str, **values: Any) -> None:
        """From now on these values in a section of the settings."""
        changed = getattr(self.settings, section).model_copy(update=values)
        self.settings = self.settings.model_copy(update={section: changed})
        self.models.use(self.settings)


@dataclass
class Desk:
    database: Database
    memory: Memory
    provider: ProviderServer
    runner: Runner
    clock: Clock
    held: Held
    scope: Scope = ME
    part: Partition = PART
    seen: list[Job] = field(default_factory=list)

    @property
    def worker(self) -> Worker:
        return Worker(self.database, self.runner, self.clock, self.memory.handlers)

    def reply(self, *replies: dict[str, Any] | str | Script) -> None:
        """What the model answers next, one after another."""
        self.provider.queue(MODEL.partition(":")[2], *(self._script(one) for one in replies))

    def always(self, reply: dict[str, Any] | str | Script) -> None:
        """What it answers whenever nothing else was said."""
        self.provider.script(MODEL.partition(":")[2], self._script(reply))

    def _script(self, one: dict[str, Any] | str | Script) -> Script:
        if isinstance(one, Script):
            return one
        return Script(pieces=(one if isinstance(one, str) else json.dumps(one),))

    async def ingest(
        self,
        session: str,
        *texts: str,
        at: int = 0,
        part: Partition | None = None,
        cloud: bool = True,
    ) -> str:
        """A session in which the person says this, a minute apart, and is answered each time."""
        start = FRIDAY + at
        messages = []
        for number, text in enumerate(texts):
            messages.append(Message("user", text, start + number * MINUTE))
            messages.append(Message("assistant", "I see.", start + number * MINUTE + 1, "a"))
        end = start + len(texts) * MINUTE
        return await self.memory.ingest(
            self.scope, part or self.part, session, None, start, end, messages, cloud=cloud
        )

    async def work(self) -> int:
        """Do what is due now."""
        return await self.worker.run_due()

    async def jobs(self, *states: Any) -> list[Job]:
        wanted = states or ("pending", "running", "failed")
        return await self.database.read(lambda tx: jobs.list_jobs(tx, wanted), self.scope)

    async def ask(self, question: str, **more: Any) -> list[Item]:
        wanted = Query(question, self.clock(), **more)
        answered = await self.memory.query(self.scope, self.part, wanted)
        return list(answered.items)

    async def view(self, part: Partition | None = None) -> dict[str, Any]:
        """Everything that was derived, without the times at which it was."""
        where = part or self.part
        facts = await self.memory.facts(self.scope, where, include_history=True)
        profile = await self.memory.profile(self.scope, where)
        return {
            "facts": [(one.statement, one.valid_to) for one in facts],
            "loops": await self.memory.loops(
                self.scope, where, statuses=("open", "needs_review", "stale", "done", "dropped")
            ),
            "profile": profile.lines,
            "summaries": [
                (one.subject, one.text, one.covers)
                for one in await self.memory.summaries(self.scope, where, 100)
            ],
        }


@asynccontextmanager
async def open_desk(
    database: Database, home: Path, model: str = MODEL, embeddings: str = "", **settings: Any
) -> AsyncIterator[Desk]:
    """A desk whose memory works with this model; empty: with none. The same for embeddings."""
    clock = Clock()
    models = {"default": "local:smollm2", "memory": model, "embeddings": embeddings}
    async with ProviderServer() as provider:
        made = settings_for(home, provider, models=models, timezone="UTC", **settings)
        transport, runner = Transport(), await register(database, clock)
        held = Held(made, Models(made, transport, {}))
        memory = Memory(database, held.models, lambda: held.settings, clock)
        try:
            yield Desk(database, memory, provider, runner, clock, held)
        finally:
            await runner.close()
            await transport.close()
