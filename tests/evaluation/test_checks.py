"""Checks in code: each kind on answers that pass and answers that do not, and on bad arguments."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyvox.errors import Invalid
from polyvox.evaluation import count, language
from polyvox.evaluation.checks import KNOWN, check, described, understood
from polyvox.evaluation.tables.assertions import Kind

LETTER = "Dear Ann,\n\nStay. The sea will wait, and so will the city.\n\nWhat would you lose?"


@pytest.mark.parametrize(
    ("kind", "args", "answer", "outcome"),
    [
        ("words", {"max": 3}, "one two three", "pass"),
        ("words", {"max": 3}, "one two three four", "fail"),
        ("words", {"min": 2, "max": 4}, "one", "fail"),
        ("words", {"min": 0}, "", "pass"),
        ("words", {"max": 4}, "well-known facts don't change—ever", "fail"),
        ("words", {"max": 5}, "well-known facts don't change—ever", "pass"),
        ("words", {"min": 6, "max": 6}, "自分の考え", "fail"),
        ("words", {"min": 5, "max": 5}, "自分の考え", "pass"),
        ("sentences", {"max": 2}, "Mr. Hill left at 3.5 p.m. sharp. He did not say why.", "pass"),
        ("sentences", {"max": 1}, "Go. Stay.", "fail"),
        ("sentences", {"min": 3}, "- Buy bread\n- Sell the car\n- Sleep", "pass"),
        ("questions", {"max": 0}, "See https://a.example/?page=2 for more.", "pass"),
        ("questions", {"min": 2}, "Why? And what then?!", "pass"),
        ("questions", {"max": 0}, "He asked “why?” and left.", "fail"),
        ("contains", {"text": "opportunity cost"}, "An Opportunity\n cost is …", "pass"),
        ("contains", {"text": "sea", "ignore_case": False}, "The Sea", "fail"),
        ("contains", {"text": "art"}, "The party", "pass"),
        ("contains", {"text": "art", "whole_words": True}, "The party", "fail"),
        ("contains", {"text": "art", "whole_words": True}, "The party is art.", "pass"),
        ("contains", {"text": "don't"}, "I don’t know", "pass"),
        ("contains", {"text": "café"}, "a cafe\u0301", "pass"),
        ("lacks", {"text": "as an AI"}, "As an AI, I …", "fail"),
        ("lacks", {"text": "as an AI"}, "I would wait.", "pass"),
        ("matches", {"pattern": r"^Dear \w+,"}, LETTER, "pass"),
        ("matches", {"pattern": r"^what", "ignore_case": True}, LETTER, "fail"),
        ("matches", {"pattern": r"^what", "ignore_case": True, "lines": True}, LETTER, "pass"),
        ("ends_with_question", {}, LETTER, "pass"),
        ("ends_with_question", {}, "Why not? Because.", "fail"),
        ("ends_with_question", {}, "**Ready?** 🙂\n", "pass"),
        ("ends_with_question", {}, "", "fail"),
        ("language", {"language": "en"}, "You should ask her what she wants to do.", "pass"),
        ("language", {"language": "de"}, "You should ask her what she wants to do.", "fail"),
        ("language", {"language": "de"}, "Ok.", "error"),
        ("json", {}, '{"a": [1, 2]}', "pass"),
        ("json", {}, '```json\n{"a": 1}\n```', "pass"),
        ("json", {}, 'Here it is: {"a": 1}', "fail"),
        ("json", {}, "{'a': 1}", "fail"),
        ("json", {}, "NaN", "fail"),
        ("json", {"keys": ["a", "b"]}, '{"a": 1}', "fail"),
        ("json", {"keys": ["a"]}, '{"a": null}', "pass"),
        ("json", {"keys": ["a"]}, "[1]", "fail"),
        ("json", {}, "[" * 100_000, "error"),
    ],
)
def test_each_kind(kind: Kind, args: dict[str, Any], answer: str, outcome: str) -> None:
    found = check(kind, understood(kind, args), answer)
    assert (found.outcome, bool(found.reason)) == (outcome, True)


def test_the_reason_says_what_was_found_and_what_was_wanted() -> None:
    assert check("words", {"max": 2}, "one two three").reason == (
        "It has 3 words; wanted: at most 2 words."
    )
    assert check("questions", {"min": 1, "max": 1}, "No.").reason == (
        "It has 0 questions; wanted: exactly 1 question."
    )
    assert "not in it" in check("contains", {"text": "sea"}, "shore").reason
    assert (
        "German; English was wanted"
        in check(
            "language",
            {"language": "en"},
            "Die Antwort hängt davon ab, was dir im Leben wichtig ist.",
        ).reason
    )


@pytest.mark.parametrize(
    ("kind", "args"),
    [
        ("words", {}),
        ("words", {"max": -1}),
        ("words", {"max": True}),
        ("words", {"max": 1.5}),
        ("words", {"min": 5, "max": 4}),
        ("words", {"max": 5, "text": "x"}),
        ("contains", {}),
        ("contains", {"text": "  "}),
        ("contains", {"text": "a\x00b"}),
        ("contains", {"text": "a", "ignore_case": "yes"}),
        ("matches", {"pattern": "(a"}),
        ("matches", {"pattern": 5}),
        ("ends_with_question", {"min": 1}),
        ("language", {}),
        ("language", {"language": "Klingon"}),
        ("json", {"keys": "a"}),
        ("json", {"keys": [1]}),
        ("judge", {"max": 5}),
    ],
)
def test_arguments_that_say_nothing_are_refused_with_a_hint(
    kind: Kind, args: dict[str, Any]
) -> None:
    with pytest.raises(Invalid) as caught:
        understood(kind, args)
    assert caught.value.message
    assert caught.value.hint


def test_arguments_are_made_whole() -> None:
    assert understood("contains", {"text": "sea", "ignore_case": None}) == {
        "text": "sea",
        "ignore_case": True,
        "whole_words": False,
    }
    assert understood("language", {"language": "Portuguese"}) == {"language": "pt"}
    assert understood("language", {"language": "pt-BR"}) == {"language": "pt"}
    assert understood("judge", None) == {}


def test_every_kind_is_known_and_has_words() -> None:
    assert set(KNOWN) == set(get_args(Kind))
    coded = [kind for kind in KNOWN if kind != "judge"]
    some: dict[str, dict[str, Any]] = {
        "words": {"max": 9}, "sentences": {"min": 2}, "questions": {"max": 0},
        "contains": {"text": "sea"}, "lacks": {"text": "sea"}, "matches": {"pattern": "^a"},
        "language": {"language": "fr"}, "json": {"keys": ["a"]}, "ends_with_question": {},
    }  # fmt: skip
    told = {kind: described(kind, understood(kind, some[kind])) for kind in coded}
    assert len(set(told.values())) == len(coded)
    assert told["words"] == "At most 9 words"
    assert told["questions"] == "No questions"


SENTENCES = {
    "en": "You should weigh the cost of leaving against what you would learn from it.",
    "de": "Die Antwort hängt davon ab, was dir im Leben wichtig ist.",
    "fr": "Il faut d'abord se demander ce que l'on cherche vraiment dans la vie.",
    "es": "Lo primero es preguntarse qué es lo que de verdad quieres hacer con tu vida.",
    "pt": "O primeiro passo é perguntar o que você realmente quer fazer da sua vida.",
    "it": "La prima cosa da fare è chiedersi che cosa si vuole davvero dalla vita.",
    "nl": "Ik denk niet dat het verstandig is om nu al te tekenen.",
    "sv": "Jag tror inte att det är klokt att skriva på redan nu.",
    "da": "Du bør først spørge dig selv, hvad du egentlig vil, før du beslutter dig.",
    "no": "Du bør først spørre deg selv hva du egentlig ønsker, før du bestemmer deg.",
    "fi": "En usko, että se on viisasta, mutta voit kuitenkin kokeilla.",
    "pl": "Nie sądzę, że to jest dobry pomysł, ale możesz spróbować.",
    "cs": "Nemyslím si, že je to dobrý nápad, ale můžeš to zkusit.",
    "hu": "Nem hiszem, hogy ez jó ötlet, de meg lehet próbálni.",
    "ro": "Nu cred că este o idee bună, dar poți să încerci.",
    "tr": "Bunun iyi bir fikir olduğunu sanmıyorum ama yine de bir deneyebilirsin.",
    "ru": "Сначала спросите себя, чего вы действительно хотите от жизни.",
    "uk": "Спочатку запитайте себе, чого ви дійсно хочете від життя.",
    "bg": "Първо се запитайте какво наистина искате да правите, преди да решите.",
    "el": "Πρώτα ρώτησε τον εαυτό σου τι θέλεις.",
    "he": "קודם כל שאל את עצמך מה אתה רוצה.",
    "ar": "اسأل نفسك أولاً ماذا تريد حقاً.",
    "hi": "पहले अपने आप से पूछो कि तुम क्या चाहते हो।",
    "ja": "まず、自分が本当に何をしたいのかを考えてください。",
    "zh": "首先问问自己真正想要什么。",
    "ko": "먼저 자신이 정말로 원하는 것이 무엇인지 물어보세요.",
    "th": "ถามตัวเองก่อนว่าต้องการอะไร",
}


def test_every_language_it_knows_is_told() -> None:
    assert set(SENTENCES) == set(language.NAMES)
    assert {code: language.detected(text) for code, text in SENTENCES.items()} == {
        code: code for code in SENTENCES
    }


@pytest.mark.parametrize(
    "text", ["", "Ok.", "1234 5678", "```python\nif a is not b and the_end:\n    pass\n```", "xyz"]
)
def test_what_cannot_be_told_is_not_guessed(text: str) -> None:
    assert language.detected(text) is None


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300))
def test_counting_takes_any_text(text: str) -> None:
    counts = count.words(text), count.sentences(text), count.questions(text)
    assert min(counts) >= 0
    if count.words(text) == 0:
        assert count.sentences(text) == 0


def test_a_reason_quotes_whole_words_of_the_end() -> None:
    long = "First look around, then see whether anything of it is still worth your while today."
    reason = check("ends_with_question", {}, long).reason
    assert reason == "It ends with “… see whether anything of it is still worth your while today.”."
    assert check("ends_with_question", {}, "Why?").reason == "It ends with “Why?”."
    assert check("ends_with_question", {}, " ").reason == "It says nothing."
    assert "x" * 60 in check("ends_with_question", {}, "x" * 200).reason
