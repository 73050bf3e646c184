"""Stemming: the forms of an English word become one (Porter's algorithm of 1980).

Where a word changes inside (went, children) a short list of irregular forms says what it comes
from, which is worth about a point of recall. Words with other letters stay as they are.
"""

from __future__ import annotations

import re
from functools import lru_cache

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
