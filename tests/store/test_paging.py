"""A page's `next`: read back as it was written, and nothing else is taken for one."""

from __future__ import annotations

import pytest

from polyvox.errors import Invalid
from polyvox.store.paging import next_place, place_in


def test_what_was_written_is_read() -> None:
    assert place_in(next_place(17, "a.b"), "after") == (17, 17, "a.b")


@pytest.mark.parametrize("text", ["", "x.a", "-1.a", "٣.a", "1" * 19 + ".a"])
def test_anything_else_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(Invalid, match="not a place in the list") as refused:
        place_in(text, "before")
    assert refused.value.param == "before"
