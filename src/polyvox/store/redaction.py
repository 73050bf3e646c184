"""Redaction: putting a mark in place of forgotten words, wherever they were repeated.

A *place* answers for some tables: it finds what repeats the words and, unless it is a dry run, puts
the mark there. A room with tables of its own registers one beside them:

    @place("assertion", tables=("assertions",))
    def _assertions(tx: Tx, scope: Scope, needles: Needles, dry: bool) -> list[Found]:
        ...

All places run in the one transaction that forgets, and for the preview with `dry`, so they must
find the same in both, be harmless to repeat, and keep the words nowhere.

What counts as repeating: a stretch of words that stands in a forgotten text too, if it holds a word
that came with that text (nobody had used it before, and the person uses it nowhere else), or if the
person says it nowhere else and it is of some length or a whole sentence. Case, accents and
punctuation do not matter. A long word is recognised in its other forms too, one of two letters only
as a name, a script without spaces by runs of its characters. The mark itself is never looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, Protocol

import msgspec

from polyvox.store.database import Tx
from polyvox.store.folding import fold, places
from polyvox.values import REDACTED, Scope

SHORTEST_WORD = 3
SHORTEST_NUMBER = 3
"""Digits of one number."""
SHORTEST_DIGITS = 4
"""Digits of numbers that stand together: a time, a date, a part of a card's."""
SHORTEST_FORM = 5
"""Letters of a word that is recognised by how it begins."""
ENDING = 3
"""So many letters more or fewer make another form of it."""
SHORTEST_RUN = 3
LONGEST_SENTENCE = 24
"""Words of one that counts as a whole: a longer one has length enough."""
LETTERS = 10
"""In a run of ordinary words: a script without spaces has a letter where others have a word."""
WEIGHT = 12
"""What characters of a script without spaces must weigh together, see `_weight`."""
AT_ONCE, NEAR = 256, 16
"""So many words are compared at once, and more when so few are left of them."""
MOST_PLACES = 32
"""Of two words that stand together more often, so many places are compared."""
EXCERPT = 160
_WORD = re.compile(r"\S+")
_SENTENCE = re.compile(r"[.!?…。！？｡\n]+")
_TWO = re.compile(r"(?<![^\W_])[^\W\d_]{2}(?![^\W_])")
_START = re.compile(r"(?:^|[.!?…:;\n])[\s\d\"'“”„«(*_#>.)-]*$")
_SHORT = """
ago all any ask bad big bit but bye buy did due end far few get got hmm how key lay let lot low may
new non nor now off old one our out own per put ran run saw say see set she six sit ten too top try
two use via was way who why wow yes yet you ab als am an auf aus bei bin bis da das dem den der des
dir du ein er es gar gut hat ich ihm ihn ihr im ist ja je man mal mir mit nun nur ob oft sie so um
und uns vom von vor war wem wen wer wie wir wo zu zum zur au aux ca ce ces ci de en est et eux il
ils la le les lui ma mes moi mon ne nos on ont ou par pas peu qu que qui sa se ses si soi sur ta te
tes toi ton tu un une va vos al con del di do dos el em era esa ese eso fue ha hay he las lo los
mas mi mis muy na nao os por su sus ti tus una uno ya yo che chi col dei gli ho io mia mio nel piu
poi sei sia sta suo tra tuo uma vai aan bij dat dit een had hem het hij hoe ik jij kan met mij nog
nu om ons ook op tot uit van we wel wij ze zij zo att av det ej ett han har hon hur jag med men mig
min och pa sig som ska vad var vi ar og jeg 나는 내가 저는 제가 우리 너무 오늘 내일 지금 그냥 정말
아주
"""
_USUAL = """
今天 明天 昨天 现在 現在 时候 時候 什么 什麼 怎么 怎麼 为什么 因为 因為 所以 但是 如果 可以 没有
沒有 知道 觉得 覺得 一个 一個 一下 一些 一起 自己 大家 谢谢 謝謝 我们 我們 你们 你們 他们 他們 这个
這個 那个 那個 这样 這樣 可能 应该 應該 你好 再见 好的 今日 明日 昨日 自分 あなた ください
ありがとう ありません ございます しました しています ครับ
"""
"""Runs of characters that are in any text of a script without spaces."""
_PARTICLES = "我你您他她它们們的了着是很也都就吗嗎呢吧啊呀这這那"
_COMMON = frozenset((*_SHORT.split(), *_PARTICLES))

