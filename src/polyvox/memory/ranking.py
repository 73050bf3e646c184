"""Ranking: how well a text answers a question, from its words and its neighbours' words.

Pure. A word counts by how rare it is (idf), saturating as it repeats and damped in long texts
(BM25). What a neighbour in the same session says counts as said here too, less the further away it
is: an answer rarely repeats the words of what was asked just before it. That is worth more than
any other step (docs/memory.md has the figures); the weights lie on a plateau, where half as much or
half again costs a point.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from types import MappingProxyType
from typing import NamedTuple

from polyvox.memory.tables.remembered import SESSION_BITS, SUB_BITS
from polyvox.memory.times import Span
from polyvox.memory.words import SPEAKER, Term, words_of

NEARBY = (0.5, 0.3, 0.15, 0.1)
"""What a word counts one, two, three, four places away."""
HERE = NEARBY[0]
"""What a word counts that somebody else said at the same place."""
_AROUND = (
    (0, HERE),
    *((step, part) for near, part in enumerate(NEARBY, 1) for step in (-near, near)),
)
COMMON, FEW = 0.25, 10
"""A word in every fourth text (and in more than a few) tells nothing about its neighbours."""
STRETCH_BITS = SUB_BITS + 2
"""A stretch is as many places as a word reaches, so it reaches no further than the next one."""
BESIDE = 0.4
"""What a word counts in the stretches beside its own."""
_IN_SESSION = SESSION_BITS - STRETCH_BITS
_SURELY = 1 - 1e-9
"""Sums are not exact."""
SATURATION = 1.2
DAMPING = 0.4
SPEAKING = 1.3
"""A text whose label names somebody from the question."""
IN_TIME, SOON_AFTER = 1.5, 1.3
"""A text said in the time that the question names, or within two weeks after: that is when much of
it is told, but what was said in that time stands above."""
TOLD_AFTER = 14 * 86_400 * 1_000_000
PINNED = 1.1
HALF, NEARLY, TEN = 0.5, 0.75, 10


@dataclass(frozen=True)
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

    def idf(self, word: str, docs: int = 0) -> float:
        """How much is learned from meeting a word; as among so many texts, if there are fewer."""
        count = min(self.known.get(word, 0), self.docs)
        return math.log(1 + (max(self.docs, docs) - count + 0.5) / (count + 0.5))

    @cached_property
    def weights(self) -> dict[str, float]:
        """What each word is worth."""
        return {term.word: term.weight * self.idf(term.word) for term in self.terms}


Asked = Sequence[tuple[str, str]]
"""Words that are looked for in texts, each also between blanks."""


def asked_for(words: Iterable[str]) -> Asked:
    """These words, to be counted in texts."""
    return [(word, f" {word} ") for word in words]


class Text(NamedTuple):
    """A text that may be the answer. Claims have negative numbers and no neighbours."""

    doc: int
    at: int
    terms: str
    """Its words, parted by blanks."""
    pinned: bool = False
    counts: Mapping[str, int] = MappingProxyType({})
    """How often it holds each word that is asked for; where it is asked for by several, it is
    counted once."""

    @classmethod
    def of(cls, doc: int, at: int, terms: str, pinned: bool, asked: Asked) -> Text:
        """A text, its words counted."""
        padded = f" {terms} "
        here = [word for word, alone in asked if alone in padded]
        if not here:
            return cls(doc, at, terms, pinned)
        words = terms.split(" ")
        return cls(doc, at, terms, pinned, {word: words.count(word) for word in here})

    @property
    def length(self) -> int:
        """How many words it has."""
        return self.terms.count(" ") + 1 if self.terms else 0


class Score(NamedTuple):
    """How well a text answers a question."""

    text: Text
    value: float
    own: Mapping[str, float]
    """How strongly each word of the question is in the text itself."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Which words stand where, each word a bit: by stretch of a session, and by claim."""

    stretches: dict[int, int]
    claims: dict[int, int]

    @classmethod
    def of(cls, postings: Iterable[tuple[int, Iterable[int]]]) -> Ground:
        """A word's bit with the texts that hold it, for each word."""
        stretches: dict[int, int] = {}
        claims: dict[int, int] = {}
        for bit, docs in postings:
            for doc in docs:
                if doc >= 0:
                    stretch = doc >> STRETCH_BITS
                    stretches[stretch] = stretches.get(stretch, 0) | bit
                else:
                    claims[doc] = claims.get(doc, 0) | bit
        return cls(stretches, claims)

    def joined(self, other: Ground) -> Ground:
        """What stands in either."""
        return Ground(_joined(self.stretches, other.stretches), _joined(self.claims, other.claims))

    def without(self, sessions: Collection[int]) -> Ground:
        """What stands in other sessions than these."""
        shown = {
            stretch: bits
            for stretch, bits in self.stretches.items()
            if stretch >> _IN_SESSION not in sessions
        }
        return Ground(shown, self.claims)

    def only(self, bits: int) -> Ground:
        """Where these words stand."""
        return Ground(_only(self.stretches, bits), _only(self.claims, bits))


