"""Texts as forgetting compares them: by their words, in order, and by the forms of a word."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, pairwise

from polyvox.store.search import fold, places
from polyvox.values import REDACTED

# -- texts without escapes: as a person reads what a program wrote ---------------------------------
# A letter may be written as `%C3%BC`, as `&uuml;` or as JSON does, and characters that nobody
# sees may stand inside a word.

_BYTE = "%[89ab][0-9a-f]"
_ESCAPE = re.compile(
    r"\\u[0-9a-f]{4}|&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});"
    rf"|%[2-7][0-9a-f]|%[cd][0-9a-f]{_BYTE}|%e[0-9a-f](?:{_BYTE}){{2}}|%f[0-7](?:{_BYTE}){{3}}"
    "|[\u00ad\u200b\u2060\ufeff]",
    re.IGNORECASE,
)


def unescaped(text: str) -> tuple[str, list[int] | None]:
    """A text with the letters that its escapes stand for, and where each character of it begins in
    the old one, with the end of it; None where it is the same."""
    pieces, starts, done = list[str](), list[int](), 0
    for one in _ESCAPE.finditer(text):
        letter = _letter(one[0])
        if letter is None:
            continue
        pieces += [text[done : one.start()], letter]
        starts += [*range(done, one.start()), *[one.start()] * len(letter)]
        done = one.end()
    if not pieces:
        return text, None
    return "".join([*pieces, text[done:]]), [*starts, *range(done, len(text) + 1)]


def _letter(escape: str) -> str | None:
    """What an escape stands for; None where it is none."""
    if escape[0] == "&":
        found = html.unescape(escape)
        return found if len(found) == 1 else None
    if escape[0] == "%":
        try:
            return bytes.fromhex(escape.replace("%", "")).decode()
        except UnicodeDecodeError:
            return None
    return chr(int.from_bytes(bytes.fromhex(escape[2:]))) if escape[0] == "\\" else ""


# -- a text by its words, and where they stand in it -----------------------------------------------

_WORD = re.compile(r"\S+")
_TWO = re.compile(r"(?<![^\W_])[^\W\d_]{2}(?![^\W_])")
_START = re.compile(r"(?:^|[.!?…:;\n])[\s\d\"'“”„«(*_#>.)-]*$")


class Part:
    """A text, or what stands between two marks of one, by its words."""

    def __init__(self, text: str) -> None:
        self.text, self._starts = unescaped(text)
        self._folded = fold(self.text)
        self.words = self._folded.split()

    @cached_property
    def at(self) -> list[tuple[int, int]]:
        """Where each word stands, with its escapes: (start, end)."""
        starts = self._starts
        if starts is None:
            return self._spots
        return [(starts[start], starts[end]) for start, end in self._spots]

    @cached_property
    def _spots(self) -> list[tuple[int, int]]:
        origin = places(self.text)
        found = _WORD.finditer(self._folded)
        return [(origin[one.start()], origin[one.end() - 1] + 1) for one in found]

    @cached_property
    def names(self) -> set[str]:
        """Its words of two letters that are written as a name."""
        return names_in(self.text)

    def is_capital(self, at: int) -> bool:
        """Whether a word has a capital."""
        return self.text[self._spots[at][0]].isupper()

    def gap(self, at: int) -> str:
        """What stands between a word and the next."""
        return self.text[self._spots[at][1] : self._spots[at + 1][0]]


def parts_of(text: str) -> Iterator[tuple[int, Part]]:
    """What of a text is no mark, and where it begins."""
    offset = 0
    for one in text.split(REDACTED):
        if one:
            yield offset, Part(one)
        offset += len(one) + len(REDACTED)


def names_in(text: str) -> set[str]:
    """The words of two letters that are written as names: in capitals, or with one where no
    sentence begins."""
    if text.isupper():
        return set()
    return {
        fold(one[0]).strip()
        for one in _TWO.finditer(text)
        if one[0].isupper()
        or (one[0].istitle() and not _START.search(text[max(0, one.start() - 12) : one.start()]))
    }


def unparted(letter: str) -> bool:
    """A letter of a script without spaces (one of Hangul has some)."""
    return letter >= "\u0e00" and not "\uac00" <= letter <= "\ud7a3"


# -- codes, numbers and words that are written in other groups than they were said in --------------
# `DE89 3704 0044` is `DE8937040044`, `hunter-zwei` is `hunterzwei`, and of a longer number the
# end counts: `+49 151 234567` is `0151234567`. What is found here are suspicions; whether they
# came with a forgotten text is for others to say. A look costs what the text is long.

SHORTEST_CODE = 4
"""Characters of a code or a number, joined."""
SHORTEST_JOINED = 6
"""Letters of a word that is recognised in pieces."""
LONGEST = 64
TAIL = 6
"""Digits at the end of a number by which it is recognised."""
MOST = 8
"""Of numbers with the same end, so many are compared."""
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(rf"\d{{{TAIL},}}")
_LOOSE = re.compile(r"[ \u00a0\u202f]|[ \u00a0\u202f]?[-‐‑–/()]{1,2}[ \u00a0\u202f]?|[._·]")
"""What stands between the groups of a number or a code."""


class Regrouped:
    """The words of some texts, for finding them in other groups."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._whole: dict[str, tuple[str, ...]] = {}
        self._ends: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for one in dict.fromkeys(group for part in parts for group in _groups(part)):
            code = "".join(one)
            for run in (digits[-LONGEST:] for digits in _DIGITS.findall(code)):
                same = self._ends.setdefault(run[-TAIL:], [])
                if len(same) < MOST:
                    same.append((run, one))
            if (SHORTEST_CODE if _DIGIT.search(code) else SHORTEST_JOINED) <= len(code) <= LONGEST:
                self._whole.setdefault(code, one)
        self._begins = {code[:size] for code in self._whole for size in range(1, len(code) + 1)}

    def found(self, part: Part) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        """Stretches that may be something regrouped: (first, behind the last) word, and the words
        it was said in."""
        words = part.words
        for at in [at for at, word in enumerate(words) if word in self._begins]:
            best, code, end = None, words[at], at + 1
            while code in self._begins:
                own = self._whole.get(code)
                if own is not None and own != tuple(words[at:end]) and _holds(part, at, end, code):
                    best = (at, end, own)
                if end == len(words):
                    break
                code, end = code + words[end], end + 1
            if best is not None:
                yield best
        if self._ends:
            yield from self._endings(part)

    def _endings(self, part: Part) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        """Numbers that end as one of the texts does."""
        for first, last in _runs(part, str.isdecimal, lambda at: _is_loose(part, at)):
            joined, starts = "", list[int]()
            for at in range(first, last):
                starts.append(len(joined))
                joined += part.words[at]
                for run, own in self._ends.get(joined[-TAIL:], ()):
                    begin = len(joined) - _shared_end(joined, run)
                    start = first + bisect_right(starts, begin) - 1
                    if own != tuple(part.words[start : at + 1]):
                        yield start, at + 1, own


