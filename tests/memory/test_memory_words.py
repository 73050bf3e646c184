from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvox.memory.words import FAINT, names_in, speaker_of, terms_of, words_of


def test_what_a_text_is_found_by() -> None:
    assert words_of("We went hiking in the Alps, già!") == ["go", "hike", "alp", "gia"]
    assert words_of("I am what I am") == []
    assert words_of("") == []


def test_who_speaks_is_a_word_of_its_own() -> None:
    assert words_of("Anna: Hello there, Bert")[:2] == ["@anna", "anna"]
    assert words_of("Anna Lou: tea")[:2] == ["@anna", "@lou"]
    assert speaker_of("Dr. Lind: hello") == "Dr. Lind"
    for text in ("tea: two cups", "I said: no", "At 12:30 we eat", "It was four of us: me", ""):
        assert words_of(text) == [word for word in words_of(text) if word[0] != "@"], text


def test_scripts_without_spaces_are_cut_into_pairs() -> None:
    assert words_of("我去东京") == ["我去", "去东", "东京"]
    assert words_of("猫") == ["猫"]
    assert words_of("한국어로 말해요") == ["한국어로", "말해요"]


def test_what_a_question_looks_for() -> None:
    found = terms_of("When did Caroline go to the support group? Go on!")
    assert [(term.word, term.weight, term.name) for term in found] == [
        ("carolin", 1.0, True),
        ("go", FAINT, False),
        ("support", 1.0, False),
        ("group", FAINT, False),
    ]
    assert {term.weight for term in terms_of("Do you remember what I said?")} <= {FAINT, 1.0}
    assert terms_of("Who is it? Me? And you!") == ()
    assert len(terms_of(" ".join(f"word{n}" for n in range(100)))) == 24


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("Ich habe meinen Hund gestern zum Tierarzt gebracht", "Wo sind die Hunde?"),
        ("Ich habe mit den Kindern im Garten gespielt", "Kinder"),
        ("Mes sœurs habitent à Paris avec leurs enfants", "Où habite ma sœur ?"),
        ("Mi hermana vive en Madrid con sus hijos", "¿Cuántos hijos tiene mi hermano?"),
        ("Моя сестра живёт в Москве, у неё двое детей", "сестру"),
        ("I moved to Hamburg with my sister", "Wohin nach Hamburg?"),
    ],
)
def test_forms_of_a_word_in_any_language(said: str, asked: str) -> None:
    """In whichever language it is asked: a question has no language of its own to go by."""
    forms = {form for term in terms_of(asked) for form in term.all_forms}

    assert forms & {*words_of(said)}


def test_what_a_list_of_stop_words_has_is_not_indexed_in_that_language() -> None:
    assert words_of("Ich habe den Hund") == ["hund·german"]
    assert words_of("The die is cast") == ["die", "cast"], "and German's says nothing of English"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("What did Anna Lou say to Bert about New York?", ["Anna Lou", "Bert", "New York"]),
        ("Anna called. I think Anna is fine.", ["Anna"]),
        ("Today is nice. Really nice.", []),
        ("Where is Anna's dog? I'M here, Bob’s too", ["Anna", "Bob"]),
        ("When I met John, I said hi", ["John"]),
        ("I saw her last Sunday in Rome, in March", ["Rome"]),
        ("", []),
    ],
)
def test_names(text: str, names: list[str]) -> None:
    assert names_in(text) == names


@given(st.text(max_size=200))
def test_no_text_is_too_strange(text: str) -> None:
    words = words_of(text)
    assert all(word and not any(letter.isspace() for letter in word) for word in words)
    assert all("'" not in word and '"' not in word and "\\" not in word for word in words)
    found = {word.lstrip("@") for word in words}
    assert all(not found.isdisjoint(term.all_forms) for term in terms_of(text))
    for name in names_in(text):
        assert name[0].isupper()
