"""Texts without escapes: as a person reads what a program wrote.

A letter may be written as `%C3%BC`, as `&uuml;` or as JSON does, and characters that nobody sees
may stand inside a word.
"""

from __future__ import annotations

import html
import re

_BYTE = "%[89ab][0-9a-f]"
_ESCAPE = re.compile(
    r"\\u[0-9a-f]{4}|&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});"
    rf"|%[2-7][0-9a-f]|%[cd][0-9a-f]{_BYTE}|%e[0-9a-f](?:{_BYTE}){{2}}|%f[0-7](?:{_BYTE}){{3}}"
    "|[\u00ad\u200b\u2060\ufeff]",
    re.IGNORECASE,
)


def unescaped(text: str) -> tuple[str, list[int] | None]:
    """A text with the letters that its escapes stand for, and where each character of it begins in
    the old one, with the end of it; None where it is the same."""
    pieces, starts, done = list[str](), list[int](), 0
    for one in _ESCAPE.finditer(text):
        letter = _letter(one[0])
        if letter is None:
            continue
        pieces += [text[done : one.start()], letter]
        starts += [*range(done, one.start()), *[one.start()] * len(letter)]
        done = one.end()
    if not pieces:
        return text, None
    return "".join([*pieces, text[done:]]), [*starts, *range(done, len(text) + 1)]


def _letter(escape: str) -> str | None:
    """What an escape stands for; None where it is none."""
    if escape[0] == "&":
        found = html.unescape(escape)
        return found if len(found) == 1 else None
    if escape[0] == "%":
        try:
            return bytes.fromhex(escape.replace("%", "")).decode()
        except UnicodeDecodeError:
            return None
    return chr(int.from_bytes(bytes.fromhex(escape[2:]))) if escape[0] == "\\" else ""