def _joined(one: dict[int, int], other: dict[int, int]) -> dict[int, int]:
    return one | other | {place: one[place] | other[place] for place in one.keys() & other.keys()}


def _only(there: dict[int, int], bits: int) -> dict[int, int]:
    return {place: left for place, has in there.items() if (left := has & bits)}


def seeds(
    ground: Ground, weights: Sequence[tuple[int, float]], most: int
) -> tuple[list[int], list[int]]:
    """Where it is worth reading: the best stretches of sessions, and the best claims. A first,
    cheap look that only knows which word (a bit, with its weight) is where."""
    worth = {
        bits: sum([weight for bit, weight in weights if bits & bit])
        for bits in {*ground.stretches.values(), *ground.claims.values()}
    }
    there = ground.stretches
    worth[0], bits_at = 0.0, there.get
    stretches = {
        stretch: worth[there[stretch]]
        + BESIDE * (worth[bits_at(stretch - 1, 0)] + worth[bits_at(stretch + 1, 0)])
        for stretch in _promising(there, worth, most)
    }
    claims = {doc: worth[bits] for doc, bits in ground.claims.items()}
    return _best(stretches, most), _best(claims, most)


def _promising(there: Mapping[int, int], worth: Mapping[int, float], most: int) -> Iterable[int]:
    """The stretches that can be among the best so many. Not so one that is weak between weak ones,
    where so many are as strong as it could at most become by what stands beside it."""
    if len(there) <= most:
        return there
    counts = Counter(there.values())
    left, least = most, 0.0
    for bits in sorted(counts, key=lambda bits: -worth[bits]):
        least, left = worth[bits], left - counts[bits]
        if left <= 0:
            break
    weak = least / (1 + 2 * BESIDE) * _SURELY
    strong = {bits for bits in counts if worth[bits] >= weak}
    found = with_those_beside([stretch for stretch, bits in there.items() if bits in strong])
    return found & there.keys()


def with_those_beside(stretches: Iterable[int]) -> set[int]:
    """These stretches and those beside them: as far as their words reach."""
    return {one for stretch in stretches for one in (stretch - 1, stretch, stretch + 1)}


def spans_of(stretches: Iterable[int]) -> list[tuple[int, int]]:
    """The numbers of everything in these stretches, joined where they meet."""
    spans: list[list[int]] = []
    for stretch in sorted(stretches):
        if spans and stretch == spans[-1][1] + 1:
            spans[-1][1] = stretch
        else:
            spans.append([stretch, stretch])
    return [(low << STRETCH_BITS, (high + 1 << STRETCH_BITS) - 1) for low, high in spans]


