"""What repeats forgotten words: how it is recognised, and the answers that are remembered with it.

Words that are in every sentence, in our own texts or in an advisor's are nobody's secret. A word
counts as having come with a message if the person says it in no other one, and if nobody had used
it before.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import islice, pairwise

from polyvox.memory.tables import derived as profiles
from polyvox.memory.tables import episodes, facts, redacting, shelves
from polyvox.memory.tables.derived import Entry
from polyvox.memory.tables.facts import Fact
from polyvox.memory.tables.loops import Ended, Sighting
from polyvox.memory.tables.redaction import Found, Needles, excerpt, redact
from polyvox.memory.tables.told import Told, listed
from polyvox.memory.values import Episode, Partition
from polyvox.memory.words import STOP, stem, words_of
from polyvox.store import search
from polyvox.store.database import Tx
from polyvox.store.search import fold

# -- who vouches for a word: texts that show that it did not come with what is forgotten -----------
# Another message of the person's does. So does an answer that is older than what is forgotten,
# unless it may have the word from something else that was: it stands behind a forgotten message
# of its conversation, or was told the word from memory. Otherwise a secret that was said twice
# would outlive both messages in whatever repeats it.

ENOUGH = 20
"""So many other texts with the same words are looked at, beside the forgotten ones."""
MOST = 1_000
"""So many answers, before it is known which of them may vouch."""


class Vouching:
    """What is said in conversations where nothing is forgotten."""

    def __init__(self, tx: Tx, turns: Collection[str], since: int) -> None:
        self._tx, self._scope, self._turns, self._since = tx, tx.scope, turns, since
        self.told = Told(tx)

    @cached_property
    def earlier(self) -> dict[str, tuple[int, int]]:
        """Where something was forgotten before: at which depth and when. To be read before anything
        is marked."""
        return redacting.forgotten_before(self._tx)

    def has(self, run: Sequence[str]) -> bool:
        """Whether these words stand in another message, or in an older answer that vouches."""
        said = search.messages_with(self._tx, run, ENOUGH + len(self._turns))
        others = (text for name, text in said if name not in self._turns)
        return any(has(fold(text).split(), run) for text in others) or self._answered(run)

    def _answered(self, run: Sequence[str]) -> bool:
        rows = search.answers_with(self._tx, run, self._since, MOST)
        names = (name for name, where, depth in rows if self._is_own(where, depth, run))
        sql = "SELECT text FROM answers WHERE user_id = ? AND id"
        found = listed(self._tx, sql, islice(names, ENOUGH))
        return any(has(fold(text).split(), run) for (text,) in found)

    def _is_own(self, conversation_id: str, depth: int, run: Sequence[str]) -> bool:
        """Whether an answer has these words of itself."""
        first, _ = self.earlier.get(conversation_id, (depth + 1, 0))
        return depth < first and not self.told.knew(conversation_id, depth, run)


def has(words: Sequence[str], run: Sequence[str]) -> bool:
    """Whether these words stand in this order."""
    size = len(run)
    wanted = list(run)
    return any(words[at : at + size] == wanted for at in range(len(words) - size + 1))


Derived = Fact | Sighting | Ended | Entry
ROOMS = ("companion", "context", "memory")
SHORTEST = 3
"""Letters of a word that a derived row is recognised by: what it says by itself is found again, so
it may be fewer than elsewhere. One less where they are not a to z."""


@dataclass(frozen=True, slots=True)
class Words:
    """What is to be forgotten."""

    texts: Sequence[str]
    spoken: Sequence[str]
    """Those of the texts that are the person's own words, said or written by hand."""
    derived: Sequence[str]
    messages: Sequence[Episode]
    turns: Collection[str]
    answers: Collection[str]
    since: int
    """When the first of them came here, by our own clock; 0 where nobody knows."""
    leaving: str | None = None


