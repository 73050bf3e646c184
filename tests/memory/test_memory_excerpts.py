from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from polyvox.memory.rank import LONG, excerpt

LOREM = "There is nothing to see in this sentence, it only fills the page. "


def test_a_short_text_is_told_whole() -> None:
    assert excerpt("  Tea at four. \n", {"coffe"}) == "Tea at four."


def test_of_a_long_text_the_part_that_is_asked_for() -> None:
    text = LOREM * 30 + "My sister keeps bees. She sells the honey. " + LOREM * 30

    found = excerpt(text, {"bee", "honei"})

    assert "My sister keeps bees. She sells the honey." in found
    assert len(found) <= LONG
    assert found in text
    assert found[0].isupper()
    assert found[-1] == "."


def test_a_sentence_that_does_not_end_is_cut() -> None:
    found = excerpt("honey " + "x" * 5000, {"honei"})

    assert found.startswith("honey x")
    assert len(found) <= LONG


@given(st.text(alphabet="ab .!\n", max_size=400), st.integers(min_value=5, max_value=50))
def test_an_excerpt_is_always_a_part(text: str, most: int) -> None:
    found = excerpt(text, {"ab"}, most)

    assert found in text
    assert len(found) <= max(most, min(len(text.strip()), most))
    assert bool(found) == bool(text.strip())
