"""SPACE Terminal's assertions, both shapes: nothing lost, ids kept, runs kept as history."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluation.suites import stored_context
from tests.session.room import ME, Room, open_room

from polyvox.errors import Invalid
from polyvox.evaluation import assertion
from polyvox.evaluation.contexts import Context, read, with_prompt
from polyvox.evaluation.tables import assertions, past_runs
from polyvox.evaluation.tables.assertions import Assertion, AssertionFilter
from polyvox.interop import assertion_import, space_assertions
from polyvox.interop.assertion_import import understand
from polyvox.interop.files import mended
from polyvox.interop.report import Report
from polyvox.store.database import Database

MAPPER = "Draws maps of what people avoid."
RESPONSE: dict[str, Any] = {
    "responseId": "resp-map-maker-1737914400123",
    "responseContent": "Where the river bends you stopped drawing.",
    "advisorName": "Map Maker",
    "conversationContext": {
        "messages": [
            {"type": "system", "content": "Welcome."},
            {"type": "user", "content": "Hello."},
            {"type": "assistant", "content": "[ADVISOR: Map Maker]\nHello yourself."},
            {"type": "user", "content": "Why do I never finish?"},
            {"type": "advisor_json", "content": "Where the river bends you stopped drawing."},
        ],
        "advisors": [
            {"name": "Map Maker", "description": MAPPER, "active": True},
            {"name": "Other", "description": "Something else."},
        ],
        "systemPrompt": f"You are a council.\n\nMap Maker: {MAPPER}\n\nAnswer in JSON.",
        "timestamp": "2025-01-26T12:00:00.123Z",
    },
    "assertions": [
        {"id": "assert-1", "text": "Uses an image of water", "createdAt": "2025-01-26T12:01:00Z"},
        {"id": "assert-2", "text": "Names the avoided place", "createdAt": 1737893_490_000},
    ],
    "evaluations": [
        {
            "id": "eval-1",
            "timestamp": "2025-01-26T12:05:00.000Z",
            "model": "gemini-2.5-flash-lite",
            "results": [
                {"assertionId": "assert-1", "passed": True, "reason": "It names a river."},
                {"assertionId": "assert-2", "passed": False, "reason": "No place is named."},
            ],
            "overallPassed": False,
        }
    ],
    "optimizations": [
        {
            "id": "opt-1",
            "startedAt": "2025-01-26T12:10:00.000Z",
            "originalPrompt": MAPPER,
            "finalPrompt": f"{MAPPER} Names the place.",
            "success": True,
            "totalIterations": 3,
        }
    ],
}
ALONE: dict[str, Any] = {
    "id": "1737999999999-x1",
    "text": "Is gnomic",
    "advisorId": "adv-7",
    "advisorName": "Stone Bell",
    "sourceResponseId": "resp-stone-bell-1738000000000",
    "sourceConversationId": "conv-3",
    "sourceUserInput": "Tell me about patience",
    "sourceAdvisorResponse": "The stone does not hurry.",
    "sourceContext": [{"type": "user", "content": "Tell me about patience"}],
    "createdAt": "2025-02-01T08:00:00Z",
    "isActive": False,
}


def dump(**more: Any) -> dict[str, Any]:
    """The browser's storage: JSON inside strings."""
    records = {
        "space_assertions_resp-map-maker-1737914400123": RESPONSE,
        f"assertion_{ALONE['id']}": ALONE,
        "advisor_assertions_adv-7": [ALONE["id"]],
        **more,
    }
    return {key: json.dumps(value) for key, value in records.items()}


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    async with open_room(tmp_path) as found:
        yield found


async def take(database: Database, data: object, **more: Any) -> Report:
    parsed = understand(json.dumps(data), "it")
    return await assertion_import.store(database, ME, 99, parsed, **more)


async def everyone(room: Room) -> dict[str, Assertion]:
    found = await room.polyvox.database.read(
        lambda tx: assertions.list_all(tx, AssertionFilter()), ME
    )
    return {one.id: one for one in found}


async def context(room: Room, one: Assertion) -> Context:
    assert one.source is not None
    name = one.source.context_hash
    return read((await room.polyvox.database.read(lambda tx: stored_context(tx, name), ME)).data)


