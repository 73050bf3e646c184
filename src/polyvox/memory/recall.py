"""Recall: what was said, or is known, that a question is about. Best first, with its source.

The words of the question choose where to look, the rarest first, and only so many places are read:
the time it takes grows with what matches, up to a bound, and not with what is stored. What a reader
may not see is not on their shelves; it changes nothing they find, not even the order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from polyvox.errors import Invalid
from polyvox.memory.excerpts import excerpt
from polyvox.memory.ranking import Question, Text, newest_first, rank, seeds, spans_of
from polyvox.memory.relevance import Scale
from polyvox.memory.times import Span, times_in
from polyvox.memory.values import Claim, Evidence, Item, Partition
from polyvox.memory.words import terms_of
from polyvox.store import claims, episodes, shelves
from polyvox.store.database import Tx
from polyvox.store.folding import fold
from polyvox.store.remembered import SESSION_BITS, Glance, Stored
from polyvox.store.shelves import SHARED, Shelf
from polyvox.values import Scope

MOST_ITEMS = 100
POSTINGS, ENOUGH = 3_000, 500
"""So many occurrences of words are looked at, the rarest words first. Where enough were found, a
word with more of them than are left is not looked up, for PostgreSQL has to read them all."""
STRETCHES = 20
"""So many stretches of sessions are read, and as many more as items are wanted."""
DATED = 0.6
"""The relevance of what was said at a time, where a question names the time and nothing else."""
CHARS_PER_TOKEN = 4
SPARE = 6
"""So many more items are read than are wanted, in place of those that are known already."""

Source = Callable[[Tx, Scope, Partition, Sequence[str], int | None], Mapping[str, Item]]
"""Tells the claims of one kind: gets their ids and the time as of which to tell them, answers
items by id (whose relevance is not looked at). An id that it leaves out is not told."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Who recalls: everybody reads what is shared, and no advisor what is another's own."""

    advisor_id: str | None = None
    """The advisor whose own words are read too."""
    everything: bool = False
    """The person themself: every advisor's words are read."""
    cloud: bool = False
    """For a cloud model: what must not go there is left out."""
    roles: frozenset[str] | None = None
    """Only what was said in these roles ("user", "assistant", "claim"); None: in any."""

    def sees(self, shelf: Shelf) -> bool:
        """Whether what stands there may be read."""
        return (
            (self.everything or shelf.owner in (SHARED, self.advisor_id))
            and (shelf.cloud or not self.cloud)
            and (self.roles is None or shelf.role in self.roles)
        )


PERSON = Reader(everything=True)


@dataclass(frozen=True, slots=True)
class Exclude:
    """What is known already and need not be told again."""

    texts: tuple[str, ...] = ()
    """Whatever is told in one of these."""
    ids: frozenset[str] = frozenset()
    """Of items."""
    sessions: frozenset[str] = frozenset()


NOTHING = Exclude()


@dataclass(frozen=True, slots=True)
class _Asked:
    """One call of recall."""

    tx: Tx
    scope: Scope
    partition: Partition
    as_of: int | None
    include_history: bool
    exclude: Exclude
    sources: Mapping[str, Source]
    shelves: Mapping[tuple[str, str, bool], Shelf]
    """What the reader may see, by owner, role and cloud."""
    hidden: frozenset[int]
    """The numbers of the sessions that are left out."""

    def shows(self, one: Glance) -> bool:
        """Whether an episode may be told."""
        return (
            not one.excluded
            and (one.owner, one.role, bool(one.cloud)) in self.shelves
            and (self.as_of is None or one.at <= self.as_of)
            and one.doc >> SESSION_BITS not in self.hidden
        )

    def tells(self, claim: Claim) -> bool:
        """Whether a claim may be told: of a kind that somebody can tell, and current, or history
        is wanted."""
        retired, until = claim.retired_at, self.as_of
        current = retired is None or (until is not None and retired > until)
        return (
            claim.kind in self.sources
            and (claim.advisor_id or SHARED, claims.ROLE, claim.cloud) in self.shelves
            and (until is None or claim.at <= until)
            and (current or self.include_history)
        )


def recall(
    tx: Tx,
    scope: Scope,
    partition: Partition,
    query: str,
    *,
    reference_time: int,
    limit: int = 10,
    reader: Reader = PERSON,
    as_of: int | None = None,
    include_history: bool = False,
    max_tokens: int | None = None,
    exclude: Exclude = NOTHING,
    sources: Mapping[str, Source] | None = None,
    also: Mapping[int, float] | None = None,
    stretches: int = STRETCHES,
) -> list[Item]:
    """What is remembered about `query`, best first.

    `reference_time` is when it is asked ("last week"). With `as_of`, the answer is the one that
    could be given then; with `include_history`, what was superseded is told too. `max_tokens`
    bounds the sum of the items' texts. Claims are told by `sources`, by kind. `also` is what
    another way of searching found: calibrated relevance by number in the index; the better of two
    opinions counts. Where a quick look is enough, fewer `stretches` are read."""
    if not 1 <= limit <= MOST_ITEMS:
        raise Invalid(
            f"{limit} is not a number of items.", f"Ask for 1 to {MOST_ITEMS}.", param="limit"
        )
    stocks = [one for one in shelves.stocks(tx, scope, partition.key) if reader.sees(one.shelf)]
    if not stocks:
        return []
    asked = _Asked(
        tx,
        scope,
        partition,
        as_of,
        include_history,
        exclude,
        sources or {},
        {(one.shelf.owner, one.shelf.role, one.shelf.cloud): one.shelf for one in stocks},
        frozenset(episodes.session_numbers(tx, scope, partition, sorted(exclude.sessions))),
    )
    times = times_in(query, reference_time)
    if times.spans and all(term.weight < 1 for term in terms_of(times.rest)):
        return _cut(asked, _said_in(asked, times.spans), limit, max_tokens)
    terms = terms_of(query)
    visible = list(asked.shelves.values())
    known = shelves.occurrences(tx, scope, visible, [term.word for term in terms])
    docs = sum(one.docs for one in stocks)
    length = max(1.0, sum(one.words for one in stocks) / docs)
    question = Question(terms, times.spans, docs, length, known)
    texts, found = _look(asked, question, stretches + limit, also or {})
    told = _told(asked, question, texts, found, also or {}, limit + SPARE)
    return _cut(asked, told, limit, max_tokens)