def _groups(part: Part) -> Iterator[tuple[str, ...]]:
    """What of a text counts joined: each word, what hangs together without a space, and numbers
    that follow each other."""
    words = part.words
    yield from ((word,) for word in words if len(word) > 1)
    for fits, joins in (
        (_is_parted, lambda at: not any(map(str.isspace, part.gap(at)))),
        (_has_digit, lambda at: _is_loose(part, at)),
    ):
        for first, last in _runs(part, fits, joins):
            if last - first > 1 and sum(map(len, words[first:last])) <= 2 * LONGEST:
                yield tuple(words[first:last])


def _runs(
    part: Part, fits: Callable[[str], bool], joins: Callable[[int], bool]
) -> Iterator[tuple[int, int]]:
    """The longest stretches of words that fit, each joined with the next."""
    first = 0
    for at, word in enumerate(part.words):
        if not fits(word):
            first = at + 1
            continue
        end = at + 1
        if end == len(part.words) or not fits(part.words[end]) or not joins(at):
            yield first, end
            first = end


def _holds(part: Part, first: int, last: int, code: str) -> bool:
    """Whether nothing parts the words but what may stand in a code, or signs in a word."""
    gaps = range(first, last - 1)
    if all(not any(map(str.isspace, part.gap(at))) for at in gaps):
        return True
    return _has_digit(code) and all(_is_loose(part, at) for at in gaps)


def _is_loose(part: Part, at: int) -> bool:
    return _LOOSE.fullmatch(part.gap(at)) is not None


def _has_digit(word: str) -> bool:
    return _DIGIT.search(word) is not None


def _is_parted(word: str) -> bool:
    return not unparted(word[0])


def _shared_end(one: str, other: str) -> int:
    size = 0
    while size < min(len(one), len(other)) and one[-size - 1] == other[-size - 1]:
        size += 1
    return size


SHORTEST_WORD = 3
SHORTEST_NUMBER = 3
"""Digits of one number."""
SHORTEST_DIGITS = 4
"""Digits of numbers that stand together: a time, a date, a part of a card's."""
SHORTEST_FORM = 5
"""Letters of a word that is recognised by how it begins."""
SHORTEST_INSIDE = 6
"""Letters of a word that is recognised inside a longer one."""
ENDING = 3
"""So many letters more or fewer make another form of it."""
LONGEST_SENTENCE = 24
"""Words of one that counts as a whole: a longer one has length enough."""
WEIGHT = 12
"""What characters of a script without spaces must weigh together, see `_weight`."""
AT_ONCE, NEAR = 256, 16
"""So many words are compared at once, and more when so few are left of them."""
MOST_PLACES = 32
"""Of two words that stand together more often, so many places are compared."""
_SENTENCE = re.compile(r"[.!?…。！？｡\n]+")
PARTICLES = "我你您他她它们們的了着是很也都就吗嗎呢吧啊呀这這那"


