"""What the gate replies is a reading or an error, never a guess."""

from __future__ import annotations

import msgspec
import pytest
from tests.companion.readings import reading

from polyvox.companion.gate import Reading, Unreadable, read, schema

GOOD = msgspec.json.encode(reading(intent="momentum", confidence=0.8)).decode()


@pytest.mark.parametrize(
    "reply", [GOOD, f"```json\n{GOOD}\n```", f"Here it is:\n{GOOD}\nDone.", f"\n\n{GOOD}  "]
)
def test_a_reading_is_found_in_what_is_around_it(reply: str) -> None:
    assert read(reply) == reading(intent="momentum", confidence=0.8)


def test_more_than_was_asked_for_is_passed_over() -> None:
    more = msgspec.json.decode(GOOD) | {"thoughts": "…"}
    assert read(msgspec.json.encode(more).decode()).intent == "momentum"


def changed(**changes: object) -> str:
    return msgspec.json.encode(msgspec.json.decode(GOOD) | changes).decode()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"mood": "x" * 80}, {"mood": "x" * 60}),
        ({"mood": None, "tone": ["a", "b"], "energy": 3}, {}),
        ({"mood": " calm "}, {"mood": "calm"}),
        ({"confidence": "0.9", "posture_confidence": " 1 "}, {"confidence": 0.9}),
    ],
)
def test_a_careless_word_does_not_cost_the_reading(
    changes: dict[str, object], expected: dict[str, object]
) -> None:
    found = read(changed(**changes))
    assert found.intent == "momentum"
    for name, value in {"mood": "", "tone": "", "energy": "", **expected}.items():
        assert getattr(found, name) == value
    sure = 1.0 if "posture_confidence" in changes else 0.0
    assert found.posture_confidence == sure


def test_a_free_word_may_be_missing() -> None:
    short = msgspec.json.decode(GOOD)
    del short["mood"]
    assert read(msgspec.json.encode(short).decode()).mood == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"posture": "companion"},
        {"risk": None},
        {"intent": "pushing", "mood": "calm"},
        {"confidence": "high"},
        {"confidence": "nan"},
        {"confidence": "1.8"},
        {"confidence": None},
        {"urgent": "no"},
        {"explicit": None},
    ],
)
def test_a_decision_is_never_guessed(changes: dict[str, object]) -> None:
    with pytest.raises(Unreadable):
        read(changed(**changes))


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I cannot help with that.",
        "{",
        "[]",
        GOOD[:-10],
        GOOD.replace('"momentum"', '"pushing"'),
        GOOD.replace("0.8", "1.8"),
        GOOD.replace('"urgent":false', '"urgent":"no"'),
        "{}",
    ],
)
def test_anything_else_is_unreadable(reply: str) -> None:
    with pytest.raises(Unreadable):
        read(reply)


def test_the_schema_names_every_field() -> None:
    told = msgspec.json.decode(schema())
    fields = {field.name for field in msgspec.structs.fields(Reading)}
    assert set(told["required"]) == fields - {"recall"}
    assert set(told["$defs"]) == {"RecallSpec"}
    assert told["additionalProperties"] is False
