"""What memory adds to a turn: the time until models are asked, with memory beside without it."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from pathlib import Path

import psycopg

from benchmarks.recall import sentences
from benchmarks.report import Row, at_most, median, percentile
from polyvox.app import Polyvox
from polyvox.memory import profile
from polyvox.memory.tables import companions
from polyvox.memory.transcript import ingest
from polyvox.memory.values import Message, Partition
from polyvox.settings import Settings
from polyvox.store import turns
from polyvox.values import Advisor, Scope

ME = Scope()
OWN = Partition.own(ME)
DAY = 86_400_000_000
ADVISORS = 6
BREATH = 0.05
"""Seconds before each message: nobody asks again while the turn before is still being put away."""
WARM = 5
TALKS, TIMES = 30, 3
"""So many conversations of two turns, each so often with memory and without it. Of the times that a
turn took, the middle one counts: a machine that does something else meanwhile says nothing about
memory. What single turns took is told beside it."""


async def remembering(place: Path, url: str, name: str, episodes: int) -> list[Row]:
    """For 1 and for 6 advisors who all have answers of their own in a large memory."""
    settings = Settings.model_validate(
        {"home": place, "database": url, "models": {"default": "scripted:echo"}}
    )
    async with Polyvox(settings, env={}) as polyvox:
        polyvox.work()  # as in a server
        asked = (await polyvox.advisors.list(ME))[:ADVISORS]
        chance = random.Random(2)
        said = await _remember(polyvox, asked, chance, episodes)
        _settle(url)
        for _ in range(WARM):
            await _talk(polyvox, asked, [_question(chance, said) for _ in range(2)])
        rows = []
        for count in (1, ADVISORS):
            what = f"{count} advisor{'s' if count > 1 else ''}, {episodes:,} episodes, {name}"
            questions = [[_question(chance, said) for _ in range(2)] for _ in range(TALKS)]
            rows.append(await _added(polyvox, asked[:count], questions, what))
    return rows


def _settle(url: str) -> None:
    """So much at once is not how a memory grows: PostgreSQL would tidy up while it is measured."""
    if url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
            connection.execute("CHECKPOINT")


async def _added(
    polyvox: Polyvox, asked: Sequence[Advisor], talks: Sequence[Sequence[str]], what: str
) -> Row:
    took: dict[bool, list[list[float]]] = {True: [], False: []}
    """Of each turn, how long it took each time."""
    inside: list[float] = []
    for questions in talks:
        here: dict[bool, list[list[float]]] = {True: [], False: []}
        for number in range(TIMES * 2):
            # In turn, so that whatever else the machine does meets both.
            on = number % 2 == 0
            await polyvox.configuration.change({"memory.council": on})
            waits, spent = await _talk(polyvox, asked, questions)
            here[on].append(waits)
            inside += spent
        for on, each in here.items():
            took[on] += [list(turn) for turn in zip(*each, strict=True)]
    middle = {on: [median(turn) for turn in turns] for on, turns in took.items()}
    added = [on - off for on, off in zip(middle[True], middle[False], strict=True)]
    once = [
        on - off
        for a, b in zip(took[True], took[False], strict=True)
        for on, off in zip(a, b, strict=True)
    ]
    noise = [turn[number] - turn[number - 1] for turn in took[False] for number in range(TIMES)]
    detail = (
        f"p50 {median(added):.1f} ms; {median(middle[False]):.1f} → {median(middle[True]):.1f} ms"
        f" until asked; memory's own time p50 {median(inside):.1f}, p95"
        f" {percentile(inside, 0.95):.1f} ms; single turns p95 {percentile(once, 0.95):.1f} ms, and"
        f" two without memory differ by {percentile(noise, 0.95):.1f} ms"
    )
    return at_most(
        f"added to a turn by memory, p95: {what}", percentile(added, 0.95), 30, " ms", detail
    )


async def _remember(
    polyvox: Polyvox, asked: Sequence[Advisor], chance: random.Random, episodes: int
) -> list[str]:
    """Sessions of a message and everybody's answers, the last one a day ago."""
    sentence = sentences(chance)
    each = 1 + len(asked)
    count, now = episodes // (each * 4), polyvox.clock()
    heard: list[str] = []
    for session in range(count):
        at = now - DAY - (count - session) * DAY // 8
        said: list[Message] = []
        for turn in range(4):
            said.append(Message("user", sentence(), at + turn * 60_000_000))
            said += [Message("assistant", sentence(), at + turn * 60_000_000, a.id) for a in asked]
        heard += [one.text for one in said if one.role == "user"]
        await polyvox.database.write(
            lambda tx, s=session, a=at, m=said: ingest(tx, OWN, f"s{s}", None, a, a + 1, m),  # type: ignore[misc]  # bound now
            ME,
        )
    change = {
        "instructions": [f"Always keep to rule {number}" for number in range(5)],
        "current_focus": "opening a bakery",
        "key_relationships": [{"name": f"Friend {n}", "text": "a friend"} for n in range(20)],
    }
    await polyvox.database.write(lambda tx: profile.patch(tx, OWN, change, now), ME)
    return heard


def _question(chance: random.Random, said: Sequence[str]) -> str:
    words = chance.choice(said).split()[1::2]
    some = chance.sample(words, min(len(words), chance.randint(3, 8)))
    return f"What did I say about {' '.join(some)}?"


async def _talk(
    polyvox: Polyvox, asked: Sequence[Advisor], questions: Sequence[str]
) -> tuple[list[float], list[float]]:
    """Milliseconds from each message, before it is stored, until the last of its models is asked;
    and of that the time that the turn waited for memory, as the trace tells it."""
    made = await polyvox.conversations.create(ME, advisors=[one.id for one in asked])
    took: list[float] = []
    spent: list[float] = []
    for question in questions:
        await asyncio.sleep(BREATH)
        sent = polyvox.clock()
        begun = await polyvox.turns.send(ME, made.id, question)
        async for _ in polyvox.events(made.id, until=begun.turn.id):
            pass
        turn_id = begun.turn.id
        answers = await polyvox.database.read(
            lambda tx, t=turn_id: turns.answers_of(tx, t),  # type: ignore[misc]  # bound now
            ME,
        )
        asked_at = max(one.attempts[0].started_at for one in answers)
        took.append((asked_at - sent) / 1000)
        told = await polyvox.database.read(
            lambda tx, t=turn_id: companions.traces(tx, t),  # type: ignore[misc]  # bound now
            ME,
        )
        spent += [json.loads(one)["timings"]["context_ms"] for one in [*told.values()][:1]]
    return took, spent
