"""Words: what of a text can be found again, and what of a question is looked for.

Both come out of the same three steps (fold, drop the words that every sentence has, stem), so a
question finds a text if they share a word in any form. A text in another language than English is
stemmed in its own, and each stem carries the language's name; a question is looked for in every
language, so nobody has to say or guess in which one it is asked. Scripts that do not part their
words are cut into pairs of characters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby

from Stemmer import Stemmer, algorithms  # type: ignore[import-not-found]  # it ships no types
from stop_words import (  # type: ignore[import-untyped]  # it ships no types
    AVAILABLE_LANGUAGES,
    get_stop_words,
)

from polyvox.memory.times import CALENDAR
from polyvox.store.search import fold

ENGLISH = "english"
PORTER = "porter"
"""English is stemmed as it always was, so that what was stored stays findable."""
LANGUAGES = tuple(sorted({*algorithms()} & {*AVAILABLE_LANGUAGES} - {ENGLISH}))
"""The others that have both a stemmer and a list of stop words."""
MARK = "·"
"""Between a stem and its language."""
CHANCE = 1
"""One stop word of another language may stand in an English text by chance."""
TELLING = 200
"""The first so many words of a text tell its language."""

_IRREGULAR = """
be am is are was were been; bear bore borne; become became; begin began begun; bend bent; bite bit
bitten; blow blew blown; break broke broken; bring brought; build built; burn burnt; buy bought;
catch caught; choose chose chosen; come came; cry cries cried; deal dealt; die dies died dying; dig
dug; do did done; draw drew drawn; dream dreamt; drink drank drunk; drive drove driven; dry dries
dried; eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found; fly flies
flew flown; forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; fry fries fried;
get got gotten; give gave given; go goes went gone; grow grew grown; hang hung; have had has; hear
heard; hide hid hidden; hold held; keep kept; know knew known; lay laid; lead led; learn learnt;
leave left leaves leaf; lend lent; lie lies lied lying; light lit; live lives life; lose lost; make
made; mean meant; meet met; pay paid; ride rode ridden; ring rang rung; rise rose risen; run ran;
say said; see saw seen; seek sought; sell sold; send sent; shake shook shaken; shine shone; shoot
shot; show shown; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; slide
slid; speak spoke spoken; spend spent; spy spies spied; stand stood; steal stole stolen; stick
stuck; strike struck; swear swore sworn; sweep swept; swim swam swum; swing swung; take took taken;
teach taught; tear tore torn; tell told; think thought; throw threw thrown; tie ties tied tying; try
tries tried; understand understood; wake woke woken; wear wore worn; weep wept; win won; write wrote
written;
bus buses; child children; foot feet; goose geese; half halves; knife knives; man men; mouse mice;
person people; shelf shelves; tooth teeth; wife wives; woman women;
bad worse worst; good better best; far further farther
"""
IRREGULAR: dict[str, str] = {
    form: base
    for base, *forms in (line.split() for line in _IRREGULAR.split(";"))
    for form in forms
}


INDEXED_CHARS = 200_000
"""Of a longer text, so much is found: a tsvector holds one megabyte."""
LONGEST_WORD = 64
MOST_TERMS = 24
"""Of a longer question, the first so many words are looked for."""
SPEAKER = "@"
"""Begins the word that says who speaks, where a text is labelled with a name."""
FAINT = 0.5
"""What a word weighs that a list of stop words has, though it is indexed (say, think, new)."""

_STOP = """
a an the and or but nor if of at by for with about to from in on into onto out up down off over
under than then so as is are was were be been being am do does did doing done have has had having i
me my mine myself we us our ours you your yours he him his she her hers it its they them their
theirs this that these those there here what which who whom whose when where why how will would
could should can cannot may might must shall not no s t d ll m re ve don didn doesn isn wasn aren
weren won wouldn couldn shouldn hasn haven hadn ain just also too very any some yes yeah ok okay oh
hey hi hello please thanks
"""
STOP = frozenset(_STOP.split())
"""English words that are not indexed. The library's English list has 1,300 words, among them fire,
computer and help: those are faint, but can be found."""
_LABEL = re.compile(r"\s*((?:[^\W\d_][\w.'’-]{0,30} ?){1,3}):\s")
_NAME = re.compile(r"[^\W\d_][\w'’-]*")
_START = re.compile(r"(?:^|[.!?…:\n][\s\"'“”(]*)$")


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a question."""

    word: str
    weight: float = 1.0
    name: bool = False
    """Written as a name: a memory that never heard of it is hardly the one that was asked for."""
    forms: tuple[str, ...] = ()
    """Its stems in other languages, as they are indexed."""

    @property
    def all_forms(self) -> tuple[str, ...]:
        """Every stem that it is indexed by."""
        return (self.word, *self.forms)


@cache
def _listed() -> dict[str, tuple[str, ...]]:
    """The languages in whose lists of stop words a folded word stands."""
    found: dict[str, list[str]] = {}
    for language in (ENGLISH, *LANGUAGES):
        folded = {word for line in get_stop_words(language) for word in fold(line).split()}
        for word in folded:
            found.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in found.items()}