class Texts:
    """Some texts by their words."""

    def __init__(self, texts: Sequence[str], stem: Callable[[str], str]) -> None:
        self._stem = stem
        parts = [part for text in dict.fromkeys(texts) for _, part in parts_of(text)]
        self._texts = [part.words for part in parts]
        self._words = {word for words in self._texts for word in words}
        self._pairs: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for number, words in enumerate(self._texts):
            for at, pair in enumerate(pairwise(words)):
                known = self._pairs.setdefault(pair, [])
                if len(known) < MOST_PLACES:
                    known.append((number, at))
        every = {tuple(fold(one).split()) for part in parts for one in _SENTENCE.split(part.text)}
        every |= {tuple(words) for words in self._texts if len(words) <= LONGEST_SENTENCE}
        self._sentences = {one for one in every if 2 <= len(one) <= LONGEST_SENTENCE}
        self._sizes: dict[tuple[str, ...], set[int]] = {}
        for one in self._sentences:
            self._sizes.setdefault(one[:2], set()).add(len(one))
        self.regrouped = Regrouped(parts)
        self._longer: dict[str, set[str]] = {}
        self._inner: dict[str, set[str]] = {}
        self._stems: dict[str, set[str]] = {}
        for word in self._words:
            for shorter in _shorter(word):
                self._longer.setdefault(shorter, set()).add(word)
            if len(word) >= SHORTEST_INSIDE and word.isalpha():
                self._inner.setdefault(word[:SHORTEST_INSIDE], set()).add(word)
            if len(word) >= SHORTEST_WORD and word.isalpha():
                self._stems.setdefault(stem(word), set()).add(word)
        self._known = Memo(self.knows)

    def shared(self, words: Sequence[str]) -> list[int]:
        """For each word, how many from it on stand in one of the texts in the same order; -1 where
        it does not, but may be another form of one that does."""
        found = [self._known[word] for word in words]
        reached: dict[tuple[int, int], int] = {}
        for at in [at for at, two in enumerate(pairwise(found)) if two == (1, 1)]:
            for number, start in self._pairs.get((words[at], words[at + 1]), ()):
                shift = start - at
                end = reached.get((number, shift), 0)
                if end < at + NEAR:
                    text, end = self._texts[number], max(end, at + 2)
                    most = min(len(words), len(text) - shift, at + AT_ONCE)
                    while end < most and words[end] == text[end + shift]:
                        end += 1
                    reached[number, shift] = end
                found[at] = max(found[at], end - at)
        return found

    def sentence_sizes(self, words: Sequence[str], at: int) -> list[int]:
        """The lengths of the whole sentences of the texts that stand here, longest first."""
        sizes = self._sizes.get(tuple(words[at : at + 2]), ())
        return sorted(
            (size for size in sizes if tuple(words[at : at + size]) in self._sentences),
            reverse=True,
        )

    def forms(self, word: str) -> set[str]:
        """The words of the texts that this may be another form of, or a compound with."""
        found = self._words.intersection(_shorter(word)) | self._longer.get(word, set())
        for at in range(len(word) - SHORTEST_INSIDE + 1):
            inner = self._inner.get(word[at : at + SHORTEST_INSIDE], ())
            found |= {one for one in inner if word.startswith(one, at)}
        return found | self._stems.get(self._stem(word), set())

    def knows(self, word: str) -> int:
        """1: it is a word of the texts; -1: it may be another form of one."""
        return 1 if word in self._words else -bool(self.forms(word))


class Memo(dict[str, int]):
    """What is to be known of each word, worked out when it is first seen."""

    def __init__(self, work: Callable[[str], int]) -> None:
        self._work = work

    def __missing__(self, word: str) -> int:
        self[word] = known = self._work(word)
        return known


def _shorter(word: str) -> list[str]:
    """What is left of a word without an ending."""
    if not word.isalpha():
        return []
    least = max(SHORTEST_FORM, len(word) - ENDING)
    return [word[:size] for size in range(least, len(word))]


def together(run: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """What of a run counts only together: numbers that follow each other, and the characters of a
    script without spaces, from each on as many as weigh enough."""
    for kind, group in groupby(run if len(run) > 1 else (), _kind):
        some = tuple(group)
        if kind == "number" and len(some) > 1 and sum(map(len, some)) >= SHORTEST_DIGITS:
            yield some
        if kind != "character":
            continue
        weights = [_weight(letter) for letter in some]
        end = weight = 0
        for start, lost in enumerate(weights):
            while weight < WEIGHT and end < len(some):
                weight += weights[end]
                end += 1
            if weight >= WEIGHT and lost:
                yield some[start:end]
            weight -= lost


def _kind(word: str) -> str:
    if word.isdecimal():
        return "number"
    return "character" if len(word) == 1 and unparted(word) else "word"


def _weight(letter: str) -> int:
    """Two of Han, three of Katakana, four of any other weigh enough; a particle weighs nothing."""
    if letter in PARTICLES:
        return 0
    if "\u30a0" <= letter <= "\u30ff":
        return 4
    return 6 if letter >= "\u3400" else 3
