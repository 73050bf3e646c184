"""The librarian: whether to look something up, what to look for, and what of it may be told.

    gate → query → relevance → the sheet

The gate says what is asked for, with pronouns resolved; without one, the message's rare words are
looked for, and relevance alone decides: local recall costs milliseconds. A question about the
memory itself (what do you know about me, what is open) is answered from it, not searched for.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, tzinfo

from polyvox.companion.gate import Gated, RecallKind, RecallSpec
from polyvox.companion.texts import text
from polyvox.context.words import quoted
from polyvox.errors import PolyvoxError
from polyvox.memory.packets import Entity, QueryReply, Recalled
from polyvox.memory.recall import Exclude, Reader
from polyvox.memory.remembering import RELEVANT, Lookup, MemoryService
from polyvox.memory.running import Heard, recalled
from polyvox.memory.tables.statements import plain
from polyvox.memory.tell import RecallTrace
from polyvox.memory.times import day_of, times_in
from polyvox.memory.words import common_words, names_in, words_of
from polyvox.store.search import fold
from polyvox.values import Scope

# -- the Recall Sheet: what was looked up for a turn, with dates and sources, quoted as data -------
# Pure. A sheet that found nothing is one honest line, and only where it was asked for.

MOST = 3
"""Facts, and entities, of one sheet."""
LONGEST = 300
"""Characters of one fact."""
HEAD = "[SUPPLEMENTAL_CONTEXT]"
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
"""In English, wherever this machine is."""


@dataclass(frozen=True, slots=True)
class Found:
    """Something recalled: its words, when they were said, and where they come from."""

    text: str
    on: date | None
    source: str
    """For instance: they said, you said, a note."""
    until: date | None = None
    """Since when it is no longer so."""


def sheet(query: str, facts: Sequence[Found], entities: Sequence[str], most: int = MOST) -> str:
    """The block for what was found."""
    if not facts and not entities:
        return ""
    lines = [HEAD, f"Looked up: {quoted(query)}. {text('recall/sheet')}"]
    lines += [_line(one) for one in facts[:most]]
    lines += [f"- about: {quoted(one[:LONGEST])}" for one in entities[:MOST]]
    return "\n".join(lines)


def nothing() -> str:
    """Asked for and not found: one honest line, never an order to deny."""
    return f"{HEAD}\n{text('recall/nothing')}"


def unreachable() -> str:
    """RecallSpec for, and memory could not be asked."""
    return f"{HEAD}\n{text('recall/unreachable')}"


def _line(found: Found) -> str:
    when = "undated" if found.on is None else _day(found.on)
    ended = "" if found.until is None else f" (no longer so since {_day(found.until)})"
    words = found.text if len(found.text) <= LONGEST else f"{found.text[:LONGEST].rstrip()}…"
    return f"- {when}, {found.source}{ended}: {quoted(words)}"


def _day(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


EXPLICIT, AMBIENT = 0.55, 0.80
MOST_EARLIER = 6
_TOKEN = re.compile(r"\d+(?:[/.:]\d+)+|[^\W_][\w'’-]*")
_ENDING = re.compile(r"['’](?:s|t|d|m|ll|re|ve)?$", re.IGNORECASE)
"""What a contraction, or whose it is, adds to a word."""
OVERVIEW: tuple[RecallKind, ...] = ("about_me", "last_time", "open_loops")
"""Where memory was asked for and nothing was named."""
SUBJECTS: Mapping[str, str] = {
    "about_me": "what is known about them",
    "last_time": "what they talked about last time",
    "open_loops": "what is still open",
    "instructions": "what they asked for once and for all",
}
MOST_KNOWN = 8
"""Facts that answer a question about the memory itself."""


@dataclass(frozen=True, slots=True)
class Sought:
    """What came of it: the block, what was found, and why it is so."""

    text: str = ""
    decision: str = "none"
    """off, none, unsure, no query, nothing found, told already, found, unreachable."""
    explicit: bool = False
    found: int = 0
    """How many facts are told; where there are none, entities."""
    relevance: float | None = None
    """Of the best."""
    degrade: str | None = None
    entities: int = 0
    """How many of them are told."""

    @property
    def looked(self) -> bool:
        """Whether memory was asked, or there was nothing to ask it."""
        return self.decision not in ("off", "none", "unsure")

    def as_trace(self) -> RecallTrace:
        """The decision without anybody's words."""
        relevance = None if self.relevance is None else round(self.relevance, 3)
        return RecallTrace(
            self.decision, self.explicit, self.found, self.entities, relevance, self.degrade
        )


