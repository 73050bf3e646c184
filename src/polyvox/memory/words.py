"""Words: what of a text can be found again, and what of a question is looked for.

Both come out of the same three steps (fold, drop the words that every sentence has, stem), so a
question finds a text if they share a word in any form. Scripts that do not part their words are
cut into pairs of characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from polyvox.memory.stemming import stem
from polyvox.memory.times import CALENDAR
from polyvox.store.fold import fold

INDEXED_CHARS = 200_000
"""Of a longer text, so much is found: a tsvector holds one megabyte."""
LONGEST_WORD = 64
MOST_TERMS = 24
"""Of a longer question, the first so many words are looked for."""
SPEAKER = "@"
"""Begins the word that says who speaks, where a text is labelled with a name."""
FAINT = 0.3
"""What a word of the second list weighs."""

_STOP = """
a an the and or but nor if of at by for with about to from in on into onto out up down off over
under than then so as is are was were be been being am do does did doing done have has had having i
me my mine myself we us our ours you your yours he him his she her hers it its they them their
theirs this that these those there here what which who whom whose when where why how will would
could should can cannot may might must shall not no s t d ll m re ve don didn doesn isn wasn aren
weren won wouldn couldn shouldn hasn haven hadn ain just also too very any some yes yeah ok okay oh
hey hi hello please thanks
"""
STOP = frozenset(_STOP.split())
_FAINT_WORDS = """
accord day describe discuss ever happen kind know like many mention month much now people recall
remember say talk tell thing think time today type want week year
january february march april may june july august september october november december
"""
_FAINT = frozenset(map(stem, _FAINT_WORDS.split()))
_LABEL = re.compile(r"\s*((?:[^\W\d_][\w.'’-]{0,30} ?){1,3}):\s")
_NAME = re.compile(r"[^\W\d_][\w'’-]*")
_START = re.compile(r"(?:^|[.!?…:\n][\s\"'“”(]*)$")


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a question."""

    word: str
    weight: float = 1.0
    name: bool = False
    """Written as a name: a memory that never heard of it is hardly the one that was asked for."""


def words_of(text: str) -> list[str]:
    """The words of a text by which it is found; first, if it is labelled, who speaks."""
    label = [SPEAKER + word for word in _stems(speaker_of(text))]
    return label + list(_stems(text[:INDEXED_CHARS]))


def speaker_of(text: str) -> str:
    """The name that a text is labelled with ("Anna: …"), or nothing."""
    found = _LABEL.match(text[:100])
    words = [] if found is None else found[1].split()
    name = all(word[0].isupper() and word.casefold() not in STOP for word in words)
    return " ".join(words) if name else ""


def terms_of(question: str) -> tuple[Term, ...]:
    """What to look for. Nothing, where a question has no word of its own."""
    names = {word for name in names_in(question) for word in _stems(name)}
    found: dict[str, Term] = {}
    for word in _stems(question):
        if word not in found:
            found[word] = Term(word, FAINT if word in _FAINT else 1.0, word in names)
    return tuple(found.values())[:MOST_TERMS]


def names_in(text: str) -> list[str]:
    """Capitalised words, joined where they stand together. At the start of a sentence everything
    is capitalised, so what stands there counts only if more of the name follows, or if it is
    written so in the middle of a sentence too."""
    runs: list[tuple[list[str], bool]] = []
    end = -1
    for match in _NAME.finditer(text):
        word = re.sub(r"['’]s?$", "", match[0])
        if not word or not word[0].isupper() or fold(word).split()[:1] in ([], ["i"]):
            continue
        first = _START.search(text[max(0, match.start() - 8) : match.start()]) is not None
        if word.casefold() in (CALENDAR | STOP if first else CALENDAR):
            continue
        if runs and text[end : match.start()] == " ":
            runs[-1][0].append(word)
            runs[-1] = (runs[-1][0], False)
        else:
            runs.append(([word], first))
        end = match.start() + len(word)
    names = [(" ".join(words), first) for words, first in runs]
    sure = {name for name, first in names if not first}
    return list(dict.fromkeys(name for name, _ in names if name in sure))


def _stems(text: str) -> Iterator[str]:
    for unparted, run in groupby(fold(text).split(), _unparted):
        if unparted:
            yield from _pairs(run)
        else:
            for word in run:
                if word not in STOP:
                    yield stem(word[:LONGEST_WORD])


def _pairs(letters: Iterable[str]) -> Iterator[str]:
    run = "".join(letters)
    yield from (run[place : place + 2] for place in range(max(1, len(run) - 1)))


def _unparted(word: str) -> bool:
    """A character that folding set apart (a letter of Hangul is a syllable, often a word)."""
    return len(word) == 1 and word >= "\u0e00" and not "\uac00" <= word <= "\ud7a3"
