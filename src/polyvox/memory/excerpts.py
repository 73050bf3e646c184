"""Excerpts: the part of a long text that a question is about, in its very words."""

from __future__ import annotations

import re
from collections.abc import Collection

from polyvox.memory.words import words_of

LONG = 800
"""A text up to this many characters is told whole."""

_SENTENCE = re.compile(r"\S.*?(?:[.!?…](?=\s)|\n|$)", re.DOTALL)


def excerpt(text: str, wanted: Collection[str], most: int = LONG) -> str:
    """A stretch of whole sentences that holds the most of the wanted words (a longer sentence is
    cut); the beginning, where it holds none."""
    text = text.strip()
    if len(text) <= most:
        return text
    pieces = [
        (match.start() + at, min(match.start() + at + most, match.end()))
        for match in _SENTENCE.finditer(text)
        for at in range(0, len(match[0]), most)
    ]
    found = [{*words_of(text[start:end])} & {*wanted} for start, end in pieces]
    best, best_count = (pieces[0][0], pieces[0][1]), -1
    for first, (start, end) in enumerate(pieces):
        words = set(found[first])
        for last in range(first + 1, len(pieces)):
            if pieces[last][1] - start > most:
                break
            end = pieces[last][1]
            words |= found[last]
        if len(words) > best_count:
            best, best_count = (start, end), len(words)
    return text[slice(*best)].strip()
