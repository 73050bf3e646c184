"""The gate's form is read field by field: a default where a field fails, never a guess."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest
from tests.companion.readings import reading

from polyvox.companion.gate import (
    NO_GATE,
    Posture,
    Reading,
    RecallSpec,
    Risk,
    Unreadable,
    read,
    schema,
)
from polyvox.companion.texts import text

GOOD = msgspec.json.encode(reading(intent="momentum", confidence=0.8)).decode()


@pytest.mark.parametrize(
    "reply", [GOOD, f"```json\n{GOOD}\n```", f"Here it is:\n{GOOD}\nDone.", f"\n\n{GOOD}  "]
)
def test_a_reading_is_found_in_what_is_around_it(reply: str) -> None:
    assert read(reply) == (reading(intent="momentum", confidence=0.8), ())


def changed(**changes: object) -> str:
    return msgspec.json.encode(msgspec.json.decode(GOOD) | changes).decode()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"mood": "x" * 80}, {"mood": "x" * 60}),
        ({"mood": None, "tone": ["a", "b"], "energy": 3, "thoughts": "…"}, {}),
        ({"mood": " calm "}, {"mood": "calm"}),
        ({"confidence": "0.9", "posture_confidence": " 1 "}, {"posture_confidence": 1.0}),
        ({"risk": "crisis", "posture": " Recovery "}, {"risk": "CRISIS", "posture": "RECOVERY"}),
        ({"Risk": "High", "risk": "high"}, {"risk": "HIGH"}),
        ({"urgent": "true", "conflict": 1}, {"urgent": True, "conflict": True}),
    ],
)
def test_carelessness_costs_nothing(
    changes: dict[str, object], expected: dict[str, object]
) -> None:
    found, unread = read(changed(**changes))
    assert unread == ()
    assert found.intent == "momentum"
    for name, value in {"mood": "", "tone": "", "energy": "", **expected}.items():
        assert getattr(found, name) == value


@pytest.mark.parametrize(
    ("changes", "unread"),
    [
        ({"posture": "COMRADE"}, ("posture",)),
        ({"risk": None}, ("risk",)),
        ({"risk": "SEVERE", "urgent": "perhaps"}, ("risk", "urgent")),
        ({"confidence": "high"}, ("confidence",)),
        ({"confidence": "nan"}, ("confidence",)),
        ({"confidence": "1.8"}, ("confidence",)),
        ({"posture_confidence": None}, ("posture_confidence",)),
        ({"explicit": None, "recall": "topic"}, ("explicit", "recall")),
        ({"recall": {"kind": "all", "entities": ["Jana"]}}, ("recall.kind",)),
    ],
)
def test_a_field_that_cannot_be_read_has_its_default_and_the_rest_counts(
    changes: dict[str, object], unread: tuple[str, ...]
) -> None:
    found, named = read(changed(**changes))
    assert named == unread
    assert found.intent == "momentum"
    for name in unread:
        if "." not in name:
            assert getattr(found, name) == getattr(NO_GATE, name)


@pytest.mark.parametrize("name", [one.name for one in msgspec.structs.fields(Reading)])
def test_a_field_may_be_missing(name: str) -> None:
    short = msgspec.json.decode(GOOD)
    del short[name]
    found, unread = read(msgspec.json.encode(short).decode())
    assert unread == (() if name in ("mood", "energy", "tone") else (name,))
    rest = {"intent": "momentum", "confidence": 0.8} | {name: getattr(NO_GATE, name)}
    assert found == reading(**rest)


def test_a_question_to_memory_is_read_as_far_as_it_can_be() -> None:
    spec = {"kind": "Topic", "entities": ["Jana", 3, " "], "topics": "the move", "time": "in May"}
    found, unread = read(changed(recall=spec))
    assert unread == ()
    assert found.recall == RecallSpec("topic", ("Jana",), ("the move",), "in May")
    many = {"kind": "topic", "entities": ["x" * 99] * 99}
    assert read(changed(recall=many))[0].recall.entities == ("x" * 60,) * 8


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I cannot help with that.",
        "{",
        "[]",
        GOOD[: GOOD.index('"recall"')],
        "{}",
        '{"error": "overloaded"}',
        '{"mood": "calm"}',
    ],
)
def test_anything_else_is_unreadable(reply: str) -> None:
    with pytest.raises(Unreadable):
        read(reply)


def test_the_schema_asks_for_every_field() -> None:
    told = msgspec.json.decode(schema())
    for part, kind in ((told, Reading), (told["properties"]["recall"], RecallSpec)):
        assert set(part["required"]) == {field.name for field in msgspec.structs.fields(kind)}
        assert part["additionalProperties"] is False


def test_the_prompt_explains_every_choice() -> None:
    prompt = text("gate")
    for name in msgspec.structs.fields(Reading):
        assert name.name in prompt
    for choices in (Posture, Risk):
        for choice in get_args(choices):
            (line,) = (one for one in prompt.splitlines() if one.startswith(f"  {choice}:"))
            rest = prompt[prompt.index(line) :].split("\n- ")[0]
            assert '"' in rest.split(":", 1)[1].split("\n  " + choice)[0]
