"""What the gate replies is a reading or an error, never a guess."""

from __future__ import annotations

import msgspec
import pytest
from tests.companion.readings import reading

from polyvox.companion.reading import Reading, Unreadable, read, schema

GOOD = msgspec.json.encode(reading(intent="momentum", confidence=0.8)).decode()


@pytest.mark.parametrize(
    "reply", [GOOD, f"```json\n{GOOD}\n```", f"Here it is:\n{GOOD}\nDone.", f"\n\n{GOOD}  "]
)
def test_a_reading_is_found_in_what_is_around_it(reply: str) -> None:
    assert read(reply) == reading(intent="momentum", confidence=0.8)


def test_more_than_was_asked_for_is_passed_over() -> None:
    more = msgspec.json.decode(GOOD) | {"thoughts": "…"}
    assert read(msgspec.json.encode(more).decode()).intent == "momentum"


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
    assert set(told["required"]) == {field.name for field in msgspec.structs.fields(Reading)}
    assert told["additionalProperties"] is False
