from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvox.memory.questions import MOST_WORDS, Spec, compile_query, spec_of

NOW = 1_709_737_200_000_000  # 6 March 2024


@pytest.mark.parametrize(
    ("spec", "query"),
    [
        (Spec(("Rosa",), ("bees",), "last week"), "Rosa bees last week"),
        (Spec((), ("the wedding of my sister",)), "wedding sister"),
        (Spec(("Rosa", "rosa"), ("Rosa's bees", "bee")), "Rosa bees"),
        (Spec(("you",), ("what you said as an assistant",)), ""),
        (Spec(("me", "I"), ("them", "something", "everyone")), ""),
        (Spec((), (), "yesterday"), "yesterday"),
        (Spec(("Mira",), ("Mira's advice about the loan",)), "advice loan"),
        (Spec((), ("really quickly going there again, apparently",)), ""),
        (Spec((), ("Lily and the family",)), "Lily family"),
        (Spec((), ("东京",)), "东京"),
        (Spec(), ""),
    ],
)
def test_entities_then_topics_then_time(spec: Spec, query: str) -> None:
    assert compile_query(spec, assistant=("Mira",)) == query


def test_a_long_list_is_cut_but_its_time_stays() -> None:
    query = compile_query(Spec((), tuple(f"topic{n}" for n in range(50)), "in May"))

    assert query.split()[-2:] == ["in", "May"]
    assert len(query.split()) == MOST_WORDS + 2


@pytest.mark.parametrize(
    ("message", "query"),
    [
        ("Do you remember what I told you about Rosa and her bees?", "Rosa bees"),
        ("What did we say about the boat in May 2023?", "boat May 2023"),
        ("How are you?", ""),
        ("I don't know, what do you think?", ""),
        ("My boss Helena called about the Berlin project again.", "Helena Berlin boss project"),
        ("what was the name of that bakery near the station", "name bakery station"),
        ("", ""),
    ],
)
def test_without_a_model(message: str, query: str) -> None:
    assert compile_query(spec_of(message, NOW)) == query


@given(st.text(max_size=120))
def test_no_message_is_too_strange(message: str) -> None:
    query = compile_query(spec_of(message, NOW), assistant=(message[:5],))

    assert query == query.strip()
    assert compile_query(spec_of(message, NOW)) == compile_query(spec_of(message, NOW))
