"""Somebody's words as data: on one line, in marks that they cannot close, posing as no block."""

from __future__ import annotations

import unicodedata

_MARKS = dict.fromkeys(map(ord, '“”„‟«»"`'), "'")
_BRACKETS = str.maketrans("[]{}<>", "()()()")
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def quoted(words: str) -> str:
    """The words between marks."""
    seen = "".join(" " if unicodedata.category(one) in _HIDDEN else one for one in words)
    inside = " ".join(seen.translate(_MARKS).translate(_BRACKETS).split())
    return f"“{inside}”"
