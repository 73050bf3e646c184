"""Assembly: one order, nothing empty, memory quoted as data."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.companion.readings import reading

from polyvox.companion.blocks import (
    STANDING_CHARS,
    Parts,
    Profile,
    Said,
    assemble,
    left_out,
    profile_lines,
    steering,
)
from polyvox.companion.ops import WORDS, Ops, snippet
from polyvox.companion.overlays import Choice, Open, Rites
from polyvox.companion.posture import Stance
from polyvox.context.words import quoted

NONE = Parts(
    "You are Harbor.",
    (),
    Stance(),
    reading(),
    14,
    "",
    Choice(None, "", Rites()),
    Said(),
    "",
    Ops(),
    (),
    "",
)
FULL = replace(
    NONE,
    standing=("Call me Ada.",),
    overlay=Choice("accountability_tug", "", Rites(), Open('Call "the bank"')),
    carried=Said("Bridge.", "Handover."),
    steering="Steering.",
    ops=Ops("Ops."),
    lines=(("work_context", "Work: a clinic"),),
    supplemental="[SUPPLEMENTAL_CONTEXT]\nRecalled.",
)
ORDER = [
    "persona",
    "standing_instructions",
    "posture",
    "overlay",
    "bridge",
    "handover",
    "daily_steering",
    "ops",
    "user_context",
    "supplemental_context",
]


def named(parts: Parts) -> dict[str, str]:
    return {block.name: block.text for block in assemble(parts)}


def test_the_order_is_fixed_and_nothing_empty_is_sent() -> None:
    assert list(named(FULL)) == ORDER
    assert list(named(NONE)) == ["persona", "posture"]


def test_the_guard_comes_with_momentum_alone_and_is_softer_at_night() -> None:
    moving = replace(NONE, reading=reading(intent="momentum"), before="Good. Did you call?")
    assert "Did you call?" in named(moving)["posture"]
    assert "next step" in named(moving)["posture"]
    night = named(replace(moving, hour=3))["posture"]
    for words in ("morning", "Did you call?", "same check-in question", "one small next step"):
        assert words in night
    assert "Did you call?" not in named(replace(moving, reading=reading()))["posture"]


def test_standing_instructions_are_capped_and_the_newest_stay() -> None:
    many = tuple(f"Instruction number {n}, " + "x" * 90 for n in range(40))
    told = named(replace(NONE, standing=many))["standing_instructions"]
    assert "number 39," in told
    assert "number 0," not in told
    assert len(told) < STANDING_CHARS + 120


def test_an_instruction_that_is_too_long_silences_no_other() -> None:
    told = ("Call me Ada.", "x" * (STANDING_CHARS + 50), "No emojis.")
    block = named(replace(NONE, standing=told))["standing_instructions"]
    assert block.endswith(":\n- “Call me Ada.”\n- “No emojis.”")
    assert left_out(told) == "standing: 1 of 3 left out, too long"
    assert left_out(told[:1]) == left_out(()) == ""


@given(st.text())
def test_quoted_words_cannot_close_their_quotation(words: str) -> None:
    told = quoted(words)
    assert told.count("“") == told.count("”") == 1
    assert "\n" not in told
    assert told.startswith("“")
    assert told.endswith("”")


@pytest.mark.parametrize(
    ("confidence", "flag", "there"),
    [
        (0.9, "", True),
        (0.7, "", False),
        (0.9, "needs_review", False),
        (1, "insufficient_data", False),
    ],
)
def test_steering_speaks_only_when_it_is_sure(confidence: float, flag: str, there: bool) -> None:
    assert bool(steering("word " * 40, confidence, flag)) is there


@pytest.mark.parametrize(
    ("note", "told"),
    [
        ("They begin early. Then they stop.", "They begin early."),
        ("Is it late? Yes! It is.", "Is it late?"),
        ("A. B? C!", "A."),
        ("begin small. then rest.", "begin small."),
        ("They met Dr. Wu and J. Hall at 3.5 miles. Then home.", None),
        ("Up at 5 a.m. today, e.g. for a run. Then work.", "Up at 5 a.m. today, e.g. for a run."),
        ("they went\nhome early. Then they slept", "they went home early."),
        ("- begin small\n- end early", "begin small"),
        ("早く寝た。明日も。", "早く寝た。"),
        ("No end at all", "No end at all"),
    ],
)
def test_steering_is_the_first_sentence(note: str, told: str | None) -> None:
    said = steering(note, 0.9, "")
    assert said == (told or "They met Dr. Wu and J. Hall at 3.5 miles.")


@given(st.lists(st.sampled_from(["word", "Two.", "a\u200bb", "three,", "…", "“four”", "\n"])))
def test_the_whole_block_of_steering_is_one_sentence_of_few_words(words: list[str]) -> None:
    note = steering(" ".join(words), 0.9, "")
    block = named(replace(NONE, steering=note)).get("daily_steering", "")
    assert len(block.split()) <= 24
    assert block.count("Two.") <= 1
    whole = named(replace(NONE, steering=steering("word " * 40, 0.9, "")))["daily_steering"]
    assert len(whole.split()) == 24
    assert whole.endswith("word…”")


PROFILE = Profile(
    {"Maria": "her sister", "Jo": "a colleague"},
    ("plans instead of starting",),
    "a clinic",
    "to teach",
    "short and plain",
)


def parts_of(**changes: object) -> list[str]:
    posture = changes.pop("posture_now", "COMPANION")
    message = str(changes.pop("message", "Hello"))
    turn = int(str(changes.pop("turn", 2)))
    lines = profile_lines(PROFILE, turn, reading(**changes), posture, message)  # type: ignore[arg-type]  # a posture by name
    return [name for name, _ in lines]


def test_each_line_of_the_profile_has_its_own_reason() -> None:
    assert parts_of() == []
    assert parts_of(message="maria called") == ["relationships"]
    assert parts_of(message="Joanna called") == [], "whole words only"
    assert parts_of(posture_now="RELATIONSHIP") == ["relationships"]
    assert parts_of(avoidance=True) == ["patterns"]
    assert parts_of(intent="output_task") == ["work_context"]
    assert parts_of(intent="momentum") == ["work_context"]
    assert parts_of(intent="momentum", direct_request=True) == [
        "work_context",
        "long_term_direction",
    ]
    assert parts_of(asks_about_style=True) == ["communication_preference"]
    everything = {"message": "Maria", "avoidance": True, "asks_about_style": True}
    assert len(parts_of(**everything)) == 2
    assert parts_of(turn=1, **everything) == []


@pytest.mark.parametrize(
    ("tracked", "message", "named"),
    [
        ("Maria Lopez", "Maria called me back today", True),
        ("Maria Lopez", "maria lopez called", True),
        ("Maria Lopez", "Lopez called", False),
        ("Dr. Wu", "The dr. was late", False),
        ("Will", "I will go, it may rain", False),
        ("Will", "Will you come along?", False),
        ("Will", "I met Will at the market", True),
        ("May", "and then May called", True),
        ("Jo", "jo called", True),
    ],
)
def test_whom_a_message_names(tracked: str, message: str, named: bool) -> None:
    found = profile_lines(Profile({tracked: "a friend"}), 2, reading(), "COMPANION", message)
    assert bool(found) is named


def test_a_line_of_the_profile_is_not_endless() -> None:
    who = Profile({"Jo": "x" * 3000}, work_context="y" * 3000)
    for _, line in profile_lines(who, 2, reading(intent="momentum"), "COMPANION", "Jo called"):
        assert len(line) < 300


@pytest.mark.parametrize("words", ["a\u200bb c\u200bd " * 10, "word — " * 30])
def test_the_snippet_has_few_words_whatever_parts_them(words: str) -> None:
    told = snippet(reading(intent="momentum"), Stance(), [words], [], [], supplemental=False)
    assert 0 < len(told.text.split()) <= WORDS


def test_the_snippet_is_one_short_sentence_about_doing() -> None:
    moving, calm = reading(intent="momentum"), reading()
    rest = Stance()

    def told(**changes: object) -> Ops:
        given = {
            "reading": moving,
            "stance": rest,
            "brief": ["the letter", "the tax form"],
        } | changes
        return snippet(
            given["reading"],  # type: ignore[arg-type]  # as the test says
            given["stance"],  # type: ignore[arg-type]  # as the test says
            given["brief"],  # type: ignore[arg-type]  # as the test says
            ["the loop"],
            ["recalled"],
            supplemental=bool(changes.get("supplemental")),
        )

    assert told().text == "Worth coming back to: “the letter” and “the tax form”."
    assert told(brief=[]).source == "loops"
    assert told(reading=calm).reason == "not about doing"
    assert told(reading=calm, stance=Stance("PRACTICAL")).text
    assert told(reading=calm, stance=Stance("COMPANION", "HIGH", 0.7)).text
    assert told(reading=calm, stance=Stance("COMPANION", "HIGH", 0.69)).text == ""
    assert told(reading=reading(intent="momentum", risk="CRISIS")).text == ""
    assert told(supplemental=True).text == ""
    assert len(told(brief=["word " * 30, "more"]).text.split()) <= WORDS
