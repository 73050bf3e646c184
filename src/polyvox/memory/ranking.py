"""Ranking: how well a text answers a question, from its words and its neighbours' words.

Pure. A word counts by how rare it is (idf), saturating as it repeats and damped in long texts
(BM25). What a neighbour in the same session says counts as said here too, less the further away it
is: an answer rarely repeats the words of what was asked just before it. That is worth more than
any other step (docs/memory.md has the figures); the weights lie on a plateau, where half as much or
half again costs a point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from types import MappingProxyType
from typing import NamedTuple

from polyvox.memory.times import Span
from polyvox.memory.words import SPEAKER, Term
from polyvox.store.remembered import SESSION_BITS, SUB_BITS

NEARBY = (0.5, 0.3, 0.15, 0.1)
"""What a word counts one, two, three, four places away."""
_AROUND = tuple((step, part) for near, part in enumerate(NEARBY, 1) for step in (-near, near))
COMMON, FEW = 0.25, 10
"""A word in every fourth text (and in more than a few) tells nothing about its neighbours."""
STRETCH_BITS = SUB_BITS + 2
"""A stretch is as many places as a word reaches, so it reaches no further than the next one."""
BESIDE = 0.4
"""What a word counts in the stretches beside its own."""
SATURATION = 1.2
DAMPING = 0.4
SPEAKING = 1.3
"""A text whose label names somebody from the question."""
IN_TIME = 1.5
"""A text said in the time that the question names, or within two weeks after."""
TOLD_AFTER = 14 * 86_400 * 1_000_000
PINNED = 1.1
HALF, NEARLY, TEN = 0.5, 0.75, 10


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for, with what the memory that is asked knows of its words."""

    terms: tuple[Term, ...]
    spans: tuple[Span, ...]
    docs: int
    """How many texts there are."""
    length: float
    """How many words a text has on average."""
    known: Mapping[str, int]
    """In how many texts each word occurs; those in none are left out."""

    def idf(self, word: str) -> float:
        """How much is learned from meeting a word."""
        count = min(self.known.get(word, 0), self.docs)
        return math.log(1 + (self.docs - count + 0.5) / (count + 0.5))

    @property
    def weights(self) -> dict[str, float]:
        """What each word is worth."""
        return {term.word: term.weight * self.idf(term.word) for term in self.terms}


class Text(NamedTuple):
    """A text that may be the answer. Claims have negative numbers and no neighbours."""

    doc: int
    at: int
    terms: tuple[str, ...]
    pinned: bool = False
    counts: Mapping[str, int] = MappingProxyType({})
    """How often it holds each word that is asked for; where it is asked for by several, it is
    counted once."""

    @classmethod
    def of(
        cls, doc: int, at: int, terms: tuple[str, ...], pinned: bool, asked: Collection[str]
    ) -> Text:
        """A text, its words counted."""
        counts: dict[str, int] = {}
        for word in terms:
            if word in asked:
                counts[word] = counts.get(word, 0) + 1
        return cls(doc, at, terms, pinned, counts)


class Score(NamedTuple):
    """How well a text answers a question."""

    text: Text
    value: float
    own: Mapping[str, float]
    """How strongly each word of the question is in the text itself."""


@dataclass(frozen=True, slots=True)
class Spots:
    """Where a word stands: in which stretches of sessions, and in which claims."""

    stretches: frozenset[int]
    claims: tuple[int, ...]

    @classmethod
    def of(cls, docs: Sequence[int]) -> Spots:
        """Those of these texts."""
        return cls(
            frozenset([doc >> STRETCH_BITS for doc in docs if doc >= 0]),
            tuple([doc for doc in docs if doc < 0]),
        )


def seeds(
    spots: Mapping[str, Sequence[Spots]], weights: Mapping[str, float], most: int
) -> tuple[list[int], list[int]]:
    """Where it is worth reading: the best stretches of sessions, and the best claims. A first,
    cheap look that only knows which word is where (and may be told that in several parts)."""
    here: dict[int, float] = {}
    claims: dict[int, float] = {}
    around = here.get
    for word, parts in spots.items():
        weight = weights[word]
        seen: frozenset[int] = frozenset()
        for part in parts:
            new = part.stretches - seen if seen else part.stretches
            for stretch in new:
                here[stretch] = around(stretch, 0.0) + weight
            seen = seen | new if seen else new
            for doc in part.claims:
                claims[doc] = claims.get(doc, 0.0) + weight
    stretches = {
        stretch: amount + BESIDE * (around(stretch - 1, 0.0) + around(stretch + 1, 0.0))
        for stretch, amount in here.items()
    }
    return _best(stretches, most), _best(claims, most)


