from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvox.errors import Invalid
from polyvox.store.slug import LONGEST, RESERVED, SLUG, candidates, check_slug, slug_of


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("The Skeptic", "the-skeptic"),
        ("  Ça va, Zoë?  ", "ca-va-zoe"),
        ("Straße nach Łódź", "strasse-nach-lodz"),
        ("Devil's Advocate", "devils-advocate"),
        ("№ 5 ①", "no-5-1"),
        ("Ⅷ", "viii"),
        ("---", "advisor"),
        ("道", "advisor"),
        ("", "advisor"),
    ],
)
def test_names(name: str, slug: str) -> None:
    assert slug_of(name, "advisor") == slug


@given(st.text(max_size=200))
def test_every_candidate_is_a_slug(name: str) -> None:
    some = list(islice(candidates(name, "advisor"), 12))

    assert len(set(some)) == 12
    for slug in some:
        assert SLUG.match(slug)
        assert len(slug) <= LONGEST
        assert slug not in RESERVED


@pytest.mark.parametrize("slug", ["", "A", "a b", "-a", "a-", "a--b", "é", "x" * 61, "assistant"])
def test_what_is_not_a_slug(slug: str) -> None:
    with pytest.raises(Invalid, match="cannot be a slug"):
        check_slug(slug)
