"""Ranking: how well a text answers a question, from its words and its neighbours' words.

Pure. A word counts by how rare it is (idf), saturating as it repeats and damped in long texts
(BM25). What a neighbour in the same session says counts as said here too, less the further away it
is: an answer rarely repeats the words of what was asked just before it. That is worth more than
any other step (docs/memory.md has the figures); the weights lie on a plateau, where half as much or
half again costs a point. The person's words count before an assistant's, and of what is said about
the same matter the newer stands above the older.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
SATURATION = 1.2
DAMPING = 0.4
ASSISTANT_WORDS, ASSISTANT = 0.5, 0.5
"""An assistant's words count so much, around them too, and its text so much of that again: a
person is asked about what they said. Whom a label names ("Anna: …") is a person in any role."""
SPEAKING = 1.8
"""A text whose label names somebody from the question."""
IN_TIME, SOON_AFTER = 1.5, 1.3
"""A text said in the time that the question names, or within two weeks after: that is when much of
it is told, but what was said in that time stands above."""
TOLD_AFTER = 14 * 86_400 * 1_000_000
PINNED = 1.1
WINDOW = 16
"""Two texts are about the same matter by the question's words that stand this close together."""
SHARED, NEARLY, FIRST = 0.5, 0.55, 10
"""The newer of two rises if it has so much of what the older has of the question, and scores so
much of its score; among the first so many."""


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

    def idf(self, word: str) -> float:
        """How much is learned from meeting a word."""
        count = min(self.known.get(word, 0), self.docs)
        return math.log(1 + (self.docs - count + 0.5) / (count + 0.5))

    @cached_property
    def weights(self) -> dict[str, float]:
        """What each word is worth."""
        return {term.word: term.weight * self.idf(term.word) for term in self.terms}

    @cached_property
    def words(self) -> dict[str, str]:
        """The word that each indexed form is a form of."""
        return {form: term.word for term in reversed(self.terms) for form in term.all_forms}


Asked = Sequence[tuple[str, str, str]]
"""Words that are looked for in texts: the word, a form of it, and that between blanks."""


def asked_for(terms: Iterable[Term], known: Collection[str] | None = None) -> Asked:
    """The forms of these words, to be counted in texts; where it is `known` which forms occur at
    all, only those."""
    return [
        (term.word, form, f" {form} ")
        for term in terms
        for form in term.all_forms
        if known is None or form in known
    ]


class Text(NamedTuple):
    """A text that may be the answer. Claims have negative numbers and no neighbours."""

    doc: int
    at: int
    terms: str
    """Its words, parted by blanks."""
    pinned: bool = False
    counts: Mapping[str, int] = MappingProxyType({})
    """How often it holds each word that is asked for."""

    @classmethod
    def of(cls, doc: int, at: int, terms: str, pinned: bool, asked: Asked) -> Text:
        """A text, its words counted."""
        padded = f" {terms} "
        here = [(word, form) for word, form, alone in asked if alone in padded]
        if not here:
            return cls(doc, at, terms, pinned)
        words, counts = terms.split(" "), dict[str, int]()
        for word, form in here:
            counts[word] = counts.get(word, 0) + words.count(form)
        return cls(doc, at, terms, pinned, counts)

    @property
    def length(self) -> int:
        """How many words it has."""
        return self.terms.count(" ") + 1 if self.terms else 0

    @property
    def place(self) -> int:
        """Where in its session it stands; answers to one message share a place."""
        return self.doc >> SUB_BITS

    @property
    def by_assistant(self) -> bool:
        """True if no person said it: messages have even places, answers odd ones."""
        return self.doc >= 0 and self.place % 2 == 1 and not self.terms.startswith(SPEAKER)


class Score(NamedTuple):
    """How well a text answers a question."""

    text: Text
    value: float


def rank(question: Question, texts: Sequence[Text]) -> list[Score]:
    """Every text that has to do with the question, best first; of equals the newest first."""
    weights = question.weights
    common = max(FEW, question.docs * COMMON)
    telling = {word for word, count in question.known.items() if count <= common}
    own = [_own(question, text) for text in texts]
    at_place: dict[int, dict[str, float]] = {}
    for text, words in zip(texts, own, strict=True):
        if words and text.doc >= 0:
            strongest = at_place.setdefault(text.place, {})
            for word, amount in words.items():
                if word in telling and amount > strongest.get(word, 0.0):
                    strongest[word] = amount
    heard = _heard(at_place, {text.place for text in texts if text.doc >= 0})
    around = {place: _value(words, weights) for place, words in heard.items()}
    speakers = {SPEAKER + term.word for term in question.terms}
    scores = []
    for text, words in zip(texts, own, strict=True):
        if text.doc < 0:
            value = _value(words, weights)
        else:
            value = around.get(text.place, 0.0)
            for word, amount in words.items():
                if word in telling:
                    # Half of it is heard already, as a part of what is said at this place.
                    without = heard[text.place][word]
                    x = without + HERE * amount
                    value += weights[word] * (x / (x + 1) - without / (without + 1))
                else:
                    value += weights[word] * amount / (amount + 1)
        if value:
            value *= _favour(question, text, speakers)
            scores.append(Score(text, round(value, 9)))
    return sorted(scores, key=_best_first)


