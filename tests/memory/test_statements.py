"""Supersession: whatever order statements arrive in, one view; and the past stays as it was."""

from __future__ import annotations

import itertools
import random

from hypothesis import given
from hypothesis import strategies as st

from polyvox.memory.statements import Statement, current, history, key_of

STATEMENTS = st.lists(
    st.builds(
        Statement,
        id=st.uuids().map(str),
        subject=st.sampled_from(["I", "i ", "Rosa"]),
        attribute=st.sampled_from(["home", "Home", "job", ""]),
        text=st.sampled_from(["Lisbon", "Porto", "a baker"]),
        said_at=st.integers(0, 12),
        source=st.sampled_from(["user_stated", "manual", "inferred"]),
        retracts=st.booleans(),
        owner=st.sampled_from([None, "a"]),
        session=st.sampled_from(["", "s", "t"]),
        index=st.integers(0, 2),
        place=st.integers(0, 2),
    ),
    max_size=14,
    unique_by=lambda one: one.id,
)


def said(text: str, at: int, **more: object) -> Statement:
    return Statement(text, "I", "home", text, at, **more)  # type: ignore[arg-type]  # spelt by tests


def texts(statements: list[Statement], as_of: int | None = None) -> list[str]:
    return [held.statement.text for held in current(statements, as_of)]


@given(STATEMENTS, st.randoms(use_true_random=False))
def test_any_order_of_arrival_gives_the_same_view(
    statements: list[Statement], chance: random.Random
) -> None:
    other = list(statements)
    chance.shuffle(other)
    assert history(other) == history(statements)
    assert current(other) == current(statements)


@given(STATEMENTS, st.integers(-1, 13))
def test_the_past_is_what_it_was_then(statements: list[Statement], as_of: int) -> None:
    """What is answered as of a time is what would have been answered at that time."""
    known = [one for one in statements if one.said_at <= as_of]
    assert current(statements, as_of) == current(known)
    # ... and history says the same: whoever held then, began by then and ended later, or never.
    held = {
        one.statement.id
        for one in history(statements)
        if one.valid_from <= as_of and (one.valid_to is None or one.valid_to > as_of)
    }
    shown = {one.statement.id for one in current(statements, as_of)}
    retracting = {one.id for one in statements if one.retracts}
    assert shown == held - retracting


@given(STATEMENTS)
def test_there_is_at_most_one_answer_to_each_question(statements: list[Statement]) -> None:
    keys = [key_of(held.statement) for held in current(statements)]
    assert len(keys) == len(set(keys))
    assert len(history(statements)) == len(statements), "nothing is ever lost"


@given(STATEMENTS, STATEMENTS)
def test_statements_of_one_owner_change_nothing_for_others(
    statements: list[Statement], more: list[Statement]
) -> None:
    known = {one.id for one in statements}
    private = [one for one in more if one.owner == "a" and one.id not in known]
    shared = [held for held in current(statements) if held.statement.owner is None]
    after = [held for held in current(statements + private) if held.statement.owner is None]
    assert after == shared


def test_a_late_older_statement_does_not_retire_a_newer_one() -> None:
    porto, lisbon = said("Porto", 20), said("Lisbon", 10)
    assert texts([porto, lisbon]) == ["Porto"]
    assert texts([porto, lisbon], as_of=15) == ["Lisbon"]
    assert texts([porto, lisbon], as_of=5) == []


def test_at_one_moment_what_comes_later_in_a_session_holds() -> None:
    """Messages without a time share that of their session."""
    line = [
        said(text, 10, session="s", index=index, place=place)
        for text, index, place in (("Lisbon", 9, 4), ("Porto", 10, 2), ("Faro", 10, 30))
    ]
    for order in itertools.permutations(line):
        assert texts(list(order)) == ["Faro"]
        held = [(one.statement.text, one.valid_to) for one in history(order)]
        assert held == [("Lisbon", 10), ("Porto", 10), ("Faro", None)]
    guessed = said("Braga", 10, session="s", index=11, source="inferred")
    assert texts([*line, guessed]) == ["Faro"]


def test_what_is_inferred_never_stands_against_what_was_said() -> None:
    stated, guessed = said("Porto", 10), said("Faro", 20, source="inferred")
    assert texts([stated, guessed]) == ["Porto"]
    assert texts([guessed]) == ["Faro"]
    earlier = said("Faro", 5, source="inferred")
    assert texts([earlier, stated], as_of=7) == ["Faro"]
    assert texts([earlier, stated]) == ["Porto"]


def test_a_correction_by_hand_holds_until_something_newer_is_said() -> None:
    line = [said("Lisbon", 10), said("Porto", 20, source="manual")]
    assert texts(line) == ["Porto"]
    assert texts([*line, said("Faro", 30)]) == ["Faro"]


def test_what_was_taken_back_is_not_known() -> None:
    assert texts([said("Porto", 10), said("no more", 20, retracts=True)]) == []
    assert texts([said("Porto", 10), said("no more", 20, retracts=True)], as_of=15) == ["Porto"]


def test_without_an_attribute_only_the_same_words_are_about_the_same() -> None:
    one = Statement("1", "I", "", "I saw a heron.", 1)
    two = Statement("2", "I", "", "I lost my keys.", 2)
    again = Statement("3", "I", "", "i saw  a heron.", 3)
    assert {held.statement.id for held in current([one, two, again])} == {"2", "3"}
