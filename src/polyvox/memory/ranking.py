"""Ranking: how well a text answers a question, from its words and its neighbours' words.

Pure. A word counts by how rare it is (idf), saturating as it repeats and damped in long texts
(BM25). What a neighbour in the same session says counts as said here too, less the further away it
is: an answer rarely repeats the words of what was asked just before it. That is worth more than
any other step (docs/memory.md has the figures); the weights lie on a plateau, where half as much or
half again costs a point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest

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


@dataclass(frozen=True, slots=True)
class Text:
    """A text that may be the answer. Claims have negative numbers and no neighbours."""

    doc: int
    at: int
    terms: tuple[str, ...]
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Score:
    """How well a text answers a question."""

    text: Text
    value: float
    own: Mapping[str, float]
    """How strongly each word of the question is in the text itself."""
    near: Mapping[str, float]
    """The same with its neighbours' words."""


def seeds(
    postings: Mapping[str, Sequence[int]], weights: Mapping[str, float], most: int
) -> tuple[list[int], list[int]]:
    """Where it is worth reading: the best stretches of sessions, and the best claims. A first,
    cheap look that only knows which word is where."""
    here: dict[int, float] = {}
    claims: dict[int, float] = {}
    for word, docs in postings.items():
        weight = weights[word]
        for stretch in {doc >> STRETCH_BITS for doc in docs if doc >= 0}:
            here[stretch] = here.get(stretch, 0.0) + weight
        for doc in docs:
            if doc < 0:
                claims[doc] = claims.get(doc, 0.0) + weight
    around = here.get
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
    own = {text.doc: _own(question, text, weights) for text in texts}
    common = max(FEW, question.docs * COMMON)
    telling = {word for word, count in question.known.items() if count <= common}
    at_place: dict[int, dict[str, float]] = {}
    for text in texts:
        if text.doc >= 0:
            for word, amount in own[text.doc].items():
                if word in telling:
                    strongest = at_place.setdefault(text.doc >> SUB_BITS, {})
                    strongest[word] = max(strongest.get(word, 0.0), amount)
    asked = {SPEAKER + term.word for term in question.terms}
    scores = []
    for text in texts:
        near = own[text.doc] if text.doc < 0 else _near(text.doc, own[text.doc], at_place)
        value = sum(weights[word] * x / (x + 1) for word, x in near.items())
        if value:
            value *= _favour(question, text, asked)
            scores.append(Score(text, round(value, 9), own[text.doc], near))
    return sorted(scores, key=_best_first)


def _own(question: Question, text: Text, weights: Mapping[str, float]) -> dict[str, float]:
    counts: dict[str, int] = {}
    for word in text.terms:
        if word in weights:
            counts[word] = counts.get(word, 0) + 1
    size = 1 - DAMPING + DAMPING * len(text.terms) / question.length
    return {
        word: count * (SATURATION + 1) / (count + SATURATION * size)
        for word, count in counts.items()
    }


def _near(
    doc: int, own: Mapping[str, float], at_place: Mapping[int, Mapping[str, float]]
) -> dict[str, float]:
    """The words of a text with those around it: of each place, the strongest."""
    place = doc >> SUB_BITS
    found = dict(own)
    for word, amount in at_place.get(place, {}).items():  # others who answered at the same place
        more = amount - own.get(word, 0.0)
        if more > 0:
            found[word] = found.get(word, 0.0) + NEARBY[0] * more
    for step, part in _AROUND:
        words = at_place.get(place + step)
        if words is not None:
            for word, amount in words.items():
                found[word] = found.get(word, 0.0) + part * amount
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
        block = [replace(one, value=value) for one, value in zip(some, raised, strict=True)]
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
