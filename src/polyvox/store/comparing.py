"""Texts as forgetting compares them: by their words, in order, and by the forms of a word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, pairwise

from polyvox.store.folding import fold, places
from polyvox.values import REDACTED

SHORTEST_WORD = 3
SHORTEST_NUMBER = 3
"""Digits of one number."""
SHORTEST_DIGITS = 4
"""Digits of numbers that stand together: a time, a date, a part of a card's."""
SHORTEST_FORM = 5
"""Letters of a word that is recognised by how it begins."""
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
_WORD = re.compile(r"\S+")
_SENTENCE = re.compile(r"[.!?…。！？｡\n]+")
_TWO = re.compile(r"(?<![^\W_])[^\W\d_]{2}(?![^\W_])")
_START = re.compile(r"(?:^|[.!?…:;\n])[\s\d\"'“”„«(*_#>.)-]*$")
PARTICLES = "我你您他她它们們的了着是很也都就吗嗎呢吧啊呀这這那"


class Part:
    """A text, or what stands between two marks of one, by its words."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._folded = fold(text)
        self.words = self._folded.split()

    @cached_property
    def at(self) -> list[tuple[int, int]]:
        """Where each word stands: (start, end)."""
        origin = places(self.text)
        found = _WORD.finditer(self._folded)
        return [(origin[one.start()], origin[one.end() - 1] + 1) for one in found]

    @cached_property
    def names(self) -> set[str]:
        """Its words of two letters that are written as a name."""
        return names_in(self.text)

    def is_capital(self, at: int) -> bool:
        """Whether a word has a capital."""
        return self.text[self.at[at][0]].isupper()


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
        self._longer: dict[str, set[str]] = {}
        self._stems: dict[str, set[str]] = {}
        for word in self._words:
            for shorter in _shorter(word):
                self._longer.setdefault(shorter, set()).add(word)
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
        """The words of the texts that this may be another form of."""
        found = self._words.intersection(_shorter(word)) | self._longer.get(word, set())
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


def parts_of(text: str) -> Iterator[tuple[int, Part]]:
    """What of a text is no mark, and where it begins."""
    offset = 0
    for one in text.split(REDACTED):
        if one:
            yield offset, Part(one)
        offset += len(one) + len(REDACTED)


def names_in(text: str) -> set[str]:
    """The words of two letters that are written as names: in capitals, or with one where no
    sentence begins."""
    if text.isupper():
        return set()
    return {
        fold(one[0]).strip()
        for one in _TWO.finditer(text)
        if one[0].isupper()
        or (one[0].istitle() and not _START.search(text[max(0, one.start() - 12) : one.start()]))
    }


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


def unparted(letter: str) -> bool:
    """A letter of a script without spaces (one of Hangul has some)."""
    return letter >= "\u0e00" and not "\uac00" <= letter <= "\ud7a3"


def _weight(letter: str) -> int:
    """Two of Han, three of Katakana, four of any other weigh enough; a particle weighs nothing."""
    if letter in PARTICLES:
        return 0
    if "\u30a0" <= letter <= "\u30ff":
        return 4
    return 6 if letter >= "\u3400" else 3