def _look(
    asked: _Asked, question: Question, most: int, also: Mapping[int, float]
) -> tuple[list[Text], dict[int, Claim]]:
    """Read what may be an answer: as texts to be ranked, and the claims among them."""
    tx, scope, partition = asked.tx, asked.scope, asked.partition
    visible = list(asked.shelves.values())
    postings: dict[str, list[int]] = {}
    left = POSTINGS
    for word, count in sorted(question.known.items(), key=lambda pair: (pair[1], pair[0])):
        if left <= 0 or (count > left and POSTINGS - left >= ENOUGH):
            break  # the other words still count where the rarer ones are
        found = shelves.postings(tx, scope, visible, word, left, asked.as_of)
        postings[word] = [doc for doc in found if doc >> SESSION_BITS not in asked.hidden]
        left -= count
    stretches, numbers = seeds(postings, question.weights, most)
    ranges = spans_of(stretches) + [(doc, doc) for doc in also if doc >= 0]
    owners = {owner for owner, _, _ in asked.shelves}
    texts = {
        one.doc: Text(one.doc, one.at, tuple(one.terms.split()), bool(one.pinned))
        for one in episodes.glance(tx, scope, partition, ranges, owners)
        if asked.shows(one)
    }
    wanted = dict.fromkeys([*numbers, *(doc for doc in also if doc < 0)])
    told = {
        doc: claim
        for doc, claim in claims.read(tx, scope, partition, list(wanted))
        if asked.tells(claim)
    }
    for doc, claim in told.items():
        texts[doc] = Text(doc, claim.at, claim.terms, claim.pinned)
    return list(texts.values()), told


def _told(
    asked: _Asked,
    question: Question,
    texts: Sequence[Text],
    found: Mapping[int, Claim],
    also: Mapping[int, float],
    ahead: int,
) -> Iterator[Item]:
    """Items, best first; so many are read at a time, as they are asked for."""
    scale = Scale(question)
    scores = newest_first(question, rank(question, texts), ahead)
    relevance = {score.text.doc: scale.relevance(score.value) for score in scores}
    docs = list(relevance)
    if also:
        for text in texts:
            if text.doc in also:
                relevance[text.doc] = max(relevance.get(text.doc, 0.0), also[text.doc])
        docs = sorted(relevance, key=lambda doc: -relevance[doc])
    for start in range(0, len(docs), ahead):
        some = docs[start : start + ahead]
        items = _items(asked, question, some, found)
        for doc in some:
            if doc in items:
                yield replace(items[doc], relevance=round(relevance[doc], 4))


def _items(
    asked: _Asked, question: Question, docs: Sequence[int], found: Mapping[int, Claim]
) -> dict[int, Item]:
    tx, scope, partition = asked.tx, asked.scope, asked.partition
    wanted = {term.word for term in question.terms}
    ranges = [(doc, doc) for doc in docs if doc >= 0]
    items = {one.doc: _episode(one, wanted) for one in episodes.read(tx, scope, partition, ranges)}
    for kind, tell in asked.sources.items():
        ids = {found[doc].id: doc for doc in docs if doc < 0 and found[doc].kind == kind}
        if ids:
            told = tell(tx, scope, partition, list(ids), asked.as_of)
            items |= {ids[name]: item for name, item in told.items() if name in ids}
    return items


def _episode(one: Stored, wanted: set[str]) -> Item:
    said = one.episode
    quote = excerpt(said.text, wanted)
    evidence = Evidence(said.session_id, said.index, said.role, quote, said.said_at)
    before, after = said.text.strip().split(quote, 1) if quote else ("", "")
    shown = f"{'… ' if before else ''}{quote}{' …' if after else ''}"
    return Item(said.id, shown, 0.0, "episode", (evidence,), one.at)


def _said_in(asked: _Asked, spans: Sequence[Span]) -> Iterator[Item]:
    """What was said in these times: the person's words first, the latest first."""
    tx, scope, partition = asked.tx, asked.scope, asked.partition
    stored = [
        one
        for span in spans
        for one in episodes.said_between(tx, scope, partition, span.start, span.end, MOST_ITEMS * 4)
        if one.doc >> SESSION_BITS not in asked.hidden
        and one.shelf(partition) in asked.shelves.values()
        and (asked.as_of is None or one.at <= asked.as_of)
    ]
    for one in sorted(stored, key=lambda one: (one.episode.role != "user", -one.at)):
        yield replace(_episode(one, set()), relevance=DATED)


def _cut(asked: _Asked, items: Iterator[Item], limit: int, max_tokens: int | None) -> list[Item]:
    """As many as are wanted and fit, without what is known already."""
    known = [_bare(text) for text in asked.exclude.texts]
    kept: list[Item] = []
    left = max_tokens
    for item in items:
        text = _bare(item.text)
        if not text or item.id in asked.exclude.ids or any(text in other for other in known):
            continue
        if left is not None:
            size = -(-len(item.text) // CHARS_PER_TOKEN)
            if size > left:
                continue
            left -= size
        kept.append(item)
        if len(kept) == limit:
            break
    return kept


def _bare(text: str) -> str:
    return " ".join(fold(text).split())
