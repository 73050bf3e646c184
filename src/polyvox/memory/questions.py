"""Questions: what to look for in memory, put together from what a message is about.

Pure. A compiled question is a few words: who or what it is about first, then the topics, then the
time. Pronouns, words about the assistant and words that only hold a sentence together are dropped;
where nothing is left there is no question, and nobody asks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from polyvox.memory.stemming import stem
from polyvox.memory.times import times_in
from polyvox.memory.words import STOP, names_in
from polyvox.store.folding import fold

MOST_WORDS = 12

_ASSISTANT_WORDS = """
ai assistant bot chatbot companion computer machine model yourself
"""
_PRONOUN_WORDS = """
anybody anyone anything everybody everyone everything he her hers herself him himself i it itself
me mine myself nobody nothing one ones our ours ourselves she somebody someone something them
themselves they us we you yours yourselves
"""
# Verbs, adverbs and adjectives that go with any topic; nouns that can be verbs too (walk) stay.
_LOOSE_WORDS = """
able actually again almost already always another anyway ask away back bad become begin believe
best better big bit bring call certain come could couple course decide definitely different easy
else enough especially even ever every everywhere explain far feel felt few finally find fine first
forget found funny get give glad go gone gonna good got gotta great guess had happen happy hard
hear help hope huge idea immediately important interesting keep kind knew know last later least
leave less let like likely little long look lot love made make many maybe mean mention mind more
most move much must near nearly necessary need never new next nice now often old only other
otherwise own perhaps possible pretty probably put quick quickly quite rather ready real really
recall recently remember remind right sad said same saw say see seem seen send several share show
similar simply since small something sometimes soon sorry sort sound speak start still stop strange
stuff such suddenly suppose sure take talk tell than thank thing think though thought together told
tomorrow took totally tried true try turn understand until use usual usually wait wanna want way
well went whatever whether while whole why wish without wonder wonderful worse worst wrong yet
"""
_ADVERBS = ("ally", "antly", "ately", "edly", "ently", "ingly", "ously")
_DROPPED = frozenset(
    stem(word)
    for words in (_ASSISTANT_WORDS, _PRONOUN_WORDS, _LOOSE_WORDS)
    for word in words.split()
)


@dataclass(frozen=True, slots=True)
class Spec:
    """What a message is about."""

    entities: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    time: str = ""


def compile_query(spec: Spec, assistant: Collection[str] = ()) -> str:
    """The words to look for, or nothing. `assistant` are the names that the assistant goes by."""
    itself = {stem(word) for name in assistant for word in fold(name).split()}
    seen: set[str] = set()
    words: list[str] = []
    for text in (*spec.entities, *spec.topics):
        for word in _kept(text, itself):
            if stem(fold(word)) not in seen:
                seen.add(stem(fold(word)))
                words.append(word)
    time = " ".join(spec.time.split())
    return " ".join([*words[:MOST_WORDS], *([time] if time else [])])


def spec_of(message: str, now: int) -> Spec:
    """What a message seems to be about, where no model says it: the names in it, its nouns as far
    as they can be told, and the time it speaks of."""
    times = times_in(message, now)
    names = names_in(times.rest)
    inside = {stem(word) for name in names for word in fold(name).split()}
    topics = [word for word in _words(times.rest) if stem(fold(word)) not in inside]
    return Spec(tuple(names), tuple(topics), " ".join(times.words))


def _kept(text: str, itself: Collection[str]) -> Iterator[str]:
    for word in _words(text):
        bare = fold(word)
        known = stem(bare)
        adverb = bare.endswith(_ADVERBS) and len(bare) > 6
        if not (bare in STOP or known in _DROPPED or known in itself or adverb):
            yield word


def _words(text: str) -> Iterable[str]:
    """The words of a text as they are written."""
    spaced = "".join(letter if fold(letter).strip() else " " for letter in text)
    return (word for word in spaced.split() if len(fold(word)) > 1 or not word.isascii())
