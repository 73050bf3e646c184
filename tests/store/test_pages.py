"""Lists in pages: a page's `next` is read back as it was written, and nothing else is taken for
one."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from polyvox.errors import Invalid
from polyvox.store.pages import Page, page_of, place_in


@dataclass(frozen=True)
class Thing:
    id: str
    at: int


THINGS = [Thing("a.b", 17), Thing("c", 18), Thing("d", 19)]


def page(limit: int) -> Page[Thing]:
    return page_of(THINGS, limit, lambda one: one.at)


def test_what_was_written_is_read() -> None:
    found = page(1)
    assert found.items == (THINGS[0],)
    assert found.next is not None
    assert place_in(found.next, "after") == (17, 17, "a.b")


@pytest.mark.parametrize("limit", [3, 4])
def test_the_last_page_is_followed_by_none(limit: int) -> None:
    assert page(limit) == Page(tuple(THINGS), None)


def test_of_nothing_there_is_one_page() -> None:
    assert page_of(THINGS[:0], 2, lambda one: one.at) == Page((), None)
    assert page(0) == Page((), None), "nor does it go on behind nothing"


@pytest.mark.parametrize("text", ["", "x.a", "-1.a", "٣.a", "1" * 19 + ".a"])
def test_anything_else_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(Invalid, match="not a place in the list") as refused:
        place_in(text, "before")
    assert refused.value.param == "before"