async def test_a_record_per_response_loses_nothing(room: Room) -> None:
    mapper = await room.advisor("Map Maker", description=MAPPER)
    report = await take(room.polyvox.database, RESPONSE)
    assert report.taken == ["Uses an image of water", "Names the avoided place"]
    assert report.refused == []
    found = await everyone(room)
    assert list(found) == ["assert-1", "assert-2"]
    one = found["assert-1"]
    assert (one.advisor_id, one.advisor_name, one.kind) == (mapper.id, "Map Maker", "judge")
    assert one.created_at == 1737892860_000_000
    assert found["assert-2"].created_at == 1737893490_000_000
    assert one.source is not None
    assert one.source.answer_id == "resp-map-maker-1737914400123"
    assert one.source.user_input == "Why do I never finish?"
    assert one.source.answer == "Where the river bends you stopped drawing."
    history = await room.polyvox.database.read(lambda tx: assertion.history(tx, "assert-1"), ME)
    assert [(run.kind, run.id, dict(run.data)) for run in history.runs] == [
        ("evaluation", "eval-1", RESPONSE["evaluations"][0]),
        ("optimisation", "opt-1", RESPONSE["optimizations"][0]),
    ]
    assert history.runs[0].at == 1737893100_000_000


async def test_its_context_can_be_replayed_with_another_prompt(room: Room) -> None:
    mapper = await room.advisor("Map Maker", description=MAPPER)
    await take(room.polyvox.database, RESPONSE)
    kept = await context(room, (await everyone(room))["assert-1"])
    assert kept.origin == "SPACE Terminal"
    assert kept.advisor_id == mapper.id
    assert [(one.role, one.text) for one in kept.messages] == [
        ("user", "Hello."),
        ("assistant", "Hello yourself."),
        ("user", "Why do I never finish?"),
    ]
    asked = kept.request().system[0].text
    assert asked == RESPONSE["conversationContext"]["systemPrompt"]
    assert with_prompt(kept, MAPPER) is kept
    other = with_prompt(kept, "You ask.").request().system[0].text
    assert other == asked.replace(MAPPER, "You ask.")


async def test_a_record_per_assertion_and_the_whole_storage(room: Room) -> None:
    bell = await room.advisor("Stone Bell")
    secret = {"space_openai_key": "sk-not-for-us", "space_theme": "dark"}
    report = await take(room.polyvox.database, {**dump(), **secret})
    assert len(report.taken) == 3
    assert any("space_openai_key" in note for note in report.notes)
    assert "sk-not-for-us" not in repr(report)
    found = await everyone(room)
    one = found[ALONE["id"]]
    assert (one.advisor_id, one.active, one.text) == (bell.id, False, "Is gnomic")
    assert one.source is not None
    assert one.source.conversation_id == "conv-3"
    assert one.source.answer == "The stone does not hurry."
    kept = await context(room, one)
    assert [message.text for message in kept.messages] == ["Tell me about patience"]
    assert kept.takes_prompt
    made = await room.polyvox.advisors.get(ME, found["assert-1"].advisor_id)
    assert (made.name, made.description, made.active) == ("Map Maker", MAPPER, False)
    assert any("added, inactive" in note for note in report.notes)


async def test_twice_adds_nothing(room: Room) -> None:
    await take(room.polyvox.database, dump())
    before, known = await everyone(room), await room.polyvox.advisors.list(ME)
    report = await take(room.polyvox.database, dump())
    assert (report.taken, len(report.present)) == ([], 3)
    assert await everyone(room) == before
    assert await room.polyvox.advisors.list(ME) == known


async def test_the_same_ids_of_two_responses_do_not_meet(room: Room) -> None:
    other = deepcopy(RESPONSE)
    other["responseId"] = "resp-map-maker-2"
    other["assertions"][0]["text"] = "Something else entirely"
    data = dump(**{"assertions_conv-9_resp-map-maker-2": other})
    report = await take(room.polyvox.database, data)
    assert len(report.taken) == 5
    found = await everyone(room)
    assert len(found) == 5
    renamed = [one for one in found.values() if one.text == "Something else entirely"]
    assert renamed[0].id.startswith("assert-1-")
    assert renamed[0].source is not None
    assert renamed[0].source.conversation_id == "conv-9"
    name = renamed[0].id
    runs = (await room.polyvox.database.read(lambda tx: assertion.history(tx, name), ME)).runs
    assert [run.id for run in runs] == ["eval-1", "opt-1"]
    assert (await take(room.polyvox.database, data)).taken == []


