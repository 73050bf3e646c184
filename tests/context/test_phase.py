"""Phases are data: which text holds follows from the recipe and the number of answers alone."""

from __future__ import annotations

import pytest

from polyvox.context.recipe import (
    BUILT_IN,
    Phase,
    Recipe,
    changed,
    exchange_phase,
    phase_for,
    protocol,
)
from polyvox.context.words import prompt_set

COUNCIL = BUILT_IN["council"]
FULL = prompt_set("full")


@pytest.mark.parametrize(
    ("answers", "name", "k", "n"),
    [(0, "early", 1, 3), (2, "early", 3, 3), (3, "ongoing", 4, None), (99, "ongoing", 100, None)],
)
def test_three_answers_then_open(answers: int, name: str, k: int, n: int | None) -> None:
    place = phase_for(COUNCIL, answers)
    assert (place.name, place.k, place.n) == (name, k, n)


def test_zero_turns_a_phase_off() -> None:
    recipe = changed(COUNCIL, {"phases": [{"name": "early", "answers": 0}, {"name": "ongoing"}]})
    assert phase_for(recipe, 0).name == "ongoing"


def test_more_phases_count_each_by_itself() -> None:
    recipe = Recipe(
        "mine", phases=(Phase("early", 2), Phase("probe", 2, "{k}/{n}"), Phase("ongoing"))
    )
    places = [phase_for(recipe, answers) for answers in range(5)]
    assert [(p.name, p.k, p.n) for p in places] == [
        ("early", 1, 2),
        ("early", 2, 2),
        ("probe", 1, 2),
        ("probe", 2, 2),
        ("ongoing", 5, None),
    ]
    assert protocol(recipe, places[3], FULL) == "2/2"


def test_without_an_open_phase_there_is_none_in_the_end() -> None:
    recipe = Recipe("mine", phases=(Phase("early", 1),))
    assert phase_for(recipe, 1).phase is None
    assert protocol(recipe, phase_for(recipe, 1), FULL) == ""
    assert phase_for(BUILT_IN["agent"], 7).phase is None


def test_the_open_phase_reads_the_same_unless_turns_are_counted() -> None:
    texts = {protocol(COUNCIL, phase_for(COUNCIL, n), FULL) for n in range(3, 30)}
    assert len(texts) == 1
    counted = changed(COUNCIL, {"count_turns": True})
    assert protocol(counted, phase_for(counted, 6), FULL).endswith(
        "This is turn 7 of your conversation with this person."
    )
    assert "turn 2 of 3" in protocol(counted, phase_for(counted, 1), FULL)
    assert "This is turn" not in protocol(counted, phase_for(counted, 1), FULL)


def test_a_text_of_the_users_own() -> None:
    recipe = Recipe("mine", phases=(Phase("early", 3, "Ask {k} of {n} {x}"), Phase("ongoing")))
    assert protocol(recipe, phase_for(recipe, 0), FULL) == "Ask 1 of 3 {x}"


def test_an_exchange_is_held_in_the_open_phase() -> None:
    assert exchange_phase(COUNCIL, 0).name == "ongoing"
    only = Recipe("mine", phases=(Phase("early", 3),))
    assert exchange_phase(only, 1).name == "early"
