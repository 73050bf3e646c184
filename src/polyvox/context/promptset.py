"""Prompt texts: named files in `prompts/full` and `prompts/compact`, loaded once, named by content.

Text is only ever put in by one pass over the template, so whatever an advisor or a person wrote
cannot be taken for a slot. A name without a file is a block that this set leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Literal

from polyvox.ids import content_hash

SHORT_WORDS = 60
SHORT_CHARS = 380
"""Characters of a description that the compact set takes, in whole sentences."""

_SLOT = re.compile(r"\{(\w+)\}")
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
