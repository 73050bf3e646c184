"""Forgetting by provenance: what the preview lists goes from every table and file, and no more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.memory.canary import FILLER, SAYS, WORD, Nest, forget, open_nest, talk


@pytest.fixture
async def nest(database_url: str, tmp_path: Path) -> AsyncIterator[Nest]:
    async with open_nest(database_url, tmp_path / "home") as nest:
        yield nest


def named(shown: Any, kind: str) -> list[str]:
    return [one["id"] for one in shown[kind]]


async def test_a_message_goes_with_everything_that_was_made_from_it(nest: Nest) -> None:
    await nest.everywhere()
    assert await nest.traces()
    shown = await forget(nest, "message", f"{nest.ids['session']}#0")
    assert nest.ids["answer"] in named(shown, "answers")
    assert nest.ids["echo"] in named(shown, "answers"), "it was told of it from memory"
    assert len(shown["facts"]) == len(shown["loops"]) == len(shown["profile"]) == 1
    assert shown["receipts"] >= 1
    assert await nest.traces() == {}


async def test_an_answer_can_be_kept(nest: Nest) -> None:
    await nest.everywhere()
    wanted = {"kind": "message", "id": f"{nest.ids['session']}#0", "keep": [nest.ids["echo"]]}
    went = await nest.house.post("/api/memory/forget", wanted)
    assert went.status == 200, went.text
    kept = await nest.house.answer(nest.ids["echo"])
    assert WORD in kept["text"].lower()
    gone = await nest.house.answer(nest.ids["answer"])
    assert WORD not in gone["text"].lower()


async def test_a_fact_goes_alone(nest: Nest) -> None:
    await nest.everywhere()
    (fact,) = (await nest.house.get("/api/memory/facts")).json()
    shown = await forget(nest, "fact", fact["id"])
    assert named(shown, "facts") == [fact["id"]]
    assert not any(shown[kind] for kind in ("messages", "answers", "loops", "profile", "titles"))
    assert (await nest.house.get("/api/memory/facts")).json() == []
    assert len((await nest.house.get("/api/memory/loops")).json()) == 1
    view = (await nest.house.get(f"/api/conversations/{nest.ids['conversation']}")).json()
    assert SAYS in str(view)


async def test_a_conversation_that_is_deleted_leaves_nothing(nest: Nest) -> None:
    await nest.everywhere()
    gone = await nest.house.delete(f"/api/conversations/{nest.ids['conversation']}")
    assert gone.status in (200, 204), gone.text
    await nest.work()
    assert await nest.traces() == {}


async def test_other_messages_stay_as_they_are(nest: Nest) -> None:
    told, session = await talk(nest, (FILLER, "Tea it is."), (SAYS, "I see."))
    shown = await forget(nest, "message", f"{session}#2")
    assert len(shown["messages"]) == 2, "the message and its answer"
    view = (await nest.house.get(f"/api/conversations/{told}")).json()
    assert FILLER in str(view)
    assert "Tea it is." in str(view)
    assert WORD not in str(view).lower()
