"""Patterns find what Python's own matcher finds, and always end."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyvox.errors import Invalid
from polyvox.evaluation.pattern import compiled

ATOMS = ["a", "b", r"\w", r"\d", r"\s", ".", "[ab]", "[^a]", "[a-c1-3]", r"\b", r"\B", "^", r"\Z"]
TIMES = ["*", "+", "?", "{2}", "{1,3}", "{,2}", "{2,}", "*?", "+?"]


def joined(pair: tuple[str, str]) -> str:
    return "".join(pair)


PATTERNS = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(joined),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(TIMES)).map(lambda two: f"({two[0]}){two[1]}"),
    ),
    max_leaves=6,
)


@settings(max_examples=250, deadline=None)
@given(PATTERNS, st.text("ab1c \n_", min_size=1, max_size=10))  # in nothing, Python 3.11 has no \\B
def test_it_finds_what_python_finds(pattern: str, text: str) -> None:
    assert bool(compiled(pattern).search(text)) == (re.search(pattern, text) is not None)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"(?i)dear \w+", "DEAR Ann", True),
        (r"dear", "DEAR Ann", False),
        (r"^- ", "a\n- b", False),
        (r"(?m)^- ", "a\n- b", True),
        (r"a.b", "a\nb", False),
        (r"(?s)a.b", "a\nb", True),
        (r"(?P<year>\d{4})", "in 1998", True),
        (r"\$[0-9]+\.[0-9]{2}", "costs $12.50", True),
        (r"[]x]", "]", True),
        (r"[\w-]+@[\w-]+", "write to a-b@c", True),
        (r"a{x}", "a{x}", True),
        (r"A", "\u0041", True),
        (r"ö", "schön", True),
        (r"^\w+$", "schön", True),
        (r"^[\w ]+$", "schön 東京", True),
        (r"^\W$", "ö", False),
        (r"^\d$", "٣", True),
        (r"\s", "a\u00a0b", True),
        (r"\u00f6\Z", "schö", True),
        ("", "anything", True),
    ],
)
def test_what_is_taken(pattern: str, text: str, found: bool) -> None:
    assert bool(compiled(pattern).search(text)) is found


@pytest.mark.parametrize(
    "pattern",
    ["(a", "a)", "[a", "a**", "*a", r"(a)\1", "(?=a)", "(?<!a)b", "a{3,1}", "\\", "[z-a]", r"\x4"],
)
def test_what_is_not_taken_says_why(pattern: str) -> None:
    with pytest.raises(Invalid, match="The pattern is not usable") as caught:
        compiled(pattern)
    assert caught.value.hint


def test_a_pattern_that_keeps_others_busy_for_years_is_done_at_once() -> None:
    assert not compiled(r"(a+)+$").search("a" * 50_000 + "b")
    assert not compiled(r"(a|a)*(a|aa)+c").search("a" * 5_000)
    assert not compiled(r"[ab]*a[ab]{400}c").search("ab" * 30_000)


def test_a_pattern_that_grows_too_large_is_refused() -> None:
    for pattern in ("((a{90}){90}){90}", "a{99999999}", "a" * 1001):
        with pytest.raises(Invalid):
            compiled(pattern)