async def test_a_synthesis_becomes_a_synthesis(room: Room) -> None:
    record = {**RESPONSE, "advisorName": "synthesis"}
    await take(room.polyvox.database, record)
    found = await everyone(room)
    assert [one.advisor_id for one in found.values()] == ["synthesis", "synthesis"]


async def test_answers_that_are_here_are_linked(room: Room) -> None:
    ann = await room.advisor("Map Maker")
    _, (answer,) = await room.say(await room.conversation(ann), "So?")
    await take(room.polyvox.database, {**RESPONSE, "responseId": answer.id})
    one = (await everyone(room))["assert-1"]
    assert one.source is not None
    assert one.source.conversation_id == answer.conversation_id
    assert one.source.turn_id == answer.turn_id


async def test_fields_that_mean_nothing_here_are_kept(room: Room) -> None:
    await room.advisor("Map Maker")
    report = await take(room.polyvox.database, {**RESPONSE, "mood": {"of": "the day"}})
    assert any("mood" in note for note in report.notes)
    runs = await room.polyvox.database.read(
        lambda tx: past_runs.of_answer(tx, RESPONSE["responseId"]), ME
    )
    assert {"mood": {"of": "the day"}} in [run.data for run in runs]


async def test_parallel_answers_are_the_advisors_own_thread(room: Room) -> None:
    record = deepcopy(RESPONSE)
    record["conversationContext"]["messages"] = [
        {"type": "user", "content": "One?"},
        {
            "type": "parallel_advisor_response",
            "advisorResponses": {
                "a": {"name": "Map Maker", "content": "Mine.", "completed": True},
                "b": {"name": "Other", "content": "Theirs.", "completed": True},
            },
        },
        {"type": "user", "content": "Two?"},
    ]
    await take(room.polyvox.database, record)
    kept = await context(room, (await everyone(room))["assert-1"])
    assert [message.text for message in kept.messages] == ["One?", "Mine.", "Two?"]


async def test_garbled_text_is_put_right_and_told(room: Room) -> None:
    right = "Say “no” — it’s fine, café"
    garbled = right.encode().decode("mac_roman")
    record = {**ALONE, "text": garbled}
    report = await take(room.polyvox.database, record)
    assert right in [one.text for one in (await everyone(room)).values()]
    assert any("put right" in note for note in report.notes)


@settings(max_examples=200, deadline=None)
@given(st.text("aé“”’—… ñüÉ日本🙂ÆØå", max_size=20))
def test_text_that_was_right_stays_and_garbled_text_comes_back(text: str) -> None:
    """Whatever our own words are, they are not taken for garbled ones; and garbled ones return."""
    garbled = text.encode().decode("mac_roman")
    assert mended(garbled)[0] == text or mended(text)[1] > 0
    for word in ("café", "“so”", "naïve…", "Ærø", "déjà vu", "¿Qué?", "„gut“", "日本"):
        assert mended(word) == (word, 0)


@pytest.mark.parametrize(
    "data",
    [
        {"assertion_1": "not json"},
        {"assertion_1": json.dumps([1])},
        {"assertion_1": json.dumps({"id": "1", "text": "x"})},
        {"assertion_1": json.dumps({"id": "1", "text": " ", "advisorName": "A"})},
        {"space_assertions_r": json.dumps({"assertions": [{"text": "x"}]})},
    ],
)
async def test_a_record_that_cannot_be_used_is_told(room: Room, data: dict[str, str]) -> None:
    report = await take(room.polyvox.database, data)
    assert len(report.refused) == 1
    assert await everyone(room) == {}


def test_what_is_not_theirs_is_not_taken_for_it() -> None:
    assert not space_assertions.is_space({"suites": []})
    assert not space_assertions.is_space([])
    assert not space_assertions.is_space("x")
    with pytest.raises(Invalid):
        space_assertions.parse("x", "it")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)
NAMES = st.sampled_from([*RESPONSE, *ALONE])


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(NAMES, JSON, max_size=8))
def test_any_record_is_read_without_a_fault(changed: dict[str, Any]) -> None:
    for record in (RESPONSE, ALONE):
        found = space_assertions.parse([{**record, **changed}], "it")
        assert all(one.assertion.text for suite in found.suites for one in suite.entries)
