"""Handovers that a model writes: told where they hold; else the plain one is, and the trace says
why."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.provider import ProviderServer, Script
from tests.session.remembered import remember, system_of, trace
from tests.session.room import ME, Hand, Room, open_room

GOOD = (
    "Thursday afternoon, 2 days since the last talk, and this is the first talk today. Then it was"
    " the letter to an aunt."
)
PLAIN = "It is Thursday afternoon. The last talk ended 2 days ago; this is the first talk today."
LETTER = "I must finish the letter to my aunt in Porto."
REFUSED = Script(pieces=("I cannot help with that.",))
RECIPES = ("council", "companion")


@asynccontextmanager
async def past_room(home: Path, *, budget: float = 5.0, **more: Any) -> AsyncIterator[Room]:
    models = {"memory": "lab:memory", "gate": "lab:gate", **more.pop("models", {})}
    async with open_room(
        home, clock=Hand(), models=models, memory={"budget": budget}, **more
    ) as room:
        await remember(room, "s1", [LETTER], days=2)
        yield room


async def opening(room: Room, recipe: str, *scripts: Script) -> tuple[str, Any]:
    """The handover of a first turn, and its trace; the last script answers ever after."""
    for one in scripts:
        room.provider.queue("memory", one)
    ann = await room.advisor("Ann", Script(text="I see."))
    _, (answer,) = await room.say(
        await room.conversation(ann, recipe=recipe), "I have a plan for the garden now."
    )
    assert answer.state == "completed"
    model = str(ann.model).partition(":")[2]
    texts = system_of(room.provider.requests(model)[-1].json())
    told = [one for one in texts[1:] if "Thursday" in one]
    return told[0] if told else "", await trace(room, answer.id)


@pytest.mark.parametrize("recipe", RECIPES)
async def test_one_that_holds_is_told_as_it_was_written(tmp_path: Path, recipe: str) -> None:
    async with past_room(tmp_path) as room:
        told, decided = await opening(room, recipe, Script(text=GOOD))
        assert told == GOOD
        assert not [one for one in decided["degrades"] if one.startswith("handover")]
        asked = str(room.provider.requests("memory")[0].json())
        assert "letter to my aunt" in asked
        rows = await room.polyvox.database.read(
            lambda tx: tx.all("SELECT model FROM usage WHERE purpose = 'memory'"), ME
        )
        assert rows == [("lab:memory",)]


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize(
    ("scripts", "why"),
    [
        ((Script(text="Nothing of use."), Script(text=GOOD)), ""),
        ((Script(text="{'handover':"), Script(text="]]")), "invalid"),
        ((Script(text=f"{GOOD} Barbara called."), Script(text=f"{GOOD} At 14:30.")), "invalid"),
        ((Script(text=GOOD, fault="length"), Script(text=GOOD, fault="length")), "invalid"),
        ((REFUSED, REFUSED), "invalid"),
        ((Script(text=GOOD, fault="refusal", after=2),), "refused"),
        ((Script(text=GOOD, fault="cut", after=3),), "unavailable"),
        ((Script(status=500),), "unavailable"),
        ((Script(status=401),), "auth"),
    ],
    ids=[
        "rewritten",
        "malformed",
        "invented",
        "truncated",
        "declined",
        "filtered",
        "cut",
        "500",
        "401",
    ],
)
async def test_one_that_does_not_is_told_plainly_and_the_trace_says_why(
    tmp_path: Path, recipe: str, scripts: tuple[Script, ...], why: str
) -> None:
    async with past_room(tmp_path) as room:
        told, decided = await opening(room, recipe, *scripts)
        degrades = [one for one in decided["degrades"] if one.startswith("handover")]
        assert len(room.provider.requests("memory")) == len(scripts)
        if not why:
            assert (told, degrades) == (GOOD, [])
            return
        assert told.startswith(PLAIN)
        assert "“I must finish the letter" in told
        assert len(degrades) == 1
        assert degrades[0].startswith(f"handover: {why}"), degrades


@pytest.mark.parametrize("recipe", RECIPES)
async def test_one_that_takes_too_long_costs_its_budget(tmp_path: Path, recipe: str) -> None:
    async with past_room(tmp_path, budget=0.3) as room:
        told, decided = await opening(room, recipe, Script(hold="never"))
        assert told.startswith(PLAIN)
        assert "handover: timeout" in decided["degrades"]
        assert decided["startbrief_runtime"]["startbrief_fetch"] == "fetched"


async def test_it_is_written_once_a_session(tmp_path: Path) -> None:
    async with past_room(tmp_path) as room:
        room.provider.script("memory", Script(text=GOOD))
        ann = await room.advisor("Ann")
        talk = await room.conversation(ann)
        for text in ("Hello.", "And now?", "And then?"):
            await room.say(talk, text)
        assert len(room.provider.requests("memory")) == 1


async def test_a_cap_that_is_reached_leaves_the_plain_one(tmp_path: Path) -> None:
    async with past_room(tmp_path, limits={"cost_per_conversation": 10.0}) as room:
        told, _ = await opening(room, "council", Script(text=GOOD))
        assert told == GOOD
    async with past_room(
        tmp_path / "dear", models={"memory": "openai:gpt-4o-mini"}, limits={"cost_per_day": 0.0}
    ) as room:
        known = await room.polyvox.services.current.start(
            ME, "now", room.polyvox.clock(), cloud=True
        )
        assert known.startbrief is not None
        assert known.startbrief.evidence is not None
        assert known.startbrief.evidence.fallback == "cap_reached"
        assert (known.startbrief.handover_text or "").startswith(PLAIN)
        assert room.provider.log == []


async def test_a_writer_elsewhere_is_not_shown_what_must_not_leave(tmp_path: Path) -> None:
    async with ProviderServer() as provider:
        at = provider.base_url.replace("127.0.0.1", "0.0.0.0")
        async with past_room(
            tmp_path,
            provider=provider,
            models={"memory": "far:memory"},
            providers={"far": {"base_url": at, "api_key": "k"}},
        ) as room:
            await remember(room, "s2", ["The safe stands behind the stove."], days=3, cloud=False)
            told, _ = await opening(room, "council", Script(text=GOOD))
            assert told == GOOD
            assert "stove" not in str([one.json() for one in provider.requests("memory")])


async def test_nobody_writes_where_there_is_nothing_to_tell(tmp_path: Path) -> None:
    async with open_room(tmp_path, models={"memory": "lab:memory"}) as room:
        ann = await room.advisor("Ann")
        await room.say(await room.conversation(ann), "Hello there.")
        assert room.provider.requests("memory") == []
