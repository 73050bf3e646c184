"""What was said earlier in a session that still goes on, once the request no longer holds it.

It is not remembered yet, so nothing is looked up: the words themselves are searched, ranked as
anything else is, and told as what they are. There is as much of it as one session has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo

from polyvox.memory.excerpts import excerpt
from polyvox.memory.packets import Recalled
from polyvox.memory.ranking import Question, Text, asked_for, newest_first, rank
from polyvox.memory.relevance import Scale
from polyvox.memory.tables.remembered import SUB_BITS, Role
from polyvox.memory.times import times_in
from polyvox.memory.values import Evidence
from polyvox.memory.words import terms_of, words_of
from polyvox.store.fold import fold

MOST = 400
"""So many messages are looked at, the last ones."""
MEMORY = 300
"""A session is judged as a part of a memory of at least so many texts: what is rare in a few
messages need not be rare."""
BEGINNING = 3
"""Words that begin with so many of the same letters may be forms of one."""
NOWHERE = -1
"""The index of a message that is not ingested yet."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A message of a session that goes on."""

    session_id: str
    role: Role
    text: str
    said_at: int | None


def recalled(
    words: str, heard: Sequence[Heard], now: int, limit: int, zone: tzinfo | None
) -> list[Recalled]:
    """Which of these messages (in their order) a question is about, best first. `zone`: where
    "yesterday" is meant."""
    terms = terms_of(words)
    some = heard[-MOST:]
    beginnings = {term.word[:BEGINNING] for term in terms}
    asked = asked_for(term.word for term in terms)
    texts = []
    for place, one in enumerate(some):
        folded = fold(one.text)
        found = words_of(one.text) if any(begin in folded for begin in beginnings) else ()
        texts.append(Text.of(place << SUB_BITS, one.said_at or 0, " ".join(found), False, asked))
    known = Counter(word for text in texts for word in text.counts)
    if not known:
        return []
    docs = max(MEMORY, len(texts))
    length = max(1.0, sum(text.length for text in texts) / sum(bool(t.terms) for t in texts))
    question = Question(terms, times_in(words, now, zone).spans, docs, length, known)
    scale, wanted = Scale(question), {term.word for term in terms}
    scores = newest_first(question, rank(question, texts), limit)
    return [
        _told(some[score.text.doc >> SUB_BITS], wanted, round(scale.relevance(score.value), 4))
        for score in scores[:limit]
    ]


def _told(one: Heard, wanted: set[str], relevance: float) -> Recalled:
    quote = excerpt(one.text, wanted)
    evidence = Evidence(one.session_id, NOWHERE, one.role, quote, one.said_at)
    return Recalled(quote, relevance, "episode", (evidence,), one.said_at)
