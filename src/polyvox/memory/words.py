"""Words: what of a text can be found again, and what of a question is looked for.

Both come out of the same three steps (fold, drop the words that every sentence has, stem), so a
question finds a text if they share a word in any form. Scripts that do not part their words are
cut into pairs of characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from polyvox.memory.times import CALENDAR
from polyvox.store.search import fold

# -- stemming: the forms of an English word become one (Porter's algorithm of 1980) ----------------
# Where a word changes inside (went, children) a short list of irregular forms says what it comes
# from, which is worth about a point of recall. Words with other letters stay as they are.

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

_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"),
    ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"),
    ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"),
    ("logi", "log"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""),
    ("ness", ""),
)  # fmt: skip
_STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti",
    "ous", "ive", "ize", "al", "er", "ic", "ou",
)  # fmt: skip
_VOWELS = frozenset("aeiou")
_WORD = re.compile(r"[a-z]{3,}")


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """What all forms of a (folded) word have in common."""
    word = IRREGULAR.get(word, word)
    if _WORD.fullmatch(word) is None:
        return word
    word = _inflection(_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = f"{word[:-1]}i"
    word = _swapped(_swapped(word, _STEP_2), _STEP_3)
    for ending in _STEP_4:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            if _measure(rest) > 1 and (ending != "ion" or rest.endswith(("s", "t"))):
                word = rest
            break
    if word.endswith("e"):
        rest = word[:-1]
        size = _measure(rest)
        if size > 1 or (size == 1 and not _short(rest)):
            word = rest
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _inflection(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        if word.endswith(ending) and _has_vowel(word[: -len(ending)]):
            word = word[: -len(ending)]
            break
    else:
        return word
    if word.endswith(("at", "bl", "iz")):
        return f"{word}e"
    if len(word) > 1 and word[-1] == word[-2] and _consonant(word, -1) and word[-1] not in "lsz":
        return word[:-1]
    return f"{word}e" if _measure(word) == 1 and _short(word) else word


def _swapped(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    for ending, other in endings:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            return f"{rest}{other}" if _measure(rest) > 0 else word
    return word


def _consonant(word: str, place: int) -> bool:
    letter = word[place]
    if letter in _VOWELS:
        return False
    place %= len(word)
    return letter != "y" or place == 0 or not _consonant(word, place - 1)


def _has_vowel(word: str) -> bool:
    return any(not _consonant(word, place) for place in range(len(word)))


def _measure(word: str) -> int:
    """How often a vowel is followed by a consonant."""
    count, vowel = 0, False
    for place in range(len(word)):
        if _consonant(word, place):
            count += vowel
            vowel = False
        else:
            vowel = True
    return count


def _short(word: str) -> bool:
    """Ends in consonant, vowel, consonant (not w, x, y)."""
    return (
        len(word) > 2
        and _consonant(word, -1)
        and not _consonant(word, -2)
        and _consonant(word, -3)
        and word[-1] not in "wxy"
    )


INDEXED_CHARS = 200_000
"""Of a longer text, so much is found: a tsvector holds one megabyte."""
LONGEST_WORD = 64
MOST_TERMS = 24
"""Of a longer question, the first so many words are looked for."""
SPEAKER = "@"
"""Begins the word that says who speaks, where a text is labelled with a name."""
FAINT = 0.3
"""What a word of the second list weighs."""

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
_FAINT_WORDS = """
accord day describe discuss ever happen kind know like many mention month much now people recall
remember say talk tell thing think time today type want week year
january february march april may june july august september october november december
"""
_FAINT = frozenset(map(stem, _FAINT_WORDS.split()))
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


def words_of(text: str) -> list[str]:
    """The words of a text by which it is found; first, if it is labelled, who speaks."""
    label = [SPEAKER + word for word in _stems(speaker_of(text))]
    return label + list(_stems(text[:INDEXED_CHARS]))


def speaker_of(text: str) -> str:
    """The name that a text is labelled with ("Anna: …"), or nothing."""
    found = _LABEL.match(text[:100])
    words = [] if found is None else found[1].split()
    name = all(word[0].isupper() and word.casefold() not in STOP for word in words)
    return " ".join(words) if name else ""


def terms_of(question: str) -> tuple[Term, ...]:
    """What to look for. Nothing, where a question has no word of its own."""
    names = {word for name in names_in(question) for word in _stems(name)}
    found: dict[str, Term] = {}
    for word in _stems(question):
        if word not in found:
            found[word] = Term(word, FAINT if word in _FAINT else 1.0, word in names)
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


def _stems(text: str) -> Iterator[str]:
    for unparted, run in groupby(fold(text).split(), _unparted):
        if unparted:
            yield from _pairs(run)
        else:
            for word in run:
                if word not in STOP:
                    yield stem(word[:LONGEST_WORD])


def _pairs(letters: Iterable[str]) -> Iterator[str]:
    run = "".join(letters)
    yield from (run[place : place + 2] for place in range(max(1, len(run) - 1)))


def _unparted(word: str) -> bool:
    """A character that folding set apart (a letter of Hangul is a syllable, often a word)."""
    return len(word) == 1 and word >= "\u0e00" and not "\uac00" <= word <= "\ud7a3"