Said = Callable[[Sequence[str]], bool]
"""Whether these words, in this order, stand where nothing is forgotten: in another message of the
person's, or in an answer that is older than the first forgotten one and repeats no other."""


@dataclass(frozen=True, slots=True)
class Found:
    """Something that repeats forgotten words."""

    kind: str
    """Which place it is in: message, answer, title, receipt …"""
    id: str
    text: str
    """How it begins, as it stood."""
    conversation_id: str | None = None


class Place(Protocol):
    """Finds what repeats forgotten words in the tables it answers for; unless `dry`, puts the mark
    in their place."""

    def __call__(self, tx: Tx, scope: Scope, needles: Needles, dry: bool) -> list[Found]:
        """What was found."""
        ...


PLACES: dict[str, Place] = {}
TABLES: set[str] = set()
"""Every table that some place answers for."""


def place(name: str, *, tables: Sequence[str]) -> Callable[[Place], Place]:
    """Register a place under a name of its own."""

    def register(one: Place) -> Place:
        PLACES[name] = one
        TABLES.update(tables)
        return one

    return register


def redact(
    tx: Tx, scope: Scope, needles: Needles, *, dry: bool, only: Collection[str] | None = None
) -> list[Found]:
    """Everything that repeats the words, in every place or `only` these; unless `dry`, marked."""
    names = [name for name in PLACES if only is None or name in only]
    return [one for name in names for one in PLACES[name](tx, scope, needles, dry)]