def needles_of(tx: Tx, partition: Partition, words: Words, now: int) -> Needles:
    """By what it is recognised."""
    kept = _Kept(tx, partition, words)
    earlier = {name: at for name, (_, at) in kept.vouching.earlier.items()}

    def said(run: Sequence[str]) -> bool:
        if kept.spoken(run):
            return True
        return kept.told(words_of(run[0])) if len(run) == 1 else kept.told_together(run)

    needles = Needles(
        words.texts,
        derived=words.derived,
        faint=STOP,
        ordinary=_common(tx),
        said=said,
        stem=stem,
        turns=words.turns,
        answers=words.answers,
        leaving=words.leaving,
        since=min((words.since, *earlier.values())),
        earlier=earlier,
        now=now,
        part=None if partition == Partition.own(tx.scope) else partition.key,
    )
    needles.memo["told"] = kept.vouching.told
    return needles


def find(
    tx: Tx, partition: Partition, needles: Needles, gone: Collection[str], *, dry: bool
) -> list[Found]:
    """Everything that repeats it; unless `dry`, marked. `gone` are messages that go anyway. Only
    the person's own memory has conversations beside it; any has jobs."""
    own = partition == Partition.own(tx.scope)
    if own and not dry:
        redacting.check_rest(tx, needles)
    found = redact(tx, needles, dry=dry, only=None if own else ("job",))
    # All of them: their times are what somebody claimed.
    for one in episodes.answered_since(tx, partition, 0):
        if one.episode.id in gone:
            continue
        clean = needles.redacted(one.episode.text)
        if clean is not None:
            found.append(Found("remembered", one.episode.id, excerpt(one.episode.text)))
            if not dry:
                episodes.rewrite(tx, partition, one, clean, tuple(words_of(clean)))
    return found


def retold(tx: Tx, partition: Partition, words: Words, rows: Sequence[Derived]) -> list[Derived]:
    """Those of these rows that tell forgotten words which the message they are of does not say.
    What was written by hand before them repeats nothing."""
    words = replace(words, texts=words.spoken)
    came, needles = _Came(tx, partition, words), needles_of(tx, partition, words, 0)
    suspects: list[tuple[Derived, set[str]]] = []
    for one in rows:
        if one.session_id is None and one.said_at < words.since:
            continue
        texts, stems = _content(one)
        hits = {stem for stem in (*stems, *words_of(" ".join(texts))) if came.with_it(stem)}
        spans = [(text, span) for text in texts for span in needles.spans(text)]
        hits |= {word for text, (start, end) in spans for word in words_of(text[start:end])}
        if hits:
            suspects.append((one, hits))
    places = [_place(one) for one, _ in suspects]
    said = episodes.at_places(tx, partition, [name for name in places if name is not None])
    return [
        one
        for (one, hits), name in zip(suspects, places, strict=True)
        if name is None or name not in said or not hits <= set(words_of(said[name].text))
    ]


def put_in(tx: Tx, partition: Partition, one: Derived, texts: Sequence[str]) -> list[str]:
    """What a person put in by hand, without the words that notes have at its place: whoever
    corrects a note leaves most of it as it was, so these are not theirs."""
    noted: list[str] = []
    if isinstance(one, Fact):
        line = facts.of_lines(tx, partition, (one.line,))
        noted = [each.text for each in line if each.session_id is not None]
    elif isinstance(one, Entry):
        every = profiles.entries(tx, partition)
        here = [each for each in every if each.field == one.field]
        noted = [each.value for each in here if each.session_id is not None]
    known = {word for text in noted for word in fold(text).split()}
    return [
        " ".join(word for word in text.split() if not known.issuperset(fold(word).split()))
        for text in texts
    ]


def _place(one: Derived) -> tuple[str, int] | None:
    return None if one.session_id is None or one.index is None else (one.session_id, one.index)


def _content(one: Derived) -> tuple[list[str], list[str]]:
    """What a row says: its texts, and words that are kept as stems."""
    if isinstance(one, Fact):
        return [one.text, one.subject, one.attribute.replace("_", " ")], []
    if isinstance(one, Sighting):
        return [one.text, *one.tags], one.topic.split()
    if isinstance(one, Ended):
        return [], [*one.words, *(one.topic or "").split()]
    return [one.value, one.item], one.item.split()


