"""What is looked for, and how it is told."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvox.companion.sheet import Found, sheet
from polyvox.quoting import quoted
from polyvox.session.recalling import compile_query, words_for

NOW = round(datetime(2026, 11, 17, tzinfo=UTC).timestamp() * 1_000_000)


@pytest.mark.parametrize(
    ("message", "query"),
    [
        ("Do you remember where Rosalind keeps her bees?", "Rosalind keeps bees"),
        ("What did we say about the roof last week?", "roof last week"),
        ("the dentist, and then Anna Weber called", "Anna Weber dentist called"),
        ("What did you tell me, Harbor?", ""),
        ("Do you remember that?", ""),
        ("", ""),
        ("What was it yesterday?", "yesterday"),
    ],
)
def test_names_come_first_then_topics_then_times(message: str, query: str) -> None:
    assert compile_query(message, NOW, "Harbor") == query


def test_a_sheet_has_three_facts_at_most_each_with_date_and_source() -> None:
    facts = [Found(f"fact {n}", date(2024, 5, n + 1), "they said") for n in range(5)]
    told = sheet("roof", facts, ["the roof: old"])
    assert told.startswith("[SUPPLEMENTAL_CONTEXT]\nLooked up: “roof”.")
    assert told.count("they said") == 3
    assert "- 3 May 2024, they said: “fact 2”" in told
    assert told.endswith("- about: “the roof: old”")
    assert sheet("roof", [], []) == ""
    assert "undated" in sheet("roof", [Found("x", None, "noted")], [])


@given(st.text())
def test_what_is_told_stays_on_its_line_and_in_its_marks(words: str) -> None:
    told = sheet(words, [Found(words, None, "they said", date(2024, 1, 2))], [words])
    assert len(told.splitlines()) == 4
    assert told.count("“") == told.count("”") == 3
    assert "[" not in told.removeprefix("[SUPPLEMENTAL_CONTEXT]")
    assert quoted(words).count("“") == 1


@pytest.mark.parametrize(
    "said",
    [
        "What would Ann’s sister say?",
        "What would Anna say?",
        "Ask the walnut orchard.",
        "Is Marie's orchard sold?",
    ],
)
def test_who_is_named_is_not_looked_for(said: str) -> None:
    people = ["Ann Marie", "Bob", ""]

    assert words_for(said, NOW, people) == [compile_query(said, NOW, one) for one in people]
