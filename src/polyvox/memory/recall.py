"""Recall: what was said, or is known, that a question is about. Best first, with its source.

The words of the question choose where to look, the rarest first, and only so many places are read:
the time it takes grows with what matches, up to a bound, and not with what is stored. What a reader
may not see is not on their shelves; it changes nothing they find, not even the order.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo

from polyvox.errors import Invalid
from polyvox.memory.index import Look, Seen, Sight
from polyvox.memory.rank import Scale, Score, excerpt, latest, newest_first, rank
from polyvox.memory.tables import episodes, shelves
from polyvox.memory.tables.remembered import SESSION_BITS, Stored
from polyvox.memory.tables.shelves import SHARED, Shelf
from polyvox.memory.times import Span, iso, times_in
from polyvox.memory.values import Claim, Evidence, Item, Partition
from polyvox.memory.words import names_in, speaker_of, terms_of
from polyvox.store.database import Tx
from polyvox.store.search import fold

MOST_ITEMS = 100
STRETCHES = 20
"""So many stretches of sessions are read, and as many more as items are wanted."""
DATED = 0.6
"""The relevance of what was said at a time, where a question names the time and nothing else."""
CHARS_PER_TOKEN = 4

Source = Callable[[Tx, Partition, Sequence[str], int | None], Mapping[str, Item]]
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
class Wish:
    """What one reader wants of a question."""

    reader: Reader = PERSON
    exclude: Exclude = NOTHING
    limit: int = 10
    stretches: int = STRETCHES
    """Where a quick look is enough, fewer stretches of sessions are read."""
    also: Mapping[int, float] = field(default_factory=dict)
    """What another way of searching found: calibrated relevance by number in the index; the better
    of two opinions counts."""


def recall(
    tx: Tx,
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
    zone: tzinfo | None = UTC,
) -> list[Item]:
    """What is remembered about `query`, best first; see `recall_all`."""
    wish = Wish(reader, exclude, limit, also=also or {})
    (found,) = recall_all(
        tx,
        partition,
        query,
        [wish],
        reference_time=reference_time,
        as_of=as_of,
        include_history=include_history,
        max_tokens=max_tokens,
        sources=sources,
        zone=zone,
    )
    return found


def recall_all(
    tx: Tx,
    partition: Partition,
    query: str,
    wishes: Sequence[Wish],
    *,
    reference_time: int,
    as_of: int | None = None,
    include_history: bool = False,
    max_tokens: int | None = None,
    sources: Mapping[str, Source] | None = None,
    zone: tzinfo | None = UTC,
) -> list[list[Item]]:
    """What is remembered about `query`, best first, for each of several readers.

    `reference_time` is when it is asked ("last week") and `zone` where (None: as this machine).
    With `as_of`, the answer is the one that could be given then; with `include_history`, what was
    superseded is told too. `max_tokens` bounds the sum of the items' texts. Claims are told by
    `sources`, by kind."""
    for wish in wishes:
        if not 1 <= wish.limit <= MOST_ITEMS:
            raise Invalid(
                f"{wish.limit} is not a number of items.",
                f"Ask for 1 to {MOST_ITEMS}.",
                param="limit",
            )
    stocks = shelves.stocks(tx, partition.key)
    sights: dict[int, Sight] = {}
    hidden: dict[frozenset[str], frozenset[int]] = {}
    for number, wish in enumerate(wishes):
        visible = tuple(one for one in stocks if wish.reader.sees(one.shelf))
        if visible:
            ids = wish.exclude.sessions
            if ids not in hidden:
                gone = episodes.session_numbers(tx, partition, sorted(ids))
                hidden[ids] = frozenset(gone)
            sights[number] = Sight(visible, hidden[ids], wish.stretches + wish.limit, wish.also)
    found: list[list[Item]] = [[] for _ in wishes]
    if not sights:
        return found
    times, terms = times_in(query, reference_time, zone), terms_of(query)
    # "This month" has not come further than the day on which it is said.
    spans = [
        replace(one, end=min(one.end, max(one.start, reference_time) + 1)) for one in times.spans
    ]
    look = Look(
        tx,
        partition,
        terms,
        tuple(spans),
        as_of,
        include_history,
        frozenset(sources or ()),
    )
    if times.spans and all(term.weight < 1 for term in terms_of(times.rest)):
        for number, sight in sights.items():
            told = _said_in(look, sight, spans)
            found[number] = _cut(told, wishes[number], max_tokens)
        return found
    # Readers with nothing of their own see the same: they are looked for once.
    alike: dict[tuple[object, ...], list[int]] = {}
    for number, sight in sights.items():
        also, limit = tuple(sorted(sight.also.items())), wishes[number].limit
        key = (sight.stocks, sight.hidden, sight.most, limit, also)
        alike.setdefault(key, []).append(number)
    first = [numbers[0] for numbers in alike.values()]
    seen = look.see([sights[number] for number in first])
    orders = [_order(one, wishes[number]) for number, one in zip(first, seen, strict=True)]
    items = _Items(look, sources or {}, orders)
    for numbers, order in zip(alike.values(), orders, strict=True):
        for number in numbers:
            found[number] = _cut(items.told(order), wishes[number], max_tokens)
    return found


@dataclass(frozen=True, slots=True)
class _Order:
    """What one reader is to be told, best first."""

    scale: Scale
    scores: Mapping[int, Score]
    sure: Mapping[int, float]
    """The relevance of those that another opinion was heard of."""
    docs: Sequence[int]
    claims: Mapping[int, Claim]
    ahead: int
    """So many are read at a time: few, for most readers need no more than they want."""

    def relevance(self, doc: int) -> float:
        """How relevant it is; told for few, so found out for few."""
        known = self.sure.get(doc)
        return self.scale.relevance(self.scores[doc]) if known is None else known


def _order(seen: Seen, wish: Wish) -> _Order:
    scores = newest_first(seen.question, rank(seen.question, seen.texts))
    scale = Scale(seen.question, scores)
    by_doc = {score.text.doc: score for score in scores}
    docs, sure = list(by_doc), dict[int, float]()
    if wish.also:
        sure = {doc: scale.relevance(score) for doc, score in by_doc.items()}
        seen_docs = [text.doc for text in sorted(seen.texts, key=latest)]
        better = [doc for doc in seen_docs if wish.also.get(doc, 0.0) > sure.get(doc, 0.0)]
        sure |= {doc: wish.also[doc] for doc in better}
        docs = [doc for doc in by_doc if doc not in {*better}]
        for doc in sorted(better, key=lambda doc: -sure[doc]):
            ahead = (n for n, other in enumerate(docs) if sure[other] < sure[doc])
            docs.insert(next(ahead, len(docs)), doc)
    return _Order(scale, by_doc, sure, docs, seen.claims, wish.limit + 2)


class _Items:
    """What is told, read as it is asked for; what everybody is told first, at once."""

    def __init__(self, look: Look, sources: Mapping[str, Source], orders: Sequence[_Order]) -> None:
        self._look = look
        self._sources = sources
        self._wanted = {form for term in look.terms for form in term.all_forms}
        self._claims = {doc: claim for one in orders for doc, claim in one.claims.items()}
        self._read: dict[int, Item | None] = {}
        self._fetch([doc for one in orders for doc in one.docs[: one.ahead]])

    def told(self, order: _Order) -> Iterator[Item]:
        """One reader's items."""
        for start in range(0, len(order.docs), order.ahead):
            some = order.docs[start : start + order.ahead]
            self._fetch(some)
            for doc in some:
                item = self._read[doc]
                if item is not None:
                    yield replace(item, relevance=round(order.relevance(doc), 4))

    def _fetch(self, docs: Iterable[int]) -> None:
        new = [doc for doc in dict.fromkeys(docs) if doc not in self._read]
        if not new:
            return
        self._read |= dict.fromkeys(new)
        tx, partition = self._look.tx, self._look.partition
        ranges = [(doc, doc) for doc in new if doc >= 0]
        for one in episodes.read(tx, partition, ranges):
            self._read[one.doc] = _episode(one, self._wanted)
        for kind, tell in self._sources.items():
            ids = {
                self._claims[doc].id: doc
                for doc in new
                if doc < 0 and self._claims[doc].kind == kind
            }
            if ids:
                told = tell(tx, partition, list(ids), self._look.as_of)
                self._read |= {ids[name]: item for name, item in told.items() if name in ids}


