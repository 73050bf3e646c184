"""Where recall looks: the texts that may be an answer, read once for all who ask the same.

Every reader's own shelves are counted and searched by themselves, and only what all of them may see
is searched once for all. So what one of them finds, and in which order, depends on nothing that
they may not see: it is what they would find if nobody else asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest

from polyvox.memory.ranking import (
    STRETCH_BITS,
    Asked,
    Ground,
    Question,
    Text,
    asked_for,
    seeds,
    spans_of,
    with_those_beside,
)
from polyvox.memory.tables import claims, remembered, shelves
from polyvox.memory.tables.remembered import SESSION_BITS, View
from polyvox.memory.tables.shelves import SHARED, Shelf, Stock
from polyvox.memory.times import Span
from polyvox.memory.values import Claim, Partition
from polyvox.memory.words import Term
from polyvox.store.database import Tx
from polyvox.values import Scope

POSTINGS = 50
"""So many occurrences of words are looked at for each stretch that may be read, the rarest words
first. Of the evidence in three conversations of LoCoMo as much is found with a tenth of it."""
ENOUGH = 4
"""Where such a part of them was found, a word with more of them than are left is not looked up, for
PostgreSQL has to read them all."""
AT_ONCE = 3_000
"""More of them are never looked at, and of one word not read at once."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What one reader may see of a partition."""

    stocks: tuple[Stock, ...]
    hidden: frozenset[int]
    """The numbers of the sessions that are left out."""
    most: int
    """So many stretches of sessions are read, and as many claims."""
    also: Mapping[int, float]
    """What is looked at in any case: calibrated relevance by number in the index."""

    @property
    def postings(self) -> int:
        """So many occurrences of words are looked at."""
        return min(AT_ONCE, POSTINGS * self.most)

    @property
    def shelves(self) -> frozenset[Shelf]:
        """Where that stands."""
        return frozenset(one.shelf for one in self.stocks)

    @property
    def places(self) -> frozenset[tuple[str, str, bool]]:
        """The same: owner, role and cloud."""
        return frozenset((s.shelf.owner, s.shelf.role, s.shelf.cloud) for s in self.stocks)


@dataclass(frozen=True, slots=True)
class Seen:
    """What one reader has to choose from."""

    question: Question
    texts: list[Text]
    claims: Mapping[int, Claim]
    """Those among the texts that are claims, by number."""


