"""The index as it is read for a question: the texts that may be an answer.

Two steps: the rarest words of the question say in which stretches of sessions it is worth reading
(a posting budget bounds how many of their occurrences are looked at), and the best stretches are
read once for all who ask. Each reader's shelves are counted and searched by themselves, so what one
of them finds, and in which order, is what they would find if nobody else asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest

from polyvox.memory.rank import Asked, Question, Text, asked_for
from polyvox.memory.tables import claims, remembered, shelves
from polyvox.memory.tables.remembered import SESSION_BITS, SUB_BITS, View
from polyvox.memory.tables.shelves import SHARED, Shelf, Stock
from polyvox.memory.times import Span
from polyvox.memory.values import Claim, Partition
from polyvox.memory.words import Term
from polyvox.store.database import Tx

POSTINGS = 50
"""Posting budget for each stretch that may be read, spent on the rarest words first. Of the
evidence in three conversations of LoCoMo as much is found with a tenth of it."""
ENOUGH = 4
"""Once such a part of the budget is spent, a word with more occurrences than are left is not looked
up, for PostgreSQL has to read them all."""
AT_ONCE = 3_000
"""The largest budget, and the most occurrences of one word that are read in one go."""
STRETCH_BITS = SUB_BITS + 2
"""A stretch is as many places as a word reaches, so it reaches no further than the next one."""
BESIDE = 0.4
"""What a word counts in the stretches beside its own."""


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
    def budget(self) -> int:
        """Occurrences of words that are looked at."""
        return min(AT_ONCE, POSTINGS * self.most)

    @property
    def shelves(self) -> list[Shelf]:
        """Where that stands, always in the same order."""
        return sorted((one.shelf for one in self.stocks), key=_name)

    @property
    def places(self) -> frozenset[tuple[str, str, bool]]:
        """The same: owner, role and cloud."""
        return frozenset(map(_name, self.shelves))


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
    partition: Partition
    terms: tuple[Term, ...]
    spans: tuple[Span, ...]
    as_of: int | None
    include_history: bool
    kinds: frozenset[str]
    """The kinds of claims that somebody can tell."""

    def see(self, sights: Sequence[Sight]) -> list[Seen]:
        """What each of them has to choose from."""
        everything = sorted({one for sight in sights for one in sight.shelves}, key=_name)
        forms = [*dict.fromkeys(form for term in self.terms for form in term.all_forms)]
        counted = shelves.occurrences_on(self.tx, everything, forms)
        asked = asked_for(self.terms, counted)
        questions = [self._question(sight, counted) for sight in sights]
        wanted = [_looked_up(one, s.budget) for one, s in zip(questions, sights, strict=True)]
        postings = self._postings(sights, wanted, counted)
        best: list[list[int]] = []
        told: list[dict[int, None]] = []
        for sight, question, words in zip(sights, questions, wanted, strict=True):
            stretches, numbers = worth_reading(sight, question, words, postings)
            best.append(stretches)
            told.append(dict.fromkeys([*numbers, *(doc for doc in sight.also if doc < 0)]))
        texts = self._episodes(sights, best, asked)
        known = dict(
            claims.read(self.tx, self.partition, [*{doc for some in told for doc in some}])
        )
        seen = []
        for sight, question, mine, docs in zip(sights, questions, texts, told, strict=True):
            places = sight.places
            held = {d: known[d] for d in docs if d in known and self._tells(known[d], places)}
            for doc, claim in held.items():
                terms = " ".join(claim.terms)
                mine.append(Text.of(doc, claim.at, terms, claim.pinned, asked))
            seen.append(Seen(question, mine, held))
        return seen

    def _question(self, sight: Sight, counted: Mapping[str, Mapping[Shelf, int]]) -> Question:
        """The question, with what the memory that this reader sees knows of its words."""
        mine, known = {*sight.shelves}, dict[str, int]()
        for term in self.terms:
            on = [counted[form] for form in term.all_forms if form in counted]
            count = sum(docs for some in on for shelf, docs in some.items() if shelf in mine)
            if count:
                known[term.word] = count
        docs = sum(one.docs for one in sight.stocks)
        length = max(1.0, sum(one.words for one in sight.stocks) / docs)
        return Question(self.terms, self.spans, docs, length, known)

    def _postings(
        self,
        sights: Sequence[Sight],
        wanted: Sequence[Sequence[tuple[str, int]]],
        counted: Mapping[str, Mapping[Shelf, int]],
    ) -> dict[str, dict[Shelf, list[int]]]:
        """The texts that hold each of the wanted words, on each shelf by itself, newest first."""
        words = {word for some in wanted for word, _ in some}
        forms: dict[str, tuple[str, ...]] = {}
        on: dict[str, list[Shelf]] = {}
        few: set[str] = set()
        for term in self.terms:
            if term.word in words:
                forms[term.word] = tuple(form for form in term.all_forms if form in counted)
                there = [counted[form] for form in forms[term.word]]
                on[term.word] = sorted({shelf for some in there for shelf in some}, key=_name)
                if sum(sum(some.values()) for some in there) <= AT_ONCE:
                    few.add(term.word)
        most = max(sight.budget for sight in sights)
        found: dict[str, dict[Shelf, list[int]]] = {}
        for some in (few, on.keys() - few):
            pairs = [(word, shelf) for word in on if word in some for shelf in on[word]]
            asked = [(forms[word], shelf) for word, shelf in pairs]
            lists = shelves.postings_each(self.tx, asked, most, self.as_of, few=some is few)
            for (word, shelf), docs in zip(pairs, lists, strict=True):
                found.setdefault(word, {})[shelf] = docs
        return found

    def _episodes(
        self, sights: Sequence[Sight], best: Sequence[Sequence[int]], asked: Asked
    ) -> list[list[Text]]:
        """The episodes in these stretches that each of them may see."""
        readers: dict[int, list[int]] = {}
        alone: dict[int, list[int]] = {}
        owners = [frozenset(one.shelf.owner for one in sight.stocks) for sight in sights]
        for reader, (sight, stretches) in enumerate(zip(sights, best, strict=True)):
            near = {one for stretch in stretches for one in (stretch - 1, stretch, stretch + 1)}
            for stretch in near:
                readers.setdefault(stretch, []).append(reader)
            for doc in sight.also:
                if doc >= 0 and doc >> STRETCH_BITS not in near:
                    alone.setdefault(doc, []).append(reader)
        # A document that somebody heard of in another way, in a stretch that others read, is read
        # with that stretch: each number once.
        views = [
            View(low, high, frozenset[str]().union(*(owners[one] for one in who)))
            for low, high, who in ranges(readers, alone)
        ]
        places = [sight.places for sight in sights]
        texts: list[list[Text]] = [[] for _ in sights]
        rows = remembered.glances(self.tx, self.partition, views, self.as_of)
        for doc, at, terms, owner, role, cloud, pinned in rows:
            place, text = (owner, role, bool(cloud)), None
            for reader in (*readers.get(doc >> STRETCH_BITS, ()), *alone.get(doc, ())):
                if place in places[reader] and doc >> SESSION_BITS not in sights[reader].hidden:
                    text = text or Text.of(doc, at, terms, bool(pinned), asked)
                    texts[reader].append(text)
        return texts

    def _tells(self, claim: Claim, places: frozenset[tuple[str, str, bool]]) -> bool:
        """True if a claim may be told: of a kind that somebody can tell, and current, or history
        is wanted."""
        retired, until = claim.retired_at, self.as_of
        current = retired is None or (until is not None and retired > until)
        return (
            claim.kind in self.kinds
            and (claim.advisor_id or SHARED, claims.ROLE, claim.cloud) in places
            and (until is None or claim.at <= until)
            and (current or self.include_history)
        )


def _looked_up(question: Question, budget: int) -> list[tuple[str, int]]:
    """The words of a question that are looked up, the rarest first, each with how many of its
    occurrences the budget has room for."""
    found = []
    left = budget
    for word, count in sorted(question.known.items(), key=lambda pair: (pair[1], pair[0])):
        if left <= 0 or (count > left and budget - left >= budget // ENOUGH):
            break  # the other words still count where the rarer ones are
        found.append((word, left))
        left -= count
    return found


def worth_reading(
    sight: Sight,
    question: Question,
    words: Sequence[tuple[str, int]],
    postings: Mapping[str, Mapping[Shelf, list[int]]],
) -> tuple[list[int], list[int]]:
    """The best stretches and the best claims for this reader, by which words are where."""
    stretches: dict[int, float] = {}
    numbers: dict[int, float] = {}
    for word, room in words:
        on = postings[word]
        docs = [doc for shelf in sight.shelves for doc in on.get(shelf, ())]
        weight = question.weights[word]
        met: set[int] = set()
        for doc in docs if len(docs) <= room else nlargest(room, docs):
            if doc < 0:
                numbers[doc] = numbers.get(doc, 0.0) + weight
            elif (stretch := doc >> STRETCH_BITS) not in met:
                met.add(stretch)
                if stretch >> (SESSION_BITS - STRETCH_BITS) not in sight.hidden:
                    stretches[stretch] = stretches.get(stretch, 0.0) + weight
    there = stretches.get
    worth = {
        stretch: weight + BESIDE * (there(stretch - 1, 0.0) + there(stretch + 1, 0.0))
        for stretch, weight in stretches.items()
    }
    return _best(worth, sight.most), _best(numbers, sight.most)


def _best(worth: Mapping[int, float], most: int) -> list[int]:
    """The best of them, the last stored first among equals."""
    return [key for _, key in nlargest(most, ((round(v, 9), key) for key, v in worth.items()))]


def ranges(
    readers: Mapping[int, Sequence[int]], alone: Mapping[int, Sequence[int]]
) -> Iterable[tuple[int, int, set[int]]]:
    """Ranges of numbers that hold these stretches, joined where they meet, and these documents;
    each with who reads it."""
    who = {stretch: {*some} for stretch, some in readers.items()}
    for doc, some in alone.items():
        if (stretch := doc >> STRETCH_BITS) in who:
            who[stretch].update(some)
        else:
            yield doc, doc, {*some}
    run: list[int] = []
    for stretch in [*sorted(who), -2]:
        if run and stretch != run[-1] + 1:
            low, high = run[0] << STRETCH_BITS, (run[-1] + 1 << STRETCH_BITS) - 1
            yield low, high, {one for each in run for one in who[each]}
            run = []
        run.append(stretch)


def _name(shelf: Shelf) -> tuple[str, str, bool]:
    return shelf.owner, shelf.role, shelf.cloud
