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
punctuation do not matter, nor do escapes (see `escapes`). A long word is recognised in its other
forms and inside a longer one too, one of two letters only as a name, a script without spaces by
runs of its characters, numbers and codes in any groups (see `regrouping`). The mark itself is never
looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import msgspec

from polyvox.memory.tables.comparing import (
    PARTICLES,
    SHORTEST_NUMBER,
    SHORTEST_WORD,
    Memo,
    Part,
    Texts,
    names_in,
    parts_of,
    together,
    unparted,
)
from polyvox.store.database import Tx
from polyvox.values import REDACTED

SHORTEST_RUN = 3
LETTERS = 10
"""In a run of ordinary words: a script without spaces has a letter where others have a word."""
EXCERPT = 160
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
_NAMES = """
action category decision dialect field gate gate_degrade hash id intent kind model ops_source
outcome overlay phase posture pressure prompts recipe refs risk role slug startbrief_fetch state
status system_blocks timestamp type verdict
"""
_NAMING_ENDS = ("_id", "_hash", "_at", "Id", "Ids", "Hash", "At")
"""Keys whose values are one of a few words of ours, a name that something has, or a time."""
_NAMING = frozenset(_NAMES.split())
_COMMON = frozenset((*_SHORT.split(), *PARTICLES))

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

    def __call__(self, tx: Tx, needles: Needles, dry: bool) -> list[Found]:
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
    tx: Tx, needles: Needles, *, dry: bool, only: Collection[str] | None = None
) -> list[Found]:
    """Everything that repeats the words, in every place or `only` these; unless `dry`, marked."""
    names = [name for name in PLACES if only is None or name in only]
    return [one for name in names for one in PLACES[name](tx, needles, dry)]


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
        self._came = Memo(self._came_with_it)
        self._names = {name for text in self.texts for name in names_in(text)}
        self._own = Texts(self.texts, stem)
        self._all = Texts([*self.texts, *derived], stem)

    def redacted(self, text: str) -> str | None:
        """A text with the mark in place of every passage that repeats forgotten words; None where
        it repeats none."""
        spans = self.spans(text)
        return marked(text, spans) if spans else None

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the passages are: (start, end) each, in order, apart from each other."""
        return [
            (offset + part.at[first][0], offset + part.at[last - 1][1])
            for offset, part in parts_of(text)
            for first, last in self._found(part, self._own)
        ]

    def tells(self, text: str) -> bool:
        """Whether a text tells anything of it, or of what was derived from it: for texts that are
        dropped whole."""
        return any(True for _, part in parts_of(text) for _ in self._found(part, self._all))

    def redacted_json(self, text: str) -> str | None:
        """The same as `redacted` for every text in stored JSON; keys stay, and so does one word
        under a key that names or times something."""
        value = msgspec.json.decode(text)
        new = self._redacted_value(value, "")
        return None if new == value else msgspec.json.encode(new).decode()

    def _redacted_value(self, value: Any, key: str) -> Any:  # noqa: ANN401 - whatever JSON holds
        if isinstance(value, str):
            named = " " not in value and (key in _NAMING or key.endswith(_NAMING_ENDS))
            return value if named else self.redacted(value) or value
        if isinstance(value, list):
            return [self._redacted_value(one, key) for one in value]
        if isinstance(value, dict):
            return {name: self._redacted_value(one, name) for name, one in value.items()}
        return value

    def _found(self, part: Part, texts: Texts) -> list[tuple[int, int]]:
        """Where it is repeated, as it was said or in other groups: (first, behind the last) word,
        joined where they touch."""
        every = [*self._runs(part, texts)]
        every += [
            (first, last)
            for first, last, own in texts.regrouped.found(part)
            if self._is_regrouped(tuple(part.words[first:last]), own)
        ]
        found: list[tuple[int, int]] = []
        for first, last in sorted(every):
            if found and first <= found[-1][1]:
                found[-1] = (found[-1][0], max(last, found[-1][1]))
            else:
                found.append((first, last))
        return found

    def _is_regrouped(self, run: tuple[str, ...], own: tuple[str, ...]) -> bool:
        """Whether a stretch is something that came with it, said in these words."""
        if not any(map(str.isdecimal, "".join(own))) and not any(self._came[one] for one in own):
            return False
        plain = all(map(self._is_plain, run)) or all(map(self._is_plain, own))
        return not plain and not self._is_said(own) and not self._is_said(run)

    def _runs(self, part: Part, texts: Texts) -> Iterator[tuple[int, int]]:
        """The stretches of a text that count: (first, behind the last) word."""
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
            yield at, end
            at = end

    def _counts(self, part: Part, first: int, last: int) -> bool:
        run = part.words[first:last]
        if any(
            self._came[word] or (len(word) == 2 and self._is_name(part, at))
            for at, word in enumerate(run, first)
        ):
            return True
        if any(not self._usual(some) and not self._is_said(some) for some in together(run)):
            return True
        own = [word for word in run if word not in self._faint]
        if len(run) < SHORTEST_RUN or len(own) < 2 or sum(map(len, run)) < LETTERS:
            return False
        return not self._is_said(tuple(run))

    def _sentence(self, words: Sequence[str], at: int, texts: Texts) -> int:
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
        # One letter of Hangul is a syllable; a letter and a digit are a code.
        mixed = not word.isalpha() and any(map(str.isdecimal, word))
        least = SHORTEST_WORD - ("\uac00" <= word <= "\ud7a3" or mixed)
        return len(word) >= least and not self._is_plain(word) and not self._is_said((word,))

    def _is_plain(self, word: str) -> bool:
        return word in self._faint or word in _COMMON or word in self._ordinary

    def _is_form(self, word: str, texts: Texts) -> bool:
        """Whether a word is another form of one that came with it."""
        forms = texts.forms(word)
        return any(self._came[one] for one in forms) and bool(self._came[word])

    def _is_name(self, part: Part, at: int) -> bool:
        """Whether a word of two letters is a name, here or where it was said, that came with it."""
        word = part.words[at]
        if self._is_plain(word) or not (word in self._names or word in part.names):
            return False
        return part.is_capital(at) and not self._is_said((word,))

    def _usual(self, run: Sequence[str]) -> bool:
        """Whether characters of a script without spaces are in any text, or in one of ours."""
        text = "".join(run)
        if not unparted(text[0]):
            return False
        return text in _USUAL or all(a + b in self._ordinary for a, b in pairwise(run))

    def _is_said(self, words: tuple[str, ...]) -> bool:
        if words not in self._known:
            self._known[words] = self._said(words)
        return self._known[words]


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


def excerpt(text: str) -> str:
    """How a text begins, for a preview."""
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else f"{line[: EXCERPT - 1].rstrip()}…"