@dataclass(frozen=True, slots=True)
class Librarian:
    """What one persona looks up in a turn."""

    memory: MemoryService
    scope: Scope
    reader: Reader
    exclude: Exclude
    now: int
    zone: tzinfo | None
    name: str
    """The persona's: it is not looked for."""
    seconds: float
    shown: str = ""
    """What the request holds anyway: what is quoted from it is not told again."""
    vetoed: tuple[str, ...] = ()
    """Words that shall not be told."""
    most: int = MOST
    heard: tuple[Heard, ...] = ()
    """What was said earlier in this session and is not in the request."""
    until: float | None = None
    """When all that is looked up in a turn is over, by the loop's clock."""
    told: tuple[str, ...] = ()
    """Texts of the request: what they tell in the same words is not told again."""

    async def seek(self, message: str, gated: Gated) -> Sought:
        """What a message calls up."""
        why = _unwanted(gated)
        explicit = gated.open and gated.reading.explicit
        if why is not None:
            return Sought(decision=why, explicit=explicit)
        asked = gated.reading.recall
        if gated.open and asked.kind in SUBJECTS:
            return await self._known_of((asked.kind,), SUBJECTS[asked.kind], explicit)
        words = query_of(asked) if gated.open else ""
        words = words or self.words(message)
        if words:
            return self.sought(words, *await self._ask(self.lookup(words)), explicit=explicit)
        if explicit:
            return await self._known_of(OVERVIEW, SUBJECTS["about_me"], explicit)
        return self.no_query()

    async def _known_of(self, kinds: Sequence[RecallKind], subject: str, explicit: bool) -> Sought:
        """What answers a question about the memory itself."""
        items: list[Recalled] = []
        degrade = None
        for kind in kinds:
            wanted = replace(self.lookup(subject), kind=kind, limit=MOST_KNOWN)
            reply, degrade = await self._ask(wanted)
            if reply is None:
                return Sought(unreachable(), "unreachable", explicit, degrade=degrade)
            items += reply.items[: MOST_KNOWN // len(kinds) + 1]
        kept = self._allowed(items)
        if not kept:
            return Sought(nothing(), "nothing found", explicit, degrade=degrade)
        told = [self._told(one) for one in kept]
        made = sheet(subject, told, (), MOST_KNOWN)
        return Sought(made, "found", explicit, len(told[:MOST_KNOWN]), None, degrade)

    def words(self, message: str) -> str:
        """What to look for; nothing, where nothing of a message can be looked for."""
        return compile_query(message, self.now, self.name)

    def lookup(self, words: str) -> Lookup:
        """How to look for it."""
        return Lookup(words, self.now, self.reader, self.exclude)

    def no_query(self) -> Sought:
        """What came of a message that names nothing."""
        return Sought("", "no query")

    def sought(
        self, words: str, reply: QueryReply | None, degrade: str | None, *, explicit: bool = False
    ) -> Sought:
        """What came of a look, and of what was said earlier in this session."""
        failed = reply is None
        earlier = (
            recalled(words, self.heard, self.now, MOST_EARLIER, self.zone) if self.heard else []
        )
        if earlier:
            there = reply if reply is not None else QueryReply()
            told = {one.text for one in earlier}
            others = [one for one in there.items if one.text not in told]
            items = sorted([*earlier, *others], key=lambda one: -(one.relevance or 0.0))
            reply = replace(there, items=tuple(items))
        if reply is None:
            text = unreachable() if explicit else ""
            return Sought(text, "unreachable", explicit, degrade=degrade)
        allowed = self._allowed(reply.items)
        new = self._new(allowed)
        kept = [one for one in new if _relevant(one, words)][: self.most]
        best = max((one.relevance for one in new if one.relevance is not None), default=None)
        hidden = len(new) < len(reply.items)
        entities = self._entities(reply.entities, words, kept, hidden)[: self.most]
        if kept or entities:
            text = sheet(words, [self._told(one) for one in kept], entities)
            count = len(kept) or len(entities)
            return Sought(text, "found", explicit, count, best, degrade, len(entities))
        if len(new) < len(allowed) and any(_relevant(one, words) for one in allowed):
            return Sought("", "told already", explicit, 0, best, degrade)
        if failed:
            text = unreachable() if explicit else ""
            return Sought(text, "unreachable", explicit, 0, best, degrade)
        text = nothing() if explicit else ""
        return Sought(text, "nothing found", explicit, 0, best, degrade)

    async def threads(self, message: str) -> tuple[tuple[str, ...], str | None]:
        """What the message is about, for who has nothing else to name (nothing is shown), and why
        that is not known."""
        words = self.words(message)
        if not words:
            return (), None
        reply, degrade = await self._ask(self.lookup(words))
        items = self._new(self._allowed(reply.items)) if reply is not None else []
        new = [one.text for one in items if _relevant(one, words)]
        return tuple(new[:2]), degrade

    def _new(self, items: Sequence[Recalled]) -> list[Recalled]:
        """What stands nowhere in the request."""
        held = [_bare(text) for text in self.told]
        return [one for one in items if not self._known(one, held)]

    def _known(self, one: Recalled, held: Sequence[str]) -> bool:
        """Whether it stands in the request: its own words, or all those it comes from."""
        if _holds(held, one.text):
            return True
        quotes = [each.quote for each in one.evidence]
        return bool(quotes) and all(
            (self.shown and quote in self.shown) or _holds(held, quote) for quote in quotes
        )

    def _allowed(self, items: Sequence[Recalled]) -> list[Recalled]:
        """What was not vetoed, and is not the message itself: a service may not know of either."""
        same = [_bare(text) for text in self.exclude.texts]
        return [one for one in items if not self._vetoed(one) and not _holds(same, one.text)]

    def _vetoed(self, one: Recalled) -> bool:
        places = {f"{each.session_id}#{each.index}" for each in one.evidence}
        return bool(places & self.exclude.ids) or self._unwanted(one.text)

    def _entities(
        self, found: Sequence[Entity], words: str, kept: Sequence[Recalled], hidden: bool
    ) -> list[str]:
        """Who and what may be told of: what the question or a fact that is told names. Where every
        fact is `hidden`, so is what was said of them."""
        if not found or (hidden and not kept):
            return []
        named = {word for text in (words, *(one.text for one in kept)) for word in words_of(text)}
        held = [_bare(text) for text in self.told]
        return [
            one.summary
            for one in found
            if not named.isdisjoint(words_of(one.summary))
            and not self._unwanted(one.summary)
            and not _holds(held, one.summary)
        ]

    def _unwanted(self, text: str) -> bool:
        if not self.vetoed:
            return False
        words = plain(text)
        return any(plain(gone) in words for gone in self.vetoed)

    async def _ask(self, wanted: Lookup) -> tuple[QueryReply | None, str | None]:
        now = asyncio.get_running_loop().time()
        until = now + self.seconds if self.until is None else self.until
        if until <= now:  # not even begun
            return None, "query: timeout"
        try:
            async with asyncio.timeout_at(until):
                got = await self.memory.look_up(self.scope, wanted)
        except TimeoutError:
            return None, "query: timeout"
        except PolyvoxError as error:
            return None, f"query: {error.code}"
        return got.value, None if got.degrade is None else str(got.degrade)

    def _told(self, one: Recalled) -> Found:
        said = next((each.said_at for each in one.evidence if each.said_at is not None), None)
        when = said if said is not None else one.valid_from
        until = one.valid_to if one.status == "superseded" else None
        return Found(
            one.text,
            None if when is None else day_of(when, self.zone),
            _source(one),
            None if until is None else day_of(until, self.zone),
        )


def _unwanted(gated: Gated) -> str | None:
    """Why nothing is looked up; None: it is."""
    if not gated.open:
        return None
    reading = gated.reading
    if reading.action != "memory_query":
        return "none"
    return None if reading.confidence >= (EXPLICIT if reading.explicit else AMBIENT) else "unsure"


def query_of(asked: RecallSpec) -> str:
    """The words of the gate's reading: entities first, then topics, then time."""
    return " ".join([*asked.entities, *asked.topics, *([asked.time] if asked.time else [])])


def compile_query(message: str, now: int, name: str = "") -> str:
    """The rare words of a message: names first, then topics, then times. Nothing, where every word
    of it is one of those that all sentences have."""
    ours = {word.casefold() for word in _TOKEN.findall(name)}
    common = common_words(message)
    entities = [
        one
        for one in names_in(message)
        if one.casefold() not in ours and not {*fold(_ENDING.sub("", one)).split()} <= common
    ]
    taken = {word.casefold() for one in entities for word in _TOKEN.findall(one)} | ours
    rest = times_in(message, now).rest
    topics = []
    for token in _TOKEN.findall(rest):
        word = _ENDING.sub("", token)
        plain = word.casefold()
        tells = len(plain) > 1 or plain.isdigit() or not plain.isascii()
        if tells and plain not in taken and not {*fold(word).split()} <= common:
            taken.add(plain)
            topics.append(word)
    return " ".join([*entities, *topics, *_removed(message, rest)])


def words_for(message: str, now: int, people: Sequence[str]) -> list[str]:
    """The words to look for, for each of these."""
    plain = compile_query(message, now)  # the same for whoever is not named in it
    said = {re.sub(r"['’]s?$", "", word).casefold() for word in _TOKEN.findall(message)}
    return [
        plain
        if said.isdisjoint(word.casefold() for word in _TOKEN.findall(one))
        else compile_query(message, now, one)
        for one in people
    ]


def _removed(message: str, rest: str) -> Sequence[str]:
    """The words that were taken out of a message, in their order."""
    left = deque(_TOKEN.findall(rest))
    found = []
    for token in _TOKEN.findall(message):
        if left and left[0] == token:
            left.popleft()
        else:
            found.append(token)
    return found


def _bare(text: str) -> str:
    """The words of a text, each between spaces."""
    return f" {' '.join(fold(text).split())} "


def _holds(held: Sequence[str], text: str) -> bool:
    """Whether one of these tells a text, word for word."""
    bare = _bare(text) if held else " "
    return bool(bare.strip()) and any(bare in one for one in held)


def _relevant(one: Recalled, words: str) -> bool:
    if one.relevance is not None:
        return one.relevance >= RELEVANT
    return bool(set(words_of(words)) & set(words_of(one.text)))  # a service that does not say


def _source(one: Recalled) -> str:
    roles = {each.role for each in one.evidence}
    if one.source == "episode":
        return "you said" if roles == {"assistant"} else "they said"
    return "noted from what they said" if roles else "noted"