class _Kept:
    """What the person says where nothing is forgotten."""

    def __init__(self, tx: Tx, partition: Partition, words: Words) -> None:
        self._tx, self._scope, self._partition, self._words = tx, tx.scope, partition, words
        self._own = partition == Partition.own(tx.scope)
        self.vouching = Vouching(tx, words.turns, words.since)
        self._gone: dict[str, int] = {}
        for one in words.messages:
            if one.role == "user" and not one.excluded:
                for word in set(words_of(one.text)):
                    self._gone[word] = self._gone.get(word, 0) + 1
        stocks = shelves.stocks(tx, partition.key)
        self._shelves = [stock.shelf for stock in stocks if stock.shelf.role == "user"]

    def spoken(self, run: Sequence[str]) -> bool:
        """Whether these words stand in a conversation; only the person's own memory has some."""
        return self._own and self.vouching.has(run)

    def told(self, stems: Sequence[str]) -> bool:
        """Whether one of these is in a remembered message."""
        found = shelves.occurrences(self._tx, self._shelves, stems)
        return any(count > self._gone.get(word, 0) for word, count in found.items())

    def told_together(self, run: Sequence[str]) -> bool:
        """Whether a remembered message has these words in this order. Those with the rarest of them
        are looked at, the last stored first."""
        stems = set(words_of(" ".join(run)))
        found = shelves.occurrences(self._tx, self._shelves, sorted(stems))
        left = {word: count - self._gone.get(word, 0) for word, count in found.items()}
        if not stems or len(left) < len(stems) or min(left.values()) <= 0:
            return False
        rarest = min(left, key=lambda word: (found[word], word))
        most = ENOUGH + self._gone.get(rarest, 0)
        docs = shelves.postings(self._tx, self._shelves, rarest, most)
        places = [(number, number) for number in docs]
        gone = {one.id for one in self._words.messages}
        return any(
            one.episode.id not in gone and has(fold(one.episode.text).split(), run)
            for one in episodes.read(self._tx, self._partition, places)
        )


class _Came:
    """Which words came with what is forgotten, in any form of them."""

    def __init__(self, tx: Tx, partition: Partition, words: Words) -> None:
        self._kept = _Kept(tx, partition, words)
        self._common = STOP | _common(tx)
        self._known: dict[str, bool] = {}
        self._forms: dict[str, set[tuple[str, ...]]] = {}
        for text in dict.fromkeys(words.texts):
            for form in words_of(text):
                self._forms.setdefault(form, {tuple(fold(form).split())})
        for word in {word for text in words.texts for word in fold(text).split()}:
            for form in words_of(word):
                self._forms.setdefault(form, set()).add((word,))

    def with_it(self, stem: str) -> bool:
        """Whether a word, by its stem, is said nowhere else."""
        if stem not in self._known:
            self._known[stem] = stem in self._forms and self._alone(stem)
        return self._known[stem]

    def _alone(self, stem: str) -> bool:
        forms = self._forms[stem]
        if len(stem) < SHORTEST - (not stem.isascii()):
            return False
        if any(all(word in self._common for word in form) for form in forms):
            return False
        return not self._kept.told([stem]) and not any(map(self._kept.spoken, forms))


def _common(tx: Tx) -> frozenset[str]:
    """Words in our own texts or in an advisor's."""
    return _our_words() | _their_words(tx)


def _their_words(tx: Tx) -> set[str]:
    rows = tx.all("SELECT name, description, prompt FROM advisors WHERE user_id = ?", (tx.user,))
    return {word for row in rows for text in row for word in _words_in(text or "")}


def _words_in(text: str) -> list[str]:
    """The words of a text; pairs of characters too, where it has no spaces."""
    words = fold(text).split()
    return words + [a + b for a, b in pairwise(words) if len(a) == len(b) == 1]


@cache
def _our_words() -> frozenset[str]:
    root = resources.files("polyvox")
    texts = [text for room in ROOMS for text in _texts(root / room / "prompts")]
    return frozenset(word for text in texts for word in _words_in(text))


def _texts(place: Traversable) -> list[str]:
    if place.is_dir():
        return [text for inner in place.iterdir() for text in _texts(inner)]
    return [place.read_text(encoding="utf-8")] if place.name.endswith(".md") else []