@dataclass(frozen=True, slots=True)
class Look:
    """One question about a partition, whoever asks it."""

    tx: Tx
    scope: Scope
    partition: Partition
    terms: tuple[Term, ...]
    spans: tuple[Span, ...]
    as_of: int | None
    include_history: bool
    kinds: frozenset[str]
    """The kinds of claims that somebody can tell."""

    def see(self, sights: Sequence[Sight]) -> list[Seen]:
        """What each of them has to choose from."""
        words = [*dict.fromkeys(term.word for term in self.terms)]
        everything = frozenset[Shelf]().union(*(one.shelves for one in sights))
        counted = shelves.occurrences_on(self.tx, sorted(everything, key=_name), words)
        asked = [self._question(one, counted) for one in sights]
        index = _Index(self, sights, asked, counted)
        reading = _Reading()
        numbers: list[dict[int, None]] = []
        for reader, (one, question) in enumerate(zip(sights, asked, strict=True)):
            weights = question.weights
            worth = [(bit, weights[word]) for word, bit in index.words(reader)]
            best, some = seeds(index.ground(reader, one), worth, one.most)
            reading.want(reader, one, best)
            numbers.append(dict.fromkeys([*some, *(doc for doc in one.also if doc < 0)]))
        words_asked = asked_for(words)
        chosen = self._texts(sights, reading, words_asked)
        wanted = dict.fromkeys(doc for some in numbers for doc in some)
        known = dict(claims.read(self.tx, self.partition, list(wanted)))
        seen = []
        for sight, question, texts, mine in zip(sights, asked, chosen, numbers, strict=True):
            told = {
                doc: known[doc]
                for doc in mine
                if doc in known and self._tells(known[doc], sight.places)
            }
            for doc, claim in told.items():
                terms = " ".join(claim.terms)
                texts[doc] = Text.of(doc, claim.at, terms, claim.pinned, words_asked)
            seen.append(Seen(question, list(texts.values()), told))
        return seen

    def _texts(
        self, sights: Sequence[Sight], reading: _Reading, asked: Asked
    ) -> list[dict[int, Text]]:
        """The episodes that each of them may see, by number."""
        chosen: list[dict[int, Text]] = [{} for _ in sights]
        places = [one.places for one in sights]
        hidden = [one.hidden for one in sights]
        rows = remembered.glances(self.tx, self.partition, reading.views, self.as_of)
        for doc, at, terms, owner, role, cloud, pinned in rows:
            place, text = (owner, role, bool(cloud)), None
            for reader in reading.readers(doc):
                if place in places[reader] and doc >> SESSION_BITS not in hidden[reader]:
                    if text is None:
                        text = Text.of(doc, at, terms, bool(pinned), asked)
                    chosen[reader][doc] = text
        return chosen

    def _question(self, sight: Sight, counted: Mapping[str, Mapping[Shelf, int]]) -> Question:
        """The question, with what the memory that this reader sees knows of its words."""
        mine = sight.shelves
        known = {}
        for word, on in counted.items():
            count = sum(docs for shelf, docs in on.items() if shelf in mine)
            if count:
                known[word] = count
        docs = sum(one.docs for one in sight.stocks)
        length = max(1.0, sum(one.words for one in sight.stocks) / docs)
        return Question(self.terms, self.spans, docs, length, known)

    def _tells(self, claim: Claim, places: frozenset[tuple[str, str, bool]]) -> bool:
        """Whether a claim may be told: of a kind that somebody can tell, and current, or history
        is wanted."""
        retired, until = claim.retired_at, self.as_of
        current = retired is None or (until is not None and retired > until)
        return (
            claim.kind in self.kinds
            and (claim.advisor_id or SHARED, claims.ROLE, claim.cloud) in places
            and (until is None or claim.at <= until)
            and (current or self.include_history)
        )


class _Reading:
    """Which stretches of sessions are read, and which single episodes, and for whom."""

    def __init__(self) -> None:
        self._stretches: dict[int, list[int]] = {}
        self._alone: dict[int, list[int]] = {}
        self._owners: dict[int, frozenset[str]] = {}

    def want(self, reader: int, sight: Sight, best: Iterable[int]) -> None:
        """A reader wants these stretches, with those beside them, and what they have heard of in
        another way."""
        self._owners[reader] = frozenset(one.shelf.owner for one in sight.stocks)
        for stretch in with_those_beside(best):
            self._stretches.setdefault(stretch, []).append(reader)
        for doc in sight.also:
            if doc >= 0:
                self._alone.setdefault(doc, []).append(reader)

    def readers(self, doc: int) -> Sequence[int]:
        """For whom an episode is read."""
        some = self._stretches.get(doc >> STRETCH_BITS, [])
        also = self._alone.get(doc)
        return some if also is None else [*some, *also]

    @property
    def views(self) -> list[View]:
        """What is to be read, each number once."""
        readers = {stretch: {*some} for stretch, some in self._stretches.items()}
        found = []
        for doc, some in self._alone.items():
            if (stretch := doc >> STRETCH_BITS) in readers:
                readers[stretch].update(some)
            else:
                found.append(self._view(doc, doc, some))
        for low, high in spans_of(readers):
            there = range(low >> STRETCH_BITS, (high >> STRETCH_BITS) + 1)
            found.append(self._view(low, high, {one for s in there for one in readers[s]}))
        return found

    def _view(self, low: int, high: int, readers: Iterable[int]) -> View:
        return View(low, high, frozenset[str]().union(*(self._owners[one] for one in readers)))


