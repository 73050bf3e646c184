"""What was said twice and forgotten twice is gone, in whichever order; what others say stays."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.companion.lounge import reading_text
from tests.memory.canary import ASKING, FRIDAY, MINUTE, Nest, forget, open_nest, talk
from tests.provider import Script

from polyvox.values import REDACTED

pytestmark = pytest.mark.contract

FIRST = "The boathouse of Quillabamba leaks."
SECOND = "Again, the boathouse of Quillabamba leaks."
ECHO = "So the boathouse of Quillabamba is what you mean."
LEFT = f"So {REDACTED} is what you mean."


@pytest.fixture
async def nest(database_url: str, tmp_path: Path) -> AsyncIterator[Nest]:
    url = "" if database_url.startswith("sqlite") else database_url
    async with open_nest(url, tmp_path / "home") as found:
        found.clock[0] = FRIDAY + 10 * 60 * MINUTE
        yield found


async def view(nest: Nest, conversation: str) -> Any:
    return (await nest.house.get(f"/api/conversations/{conversation}")).json()["messages"]


async def answers(nest: Nest, conversation: str) -> list[str]:
    messages = await view(nest, conversation)
    return [answer["text"] for message in messages for answer in message["answers"]]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["oldest first", "newest first"])
async def test_said_in_two_conversations(nest: Nest, order: tuple[int, int]) -> None:
    talks = [await talk(nest, (says, ECHO)) for says in (FIRST, SECOND)]
    first, second = (talks[number] for number in order)
    await forget(nest, "message", f"{first[1]}#0")
    assert await answers(nest, first[0]) == [ECHO], "the other one says it still"
    await forget(nest, "message", f"{second[1]}#0")
    assert await nest.traces() == {}
    assert [await answers(nest, one) for one, _ in talks] == [[LEFT], [LEFT]]


async def test_said_twice_in_one_conversation(nest: Nest) -> None:
    conversation, session = await talk(nest, (FIRST, ECHO), (SECOND, ECHO))
    for index in (0, 2):
        await forget(nest, "message", f"{session}#{index}")
    assert await nest.traces() == {}
    assert await answers(nest, conversation) == [LEFT, LEFT]


async def test_both_versions_of_an_edited_message(nest: Nest) -> None:
    house = nest.house
    conversation = await house.conversation(await house.advisor(house.model(Script(text=ECHO))))
    await house.say(conversation, FIRST)
    nest.clock[0] += MINUTE
    (old,) = await view(nest, conversation)
    edited = (await house.patch(f"/api/messages/{old['id']}", {"content": SECOND})).json()
    await house.ended(conversation, edited["turn"]["turn_id"])
    (new,) = await view(nest, conversation)
    for message in (old, new):
        await forget(nest, "message", message["id"])
    assert await nest.traces() == {}


async def test_what_was_told_of_the_first_is_found_with_the_second(nest: Nest) -> None:
    """Between the two a companion was told of it, and nobody in its conversation had said it."""
    house = nest.house
    _, first = await talk(nest, (FIRST, "I see."))
    house.provider.script("talker", Script(text=ECHO))
    house.provider.script("gate", Script(text=reading_text(ASKING)))
    nest.clock[0] += 30 * MINUTE
    asked = {"personaId": "harbor", "text": "What of that boathouse?"}
    said = await house.post("/api/chat", asked)
    nest.clock[0] += 30 * MINUTE
    _, second = await talk(nest, (SECOND, "I see."))
    assert {"spans", "answers"} <= set(await nest.traces()), "or it tests nothing"
    for session in (first, second):
        await forget(nest, "message", f"{session}#0")
    assert await nest.traces() == {}
    trace = (await house.get(f"/api/turns/{said.json()['requestId']}/trace")).json()
    told = (await house.get(f"/api/answers/{trace['answer_id']}")).json()
    assert told["text"].endswith("is what you mean.")


async def test_an_answer_with_words_of_its_own_still_vouches(nest: Nest) -> None:
    """Neither before a forgotten message nor in a conversation that has none is it doubted."""
    conversation, session = await talk(
        nest,
        ("Any names?", "Quillabamba is one."),
        ("I like zibeline coats.", "Fine."),
        ("Quillabamba, you say?", "Yes, Quillabamba."),
    )
    for index in (2, 4):
        await forget(nest, "message", f"{session}#{index}")
    assert await answers(nest, conversation) == [
        "Quillabamba is one.",
        "Fine.",
        "Yes, Quillabamba.",
    ]
