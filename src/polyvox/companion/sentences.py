"""Sentences, as far as punctuation tells them apart."""

from __future__ import annotations

import re

_END = re.compile(
    r"""(?!(?<=\b\w)\.\s+[^\W\d_a-z]\w)(?!(?<=\w\.\w)\.\s+[a-z])
    (?<!\b(?:Dr|Mr|Ms|St|vs))(?<!\b(?:Mrs|etc))
    [.!?…]+['"”’)]*(?=\s|$)
    | [。！？] | \n\s*(?=\n|[-*•]|\d+[.)])""",
    re.VERBOSE,
)
"""The end of a sentence (no initial, no "p.m. today"), or of a line that is one of several."""


def sentences(text: str) -> list[str]:
    """The sentences of a text, each with its mark at the end; the last one may have none."""
    found, at = [], 0
    for end in _END.finditer(text):
        found.append(text[at : end.end()].strip())
        at = end.end()
    found.append(text[at:].strip())
    return [one for one in found if one]
