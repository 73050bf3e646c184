"""Relevance: how likely it is that something found has to do with what was asked, from 0 to 1.

A rank says what is best, not whether it is any good: a question about something that was never said
has a best match too. So the score is put on a scale by a logistic function of three things that can
be told apart: how much of the question is there (its rare words weigh more, and what nobody ever
said weighs most), how much that is in itself, and whether a name in the question was never heard
here. The coefficients were fitted on questions asked of the conversation that they are about, and
of others, with the names in them and without. Within one question, relevance grows with the score,
so it never changes the order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from polyvox.memory.ranking import Question

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