def _looked_up(question: Question, most: int) -> list[tuple[str, int]]:
    """The words of a question that are looked up, the rarest first, with how often each occurs."""
    found = []
    left = most
    for word, count in sorted(question.known.items(), key=lambda pair: (pair[1], pair[0])):
        if left <= 0 or (count > left and most - left >= most // ENOUGH):
            break  # the other words still count where the rarer ones are
        found.append((word, count))
        left -= count
    return found


class _Index:
    """Which word stands where: on the shelves that all readers see, and on the others of each."""

    def __init__(
        self,
        look: Look,
        sights: Sequence[Sight],
        questions: Sequence[Question],
        counted: Mapping[str, Mapping[Shelf, int]],
    ) -> None:
        self._common = frozenset.intersection(*(one.shelves for one in sights))
        others = [*dict.fromkeys(one.shelves - self._common for one in sights)]
        # What each has alone; where two of them share some but not all, each is searched whole.
        apart = sum(map(len, others)) == len(frozenset[Shelf]().union(*others))
        self._words = [
            _looked_up(question, one.postings)
            for one, question in zip(sights, questions, strict=True)
        ]
        wanted: dict[str, dict[frozenset[Shelf], list[Shelf]]] = {}
        for word in dict.fromkeys(word for words in self._words for word, _ in words):
            wanted[word] = {
                group: kept
                for group in (self._common, *others)
                if (kept := sorted((one for one in group if one in counted[word]), key=_name))
            }
        few = {word for word in wanted if sum(counted[word].values()) <= AT_ONCE and apart}
        lists: dict[str, list[list[int]]] = {}
        for some in (few, wanted.keys() - few):
            lists |= shelves.postings_apart(
                look.tx,
                {word: list(wanted[word].values()) for word in wanted if word in some},
                max(one.postings for one in sights),
                look.as_of,
                few=some is few,
            )
        self._docs = {
            word: dict(zip(groups, lists[word], strict=True)) for word, groups in wanted.items()
        }
        self._bits = {word: 1 << number for number, word in enumerate(wanted)}
        self._grounds: dict[tuple[frozenset[Shelf], frozenset[int]], Ground] = {}

    def words(self, reader: int) -> list[tuple[str, int]]:
        """The words that are looked up for a reader, the rarest first, each with its bit."""
        return [(word, self._bits[word]) for word, _ in self._words[reader]]

    def ground(self, reader: int, sight: Sight) -> Ground:
        """Where the words of the question stand for this reader, as far as they are looked at."""
        groups, mine = (self._common, sight.shelves - self._common), self._words[reader]
        left = sight.postings
        for word, count in mine:
            there = self._docs[word]
            if sum(len(there[group]) for group in groups if group in there) > left:
                return self._newest(groups, mine, sight.postings).without(sight.hidden)
            left -= count
        common, own = (self._of(group, sight.hidden) for group in groups)
        found = common.joined(own)
        if len(mine) == len(self._bits):
            return found
        return found.only(sum(self._bits[word] for word, _ in mine))

    def _of(self, group: frozenset[Shelf], hidden: frozenset[int]) -> Ground:
        """All that was found on some shelves, outside of the hidden sessions."""
        found = self._grounds.get((group, hidden))
        if found is None:
            if hidden:
                found = self._of(group, frozenset()).without(hidden)
            else:
                found = Ground.of(
                    (self._bits[word], docs[group])
                    for word, docs in self._docs.items()
                    if group in docs
                )
            self._grounds[group, hidden] = found
        return found

    def _newest(
        self, groups: Sequence[frozenset[Shelf]], words: Sequence[tuple[str, int]], most: int
    ) -> Ground:
        """For a reader who is shown less than all: of each word the newest that there is room
        for."""
        found = []
        left = most
        for word, count in words:
            there = self._docs[word]
            docs = [doc for group in groups if group in there for doc in there[group]]
            found.append((self._bits[word], nlargest(left, docs) if len(docs) > left else docs))
            left -= count
        return Ground.of(found)


def _name(shelf: Shelf) -> tuple[str, str, bool]:
    """Always the same order, so that the same is asked for in the same words."""
    return shelf.owner, shelf.role, shelf.cloud