class Needles:
    """What is forgotten, and how it is recognised in a text."""

    def __init__(
        self,
        texts: Sequence[str],
        *,
        derived: Sequence[str] = (),
        faint: Collection[str] = (),
        ordinary: Collection[str] = (),
        said: Said = lambda _: False,
        stem: Callable[[str], str] = str,
        turns: Collection[str] = (),
        answers: Collection[str] = (),
        leaving: str | None = None,
        since: int = 0,
        earlier: Mapping[str, int] | None = None,
        now: int = 0,
        part: str | None = None,
    ) -> None:
        """`texts` are the forgotten words, `derived` what was made of them and other things;
        `faint` words are in every sentence, `ordinary` ones (and pairs of characters, where there
        are no spaces) in texts that are ours; `stem` gives what all forms of a word share."""
        self.texts = tuple(dict.fromkeys(texts))
        self.turns = frozenset(turns)
        """Turns whose message is forgotten as a whole."""
        self.answers = frozenset(answers)
        """Answers that are forgotten as a whole."""
        self.since = since
        """When the first of it came here, by our own clock: nothing that was made before can repeat
        it. 0 where nobody knows."""
        self.earlier = earlier or {}
        """Conversations in which something was forgotten before, and since when they had it."""
        self.now = now
        self.leaving = leaving
        """A conversation that is about to be deleted: nothing has to be marked in it."""
        self.part = part
        """The partition it was said in, unless it is the person's own."""
        self.memo: dict[str, Any] = {}
        """What places worked out for each other."""
        self._said = said
        self._faint = faint
        self._ordinary = ordinary
        self._known: dict[tuple[str, ...], bool] = {}
        self._came = _Memo(self._came_with_it)
        self._names = {name for text in self.texts for name in _names(text)}
        self._own = _Texts(self.texts, stem)
        self._all = _Texts([*self.texts, *derived], stem)

    def redacted(self, text: str) -> str | None:
        """A text with the mark in place of every passage that repeats forgotten words; None where
        it repeats none."""
        spans = self.spans(text)
        return marked(text, spans) if spans else None

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the passages are: (start, end) each, in order, apart from each other."""
        return [
            (offset + part.at[first][0], offset + part.at[last - 1][1])
            for offset, part in _parts(text)
            for first, last in self._runs(part, self._own)
        ]

    def tells(self, text: str) -> bool:
        """Whether a text tells anything of it, or of what was derived from it: for texts that are
        dropped whole."""
        return any(True for _, part in _parts(text) for _ in self._runs(part, self._all))

    def redacted_json(self, text: str) -> str | None:
        """The same as `redacted` for the sentences in stored JSON; keys, names and ids stay."""
        value = msgspec.json.decode(text)
        new = self._redacted_value(value)
        return None if new == value else msgspec.json.encode(new).decode()

    def _redacted_value(self, value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
        if isinstance(value, str):
            sentence = " " in value or any(map(_unparted, value))
            return (self.redacted(value) if sentence else None) or value
        if isinstance(value, list):
            return [self._redacted_value(one) for one in value]
        if isinstance(value, dict):
            return {key: self._redacted_value(one) for key, one in value.items()}
        return value

    def _runs(self, part: _Part, texts: _Texts) -> Iterator[tuple[int, int]]:
        """The stretches of a text that count: (first, behind the last) word, joined where they
        touch."""
        held: tuple[int, int] | None = None
        shared = texts.shared(part.words)
        at = dull = 0
        while at < len(shared):
            if not shared[at]:
                at += 1
                continue
            end = at + shared[at]
            if end < at:
                end = at + self._is_form(part.words[at], texts)
            elif end <= dull or not self._counts(part, at, end):
                dull = max(dull, end)  # no shorter stretch of it counts either
                end = at + (shared[at] > 1 and self._sentence(part.words, at, texts))
            if end == at:
                at += 1
                continue
            if held is not None and held[1] == at:
                held = (held[0], end)
            else:
                if held is not None:
                    yield held
                held = (at, end)
            at = end
        if held is not None:
            yield held

    def _counts(self, part: _Part, first: int, last: int) -> bool:
        run = part.words[first:last]
        if any(
            self._came[word] or (len(word) == 2 and self._is_name(part, at))
            for at, word in enumerate(run, first)
        ):
            return True
        if any(not self._usual(some) and not self._is_said(some) for some in _together(run)):
            return True
        own = [word for word in run if word not in self._faint]
        if len(run) < SHORTEST_RUN or len(own) < 2 or sum(map(len, run)) < LETTERS:
            return False
        return not self._is_said(tuple(run))

    def _sentence(self, words: Sequence[str], at: int, texts: _Texts) -> int:
        """How many words from here on are a whole sentence that is said nowhere else, with a word
        of its own."""
        for size in texts.sentence_sizes(words, at):
            run = tuple(words[at : at + size])
            if all(map(self._is_plain, run)) or self._is_said(run):
                continue
            if size >= SHORTEST_RUN or not any(w in self._faint or w in _COMMON for w in run):
                return size
        return 0

    def _came_with_it(self, word: str) -> bool:
        if word.isdecimal():
            return len(word) >= SHORTEST_NUMBER and not self._is_said((word,))
        least = SHORTEST_WORD - ("\uac00" <= word <= "\ud7a3")  # one letter of Hangul is a syllable
        return len(word) >= least and not self._is_plain(word) and not self._is_said((word,))

    def _is_plain(self, word: str) -> bool:
        return word in self._faint or word in _COMMON or word in self._ordinary

    def _is_form(self, word: str, texts: _Texts) -> bool:
        """Whether a word is another form of one that came with it."""
        forms = texts.forms(word)
        return any(self._came[one] for one in forms) and bool(self._came[word])

    def _is_name(self, part: _Part, at: int) -> bool:
        """Whether a word of two letters is a name, here or where it was said, that came with it."""
        word = part.words[at]
        if self._is_plain(word) or not (word in self._names or word in part.names):
            return False
        return part.is_capital(at) and not self._is_said((word,))

    def _usual(self, run: Sequence[str]) -> bool:
        """Whether characters of a script without spaces are in any text, or in one of ours."""
        text = "".join(run)
        if not _unparted(text[0]):
            return False
        return text in _USUAL or all(a + b in self._ordinary for a, b in pairwise(run))

    def _is_said(self, words: tuple[str, ...]) -> bool:
        if words not in self._known:
            self._known[words] = self._said(words)
        return self._known[words]


class _Part:
    """A text, or what stands between two marks of one, by its words."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._folded = fold(text)
        self.words = self._folded.split()

    @cached_property
    def at(self) -> list[tuple[int, int]]:
        """Where each word stands: (start, end)."""
        origin = places(self.text)
        found = _WORD.finditer(self._folded)
        return [(origin[one.start()], origin[one.end() - 1] + 1) for one in found]

    @cached_property
    def names(self) -> set[str]:
        """Its words of two letters that are written as a name."""
        return _names(self.text)

    def is_capital(self, at: int) -> bool:
        """Whether a word has a capital."""
        return self.text[self.at[at][0]].isupper()


