"""What the rewriter is asked, and which of its texts are taken."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from polyvox.evaluation.optimise import rewrite
from polyvox.evaluation.optimise.rewrite import Ask, Failing, cap, question, read, wrong

OLD = " ".join(["You are a careful advisor who has seen much and judges little."] * 4)
ASK = Ask(
    advisor="Ann",
    prompt=OLD,
    original=OLD,
    failing=(Failing("It uses a metaphor.", 1, 3, "There is none.", "What now?", "Wait."),),
    holding=("It is brief.",),
    earlier=((OLD + " Be bold.", 0.25),),
    conversations=("My aunt Brunhilde asked: what now?",),
    tried=frozenset({OLD + " Be bold."}),
)


def test_the_question_is_one_object_with_everything_in_it() -> None:
    data = json.loads(question(ASK))
    assert data == {
        "advisor": "Ann",
        "instructions": OLD,
        "around": [],
        "failing": [
            {
                "statement": "It uses a metaphor.",
                "held": "1 of 3",
                "asked": "What now?",
                "answered": "Wait.",
                "why": "There is none.",
            }
        ],
        "holding": ["It is brief."],
        "earlier": [{"instructions": OLD + " Be bold.", "held": "25%"}],
        "most": cap(OLD),
    }


@given(some.text(max_size=80), some.text(max_size=80), some.text(max_size=80))
def test_no_text_can_end_its_string(asked: str, answered: str, reason: str) -> None:
    one = Failing("It is so.", 0, 3, reason, asked, answered)
    data = json.loads(question(replace(ASK, failing=(one,))))
    assert len(data["failing"]) == 1
    assert data["failing"][0]["asked"] == asked.encode("utf-16", "surrogatepass").decode(
        "utf-16", "replace"
    )
    assert data["holding"] == ["It is brief."]


def test_examples_are_kept_short() -> None:
    long = Failing("It is so.", 0, 3, "r" * 9000, "q" * 9000, "a" * 9000)
    assert len(question(replace(ASK, failing=(long,) * 50))) < 60_000


def test_our_own_words_ask_for_the_smallest_edit_and_nothing_carried_over() -> None:
    (system,) = rewrite.request(ASK, 100).system
    assert "smallest change" in system.text
    assert "carry over no fact, name, number" in system.text


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ('{"reason": "r", "instructions": "Be kind."}', "Be kind."),
        ('Sure!\n```json\n{"reason": "r", "instructions": " Be kind. "}\n```', "Be kind."),
        ('<think>{"instructions": "no"}</think>{"instructions": "Be kind."}', "Be kind."),
        ('{"instructions": "One\\r\\ntwo\\u0000."}', "One\ntwo ."),
        ("Be kind.", None),
        ('{"instructions": 3}', None),
        ('{"instructions": "cut off', None),
        ("", None),
    ],
)
def test_reading_a_reply(reply: str, text: str | None) -> None:
    assert read(reply) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "holds no JSON"),
        ("", "empty"),
        (OLD, "nothing was changed"),
        (OLD + " Be bold.", "tried already"),
        (OLD + " x" * 500, "are the most"),
        ("Be someone else entirely.", "less than half"),
        (OLD + " Think of Brunhilde.", "carries over from the conversations: “Brunhilde”"),
    ],
)
def test_what_is_not_taken_and_why(text: str | None, why: str) -> None:
    assert why in wrong(text, ASK)


def test_what_is_taken() -> None:
    assert wrong(OLD + " Use a metaphor.", ASK) == ""
    assert wrong("Use a metaphor.", replace(ASK, prompt="", original="")) == ""


def test_slots_stay() -> None:
    phase = "This is turn {k} of {n}."
    ask = replace(ASK, prompt=phase, original=phase)
    assert "{n}" in wrong("This is turn {k}. Use a metaphor.", ask)
    assert wrong("This is turn {k} of {n}. Use a metaphor.", ask) == ""


def test_growth_is_measured_from_the_original() -> None:
    grown = OLD + " y" * 300
    ask = replace(ASK, prompt=grown)
    assert "are the most" in wrong(grown + " z" * 300, ask)
    assert cap("") == 800
    assert cap("x" * 10_000) == 15_000


def test_a_refusal_does_not_repeat_what_was_carried_over() -> None:
    why = wrong(OLD + " Think of Brunhilde.", ASK)
    assert "Brunhilde" not in rewrite.refusal(why)
    assert "was not taken" in rewrite.refusal("nothing was changed.")


def test_the_same_question_has_the_same_name() -> None:
    one, other = rewrite.request(ASK, 10), rewrite.request(replace(ASK, earlier=()), 10)
    assert rewrite.ask_hash(one) == rewrite.ask_hash(rewrite.request(ASK, 10))
    assert rewrite.ask_hash(one) != rewrite.ask_hash(other)
