"""Redaction: putting a mark in place of forgotten words, wherever they were repeated.

A *place* answers for some tables: it finds what repeats the words and, unless it is a dry run, puts
the mark there. A room with tables of its own registers one beside them:

    @place("assertion", tables=("assertions",))
    def _assertions(tx: Tx, scope: Scope, needles: Needles, dry: bool) -> list[Found]:
        ...

All places run in the one transaction that forgets, and for the preview with `dry`, so they must
find the same in both, be harmless to repeat, and keep the words nowhere.

What counts as repeating: a stretch of words that stands in a forgotten text too, if it holds a word
that came with that text (nobody had used it before, and the person uses it nowhere else), or is of
some length and the person says it nowhere else. Case, accents and punctuation do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from polyvox.store.database import Tx
from polyvox.store.folding import fold, places
from polyvox.values import REDACTED, Scope

SHORTEST_WORD = 4
SHORTEST_NUMBER = 5
"""Digits: a year is in many texts."""
SHORTEST_RUN = 3
LETTERS = 10
"""In a run of ordinary words: a script without spaces has a letter where others have a word."""
EXCERPT = 160
_WORD = re.compile(r"\S+")

Said = Callable[[Sequence[str]], bool]
"""Whether these words, in this order, stand where nothing is forgotten: in another message of the
person's, or in an answer that is older than the first forgotten one."""


@dataclass(frozen=True, slots=True)
class Found:
    """Something that repeats forgotten words."""

    kind: str
    """Which place it is in: message, answer, title, receipt …"""
    id: str
    text: str
    """How it begins, as it stood."""
    conversation_id: str | None = None


class Place(Protocol):
    """Finds what repeats forgotten words in the tables it answers for; unless `dry`, puts the mark
    in their place."""

    def __call__(self, tx: Tx, scope: Scope, needles: Needles, dry: bool) -> list[Found]:
        """What was found."""
        ...


PLACES: dict[str, Place] = {}
TABLES: set[str] = set()
"""Every table that some place answers for."""


def place(name: str, *, tables: Sequence[str]) -> Callable[[Place], Place]:
    """Register a place under a name of its own."""

    def register(one: Place) -> Place:
        PLACES[name] = one
        TABLES.update(tables)
        return one

    return register


def redact(tx: Tx, scope: Scope, needles: Needles, *, dry: bool) -> list[Found]:
    """Everything that repeats the words, in every place; unless `dry`, marked."""
    return [one for name in PLACES for one in PLACES[name](tx, scope, needles, dry)]


