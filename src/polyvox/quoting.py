"""Somebody's words as data: on one line, between marks that they cannot close.

Whatever memory shows to a model goes through here. Inside there is no quotation mark, no line
break, no bracket that could open a block or a tag, and nothing invisible, so that "ignore your
instructions" stays something that somebody once said.
"""

from __future__ import annotations

import unicodedata

_MARKS = dict.fromkeys(map(ord, '"`´“”„‟«»‹›‘’‚‛＂＇「」『』〝〞〟❛❜❝❞❮❯⹂'), "'")
_BRACKETS = str.maketrans("[]{}<>【】［］｛｝＜＞⟨⟩〈〉《》", "()()()()()()()()()()")
_SHOWN = _MARKS | _BRACKETS
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def plain(text: str) -> str:
    """A text on one line, with nothing in it that could end a quotation or pose as structure."""
    return _line(text).translate(_SHOWN)


def unstructured(text: str) -> str:
    """A text that is told as it is: on one line, with nothing in it that could pose as structure.
    What it quotes stays quoted."""
    return _line(text).translate(_BRACKETS)


def _line(text: str) -> str:
    line = " ".join(text.split())
    if not line.isprintable():  # nearly all are: looking at every letter takes ten times as long
        seen = "".join(" " if unicodedata.category(one) in _HIDDEN else one for one in line)
        line = " ".join(seen.split())
    return line


def quoted(words: str) -> str:
    """The words between marks."""
    return f"“{plain(words)}”"
