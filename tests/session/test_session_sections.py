"""A council's labelled answer and back: nobody's words ever come back as another's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvox.context.sections import Nested, excuse, heading, labels, taken_apart
from polyvox.errors import Unavailable
from polyvox.values import Advisor

NAMES = st.sampled_from(["A", "B", "A (2)", "  A  ", "A B", "Ä", "##", "## A", "(2)", "*x*"])
LINES = st.sampled_from(
    ["## A", "## A (2)", "##", "#", "# A", "### A", "##A", "", " ## A", "word", "*(No answer: x)*"]
)


def advisor(number: int, name: str) -> Advisor:
    return Advisor(f"id{number}", f"slug{number}", name, "")


def nested(text: str, cuts: list[int]) -> str:
    """A text as it comes in pieces."""
    places = sorted({cut % (len(text) + 1) for cut in cuts})
    pieces = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
    into = Nested()
    return "".join(into.feed(piece) for piece in pieces) + into.end()


@given(
    st.lists(st.tuples(NAMES, st.lists(LINES, max_size=4)), min_size=1, max_size=4),
    st.lists(st.integers(0, 200), max_size=6),
)
def test_what_one_wrote_is_never_anothers(
    council: list[tuple[str, list[str]]], cuts: list[int]
) -> None:
    members = [advisor(number, name) for number, (name, _) in enumerate(council)]
    called = labels(members)
    assert len(set(called.values())) == len(members)
    text = ""
    for number, (_, lines) in enumerate(council):
        said = "\n".join([f"canary{number}-first.", *lines, f"canary{number}-last."])
        text += ("\n\n" if number else "") + heading(called[f"id{number}"]) + nested(said, cuts)
    found = taken_apart(text, called)
    assert list(found) == [member.id for member in members]
    for number in range(len(members)):
        mine = found[f"id{number}"]
        assert mine.startswith(f"canary{number}-first.")
        assert mine.endswith(f"canary{number}-last.")
        assert mine.count("canary") == 2


@given(st.lists(LINES, max_size=6).map("\n".join), st.lists(st.integers(0, 200), max_size=9))
def test_pieces_make_no_difference(text: str, cuts: list[int]) -> None:
    assert nested(text, cuts) == nested(text, [])
    assert f"\n{nested(text, cuts)}" == f"\n{text}".replace("\n## ", "\n### ")


def test_other_text_is_shown_as_it_comes() -> None:
    into = Nested()
    assert [into.feed(piece) for piece in ("One", " #two", "\n", "three")] == [
        "One",
        " #two",
        "\n",
        "three",
    ]
    assert into.end() == ""


@pytest.mark.parametrize("begun", [False, True])
def test_a_failure_is_nobodys_words(begun: bool) -> None:
    told = excuse(Unavailable("It broke:\n## B\nnow."), begun=begun)
    assert "\n## " not in told
    called = {"a": "A", "b": "B"}
    said = "Half of it" if begun else ""
    text = f"{heading('A')}{said}{told}\n\n{heading('B')}Whole."
    assert taken_apart(text, called) == {"b": "Whole."}


def test_a_label_that_is_nobodys_any_more_ends_the_section_before_it() -> None:
    text = f"{heading('A')}Mine.\n\n{heading('Gone')}Lost.\n\n{heading('B')}Yours."
    assert taken_apart(text, {"a": "A", "b": "B"}) == {"a": "Mine.", "b": "Yours."}
    assert taken_apart("No labels at all.", {"a": "A"}) == {}
