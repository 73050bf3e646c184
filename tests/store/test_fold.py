from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvox.store.search import fold, places


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Crème BRÛLÉE, twice!", ["creme", "brulee", "twice"]),
        ("don't <b>e-mail</b>", ["don", "t", "b", "e", "mail", "b"]),
        ("Straße", ["strasse"]),
        ("e\u0301tude", ["etude"]),
        ("東京タワー", ["東", "京", "タ", "ワ", "ー"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("हिन्दी", ["हिन्दी"]),
        ("x² ½ ﬁn", ["x2", "1", "2", "fin"]),
        ("…—“”\n\t", []),
        ("pass\u200bport, so\u00adft", ["passport", "soft"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert fold(text).split() == words


@given(st.text())
def test_every_folded_character_has_its_place(text: str) -> None:
    folded, origin = fold(text), places(text)

    assert len(origin) == len(folded)
    assert origin == sorted(origin)
    assert all(0 <= place < len(text) for place in origin)


@given(st.text())
def test_nothing_that_a_query_language_knows_is_left(text: str) -> None:
    assert not set(fold(text)) & set("\"'()<>*:^&|!-+\\%?\0")
