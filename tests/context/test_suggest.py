"""Perspectives for a question: what is asked, and what is made of whatever comes back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvox.context.suggest import COMPACT_COUNT, ask, ask_again, read
from polyvox.models.base import ModelFacts
from polyvox.values import Advisor

FULL = ModelFacts("lab:x", 8000, "full", 900)
SMALL = ModelFacts("local:x", 2048, "compact", 512)
ADVISORS = [
    Advisor("1", "skeptic", "Skeptic", "You doubt {count} things. " * 40),
    Advisor("2", "host", "Host", "Not told.", prompt="You welcome."),
]


def one(name: str, **more: str) -> dict[str, str]:
    return {"name": name, "description": f"You see the {name} in everything.", "why": "So.", **more}


TWO = {"suggestions": [one("Miller"), one("Rover")]}


def names(reply: str) -> list[str]:
    return [found.name for found in read(reply)]


def test_the_request_names_the_number_and_who_is_there() -> None:
    request = ask("Is it so?", 5, ADVISORS, FULL)
    (part,) = request.system
    assert "Propose 5 points of view" in part.text
    assert "- Skeptic: You doubt {count} things." in part.text, "what they wrote is no slot"
    assert "- Host: You welcome." in part.text
    assert "{known}" not in part.text
    assert '{"suggestions": [{"name"' in part.text
    assert [(m.role, m.text) for m in request.messages] == [("user", "Is it so?")]
    assert request.params.max_tokens == 900
    assert request.schema is None
    assert len(part.text) < 3000, "a long description is cut"


def test_without_advisors_nobody_is_named() -> None:
    (part,) = ask("Is it so?", 5, (), FULL).system
    assert "there already" not in part.text
    assert "\n\n\n" not in part.text


def test_hundreds_of_advisors_stay_bounded() -> None:
    crowd = [Advisor(str(n), f"a{n}", f"Name {n}", "Word " * 900) for n in range(1000)]
    assert len(ask("?", 3, crowd, FULL).system[0].text) < 20_000
    assert len(ask("?", 3, crowd, SMALL).system[0].text) < 1000


def test_a_small_model_is_asked_for_less_and_held_to_a_schema() -> None:
    request = ask("Is it so?", 8, ADVISORS, SMALL)
    assert len(request.system[0].text) < 600
    assert "Skeptic, Host" in request.system[0].text
    assert request.schema is not None
    schema: dict[str, Any] = json.loads(request.schema)
    some = schema["properties"]["suggestions"]
    assert (some["minItems"], some["maxItems"]) == (COMPACT_COUNT, COMPACT_COUNT)
    assert set(some["items"]["properties"]) == {"name", "why", "description"}


def test_the_second_try_shows_what_was_wrong() -> None:
    first = ask("Is it so?", 4, (), FULL)
    again = ask_again(first, "No. " * 5000, 4)
    assert again.system == first.system
    assert [m.role for m in again.messages] == ["user", "assistant", "user"]
    assert len(again.messages[1].text) == 4000
    assert "4 advisors" in again.messages[2].text
    assert ask_again(first, " \n", 4) == first, "nothing was said: there is nothing to show"
    small = ask("Is it so?", 4, (), SMALL)
    assert ask_again(small, "No.", 4) == small, "it has no room for more"


WRAPPED = {
    "plain": json.dumps(TWO),
    "pretty": json.dumps(TWO, indent=2),
    "fenced": f"```json\n{json.dumps(TWO, indent=1)}\n```",
    "prose around it": f"Sure! Here {{you}} go:\n\n{json.dumps(TWO)}\n\nI hope {{it}} helps.",
    "a bare list": json.dumps(TWO["suggestions"]),
    "one by one": "\n".join(json.dumps(each) for each in TWO["suggestions"]),
    "wrapped again": json.dumps({"result": {"advisors": TWO["suggestions"]}}),
    "other words for it": json.dumps(
        [{"title": n, "identity": f"You are the {n} here.", "reason": "So."} for n in "MR"]
    )
    .replace('"M"', '"Miller"')
    .replace('"R"', '"Rover"'),
    "raw line breaks": json.dumps(TWO).replace("You see", "You\nsee"),
    "a comma too many": json.dumps(TWO).replace("]}", ",]}"),
    "thought first": f"<think>Maybe {json.dumps([one('Draft')])}?</think>{json.dumps(TWO)}",
}


@pytest.mark.parametrize("reply", WRAPPED.values(), ids=WRAPPED)
def test_json_is_found_however_it_is_wrapped(reply: str) -> None:
    found = read(reply)
    assert [each.name for each in found] == ["Miller", "Rover"]
    assert all(each.description.startswith("You") and each.why == "So." for each in found)


def test_of_a_reply_that_was_cut_off_the_whole_ones_are_kept() -> None:
    whole = json.dumps({"suggestions": [one("A"), one("B"), one("C")]})
    ends = [whole.index(json.dumps(one(n))) + len(json.dumps(one(n))) for n in "ABC"]
    for length in range(len(whole) + 1):
        assert len(names(whole[:length])) == sum(end <= length for end in ends)


LISTS = {
    "dashes": "- Miller: You grind it all to flour.\n- Rover: You never stay to see.",
    "numbers": "Here they are.\n1. **Miller** – You grind it\nall to flour.\n\n2) Rover – You go.",
    "headings": "## Miller: You grind.\nAnd you wait.\n## Rover: You never stay.",
}


@pytest.mark.parametrize("reply", LISTS.values(), ids=LISTS)
def test_a_plain_list_is_read_too(reply: str) -> None:
    first, second = read(reply)
    assert "Miller" in first.name
    assert first.description.startswith("You grind")
    assert second.name == "Rover"


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I cannot help with that.",
        "I cannot help with that:\n- Safety: it would not be right.",
        '{"suggestions": []}',
        '{"suggestions": null}',
        '{"suggestions": ["Miller", "Rover"]}',
        '{"suggestions": [{"name": "Miller"}, {"description": "You grind."}, {"name": 3}]}',
        '[{"name": "", "description": "You."}, {"name": "  ", "description": "You."}]',
        "{" * 50_000,
        '{"a":' * 50_000,
        "[" * 50_000,
    ],
)
def test_what_proposes_nobody_gives_nobody(reply: str) -> None:
    assert read(reply) == []


@given(st.text(st.sampled_from('{}[]",:\\ \nnamedescriptionYou-1.*'), max_size=300))
def test_whatever_is_said_is_taken_calmly(reply: str) -> None:
    assert all(each.name and each.description for each in read(reply))
