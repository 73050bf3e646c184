"""What was said earlier in a session that goes on is found by its words."""

from __future__ import annotations

from datetime import UTC

import pytest

from polyvox.memory import running
from polyvox.memory.running import Heard, recalled

NOW = 1_763_000_000_000_000
MINUTE = 60_000_000
SAID = (
    "My aunt Rosalind moved to Porto and keeps bees there.",
    "How lovely.",
    "The weather was fine on the coast, we swam every day.",
    "I am glad.",
    "The car needs new tyres before winter.",
    "Put it on the list.",
    "My knee hurts when I climb the stairs.",
    "Since when?",
)


def heard(*texts: str) -> list[Heard]:
    return [
        Heard("s", "assistant" if n % 2 else "user", text, NOW - (len(texts) - n) * MINUTE)
        for n, text in enumerate(texts)
    ]


@pytest.mark.parametrize(
    ("words", "place"),
    [("Rosalind keeps bees", 0), ("Rosalind bee", 0), ("knee stairs", 6), ("tyre winter", 4)],
)
def test_it_is_found_in_any_form_of_its_words(words: str, place: int) -> None:
    first = recalled(words, heard(*SAID), NOW, 4, UTC)[0]

    assert first.text == SAID[place]
    assert first.relevance is not None
    assert first.relevance >= 0.6
    assert first.source == "episode"
    (evidence,) = first.evidence
    assert (evidence.session_id, evidence.role, evidence.quote) == ("s", "user", SAID[place])
    assert evidence.said_at == NOW - (len(SAID) - place) * MINUTE


@pytest.mark.parametrize(
    "words", ["mortgage bank letter", "", "what is it", "Oslo ferry timetable"]
)
def test_what_was_not_said_is_not_relevant(words: str) -> None:
    found = recalled(words, heard(*SAID), NOW, 4, UTC)

    assert all(one.relevance is not None and one.relevance < 0.6 for one in found)


def test_no_more_is_told_than_is_wanted() -> None:
    said = [f"The bees of Rosalind, number {n}." for n in range(9)]

    assert len(recalled("Rosalind bees", heard(*said), NOW, 3, UTC)) == 3


def test_a_long_session_is_searched_from_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "MOST", 4)

    assert recalled("Rosalind bees", heard(*SAID), NOW, 4, UTC) == []
    assert recalled("knee stairs", heard(*SAID), NOW, 4, UTC)


def test_of_a_long_message_the_part_that_is_asked_for_is_told() -> None:
    long = (
        "Nothing of note happened. " * 60 + "Rosalind keeps bees in Porto. " + "So it went. " * 60
    )

    (first,) = recalled("Rosalind bees Porto", heard(long), NOW, 4, UTC)

    assert "Rosalind keeps bees in Porto." in first.text
    assert len(first.text) <= 800