def rank(question: Question, texts: Sequence[Text]) -> list[Score]:
    """Every text that has to do with the question, best first; of equals the newest first."""
    weights = question.weights
    common = max(FEW, question.docs * COMMON)
    telling = {word for word, count in question.known.items() if count <= common}
    own = [_own(question, text) for text in texts]
    at_place: dict[int, dict[str, float]] = {}
    for text, words in zip(texts, own, strict=True):
        if words and text.doc >= 0:
            strongest = at_place.setdefault(text.doc >> SUB_BITS, {})
            for word, amount in words.items():
                if word in telling and amount > strongest.get(word, 0.0):
                    strongest[word] = amount
    heard = _heard(at_place, {text.doc >> SUB_BITS for text in texts if text.doc >= 0})
    around = {place: _value(words, weights) for place, words in heard.items()}
    speakers = {SPEAKER + term.word for term in question.terms}
    scores = []
    for text, words in zip(texts, own, strict=True):
        if text.doc < 0:
            value = _value(words, weights)
        else:
            place = text.doc >> SUB_BITS
            value = around.get(place, 0.0)
            for word, amount in words.items():
                if word in telling:
                    # Half of it is heard already, as a part of what is said at this place.
                    without = heard[place][word]
                    x = without + HERE * amount
                    value += weights[word] * (x / (x + 1) - without / (without + 1))
                else:
                    value += weights[word] * amount / (amount + 1)
        if value:
            value *= _favour(question, text, speakers)
            scores.append(Score(text, round(value, 9), words))
    return sorted(scores, key=_best_first)


def _own(question: Question, text: Text) -> dict[str, float]:
    if not text.counts:
        return {}
    size = 1 - DAMPING + DAMPING * text.length / question.length
    return {
        word: count * (SATURATION + 1) / (count + SATURATION * size)
        for word, count in text.counts.items()
    }


def _heard(
    at_place: Mapping[int, Mapping[str, float]], places: Collection[int]
) -> dict[int, dict[str, float]]:
    """What is said at and around each of these places, less the further away it is."""
    found: dict[int, dict[str, float]] = {}
    for place, words in at_place.items():
        for step, part in _AROUND:
            near = place + step
            if near in places:
                there = found.setdefault(near, {})
                for word, amount in words.items():
                    there[word] = there.get(word, 0.0) + part * amount
    return found


def _value(words: Mapping[str, float], weights: Mapping[str, float]) -> float:
    value = 0.0
    for word, x in words.items():
        value += weights[word] * x / (x + 1)
    return value


def _favour(question: Question, text: Text, speakers: set[str]) -> float:
    favour = PINNED if text.pinned else 1.0
    if text.terms.startswith(SPEAKER):
        for term in text.terms.split(" "):
            if not term.startswith(SPEAKER):
                break
            if term in speakers:
                favour *= SPEAKING
                break
    return favour * _timely(question, text)


def _timely(question: Question, text: Text) -> float:
    """What a text is worth by when it was said."""
    found = 1.0
    for span in question.spans:
        if span.start <= text.at < span.end:
            return IN_TIME
        if span.end <= text.at < span.end + TOLD_AFTER:
            found = SOON_AFTER
    return found


def _best(scores: Mapping[int, float], most: int) -> list[int]:
    """The best of them, the last stored first among equals."""
    return [key for _, key in nlargest(most, zip(scores.values(), scores, strict=True))]


def newest_first(question: Question, scores: Sequence[Score], most: int = 100) -> list[Score]:
    """What says the same thing anew rises to where the older statement stands, and above it. Two
    texts speak of the same thing if the newer has half of what the older has of the question, and
    answers it nearly as well. Nothing rises above what is pinned, nor above what was said in the
    time that is asked about, nor out of its ten, so nothing is pushed out of sight. Only the first
    so many are looked at."""
    ordered: list[Score] = []
    for start in range(0, min(len(scores), most), TEN):
        some = scores[start : start + TEN]
        ordered += sorted([_raised(question, one, some) for one in some], key=_best_first)
    return [*ordered, *scores[len(ordered) :]]


def _raised(question: Question, newer: Score, some: Sequence[Score]) -> Score:
    """What the newer of two is worth beside the older, of all who are older."""
    value, text, weights = newer.value, newer.text, question.weights
    for older in some:
        if older.value <= value or older.text.at >= text.at or newer.value < NEARLY * older.value:
            continue
        if older.text.pinned and not text.pinned:
            continue
        if question.spans and _timely(question, older.text) > _timely(question, text):
            continue
        theirs = sum([weights[word] for word in older.own])
        shared = sum([weights[word] for word in older.own if word in newer.own])
        if theirs and shared >= HALF * theirs:
            value = older.value
    return newer if value == newer.value else newer._replace(value=value)


