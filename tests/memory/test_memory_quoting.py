"""Quotations of remembered words: cut, without times, and no dearer for a long text."""

from __future__ import annotations

import pytest

from polyvox.context.words import plain
from polyvox.memory.handover import GAP, LONGEST, READ, quote


@pytest.mark.parametrize("timeless", [True, False])
def test_only_the_beginning_of_a_long_text_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, timeless: bool
) -> None:
    seen: list[int] = []

    def watched(text: str) -> str:
        seen.append(len(text))
        return plain(text)

    monkeypatch.setattr("polyvox.memory.handover.plain", watched)
    told = quote("one two " * READ, timeless=timeless)
    assert seen == [READ]
    assert told.endswith(f"{GAP}”")
    assert len(told) <= LONGEST + 3


def test_a_text_of_spaces_behind_the_beginning_is_cut_too() -> None:
    assert quote("Yes" + " " * READ) == f"“Yes{GAP}”"
    assert quote("Yes.") == "“Yes.”"