class Needles:
    """What is forgotten, and how it is recognised in a text."""

    def __init__(
        self,
        texts: Sequence[str],
        *,
        derived: Sequence[str] = (),
        faint: Collection[str] = (),
        ordinary: Collection[str] = (),
        said: Said = lambda _: False,
        turns: Collection[str] = (),
        answers: Collection[str] = (),
        leaving: str | None = None,
        since: int = 0,
        now: int = 0,
    ) -> None:
        """`texts` are the forgotten words, `derived` what was made of them and other things;
        `faint` words are in every sentence, `ordinary` ones in texts that are ours."""
        self.turns = frozenset(turns)
        """Turns whose message is forgotten as a whole."""
        self.answers = frozenset(answers)
        """Answers that are forgotten as a whole."""
        self.since = since
        """When the first of it was said: nothing older can repeat it."""
        self.now = now
        self.leaving = leaving
        """A conversation that is about to be deleted: nothing has to be marked in it."""
        self.memo: dict[str, Any] = {}
        """What places worked out for each other."""
        self._said = said
        self._faint = faint
        self._ordinary = ordinary
        self._known: dict[tuple[str, ...], bool] = {}
        self._own = _Texts(texts)
        self._all = _Texts([*texts, *derived])

    def redacted(self, text: str) -> str | None:
        """A text with the mark in place of every passage that repeats forgotten words; None where
        it repeats none."""
        spans = self.spans(text)
        return marked(text, spans) if spans else None

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the passages are: (start, end) each, in order, apart from each other."""
        folded = fold(text)
        words = folded.split()
        runs = list(self._runs(words, self._own))
        if not runs:
            return []
        origin = places(text)
        at = [(origin[one.start()], origin[one.end() - 1] + 1) for one in _WORD.finditer(folded)]
        return [(at[first][0], at[last - 1][1]) for first, last in runs]

    def tells(self, text: str) -> bool:
        """Whether a text tells anything of it, or of what was derived from it: for texts that are
        dropped whole."""
        words = fold(text).split()
        return next(self._runs(words, self._all), None) is not None

    def redacted_json(self, text: str) -> str | None:
        """The same as `redacted` for the sentences in stored JSON; keys, names and ids stay."""
        value = msgspec.json.decode(text)
        new = self._redacted_value(value)
        return None if new == value else msgspec.json.encode(new).decode()

    def _redacted_value(self, value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
        if isinstance(value, str):
            return (self.redacted(value) if " " in value else None) or value
        if isinstance(value, list):
            return [self._redacted_value(one) for one in value]
        if isinstance(value, dict):
            return {key: self._redacted_value(one) for key, one in value.items()}
        return value

    def _runs(self, words: Sequence[str], texts: _Texts) -> Iterator[tuple[int, int]]:
        """The stretches of a text that count: (first, behind the last) word, joined where they
        touch."""
        held: tuple[int, int] | None = None
        at = 0
        while at < len(words):
            count = texts.shared(words, at)
            if count and self._counts(words[at : at + count]):
                if held is not None and held[1] == at:
                    held = (held[0], at + count)
                else:
                    if held is not None:
                        yield held
                    held = (at, at + count)
                at += count
            else:
                at += 1
        if held is not None:
            yield held

    def _counts(self, run: Sequence[str]) -> bool:
        if any(self._came_with_it(word) for word in run):
            return True
        own = [word for word in run if word not in self._faint]
        if len(run) < SHORTEST_RUN or len(own) < 2 or sum(map(len, run)) < LETTERS:
            return False
        return not self._is_said(tuple(run))

    def _came_with_it(self, word: str) -> bool:
        least = SHORTEST_NUMBER if word.isdecimal() else SHORTEST_WORD
        if len(word) < least or word in self._faint or word in self._ordinary:
            return False
        return not self._is_said((word,))

    def _is_said(self, words: tuple[str, ...]) -> bool:
        if words not in self._known:
            self._known[words] = self._said(words)
        return self._known[words]


class _Texts:
    """Some texts by their words."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [fold(text).split() for text in dict.fromkeys(texts)]
        self.vocabulary = {word for words in self._texts for word in words}
        self._pairs: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for number, words in enumerate(self._texts):
            for at in range(len(words) - 1):
                self._pairs.setdefault((words[at], words[at + 1]), []).append((number, at))

    def shared(self, words: Sequence[str], at: int) -> int:
        """How many words from here on stand in one of the texts in the same order."""
        if words[at] not in self.vocabulary:
            return 0
        best = 1
        pair = (words[at], words[at + 1]) if at + 1 < len(words) else ("", "")
        for number, start in self._pairs.get(pair, ()):
            text, count = self._texts[number], 2
            while (
                at + count < len(words)
                and start + count < len(text)
                and words[at + count] == text[start + count]
            ):
                count += 1
            best = max(best, count)
        return best


def marked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """A text with the mark in place of these spans."""
    parts, done = [], 0
    for start, end in spans:
        parts += [text[done:start], REDACTED]
        done = end
    return "".join([*parts, text[done:]])


def moved(offset: int, spans: Sequence[tuple[int, int]]) -> int:
    """Where in the marked text an offset of the old one is; inside a span: behind its mark."""
    shift = 0
    for start, end in spans:
        if offset <= start:
            break
        if offset < end:
            return start + shift + len(REDACTED)
        shift += len(REDACTED) - (end - start)
    return offset + shift


def excerpt(text: str) -> str:
    """How a text begins, for a preview."""
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else f"{line[: EXCERPT - 1].rstrip()}…"
