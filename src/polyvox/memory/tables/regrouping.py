"""Codes, numbers and words that are written in other groups than they were said in.

`DE89 3704 0044` is `DE8937040044`, `hunter-zwei` is `hunterzwei`, and of a longer number the end
counts: `+49 151 234567` is `0151234567`. What is found here are suspicions; whether
they came with a forgotten text is for others to say. A look costs what the text is long.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from polyvox.memory.tables.wording import Part, unparted

SHORTEST_CODE = 4
"""Characters of a code or a number, joined."""
SHORTEST_JOINED = 6
"""Letters of a word that is recognised in pieces."""
LONGEST = 64
TAIL = 6
"""Digits at the end of a number by which it is recognised."""
MOST = 8
"""Of numbers with the same end, so many are compared."""
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(rf"\d{{{TAIL},}}")
_LOOSE = re.compile(r"[ \u00a0\u202f]|[ \u00a0\u202f]?[-‐‑–/()]{1,2}[ \u00a0\u202f]?|[._·]")
"""What stands between the groups of a number or a code."""


class Regrouped:
    """The words of some texts, for finding them in other groups."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._whole: dict[str, tuple[str, ...]] = {}
        self._ends: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for one in dict.fromkeys(group for part in parts for group in _groups(part)):
            code = "".join(one)
            for run in (digits[-LONGEST:] for digits in _DIGITS.findall(code)):
                same = self._ends.setdefault(run[-TAIL:], [])
                if len(same) < MOST:
                    same.append((run, one))
            if (SHORTEST_CODE if _DIGIT.search(code) else SHORTEST_JOINED) <= len(code) <= LONGEST:
                self._whole.setdefault(code, one)
        self._begins = {code[:size] for code in self._whole for size in range(1, len(code) + 1)}

    def found(self, part: Part) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        """Stretches that may be something regrouped: (first, behind the last) word, and the words
        it was said in."""
        words = part.words
        for at in [at for at, word in enumerate(words) if word in self._begins]:
            best, code, end = None, words[at], at + 1
            while code in self._begins:
                own = self._whole.get(code)
                if own is not None and own != tuple(words[at:end]) and _holds(part, at, end, code):
                    best = (at, end, own)
                if end == len(words):
                    break
                code, end = code + words[end], end + 1
            if best is not None:
                yield best
        if self._ends:
            yield from self._endings(part)

    def _endings(self, part: Part) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        """Numbers that end as one of the texts does."""
        for first, last in _runs(part, str.isdecimal, lambda at: _is_loose(part, at)):
            joined, starts = "", list[int]()
            for at in range(first, last):
                starts.append(len(joined))
                joined += part.words[at]
                for run, own in self._ends.get(joined[-TAIL:], ()):
                    begin = len(joined) - _shared_end(joined, run)
                    start = first + bisect_right(starts, begin) - 1
                    if own != tuple(part.words[start : at + 1]):
                        yield start, at + 1, own


def _groups(part: Part) -> Iterator[tuple[str, ...]]:
    """What of a text counts joined: each word, what hangs together without a space, and numbers
    that follow each other."""
    words = part.words
    yield from ((word,) for word in words if len(word) > 1)
    for fits, joins in (
        (_is_parted, lambda at: not any(map(str.isspace, part.gap(at)))),
        (_has_digit, lambda at: _is_loose(part, at)),
    ):
        for first, last in _runs(part, fits, joins):
            if last - first > 1 and sum(map(len, words[first:last])) <= 2 * LONGEST:
                yield tuple(words[first:last])


def _runs(
    part: Part, fits: Callable[[str], bool], joins: Callable[[int], bool]
) -> Iterator[tuple[int, int]]:
    """The longest stretches of words that fit, each joined with the next."""
    first = 0
    for at, word in enumerate(part.words):
        if not fits(word):
            first = at + 1
            continue
        end = at + 1
        if end == len(part.words) or not fits(part.words[end]) or not joins(at):
            yield first, end
            first = end


def _holds(part: Part, first: int, last: int, code: str) -> bool:
    """Whether nothing parts the words but what may stand in a code, or signs in a word."""
    gaps = range(first, last - 1)
    if all(not any(map(str.isspace, part.gap(at))) for at in gaps):
        return True
    return _has_digit(code) and all(_is_loose(part, at) for at in gaps)


def _is_loose(part: Part, at: int) -> bool:
    return _LOOSE.fullmatch(part.gap(at)) is not None


def _has_digit(word: str) -> bool:
    return _DIGIT.search(word) is not None


def _is_parted(word: str) -> bool:
    return not unparted(word[0])


def _shared_end(one: str, other: str) -> int:
    size = 0
    while size < min(len(one), len(other)) and one[-size - 1] == other[-size - 1]:
        size += 1
    return size
