"""Somebody's words as data: on one line, between marks that they cannot close.

Whatever memory shows to a model goes through here. Inside there is no quotation mark, no line
break, no bracket that could open a block or a tag, and nothing invisible, so that "ignore your
instructions" stays something that somebody once said.
"""

from __future__ import annotations

import re
import unicodedata

_MARKS = dict.fromkeys(map(ord, '"`´“”„‟«»‹›‘’‚‛＂＇「」『』〝〞〟❛❜❝❞❮❯⹂'), "'")
_BRACKETS = str.maketrans("[]{}<>【】［］｛｝＜＞⟨⟩〈〉《》", "()()()()()()()()()()")
_SHOWN = _MARKS | _BRACKETS
_STRUCTURE = re.compile(
    r"""[\[【［]\s*/?\s*[A-Z][^\]】］]*[\]】］]        # [OVERLAY], [/INST]
    |   [<＜⟨〈《][/!?|]?\w[^>＞⟩〉》]*[>＞⟩〉》]      # <system>, <|im_start|>
    |   [\[{<]{2,}|[\]}>]{2,}                    # [[, {{ and their like
    |   (?<!\w)(?i:system|assistant|developer|human|user)\s*[:：]  # who speaks in a template
    |   (?<!\S)\#{1,6}(?=\s)|`{3,}               # a heading, a fence""",
    re.VERBOSE,
)
_DEFUSED = _BRACKETS | str.maketrans(":：#`", ",,  ")
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def plain(text: str) -> str:
    """A text on one line, with nothing in it that could end a quotation or pose as structure."""
    return _line(text).translate(_SHOWN)


def unstructured(text: str) -> str:
    """A text that is told as it is, on one line: only what could pose as structure (a block's name,
    a tag, a template's mark, a role, a heading) loses what makes it so. What it quotes stays
    quoted."""
    defused = _STRUCTURE.sub(lambda match: match[0].translate(_DEFUSED), _line(text))
    return " ".join(defused.split())


def _line(text: str) -> str:
    line = " ".join(text.split())
    if not line.isprintable():  # nearly all are: looking at every letter takes ten times as long
        seen = "".join(
            " " if unicodedata.category(letter) in _HIDDEN else letter for letter in line
        )
        line = " ".join(seen.split())
    return line


def quoted(words: str) -> str:
    """The words between marks."""
    return f"“{plain(words)}”"
