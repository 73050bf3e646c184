"""An answer's text as lines of a given width, its Markdown drawn simply: emphasis, headings,
lists, quotes and code. What is not understood stays as it was written."""

from __future__ import annotations

import re

from rich.console import Console
from rich.text import Text

from polyvox.cli.output import printable

STYLED = 4000
"""Longer lines are shown as they are: no text may make a pattern slow."""
_INLINE = re.compile(
    r"\*\*(?P<bold>[^*\n]+)\*\*|__(?P<strong>[^_\n]+)__|`(?P<code>[^`\n]+)`"
    r"|(?<![\w*])\*(?P<italic>[^\s*][^*\n]*)\*(?![\w*])"
)
_HEADING = re.compile(r"#{1,6}\s+(.*)")
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,3}[.)])\s+(.*)")
_STYLES = {"bold": "bold", "strong": "bold", "code": "italic", "italic": "italic"}


def lines(console: Console, text: str, width: int, style: str = "") -> list[Text]:
    """The text, wrapped."""
    found: list[Text] = []
    fenced = False
    for line in printable(text).expandtabs(4).strip("\n").split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        found += _code(console, line, width) if fenced else _line(console, line, width, style)
    return found


def tail(text: str, width: int, height: int) -> str:
    """As much of the end of a text as can be seen, so that a long one costs no more to draw."""
    room = width * (height + 2)
    if len(text) <= room:
        return text
    cut = text[-room:]
    start = cut.find("\n")
    return cut[start + 1 :] if 0 <= start < room // 2 else cut[cut.find(" ") + 1 :]


def _line(console: Console, line: str, width: int, style: str) -> list[Text]:
    if len(line) > STYLED:
        return _wrapped(console, Text(line, style), width)
    if not line.strip():
        return [Text()]
    if (heading := _HEADING.fullmatch(line)) is not None:
        return _wrapped(console, _inline(heading[1], "bold"), width)
    if re.fullmatch(r"\s*(-{3,}|\*{3,}|_{3,})\s*", line):
        return [Text("─" * min(width, 12), "dim")]
    if line.startswith(">"):
        return _hanging(console, "│ ", _inline(line.lstrip("> "), style or "dim"), width)
    if (item := _ITEM.fullmatch(line)) is not None:
        mark = "•" if item[2] in "-*+" else item[2]
        indent = " " * min(len(item[1]), width // 3)
        return _hanging(console, f"{indent}{mark} ", _inline(item[3], style), width)
    return _wrapped(console, _inline(line, style), width)


def _inline(line: str, style: str) -> Text:
    text, done = Text(style=style), 0
    for found in _INLINE.finditer(line):
        text.append(line[done : found.start()])
        kind = found.lastgroup or ""
        text.append(found[kind], _STYLES[kind])
        done = found.end()
    text.append(line[done:])
    return text


def _hanging(console: Console, mark: str, text: Text, width: int) -> list[Text]:
    room = max(8, width - len(mark))
    wrapped = _wrapped(console, text, room)
    lead = mark if mark.startswith("│") else " " * len(mark)
    return [Text(mark if at == 0 else lead, "dim") + line for at, line in enumerate(wrapped)]


def _wrapped(console: Console, text: Text, width: int) -> list[Text]:
    return list(text.wrap(console, width, overflow="fold")) or [Text()]


def _code(console: Console, line: str, width: int) -> list[Text]:
    return _hanging(console, "  ", Text(line, "dim"), width) if line else [Text()]
