"""What memory adds to a turn: the time until models are asked, with memory beside without it."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from pathlib import Path

from benchmarks.recall import sentences
from benchmarks.report import Row, at_most, median, percentile
from polyvox.app import Polyvox
from polyvox.memory import profile
from polyvox.memory.ingest import ingest
from polyvox.memory.values import Message, Partition
from polyvox.settings import Settings
from polyvox.store import companions, turns
from polyvox.values import Advisor, Scope

ME = Scope()
OWN = Partition.own(ME)
DAY = 86_400_000_000
ADVISORS = 6
BREATH = 0.05
"""Seconds before each message: nobody asks again while the turn before is still being put away."""
TALKS = 40
"""So many conversations of two turns, each once with memory and once without."""


async def remembering(place: Path, url: str, name: str, episodes: int) -> list[Row]:
    """For 1 and for 6 advisors who all have answers of their own in a large memory."""
    settings = Settings.model_validate(
        {"home": place, "database": url, "models": {"default": "scripted:echo"}}
    )
    async with Polyvox(settings, env={}) as polyvox:
        asked = (await polyvox.advisors.list(ME))[:ADVISORS]
        chance = random.Random(2)
        said = await _remember(polyvox, asked, chance, episodes)
        rows = []
        for count in (1, ADVISORS):
            took: dict[bool, list[float]] = {True: [], False: []}
            again: list[float] = []
            inside: list[float] = []
            for number in range(TALKS):
                questions = [_question(chance, said) for _ in range(2)]
                # In turn, so that whatever else the machine does meets all of them.
                for on, times in ((True, 1), (False, 2)) if number % 2 else ((False, 2), (True, 1)):
                    await polyvox.configuration.change({"memory.council": on})
                    for which in range(times):
                        waits, spent = await _talk(polyvox, asked[:count], questions)
                        again += waits if which else []
                        took[on] += [] if which else waits
                        inside += spent
            added = [on - off for on, off in zip(took[True], took[False], strict=True)]
            noise = [two - one for two, one in zip(again, took[False], strict=True)]
            without, with_ = median(took[False]), median(took[True])
            what = f"{count} advisor{'s' if count > 1 else ''}, {episodes:,} episodes, {name}"
            detail = (
                f"p50 {median(added):.1f} ms; {without:.1f} → {with_:.1f} ms until asked; its own"
                f" time p50 {median(inside):.1f}, p95 {percentile(inside, 0.95):.1f} ms; two turns"
                f" without it differ by {percentile(noise, 0.95):.1f} ms at p95"
            )
            rows.append(
                at_most(
                    f"added to a turn by memory, p95: {what}",
                    percentile(added, 0.95),
                    30,
                    " ms",
                    detail,
                )
            )
    return rows


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
            lambda tx, s=session, a=at, m=said: ingest(tx, ME, OWN, f"s{s}", None, a, a + 1, m)  # type: ignore[misc]  # bound now
        )
    change = {
        "instructions": [f"Always keep to rule {number}" for number in range(5)],
        "current_focus": "opening a bakery",
        "key_relationships": [{"name": f"Friend {n}", "text": "a friend"} for n in range(20)],
    }
    await polyvox.database.write(lambda tx: profile.patch(tx, ME, OWN, change, now))
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
            lambda tx, t=turn_id: turns.answers_of(tx, ME, t)  # type: ignore[misc]  # bound now
        )
        asked_at = max(one.attempts[0].started_at for one in answers)
        took.append((asked_at - sent) / 1000)
        told = await polyvox.database.read(
            lambda tx, t=turn_id: companions.traces(tx, ME, t)  # type: ignore[misc]  # bound now
        )
        spent += [json.loads(one)["timings"]["context_ms"] for one in [*told.values()][:1]]
    return took, spent
