"""Texts inside requests: prompt texts, stamps, the words of others inside brackets, quotations.

A block of others' words is one bracketed text. Each entry is a name and a text, and nothing in
either can end the block or pass for another entry: names are one line without brackets; a text's
further lines are indented, so only a name stands at the margin; a bracket in a text that has no
partner is escaped with a backslash, while pairs (links, code) stay as they were written.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache, lru_cache
from importlib import resources
from typing import Literal
from zoneinfo import ZoneInfo

import msgspec

from polyvox.ids import content_hash
from polyvox.values import REDACTED

# -- prompt texts ----------------------------------------------------------------------------------
# Named files in `prompts/full` and `prompts/compact`, loaded once, named by content. Text is only
# ever put in by one pass over the template, so whatever an advisor or a person wrote cannot be
# taken for a slot. A name without a file is a block that this set leaves out.

SHORT_WORDS = 60
SHORT_CHARS = 380
"""Characters of a description that the compact set takes, in whole sentences."""

_SLOT = re.compile(r"\{(\w+)\}")
_END = re.compile(r"[.!?…]+[\"'”’)\]*_]*(?=\s|$)|[。！？]+|\n\n")
_SPACE = re.compile(r"\s")
_SENTENCE = re.compile(r".+?(?:[.!?…]+[\"'”’)\]]*(?=\s|$)|[。！？]+|$)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PromptSet:
    """Every text of one set, and the hash that names exactly these texts."""

    name: Literal["full", "compact"]
    texts: Mapping[str, str]
    hash: str

    def text(self, name: str) -> str:
        """The text of this name; empty where this set leaves it out."""
        return self.texts.get(name, "")


@cache
def prompt_set(name: Literal["full", "compact"]) -> PromptSet:
    """The prompt set of this name, read from its files the first time."""
    folder = resources.files("polyvox.context") / "prompts" / name
    texts = {
        entry.name.removesuffix(".md"): entry.read_text(encoding="utf-8").strip()
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".md")
    }
    return PromptSet(name, texts, content_hash(repr(sorted(texts.items()))))


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with its slots filled in one pass; unknown slots stay as they are."""
    return _SLOT.sub(lambda slot: values.get(slot[1], slot[0]), template)


@lru_cache(maxsize=256)
def short(text: str) -> str:
    """The first whole sentences of a text, as many as a small model takes."""
    kept, words = "", 0
    for sentence in _SENTENCE.findall(text.strip()):
        words += len(sentence.split())
        if words > SHORT_WORDS or len((kept + sentence).rstrip()) > SHORT_CHARS:
            break
        kept += sentence
    return kept.rstrip() or _clipped(text.strip())


def _clipped(text: str) -> str:
    """A first sentence that is too long by itself, cut between two words."""
    words = text.split(maxsplit=SHORT_WORDS)
    clipped = " ".join(words[:SHORT_WORDS])
    if len(clipped) > SHORT_CHARS:
        clipped = clipped[:SHORT_CHARS].rpartition(" ")[0] or clipped[:SHORT_CHARS]
    return clipped + ("…" if len(clipped) < len(" ".join(text.split())) else "")


# -- stamps, and the words of others inside brackets -----------------------------------------------

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
_OFFSET = re.compile(r"UTC([+-])(\d\d):(\d\d)")


Cut = tuple[str, int, int]
"""An answer's id, how many of its characters are shown, and how many it has."""
MARK = " […]"
"""The mark behind a text that was shortened."""


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
    cuts: tuple[Cut, ...] = ()
    """The answers that were shortened."""

    def render(self, texts: Mapping[str, str], question: str = "") -> str:
        """The text, given the texts of the answers by id."""
        if self.whole:
            return self.template
        values = dict(self.values)
        if "{words}" in self.template:
            values["words"] = words(self.groups, {**texts, **self._cut(texts)})
        if self.question:
            values["question"] = question
        return fill(self.template, values)

    def _cut(self, texts: Mapping[str, str]) -> dict[str, str]:
        return {
            answer: texts[answer][:shown].rstrip() + MARK
            for answer, shown, _ in self.cuts
            if answer in texts
        }


@lru_cache(maxsize=64)
def _zone(name: str) -> tzinfo:
    """A zone by its name or its offset; UTC for one that is not known here."""
    if (match := _OFFSET.fullmatch(name)) is not None:
        minutes = int(match[2]) * 60 + int(match[3])
        return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC


@lru_cache(maxsize=4096)
def _stamp(minute: int, zone: str) -> str:
    try:
        moment = (_EPOCH + timedelta(minutes=minute)).astimezone(_zone(zone))
    except (OverflowError, ValueError):
        return ""
    return f"[{moment:%Y-%m-%d}T{moment:%H:%M}] " if moment.year >= 1000 else ""


def stamp(said_at: int | None, zone: str = "UTC") -> str:
    """`[YYYY-MM-DDTHH:MM] ` in a zone; nothing for a time that is unknown or outside the
    calendar."""
    return "" if said_at is None else _stamp(said_at // _MINUTE, zone)


def label(name: str) -> str:
    """A name as it is written before someone's words: one line, no brackets, not endless."""
    plain = name.translate({ord("["): "(", ord("]"): ")"})
    plain = "".join(char if char.isprintable() else " " for char in plain)
    plain = " ".join(plain.split())
    if len(plain) > NAME_CHARS:
        plain = plain[: NAME_CHARS - 1].rstrip() + "…"
    return plain or "Advisor"


def indented(text: str) -> str:
    """A text as it stands behind a name: partnerless brackets escaped, further lines indented."""
    lines = _partnered(text.strip()).splitlines()
    return "\n".join(
        [lines[0], *(f"  {line}" if line else "" for line in lines[1:])] if lines else []
    )


def cut_to(text: str, room: int) -> tuple[int, int]:
    """Shorten a text to `room` characters as it stands behind a name: how many of its characters
    stay, and the size of that. It ends with a sentence or, where that would lose most of it,
    between two words."""
    most = room - len(MARK)

    def size(end: int) -> int:
        return len(indented(text[:end].rstrip() + MARK))

    ends = [match.end() for match in _END.finditer(text, 0, most + 1)]
    spaces = [match.start() for match in _SPACE.finditer(text, 0, most + 1)]
    for places in (ends, spaces):
        fair = [place for place in places if most // 3 <= place <= most]
        if at := bisect_right(fair, room, key=size):
            return fair[at - 1], size(fair[at - 1])
    end = max(0, bisect_right(range(most + 1), room, key=size) - 1)
    return end, size(end)


def words(groups: Sequence[Group], texts: Mapping[str, str]) -> str:
    """All entries of a block, under their headings."""
    parts: list[str] = []
    for heading, entries in groups:
        if heading:
            parts.append(heading)
        parts += [f"{name}: {indented(texts.get(answer, REDACTED))}" for answer, name in entries]
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


# -- somebody's words as data: on one line, between marks they cannot close ------------------------
# Whatever memory shows to a model goes through here. Inside there is no quotation mark, no line
# break, no bracket that could open a block or a tag, and nothing invisible, so that "ignore your
# instructions" stays something that somebody once said.

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
