"""What repeats forgotten words: how it is recognised, and the answers that are remembered with it.

Words that are in every sentence, in our own texts or in an advisor's are nobody's secret. A word
counts as having come with a message if the person says it in no other one, and if nobody had used
it before.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from polyvox.memory.values import Episode, Partition
from polyvox.memory.words import STOP, words_of
from polyvox.store import episodes, redacting, search, shelves
from polyvox.store.database import Tx
from polyvox.store.folding import fold
from polyvox.store.redaction import Found, Needles, excerpt, redact
from polyvox.values import Scope

ROOMS = ("companion", "context", "memory")
ENOUGH = 20
"""So many other texts with the same words are looked at, beside the forgotten ones."""


@dataclass(frozen=True, slots=True)
class Words:
    """What is to be forgotten."""

    texts: Sequence[str]
    derived: Sequence[str]
    messages: Sequence[Episode]
    turns: Collection[str]
    answers: Collection[str]
    since: int
    leaving: str | None = None


def needles_of(tx: Tx, scope: Scope, partition: Partition, words: Words, now: int) -> Needles:
    """By what it is recognised."""
    own = partition == Partition.own(scope)
    gone: dict[str, int] = {}
    for one in words.messages:
        if one.role == "user" and not one.excluded:
            for word in set(words_of(one.text)):
                gone[word] = gone.get(word, 0) + 1
    stocks = shelves.stocks(tx, scope, partition.key)
    told = [stock.shelf for stock in stocks if stock.shelf.role == "user"]

    def said(run: Sequence[str]) -> bool:
        if own and _spoken(tx, scope, run, words):
            return True
        stems = words_of(run[0]) if len(run) == 1 else []
        found = shelves.occurrences(tx, scope, told, stems)
        return any(count > gone.get(word, 0) for word, count in found.items())

    return Needles(
        words.texts,
        derived=words.derived,
        faint=STOP,
        ordinary=_our_words() | _their_words(tx, scope),
        said=said,
        turns=words.turns,
        answers=words.answers,
        leaving=words.leaving,
        since=words.since,
        now=now,
    )


def find(
    tx: Tx,
    scope: Scope,
    partition: Partition,
    needles: Needles,
    gone: Collection[str],
    *,
    dry: bool,
) -> list[Found]:
    """Everything that repeats it; unless `dry`, marked. `gone` are messages that go anyway. Only
    the person's own memory has conversations beside it."""
    found: list[Found] = []
    if partition == Partition.own(scope):
        if not dry:
            redacting.check_rest(tx, scope, needles)
        found += redact(tx, scope, needles, dry=dry)
    for one in episodes.answered_since(tx, scope, partition, needles.since):
        if one.episode.id in gone:
            continue
        clean = needles.redacted(one.episode.text)
        if clean is not None:
            found.append(Found("remembered", one.episode.id, excerpt(one.episode.text)))
            if not dry:
                episodes.rewrite(tx, scope, partition, one, clean, tuple(words_of(clean)))
    return found


def _spoken(tx: Tx, scope: Scope, run: Sequence[str], words: Words) -> bool:
    """Whether it stands in another message of the person's, or in an older answer."""
    most = ENOUGH + len(words.turns)
    return any(
        (kind == "answer" or name not in words.turns) and _has(fold(text).split(), run)
        for kind, name, text in search.spoken(tx, scope, run, words.since, most)
    )


def _has(words: Sequence[str], run: Sequence[str]) -> bool:
    size = len(run)
    wanted = list(run)
    return any(words[at : at + size] == wanted for at in range(len(words) - size + 1))


def _their_words(tx: Tx, scope: Scope) -> set[str]:
    rows = tx.all("SELECT name, description, prompt FROM advisors WHERE user_id = ?", (scope.user,))
    return {word for row in rows for text in row for word in fold(text or "").split()}


@cache
def _our_words() -> frozenset[str]:
    root = resources.files("polyvox")
    texts = [text for room in ROOMS for text in _texts(root / room / "prompts")]
    return frozenset(word for text in texts for word in fold(text).split())


def _texts(place: Traversable) -> list[str]:
    if place.is_dir():
        return [text for inner in place.iterdir() for text in _texts(inner)]
    return [place.read_text(encoding="utf-8")] if place.name.endswith(".md") else []
