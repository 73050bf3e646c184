"""Prompt sets: every text is there, says what it is for, and is small where it must be."""

from __future__ import annotations

import re
from typing import Literal

import pytest

from polyvox.context.compile import system_blocks
from polyvox.context.draft import system_size, system_text
from polyvox.context.recipe import BUILT_IN, phase_for
from polyvox.context.words import SHORT_WORDS, fill, prompt_set, short
from polyvox.session.council import starter_council
from polyvox.values import Advisor

COUNCIL = BUILT_IN["council"]


def system(who: Advisor, answers: int, name: Literal["full", "compact"] = "full") -> str:
    place = phase_for(COUNCIL, answers)
    return system_text(system_blocks(COUNCIL, who, place, prompt_set(name)))


def test_a_set_is_named_by_its_content_and_read_once() -> None:
    full, compact = prompt_set("full"), prompt_set("compact")
    assert full is prompt_set("full")
    assert full.hash != compact.hash
    assert len(full.hash) == 32


def test_the_compact_set_drops_the_shared_context_and_what_small_models_are_not_told() -> None:
    dropped = {"shared", "company", "synthesis_list", "synthesis_data"}
    assert set(prompt_set("full").texts) - set(prompt_set("compact").texts) == dropped
    assert prompt_set("compact").text("shared") == ""


@pytest.mark.parametrize("name", ["full", "compact"])
def test_templates_hold_their_slots(name: Literal["full", "compact"]) -> None:
    prompts = prompt_set(name)
    slots = {
        "identity": {"name", "identity" if name == "full" else "short"},
        "early": {"k", "n"},
        "reference": {"words"},
        "reference_thread": {"words"},
        "exchange": {"words"},
        "exchange_early": {"words"},
        "note": {"count"},
        "summary": {"count", "summary"},
        "answers": {"earlier", "question", "words"},
        "synthesis": {"form"} if name == "full" else set(),
        "ago": {"count"},
        "clock": {"zone"},
        "turn": {"k"},
    }
    for key, text in prompts.texts.items():
        assert set(re.findall(r"\{(\w+)\}", text)) == slots.get(key, set()), key


@pytest.mark.parametrize("key", ["reference", "reference_thread", "note", "summary"])
def test_what_is_not_the_persons_own_is_bracketed(key: str) -> None:
    for name in ("full", "compact"):
        text = prompt_set(name).text(key)
        assert text.startswith("[")
        assert text.endswith("]")


def test_the_early_protocol_asks_one_question_and_says_nothing_of_later() -> None:
    text = prompt_set("full").text("early")
    assert "ONE" in text
    assert "turn {k} of {n}" in text
    assert len(re.findall(r"^Good: ", text, re.MULTILINE)) == 2
    assert len(re.findall(r"^Bad: ", text, re.MULTILINE)) == 2
    assert "do not know enough" in text
    assert "normal" in text
    for later in ("later", "afterwards", "next phase", "after that", "ongoing", "until"):
        assert later not in text.lower()


def test_the_ongoing_protocol_is_constant_and_says_nothing_of_earlier() -> None:
    text = prompt_set("full").text("ongoing")
    assert "{" not in text
    assert "Two to four paragraphs" in text
    for earlier in ("turn", "earlier", "so far you", "previous", "phase", "no longer"):
        assert earlier not in text.lower()


def test_the_rules_are_in_both_sets() -> None:
    full = prompt_set("full").text("rules")
    for word in ("JSON", "label", "perspective", "ignore", "own voice", "prose"):
        assert word in full
    assert "independently" in prompt_set("full").text("company")
    assert "label" in prompt_set("compact").text("rules")


@pytest.mark.parametrize("name", ["full", "compact"])
@pytest.mark.parametrize("key", ["rules", "assistant", "synthesis"])
def test_whoever_writes_is_told_to_use_the_persons_language(
    name: Literal["full", "compact"], key: str
) -> None:
    text = prompt_set(name).text(key)
    assert "language the person writes in" in text or "in the person's language" in text


def test_compact_prompts_stay_small_with_every_starter_advisor() -> None:
    for who in starter_council():
        for answers in (0, 1, 2, 3, 50):
            place = phase_for(COUNCIL, answers)
            size = system_size(system_blocks(COUNCIL, who, place, prompt_set("compact")), ())
            assert size <= 220, (who.slug, answers, size)
        early = system(who, 1, "compact")
        assert who.name in early
        assert "Turn 2 of 3" in early
        assert "ONE short question" in early
        assert "Good:" not in early


def test_a_prompt_of_its_own_replaces_the_description_whole() -> None:
    long = " ".join(f"Sentence {n} of the prompt." for n in range(60))
    who = Advisor("i", "s", "Nadir", "The description.", prompt=long)
    for name in ("full", "compact"):
        text = system(who, 5, name)
        assert long in text
        assert "The description." not in text


def test_filling_is_one_pass() -> None:
    assert fill("{a} {b} {c}", {"a": "{b}", "b": "B"}) == "{b} B {c}"
    who = Advisor("i", "s", "{identity}", "I say {k} and {name} and {words}.")
    text = system(who, 0)
    assert text.startswith("You are {identity}.\n\nI say {k} and {name} and {words}.")
    assert "turn 1 of 3" in text


def test_short_takes_whole_sentences() -> None:
    text = "One two three. Four five! " + "word " * 70 + "end."
    assert short(text) == "One two three. Four five!"
    assert short("Only this.") == "Only this."
    assert short("") == ""
    assert short('He said "stop." Then left.') == 'He said "stop." Then left.'


def test_short_cuts_an_endless_first_sentence_between_words() -> None:
    cut = short("word " * 200)
    assert cut.endswith("word…")
    assert len(cut.split()) == SHORT_WORDS
    assert len(short("字" * 1000)) <= 400
    assert short("短い。" * 3) == "短い。短い。短い。"