class _Texts:
    """Some texts by their words."""

    def __init__(self, texts: Sequence[str], stem: Callable[[str], str]) -> None:
        self._stem = stem
        parts = [part for text in dict.fromkeys(texts) for _, part in _parts(text)]
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
        self._longer: dict[str, set[str]] = {}
        self._stems: dict[str, set[str]] = {}
        for word in self._words:
            for shorter in _shorter(word):
                self._longer.setdefault(shorter, set()).add(word)
            if len(word) >= SHORTEST_WORD and word.isalpha():
                self._stems.setdefault(stem(word), set()).add(word)
        self._known = _Memo(self.knows)

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
        """The words of the texts that this may be another form of."""
        found = self._words.intersection(_shorter(word)) | self._longer.get(word, set())
        return found | self._stems.get(self._stem(word), set())

    def knows(self, word: str) -> int:
        """1: it is a word of the texts; -1: it may be another form of one."""
        return 1 if word in self._words else -bool(self.forms(word))


class _Memo(dict[str, int]):
    """What is to be known of each word, worked out when it is first seen."""

    def __init__(self, work: Callable[[str], int]) -> None:
        self._work = work

    def __missing__(self, word: str) -> int:
        self[word] = known = self._work(word)
        return known


def marked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """A text with the mark in place of these spans."""
    parts, done = [], 0
    for start, end in spans:
        parts += [text[done:start], REDACTED]
        done = end
    return "".join([*parts, text[done:]])


def moved(offset: int, spans: Sequence[tuple[int, int]]) -> int:
    """Where in the marked text an offset of the old one is; inside a span: behind its mark."""
    shift = 0
    for start, end in spans:
        if offset <= start:
            break
        if offset < end:
            return start + shift + len(REDACTED)
        shift += len(REDACTED) - (end - start)
    return offset + shift


def _parts(text: str) -> Iterator[tuple[int, _Part]]:
    """What of a text is no mark, and where it begins."""
    offset = 0
    for one in text.split(REDACTED):
        if one:
            yield offset, _Part(one)
        offset += len(one) + len(REDACTED)


def _names(text: str) -> set[str]:
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


def _shorter(word: str) -> list[str]:
    """What is left of a word without an ending."""
    if not word.isalpha():
        return []
    least = max(SHORTEST_FORM, len(word) - ENDING)
    return [word[:size] for size in range(least, len(word))]


def _together(run: Sequence[str]) -> Iterator[tuple[str, ...]]:
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
    return "character" if len(word) == 1 and _unparted(word) else "word"


def _unparted(letter: str) -> bool:
    """A letter of a script without spaces (one of Hangul has some)."""
    return letter >= "\u0e00" and not "\uac00" <= letter <= "\ud7a3"


def _weight(letter: str) -> int:
    """Two of Han, three of Katakana, four of any other weigh enough; a particle weighs nothing."""
    if letter in _PARTICLES:
        return 0
    if "\u30a0" <= letter <= "\u30ff":
        return 4
    return 6 if letter >= "\u3400" else 3


def excerpt(text: str) -> str:
    """How a text begins, for a preview."""
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else f"{line[: EXCERPT - 1].rstrip()}…"