def _own(question: Question, text: Text) -> dict[str, float]:
    """How strongly each word of the question is in the text itself."""
    if not text.counts:
        return {}
    size = 1 - DAMPING + DAMPING * text.length / question.length
    most = (SATURATION + 1) * (ASSISTANT_WORDS if text.by_assistant else 1.0)
    return {word: count * most / (count + SATURATION * size) for word, count in text.counts.items()}


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
    if text.by_assistant:
        favour *= ASSISTANT
    elif text.terms.startswith(SPEAKER):
        label = (term for term in text.terms.split(" ", 4)[:4] if term.startswith(SPEAKER))
        if not speakers.isdisjoint(label):
            favour *= SPEAKING
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


def newest_first(question: Question, scores: Sequence[Score]) -> list[Score]:
    """What the person says anew about the same matter rises, among the first ten, to where the
    older statement stands, and above it. Nothing rises above what is pinned, nor above what was
    said in the time that is asked about."""
    first = scores[:FIRST]
    windows = [_window(question, score.text) for score in first]
    raised = []
    for newer, has in zip(first, windows, strict=True):
        value = newer.value
        for older, had in zip(first, windows, strict=True):
            if older.value > value and _supersedes(question, newer, older):
                theirs = sum(question.weights[word] for word in had)
                both = sum(question.weights[word] for word in had & has)
                if theirs and both >= SHARED * theirs:
                    value = older.value
        raised.append(newer._replace(value=value))
    return [*sorted(raised, key=_best_first), *scores[FIRST:]]


def _supersedes(question: Question, newer: Score, older: Score) -> bool:
    """True if the newer of two may rise to the older, were they about the same matter."""
    new, old = newer.text, older.text
    return (
        new.at > old.at
        and newer.value >= NEARLY * older.value
        and not new.by_assistant
        and (new.pinned or not old.pinned)
        and not (question.spans and _timely(question, old) > _timely(question, new))
    )


def _window(question: Question, text: Text) -> frozenset[str]:
    """The words of the question that stand together in a text, where they weigh most."""
    if not text.counts:
        return frozenset()
    weights, words = question.weights, question.words
    places = [(n, words[t]) for n, t in enumerate(text.terms.split(" ")) if t in words]
    best, most = frozenset[str](), 0.0
    inside, weight, first = Counter[str](), 0.0, 0
    for place, word in places:
        weight += 0.0 if inside[word] else weights[word]
        inside[word] += 1
        while places[first][0] <= place - WINDOW:
            gone = places[first][1]
            inside[gone] -= 1
            weight -= 0.0 if inside[gone] else weights[gone]
            first += 1
        if weight > most + 1e-9:
            best, most = frozenset(one for one, count in inside.items() if count), weight
    return best


def _best_first(score: Score) -> tuple[float, tuple[int, int, str]]:
    return -score.value, latest(score.text)


def latest(text: Text) -> tuple[int, int, str]:
    """The order of equals, the newest first. Nothing here depends on the order in which sessions
    were ingested."""
    return -text.at, -(text.doc & (1 << SESSION_BITS) - 1), text.terms


# -- relevance: how likely it is that something found has to do with what was asked, from 0 to 1 ---
# A rank says what is best, not whether it is any good: a question about something that was never
# said has a best match too. How rare a word is says nothing here: the word that half of a memory is
# about is the best sign that a question belongs to it. So it is the plain share of the question's
# words that counts, in the best text and in the person's best few, and whether a name in the
# question was never heard here. The coefficients were fitted on questions asked of the conversation
# that they are about, and of others, with the names in them and without (LoCoMo and BEAM, leaving
# one conversation out; docs/memory.md). What ranks lower is less relevant.

CONSTANT = -2.7
BEST = 5.0
BEST_FEW = 2.6
STRANGER = -2.0
SUREST = 2.2
"""Even the best is no surer than 0.9, so what falls far behind it is hardly about the question."""
FALLS = 4.5
"""How much lower a lower score is, by its logarithm."""
FAINTLY = 0.3
"""What a faint word counts here."""
ASKED_ABOUT = 0.9
"""What an assistant's words count here, where the question's words stand together in them."""
FEW_BEST = 3


class Scale:
    """Puts the scores of one question on the scale."""

    def __init__(self, question: Question, scores: Sequence[Score]) -> None:
        """`scores`: of all that was found, best first."""
        worth = {term.word: 1.0 if term.weight == 1 else FAINTLY for term in question.terms}
        total = sum(worth.values()) or 1.0
        persons, shares = [], []
        for one in scores[:FIRST]:
            text = one.text
            here = _window(question, text) if text.by_assistant else text.counts.keys()
            share = sum(worth[word] for word in here) / total
            shares.append(share * ASKED_ABOUT if text.by_assistant else share)
            if not text.by_assistant:
                persons.append(share)
        names = [term.word for term in question.terms if term.name]
        strangers = sum(word not in question.known for word in names) / max(1, len(names))
        self._exponent = min(
            SUREST,
            CONSTANT
            + BEST * max(shares, default=0.0)
            + BEST_FEW * sum((persons or shares)[:FEW_BEST]) / FEW_BEST
            + STRANGER * strangers,
        )
        self._best = max((one.value for one in scores), default=0.0)

    def relevance(self, score: Score) -> float:
        """How likely it is that a text with this score has to do with the question. That it comes
        after the person's words is no reason against an assistant's."""
        value = score.value / (ASSISTANT if score.text.by_assistant else 1.0)
        if value <= 0:
            return 0.0
        falls = FALLS * math.log(value / self._best) if value < self._best else 0.0
        return 1 / (1 + math.exp(-max(-50.0, self._exponent + falls)))


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