def _episode(one: Stored, wanted: set[str]) -> Item:
    said = one.episode
    quote = excerpt(said.text, wanted)
    evidence = Evidence(said.session_id, said.index, said.role, quote, said.said_at)
    before, after = said.text.strip().split(quote, 1) if quote else ("", "")
    shown = f"{'… ' if before else ''}{quote}{' …' if after else ''}"
    return Item(said.id, shown, 0.0, "episode", (evidence,), one.at)


def _said_in(look: Look, sight: Sight, spans: Sequence[Span]) -> Iterator[Item]:
    """What was said in these times: the person's words first, the latest first."""
    tx, partition = look.tx, look.partition
    visible = sight.shelves
    stored = {
        one.doc: one
        for span in spans
        for one in episodes.said_between(tx, partition, span.start, span.end, MOST_ITEMS * 4)
        if one.doc >> SESSION_BITS not in sight.hidden
        and one.shelf(partition) in visible
        and (look.as_of is None or one.at <= look.as_of)
    }
    for one in sorted(stored.values(), key=lambda one: (one.episode.role != "user", -one.at)):
        yield replace(_episode(one, set()), relevance=DATED)


def _cut(items: Iterator[Item], wish: Wish, max_tokens: int | None) -> list[Item]:
    """As many as are wanted and fit, without what is known already."""
    known = [_bare(text) for text in wish.exclude.texts]
    kept: list[Item] = []
    left = max_tokens
    for item in items:
        says_nothing = not any(map(str.isalnum, item.text))
        if says_nothing or item.id in wish.exclude.ids or _among(known, item.text):
            continue
        if left is not None:
            size = -(-len(item.text) // CHARS_PER_TOKEN)
            if size > left:
                continue
            left -= size
        kept.append(item)
        if len(kept) == wish.limit:
            break
    return kept


def _among(known: Sequence[str], text: str) -> bool:
    """Whether a text is told in one that is known."""
    bare = _bare(text) if known else ""
    return any(bare in other for other in known)


def _bare(text: str) -> str:
    return " ".join(fold(text).split())


# -- names -----------------------------------------------------------------------------------------

MOST_ENTITIES = 10


@dataclass(frozen=True, slots=True)
class Entity:
    """A name that occurs in what was found."""

    uuid: str
    name: str
    items: int
    """In how many of the items."""
    last_at: int | None

    @property
    def summary(self) -> str:
        """What can be said of it for certain."""
        last = "" if self.last_at is None else f", last spoken of on {iso(self.last_at)[:10]}"
        return f"{self.name}{last}"


def entities_in(partition: Partition, items: Sequence[Item]) -> tuple[Entity, ...]:
    """The names in what was found, the most frequent first."""
    whole = "\n".join(item.text for item in items)
    labels = {speaker_of(item.text) for item in items} - {""}
    names = {fold(name).strip(): name for name in [*labels, *names_in(whole)]}
    found = []
    for bare, name in names.items():
        holders = [
            item for item in items if f" {bare} " in f" {' '.join(fold(item.text).split())} "
        ]
        if not holders:
            continue
        times = [item.valid_from for item in holders if item.valid_from is not None]
        key = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{partition.key}{bare}"))
        found.append(Entity(key, name, len(holders), max(times, default=None)))
    found.sort(key=lambda one: (-one.items, -(one.last_at or 0), one.name))
    return tuple(found[:MOST_ENTITIES])