def _best_first(score: Score) -> tuple[float, tuple[int, int, str]]:
    return -score.value, latest(score.text)


def latest(text: Text) -> tuple[int, int, str]:
    """The order of equals, the newest first. Nothing here depends on the order in which sessions
    were ingested."""
    return -text.at, -(text.doc & (1 << SESSION_BITS) - 1), text.terms


# -- relevance: how likely it is that something found has to do with what was asked, from 0 to 1 ---
# A rank says what is best, not whether it is any good: a question about something that was never
# said has a best match too. So the score is put on a scale by a logistic function of three things
# that can be told apart: how much of the question is there (its rare words weigh more, and what
# nobody ever said weighs most), how much that is in itself, and whether a name in the question
# was never heard here. The coefficients were fitted on questions asked of the conversation that
# they are about, and of others, with the names in them and without. Within one question,
# relevance grows with the score, so it never changes the order.

CONSTANT = -6.3
COVERED = 9.4
AMOUNT = 2.6
STRANGER = -2.1
YOUNG = 100
"""Fewer texts than this cannot tell how rare a word is: what was found counts as among so many."""
MUCH = 8.0
"""More than this is not surer: a long question adds up many faint matches."""


@dataclass(frozen=True, slots=True)
class Features:
    """What is known of a question and a text, each by itself."""

    covered: float
    amount: float
    strangers: float

    @property
    def relevance(self) -> float:
        """Those on one scale."""
        exponent = (
            CONSTANT + COVERED * self.covered + AMOUNT * self.amount + STRANGER * self.strangers
        )
        return 1 / (1 + math.exp(-exponent))


class Scale:
    """Puts the scores of one question on the scale."""

    def __init__(self, question: Question) -> None:
        names = [term.word for term in question.terms if term.name]
        strangers = sum(1 for word in names if word not in question.known)
        worth = {term.word: term.weight * question.idf(term.word, YOUNG) for term in question.terms}
        here = sum(question.weights[word] for word in worth if word in question.known)
        there = sum(worth[word] for word in worth if word in question.known)
        self._total = sum(worth.values())
        self._grown = there / here if here else 1.0
        self._strangers = strangers / len(names) if names else 0.0

    def features(self, value: float) -> Features:
        """What a score means."""
        value *= self._grown
        covered = value / self._total if self._total else 0.0
        return Features(covered, math.log1p(min(value, MUCH)), self._strangers)

    def relevance(self, value: float) -> float:
        """How likely it is that a text with this score has to do with the question."""
        return self.features(value).relevance


# -- excerpts: the part of a long text that a question is about ------------------------------------

LONG = 800
"""A text up to this many characters is told whole."""

_SENTENCE = re.compile(r"\S.*?(?:[.!?…](?=\s)|\n|$)", re.DOTALL)


def excerpt(text: str, wanted: Collection[str], most: int = LONG) -> str:
    """A stretch of whole sentences that holds the most of the wanted words (a longer sentence is
    cut); the beginning, where it holds none."""
    text = text.strip()
    if len(text) <= most:
        return text
    pieces = [
        (match.start() + at, min(match.start() + at + most, match.end()))
        for match in _SENTENCE.finditer(text)
        for at in range(0, len(match[0]), most)
    ]
    found = [{*words_of(text[start:end])} & {*wanted} for start, end in pieces]
    best, best_count = (pieces[0][0], pieces[0][1]), -1
    for first, (start, end) in enumerate(pieces):
        words = set(found[first])
        for last in range(first + 1, len(pieces)):
            if pieces[last][1] - start > most:
                break
            end = pieces[last][1]
            words |= found[last]
        if len(words) > best_count:
            best, best_count = (start, end), len(words)
    return text[slice(*best)].strip()
