"""Texts as forgetting compares them: by their words, in order, and by the forms of a word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise

from polyvox.memory.tables.regrouping import Regrouped
from polyvox.memory.tables.wording import parts_of, unparted
from polyvox.store.fold import fold

SHORTEST_WORD = 3
SHORTEST_NUMBER = 3
"""Digits of one number."""
SHORTEST_DIGITS = 4
"""Digits of numbers that stand together: a time, a date, a part of a card's."""
SHORTEST_FORM = 5
"""Letters of a word that is recognised by how it begins."""
SHORTEST_INSIDE = 6
"""Letters of a word that is recognised inside a longer one."""
ENDING = 3
"""So many letters more or fewer make another form of it."""
LONGEST_SENTENCE = 24
"""Words of one that counts as a whole: a longer one has length enough."""
WEIGHT = 12
"""What characters of a script without spaces must weigh together, see `_weight`."""
AT_ONCE, NEAR = 256, 16
"""So many words are compared at once, and more when so few are left of them."""
MOST_PLACES = 32
"""Of two words that stand together more often, so many places are compared."""
_SENTENCE = re.compile(r"[.!?…。！？｡\n]+")
PARTICLES = "我你您他她它们們的了着是很也都就吗嗎呢吧啊呀这這那"


class Texts:
    """Some texts by their words."""

    def __init__(self, texts: Sequence[str], stem: Callable[[str], str]) -> None:
        self._stem = stem
        parts = [part for text in dict.fromkeys(texts) for _, part in parts_of(text)]
        self._texts = [part.words for part in parts]
        self._words = {word for words in self._texts for word in words}
        self._pairs: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for number, words in enumerate(self._texts):
            for at, pair in enumerate(pairwise(words)):
                known = self._pairs.setdefault(pair, [])
                if len(known) < MOST_PLACES:
                    known.append((number, at))
        every = {tuple(fold(one).split()) for part in parts for one in _SENTENCE.split(part.text)}
        every |= {tuple(words) for words in self._texts if len(words) <= LONGEST_SENTENCE}
        self._sentences = {one for one in every if 2 <= len(one) <= LONGEST_SENTENCE}
        self._sizes: dict[tuple[str, ...], set[int]] = {}
        for one in self._sentences:
            self._sizes.setdefault(one[:2], set()).add(len(one))
        self.regrouped = Regrouped(parts)
        self._longer: dict[str, set[str]] = {}
        self._inner: dict[str, set[str]] = {}
        self._stems: dict[str, set[str]] = {}
        for word in self._words:
            for shorter in _shorter(word):
                self._longer.setdefault(shorter, set()).add(word)
            if len(word) >= SHORTEST_INSIDE and word.isalpha():
                self._inner.setdefault(word[:SHORTEST_INSIDE], set()).add(word)
            if len(word) >= SHORTEST_WORD and word.isalpha():
                self._stems.setdefault(stem(word), set()).add(word)
        self._known = Memo(self.knows)

    def shared(self, words: Sequence[str]) -> list[int]:
        """For each word, how many from it on stand in one of the texts in the same order; -1 where
        it does not, but may be another form of one that does."""
        found = [self._known[word] for word in words]
        reached: dict[tuple[int, int], int] = {}
        for at in [at for at, two in enumerate(pairwise(found)) if two == (1, 1)]:
            for number, start in self._pairs.get((words[at], words[at + 1]), ()):
                shift = start - at
                end = reached.get((number, shift), 0)
                if end < at + NEAR:
                    text, end = self._texts[number], max(end, at + 2)
                    most = min(len(words), len(text) - shift, at + AT_ONCE)
                    while end < most and words[end] == text[end + shift]:
                        end += 1
                    reached[number, shift] = end
                found[at] = max(found[at], end - at)
        return found

    def sentence_sizes(self, words: Sequence[str], at: int) -> list[int]:
        """The lengths of the whole sentences of the texts that stand here, longest first."""
        sizes = self._sizes.get(tuple(words[at : at + 2]), ())
        return sorted(
            (size for size in sizes if tuple(words[at : at + size]) in self._sentences),
            reverse=True,
        )

    def forms(self, word: str) -> set[str]:
        """The words of the texts that this may be another form of, or a compound with."""
        found = self._words.intersection(_shorter(word)) | self._longer.get(word, set())
        for at in range(len(word) - SHORTEST_INSIDE + 1):
            inner = self._inner.get(word[at : at + SHORTEST_INSIDE], ())
            found |= {one for one in inner if word.startswith(one, at)}
        return found | self._stems.get(self._stem(word), set())

    def knows(self, word: str) -> int:
        """1: it is a word of the texts; -1: it may be another form of one."""
        return 1 if word in self._words else -bool(self.forms(word))


class Memo(dict[str, int]):
    """What is to be known of each word, worked out when it is first seen."""

    def __init__(self, work: Callable[[str], int]) -> None:
        self._work = work

    def __missing__(self, word: str) -> int:
        self[word] = known = self._work(word)
        return known


def _shorter(word: str) -> list[str]:
    """What is left of a word without an ending."""
    if not word.isalpha():
        return []
    least = max(SHORTEST_FORM, len(word) - ENDING)
    return [word[:size] for size in range(least, len(word))]


def together(run: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """What of a run counts only together: numbers that follow each other, and the characters of a
    script without spaces, from each on as many as weigh enough."""
    for kind, group in groupby(run if len(run) > 1 else (), _kind):
        some = tuple(group)
        if kind == "number" and len(some) > 1 and sum(map(len, some)) >= SHORTEST_DIGITS:
            yield some
        if kind != "character":
            continue
        weights = [_weight(letter) for letter in some]
        end = weight = 0
        for start, lost in enumerate(weights):
            while weight < WEIGHT and end < len(some):
                weight += weights[end]
                end += 1
            if weight >= WEIGHT and lost:
                yield some[start:end]
            weight -= lost


def _kind(word: str) -> str:
    if word.isdecimal():
        return "number"
    return "character" if len(word) == 1 and unparted(word) else "word"


def _weight(letter: str) -> int:
    """Two of Han, three of Katakana, four of any other weigh enough; a particle weighs nothing."""
    if letter in PARTICLES:
        return 0
    if "\u30a0" <= letter <= "\u30ff":
        return 4
    return 6 if letter >= "\u3400" else 3
