"""Folding: text as a search compares it. Lower case, no accents, words parted by spaces.

Both databases get folded text and folded queries, so that they agree on what a word is. Scripts
that do not part their words get every character as a word of its own, and a query in them becomes
a phrase.
"""

from __future__ import annotations

import unicodedata

_UNPARTED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # radicals
    (0x3005, 0x3007),
    (0x3040, 0x30FF),  # kana
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9D),
    (0x20000, 0x3FFFF),
)


class _Folding(dict[int, str]):
    """Characters and their folded forms, worked out when a character is first seen."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold_one(chr(code))
        return folded


def _fold_one(letter: str) -> str:
    code = ord(letter)
    if 0x0300 <= code <= 0x036F:  # an accent on its own
        return ""
    if unicodedata.category(letter) == "Cf":  # nothing to be seen: it parts no word
        return ""
    if not unicodedata.category(letter).startswith(("L", "N", "M")):
        return " "
    if any(first <= code <= last for first, last in _UNPARTED):
        return f" {letter} "
    if unicodedata.category(letter) in ("Lo", "Mn", "Mc"):
        # Decomposing these (Hangul, Devanagari) would take words apart.
        return letter
    plain = unicodedata.normalize("NFKD", letter.casefold())
    kept = "".join(part for part in plain if not 0x0300 <= ord(part) <= 0x036F)
    return "".join(part if part.isalnum() else " " for part in kept)


_folding = _Folding()


def fold(text: str) -> str:
    """The words of a text, parted by spaces."""
    return text.translate(_folding)


def places(text: str) -> list[int]:
    """For each character of `fold(text)`, which character of `text` it came from."""
    return [index for index, letter in enumerate(text) for _ in _folding[ord(letter)]]
