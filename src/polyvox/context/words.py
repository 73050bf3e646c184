"""Formats of text inside messages: stamps, and the words of others inside brackets.

A block of others' words is one bracketed text. Each entry is a name and a text, and nothing in
either can end the block or pass for another entry: names are one line without brackets; a text's
further lines are indented, so only a name stands at the margin; a bracket in a text that has no
partner is escaped with a backslash, while pairs (links, code) stay as they were written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import msgspec

from polyvox.context.promptset import fill
from polyvox.values import REDACTED

Entry = tuple[str, str]
"""An answer's id and the name it is labelled with."""
Group = tuple[str, tuple[Entry, ...]]
"""A heading (or an empty one) and the entries under it."""

NAME_CHARS = 80
SILENCE = "(None of them said anything.)"
STAMP_CHARS = len("[2025-10-30T12:00] ")

_BRACKET = re.compile(r"\\(?:.|\Z)|[\[\]]", re.DOTALL)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE = 60_000_000


class Made(msgspec.Struct, frozen=True):
    """A text that was put together from a template, and what it takes to do so again."""

    template: str
    groups: tuple[Group, ...] = ()
    values: tuple[tuple[str, str], ...] = ()
    question: str = ""
    """The turn whose message fills the slot `question`."""
    whole: bool = False
    """The template is the text itself; what looks like a slot in it is none."""
    sources: tuple[str, ...] = ()
    """The first and the last message of the stretch that a text tells of."""

    def render(self, texts: Mapping[str, str], question: str = "") -> str:
        """The text, given the texts of the answers by id."""
        if self.whole:
            return self.template
        values = dict(self.values)
        if "{words}" in self.template:
            values["words"] = words(self.groups, texts)
        if self.question:
            values["question"] = question
        return fill(self.template, values)


@lru_cache(maxsize=4096)
def _stamp(minute: int) -> str:
    try:
        moment = _EPOCH + timedelta(minutes=minute)
    except OverflowError:
        return ""
    return f"[{moment:%Y-%m-%d}T{moment:%H:%M}] " if moment.year >= 1000 else ""


def stamp(said_at: int | None) -> str:
    """`[YYYY-MM-DDTHH:MM] ` in UTC; nothing for a time that is unknown or outside the calendar."""
    return "" if said_at is None else _stamp(said_at // _MINUTE)


def label(name: str) -> str:
    """A name as it is written before someone's words: one line, no brackets, not endless."""
    plain = name.translate({ord("["): "(", ord("]"): ")"})
    plain = "".join(char if char.isprintable() else " " for char in plain)
    plain = " ".join(plain.split())
    if len(plain) > NAME_CHARS:
        plain = plain[: NAME_CHARS - 1].rstrip() + "…"
    return plain or "Advisor"


def quoted(text: str) -> str:
    """A text as it stands behind a name: partnerless brackets escaped, further lines indented."""
    lines = _partnered(text.strip()).splitlines()
    return "\n".join(
        [lines[0], *(f"  {line}" if line else "" for line in lines[1:])] if lines else []
    )


def words(groups: Sequence[Group], texts: Mapping[str, str]) -> str:
    """All entries of a block, under their headings."""
    parts: list[str] = []
    for heading, entries in groups:
        if heading:
            parts.append(heading)
        parts += [f"{name}: {quoted(texts.get(answer, REDACTED))}" for answer, name in entries]
    return "\n\n".join(parts) or SILENCE


def _partnered(text: str) -> str:
    """Escape each bracket that has no partner with a backslash. A bracket behind a backslash counts
    as escaped, and a last backslash must not escape the text behind."""
    if "[" not in text and "]" not in text and not text.endswith("\\"):
        return text
    open_at: list[int] = []
    alone: list[int] = []
    for match in _BRACKET.finditer(text):
        at, mark = match.start(), match[0]
        if mark == "[":
            open_at.append(at)
        elif mark == "]" and open_at:
            open_at.pop()
        elif mark in ("]", "\\"):
            alone.append(at)
    pieces, done = [], 0
    for at in sorted(alone + open_at):
        pieces += [text[done:at], "\\", text[at]]
        done = at + 1
    return "".join([*pieces, text[done:]])
