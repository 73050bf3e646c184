from __future__ import annotations

import pytest

from polyvox.memory.words import stem


@pytest.mark.parametrize(
    ("forms", "one"),
    [
        ("buy buys buying bought", "bui"),
        ("go going goes went gone", "go"),
        ("child children", "child"),
        ("run runs running ran", "run"),
        ("hike hikes hiking hiked", "hike"),
        ("party parties", "parti"),
        ("live lives living lived life", "live"),
        ("leave leaves leaving left", "leav"),
        ("die dies died dying", "die"),
        ("try tries tried trying", "try"),
        ("bus buses", "bu"),
    ],
)
def test_forms_of_a_word_become_one(forms: str, one: str) -> None:
    assert {stem(word) for word in forms.split()} == {one}


def test_other_words_stay() -> None:
    for word in ("straße", "2023", "東京", "a1b2", "ok", "l'été"):
        assert stem(word) == word
