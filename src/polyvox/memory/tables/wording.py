"""A text by its words, and where they stand in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from polyvox.memory.tables.escapes import unescaped
from polyvox.store.fold import fold, places
from polyvox.values import REDACTED

_WORD = re.compile(r"\S+")
_TWO = re.compile(r"(?<![^\W_])[^\W\d_]{2}(?![^\W_])")
_START = re.compile(r"(?:^|[.!?…:;\n])[\s\d\"'“”„«(*_#>.)-]*$")


class Part:
    """A text, or what stands between two marks of one, by its words."""

    def __init__(self, text: str) -> None:
        self.text, self._starts = unescaped(text)
        self._folded = fold(self.text)
        self.words = self._folded.split()

    @cached_property
    def at(self) -> list[tuple[int, int]]:
        """Where each word stands, with its escapes: (start, end)."""
        starts = self._starts
        if starts is None:
            return self._spots
        return [(starts[start], starts[end]) for start, end in self._spots]

    @cached_property
    def _spots(self) -> list[tuple[int, int]]:
        origin = places(self.text)
        found = _WORD.finditer(self._folded)
        return [(origin[one.start()], origin[one.end() - 1] + 1) for one in found]

    @cached_property
    def names(self) -> set[str]:
        """Its words of two letters that are written as a name."""
        return names_in(self.text)

    def is_capital(self, at: int) -> bool:
        """Whether a word has a capital."""
        return self.text[self._spots[at][0]].isupper()

    def gap(self, at: int) -> str:
        """What stands between a word and the next."""
        return self.text[self._spots[at][1] : self._spots[at + 1][0]]


def parts_of(text: str) -> Iterator[tuple[int, Part]]:
    """What of a text is no mark, and where it begins."""
    offset = 0
    for one in text.split(REDACTED):
        if one:
            yield offset, Part(one)
        offset += len(one) + len(REDACTED)


def names_in(text: str) -> set[str]:
    """The words of two letters that are written as names: in capitals, or with one where no
    sentence begins."""
    if text.isupper():
        return set()
    return {
        fold(one[0]).strip()
        for one in _TWO.finditer(text)
        if one[0].isupper()
        or (one[0].istitle() and not _START.search(text[max(0, one.start() - 12) : one.start()]))
    }


def unparted(letter: str) -> bool:
    """A letter of a script without spaces (one of Hangul has some)."""
    return letter >= "\u0e00" and not "\uac00" <= letter <= "\ud7a3"