def language_of(words: Sequence[str]) -> str:
    """The language most of whose stop words stand among these folded words, else English."""
    listed, counts = _listed(), Counter[str]()
    for word in {*words[:TELLING]}:
        counts[ENGLISH] += word in STOP
        counts.update([one for one in listed.get(word, ()) if one != ENGLISH])
    best = max(counts, key=lambda one: (counts[one], one == ENGLISH), default=ENGLISH)
    return best if counts[best] > max(counts[ENGLISH], CHANCE) else ENGLISH


def common_words(text: str) -> set[str]:
    """Those of its (folded) words that are stop words, in English or in its own language."""
    folded = fold(text).split()
    listed, language = _listed(), language_of(folded)
    return {
        word
        for word in folded
        if word in STOP or not {ENGLISH, language}.isdisjoint(listed.get(word, ()))
    }


@cache
def _stemmer(language: str) -> Stemmer:
    return Stemmer(language, 0)


@lru_cache(maxsize=1 << 16)
def stem(word: str, language: str = ENGLISH) -> str:
    """What all forms of a (folded) word have in common."""
    if not word.isalpha():
        return word
    if language != ENGLISH:
        return f"{_stemmer(language).stemWord(word)}{MARK}{language}"
    word = IRREGULAR.get(word, word)
    plain = word.isascii() and len(word) > 2
    return str(_stemmer(PORTER).stemWord(word)) if plain else word


@lru_cache(maxsize=1 << 12)
def forms_of(word: str) -> tuple[str, ...]:
    """The stems of a (folded) word in every other language."""
    return tuple(stem(word, language) for language in LANGUAGES) if word.isalpha() else ()


def words_of(text: str) -> list[str]:
    """The words of a text by which it is found; first, if it is labelled, who speaks."""
    label = [SPEAKER + stem(word) for word in fold(speaker_of(text)).split() if word not in STOP]
    folded = fold(text[:INDEXED_CHARS]).split()
    language = language_of(folded)
    return label + [
        word if whole else stem(word[:LONGEST_WORD], language)
        for word, whole in _words(folded, language)
    ]


def speaker_of(text: str) -> str:
    """The name that a text is labelled with ("Anna: …"), or nothing."""
    found = _LABEL.match(text[:100])
    words = [] if found is None else found[1].split()
    name = all(word[0].isupper() and word.casefold() not in STOP for word in words)
    return " ".join(words) if name else ""


def terms_of(question: str) -> tuple[Term, ...]:
    """What to look for. Nothing, where a question has no word of its own."""
    folded = fold(question).split()
    language, listed = language_of(folded), _listed()
    names = {word for name in names_in(question) for word in fold(name).split()}
    found: dict[str, Term] = {}
    for word, whole in _words(folded, language):
        if whole:
            found.setdefault(word, Term(word))
            continue
        cut = word[:LONGEST_WORD]
        faint = ENGLISH in listed.get(word, ()) and word not in names
        term = Term(stem(cut), FAINT if faint else 1.0, word in names, forms_of(cut))
        found.setdefault(term.word, term)
    return tuple(found.values())[:MOST_TERMS]


def names_in(text: str) -> list[str]:
    """Capitalised words, joined where they stand together. At the start of a sentence everything
    is capitalised, so what stands there counts only if more of the name follows, or if it is
    written so in the middle of a sentence too."""
    runs: list[tuple[list[str], bool]] = []
    end = -1
    for match in _NAME.finditer(text):
        word = re.sub(r"['’]s?$", "", match[0])
        if not word or not word[0].isupper() or fold(word).split()[:1] in ([], ["i"]):
            continue
        first = _START.search(text[max(0, match.start() - 8) : match.start()]) is not None
        if word.casefold() in (CALENDAR | STOP if first else CALENDAR):
            continue
        if runs and text[end : match.start()] == " ":
            runs[-1][0].append(word)
            runs[-1] = (runs[-1][0], False)
        else:
            runs.append(([word], first))
        end = match.start() + len(word)
    names = [(" ".join(words), first) for words, first in runs]
    sure = {name for name, first in names if not first}
    return list(dict.fromkeys(name for name, _ in names if name in sure))


def _words(folded: Sequence[str], language: str) -> Iterator[tuple[str, bool]]:
    """The words that say something; True: it is a pair of characters and stays as it is."""
    listed = {} if language == ENGLISH else _listed()
    for unparted, run in groupby(folded, _unparted):
        if unparted:
            yield from ((pair, True) for pair in _pairs(run))
        else:
            for word in run:
                if word not in STOP and language not in listed.get(word, ()):
                    yield word, False


def _pairs(letters: Iterable[str]) -> Iterator[str]:
    run = "".join(letters)
    yield from (run[place : place + 2] for place in range(max(1, len(run) - 1)))


def _unparted(word: str) -> bool:
    """A character that folding set apart (a letter of Hangul is a syllable, often a word)."""
    return len(word) == 1 and word >= "\u0e00" and not "\uac00" <= word <= "\ud7a3"
