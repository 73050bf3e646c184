"""A council's answers as one text, and back: nobody gets another's words, however it is written."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from polyvox.errors import Unavailable
from polyvox.session.sections import Nested, excuse, heading, labels, taken_apart
from polyvox.values import Advisor

NAMES = st.sampled_from(["Ann", "Ann (2)", "Bob", " Ann ", "# Ann", "Bob\nAnn"])
PIECES = st.lists(
    st.sampled_from(["word", " ", "\n", "#", "##", "## ", "## Ann", "\n## Bob\n", "### x", "é"]),
    min_size=1,
    max_size=12,
)


def written(called: dict[str, str], said: dict[str, list[str]]) -> str:
    """One text, each answer fed piece by piece."""
    parts = []
    for advisor_id, label in called.items():
        nested = Nested()
        fed = "".join(nested.feed(piece) for piece in said[advisor_id])
        parts.append(heading(label) + fed + nested.end())
    return "\n\n".join(parts)


@given(st.lists(st.tuples(NAMES, PIECES), min_size=1, max_size=4))
def test_everyone_gets_back_what_they_said_and_nothing_else(
    council: list[tuple[str, list[str]]],
) -> None:
    members = [Advisor(f"id{n}", "", name, "") for n, (name, _) in enumerate(council)]
    said = {f"id{n}": pieces for n, (_, pieces) in enumerate(council)}
    called = labels(members)
    assert len(set(called.values())) == len(members)
    expected = {
        advisor_id: re.sub(r"(?m)^## ", "### ", "".join(pieces)).strip()
        for advisor_id, pieces in said.items()
    }
    found = taken_apart(written(called, said), called)
    assert found == {one: text for one, text in expected.items() if text}


def test_a_failure_is_nobodys_words() -> None:
    called = {"a": "Ann", "b": "Bob"}
    error = Unavailable("It\nbroke.")
    text = heading("Ann") + excuse(error, begun=False)
    text += "\n\n" + heading("Bob") + "half" + excuse(error, begun=True)
    assert "*(No answer: It broke.)*" in text
    assert taken_apart(text, called) == {}


def test_a_label_that_is_nobodys_any_more_ends_the_section_before_it() -> None:
    text = "## Ann\n\nHers.\n\n## Gone\n\nNot hers.\n\n## Bob\n\nHis."
    assert taken_apart(text, {"a": "Ann", "b": "Bob"}) == {"a": "Hers.", "b": "His."}