def spans_of(stretches: Iterable[int]) -> list[tuple[int, int]]:
    """The numbers of everything in these stretches and in those beside them, joined where they
    meet."""
    spans: list[list[int]] = []
    for stretch in sorted(stretches):
        if spans and stretch - 1 <= spans[-1][1] + 1:
            spans[-1][1] = stretch + 1
        else:
            spans.append([stretch - 1, stretch + 1])
    return [(low << STRETCH_BITS, (high + 1 << STRETCH_BITS) - 1) for low, high in spans]


def rank(question: Question, texts: Sequence[Text]) -> list[Score]:
    """Every text that has to do with the question, best first; of equals the newest first."""
    weights = question.weights
    own = {text.doc: _own(question, text) for text in texts}
    common = max(FEW, question.docs * COMMON)
    telling = {word for word, count in question.known.items() if count <= common}
    at_place: dict[int, dict[str, float]] = {}
    for doc, words in own.items():
        if words and doc >= 0:
            for word, amount in words.items():
                if word in telling:
                    strongest = at_place.setdefault(doc >> SUB_BITS, {})
                    if amount > strongest.get(word, 0.0):
                        strongest[word] = amount
    asked = {SPEAKER + term.word for term in question.terms}
    scores = []
    for text in texts:
        near = own[text.doc] if text.doc < 0 else _near(text.doc, own[text.doc], at_place)
        value = 0.0
        for word, x in near.items():
            value += weights[word] * x / (x + 1)
        if value:
            value *= _favour(question, text, asked)
            scores.append(Score(text, round(value, 9), own[text.doc]))
    return sorted(scores, key=_best_first)


def _own(question: Question, text: Text) -> dict[str, float]:
    if not text.counts:
        return {}
    size = 1 - DAMPING + DAMPING * len(text.terms) / question.length
    return {
        word: count * (SATURATION + 1) / (count + SATURATION * size)
        for word, count in text.counts.items()
    }


def _near(
    doc: int, own: Mapping[str, float], at_place: Mapping[int, Mapping[str, float]]
) -> dict[str, float]:
    """The words of a text with those around it: of each place, the strongest."""
    place = doc >> SUB_BITS
    found = dict(own)
    so_far = found.get
    others = at_place.get(place)
    if others is not None:  # who answered at the same place
        for word, amount in others.items():
            more = amount - own.get(word, 0.0)
            if more > 0:
                found[word] = so_far(word, 0.0) + NEARBY[0] * more
    for step, part in _AROUND:
        words = at_place.get(place + step)
        if words is not None:
            for word, amount in words.items():
                found[word] = so_far(word, 0.0) + part * amount
    return found


def _favour(question: Question, text: Text, asked: set[str]) -> float:
    favour = PINNED if text.pinned else 1.0
    for term in text.terms:
        if not term.startswith(SPEAKER):
            break
        if term in asked:
            favour *= SPEAKING
            break
    if any(span.start <= text.at < span.end + TOLD_AFTER for span in question.spans):
        favour *= IN_TIME
    return favour


def _best(scores: Mapping[int, float], most: int) -> list[int]:
    """The best of them, the last stored first among equals."""
    return [key for _, key in nlargest(most, zip(scores.values(), scores, strict=True))]


def newest_first(question: Question, scores: Sequence[Score], most: int = 100) -> list[Score]:
    """What says the same thing anew rises to where the older statement stands, and above it. Two
    texts speak of the same thing if the newer has half of what the older has of the question, and
    answers it nearly as well. Nothing rises above what is pinned, nor out of its ten, so nothing is
    pushed out of sight. Only the first so many are looked at."""
    weights = question.weights
    ordered: list[Score] = []
    for start in range(0, min(len(scores), most), TEN):
        some = scores[start : start + TEN]
        raised = [max(map(_raise(weights, newer), some), default=0.0) for newer in some]
        block = [
            one if value == one.value else one._replace(value=value)
            for one, value in zip(some, raised, strict=True)
        ]
        ordered += sorted(block, key=_best_first)
    return [*ordered, *scores[len(ordered) :]]


def _raise(weights: Mapping[str, float], newer: Score) -> Callable[[Score], float]:
    """What the newer of two is worth beside the older."""

    def beside(older: Score) -> float:
        if older.text.at >= newer.text.at or newer.value < NEARLY * older.value:
            return newer.value
        if older.text.pinned and not newer.text.pinned:
            return newer.value
        theirs = sum(weights[word] for word in older.own)
        shared = sum(weights[word] for word in older.own if word in newer.own)
        return max(newer.value, older.value) if theirs and shared >= HALF * theirs else newer.value

    return beside


def _best_first(score: Score) -> tuple[float, int, int, tuple[str, ...]]:
    """Nothing here depends on the order in which sessions were ingested."""
    text = score.text
    return -score.value, -text.at, -(text.doc & (1 << SESSION_BITS) - 1), text.terms
