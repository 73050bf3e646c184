"""Optimisations that are cut off: a provider that never answers one request, and what must be the
same afterwards."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from tests.evaluation.workshop import (
    WORKED,
    Found,
    answers,
    found_in,
    judges,
    last_of,
    open_workshop,
)
from tests.provider import ProviderServer, Script
from tests.session.room import Hand, open_room

from polyvox.evaluation.optimise.run import KIND

ROOT = Path(__file__).resolve().parent.parent.parent
TEXTS = ("It speaks of the moon.", "It speaks of the sea.", "It speaks of nothing.")
SAYINGS = ("Be kind.", "Speak of the moon.", "Speak of the sea.", "Speak of the fire.")
SETTINGS: dict[str, Any] = {**WORKED, "evaluation": {"concurrency": 1}}


def writes(body: Any) -> Script:
    """The rewriter: the first saying that was not tried yet, decided by what it is asked alone."""
    asked = last_of(body)
    before = asked["instructions"]
    tried = {one["instructions"] for one in asked["earlier"]}
    new = [f"{before} {one}" for one in SAYINGS if one not in before]
    made = next((text for text in new if text not in tried), f"{before} Well.")
    return Script(text=msgspec.json.encode({"reason": "So.", "instructions": made}).decode())


class Breaking:
    """A provider that counts, and never answers the n-th request."""

    def __init__(self, provider: ProviderServer, never: int | None = None) -> None:
        self.count = 0
        self.never = never
        for name, maker in (("ann", answers), ("judge", judges), ("writer", writes)):
            provider.made(name, self._counted(maker))

    def _counted(self, maker: Callable[[Any], Script]) -> Callable[[Any], Script]:
        def made(body: Any) -> Script:
            self.count += 1
            return Script(hold="never") if self.count == self.never else maker(body)

        return made


async def wanted(home: Path, provider: ProviderServer, engine: str = "native") -> str:
    """A run that is wanted, and not begun."""
    home.mkdir()
    async with open_room(home, provider=provider, clock=Hand(), **SETTINGS) as room:
        shop = await open_workshop(room, *TEXTS)
        begun = await shop.begun(iterations=4, engine=engine)
        return str(begun.id)


async def done(home: Path, provider: ProviderServer, run_id: str) -> Found:
    """The run, worked on to its end by whoever comes next."""
    async with open_room(home, provider=provider, clock=Hand(), **SETTINGS) as room:
        await room.polyvox.worker.run_due([KIND])
        return await found_in(room, run_id)


def said(found: Found) -> tuple[Any, ...]:
    """What must be the same, cut off or not."""
    one, summary = found.optimisation, found.summary
    assert summary is not None
    tried = [(row.number, row.parent, row.text, row.state, row.rate) for row in found.attempts]
    rows = [(row.before, row.after, row.guard) for row in summary.rows]
    ended = (one.state, one.verdict, one.message, one.final_text, one.best, one.iteration)
    return ended, tried, rows, summary.p_better


async def killed(home: Path, provider: ProviderServer, never: int) -> tuple[Found, int]:
    """A run whose process is killed while its n-th request is in flight, and which another one then
    finishes; and how many requests that took in all."""
    run_id = await wanted(home, provider)
    breaking = Breaking(provider, never)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.evaluation.optimiser"),
        *(str(home), provider.base_url, run_id),
        cwd=ROOT,
    )
    try:
        await provider.until(lambda: breaking.count == never, 120)
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()
    return await done(home, provider, run_id), breaking.count
