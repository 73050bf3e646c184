"""The librarian's reflex: whether to look up, what to look for, and what of it may be told.

    gate → words → query → relevance → the sheet

Local recall costs milliseconds, so without a gate it always looks and relevance alone decides.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from polyvox.companion import sheet
from polyvox.companion.gate import Gated
from polyvox.companion.sheet import Found
from polyvox.errors import PolyvoxError
from polyvox.memory.moment import day_of
from polyvox.memory.packets import QueryReply, Recalled
from polyvox.memory.recall import Exclude, Reader
from polyvox.memory.statements import plain
from polyvox.memory.times import times_in
from polyvox.memory.words import STOP, names_in, words_of
from polyvox.session.remembering import RELEVANT, Lookup, MemoryService
from polyvox.values import Scope

EXPLICIT, AMBIENT = 0.55, 0.80
_TOKEN = re.compile(r"[^\W_][\w'’-]*")
_ABOUT_US = """assistant ai bot chatbot companion model yourself yours you remember recall recalled
remind reminded memory memories mention mentioned forget forgot talk talked talking tell told
telling say said saying speak spoke know known knew think thought ask asked asking discuss
discussed chat chatted conversation conversations earlier before again last time ago once back"""
_VERBS = """get got getting go going gone went come came coming make made making take took taken
taking give gave given want wanted wants need needed needs like liked likes feel feels felt feeling
see saw seen look looked looking find found let lets keep kept put try tried trying help helped
helping happen happened happening become became seem seemed use used using start started stop
stopped mean means meant guess hope hoped really maybe still always never often something anything
nothing everything thing things stuff lot much many more most good great nice bad well right sure
one ones way even ever now today tonight tomorrow only other others same than today's"""
DROPPED = STOP | frozenset(_ABOUT_US.split()) | frozenset(_VERBS.split())


@dataclass(frozen=True, slots=True)
class Sought:
    """What came of it: the block, what was found, and why it is so."""

    text: str = ""
    decision: str = "none"
    """off, none, unsure, no query, nothing found, found, unreachable."""
    explicit: bool = False
    found: int = 0
    relevance: float | None = None
    """Of the best."""
    degrade: str | None = None
    threads: tuple[str, ...] = ()
    """What was found, in words."""

    def as_trace(self) -> dict[str, Any]:
        """The decision without anybody's words."""
        return {
            "decision": self.decision,
            "explicit": self.explicit,
            "found": self.found,
            "relevance": None if self.relevance is None else round(self.relevance, 3),
            "degrade": self.degrade,
        }


@dataclass(frozen=True, slots=True)
class Librarian:
    """One look for one persona."""

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
    most: int = sheet.MOST

    async def seek(self, message: str, gated: Gated) -> Sought:
        """What a message calls up."""
        why = _unwanted(gated)
        explicit = gated.open and gated.reading.explicit
        if why is not None:
            return Sought(decision=why, explicit=explicit)
        words = self.words(message)
        if not words:
            return self.no_query(explicit)
        return self.sought(words, *await self._ask(words), explicit=explicit)

    def words(self, message: str) -> str:
        """What to look for; nothing, where nothing of a message can be looked for."""
        return compile_query(message, self.now, self.name)

    def lookup(self, words: str) -> Lookup:
        """How to look for it."""
        return Lookup(words, self.now, self.reader, self.exclude)

    def no_query(self, explicit: bool = False) -> Sought:
        """What came of a message that names nothing."""
        return Sought(sheet.nothing() if explicit else "", "no query", explicit)

    def sought(
        self, words: str, reply: QueryReply | None, degrade: str | None, *, explicit: bool = False
    ) -> Sought:
        """What came of a look."""
        if reply is None:
            text = sheet.unreachable() if explicit else ""
            return Sought(text, "unreachable", explicit, degrade=degrade)
        new = [one for one in reply.items if not self._known(one)]
        kept = [one for one in new if _relevant(one, words)]
        best = max((one.relevance for one in new if one.relevance is not None), default=None)
        if not kept:
            text = sheet.nothing() if explicit else ""
            return Sought(text, "nothing found", explicit, 0, best, degrade)
        facts = [self._told(one) for one in kept[: self.most]]
        entities = [one.summary for one in reply.entities if not self._unwanted(one.summary)]
        text = sheet.sheet(words, facts, entities[: self.most])
        threads = tuple(one.text for one in kept[: self.most])
        return Sought(text, "found", explicit, len(threads), best, degrade, threads)

    async def threads(self, message: str) -> tuple[str, ...]:
        """What the message is about, for who has nothing else to name; nothing is shown."""
        words = self.words(message)
        reply, _ = await self._ask(words) if words else (None, None)
        items = reply.items if reply is not None else ()
        kept = [one.text for one in items if _relevant(one, words) and not self._known(one)]
        return tuple(kept[:2])

    def _known(self, one: Recalled) -> bool:
        """Whether it need not, or must not, be told: it stands in the request, or was vetoed."""
        if self._unwanted(one.text):
            return True
        places = {f"{each.session_id}#{each.index}" for each in one.evidence}
        if places & self.exclude.ids:
            return True
        quotes = [each.quote for each in one.evidence]
        return bool(self.shown and quotes) and all(quote in self.shown for quote in quotes)

    def _unwanted(self, text: str) -> bool:
        if not self.vetoed:
            return False
        words = plain(text)
        return any(plain(gone) in words for gone in self.vetoed)

    async def _ask(self, words: str) -> tuple[QueryReply | None, str | None]:
        try:
            async with asyncio.timeout(self.seconds):
                got = await self.memory.look_up(self.scope, self.lookup(words))
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


def compile_query(message: str, now: int, name: str = "") -> str:
    """The words to look for: names first, then topics, then times. Nothing, where nothing of a
    message can be looked for."""
    ours = {word.casefold() for word in _TOKEN.findall(name)}
    entities = [one for one in names_in(message) if one.casefold() not in ours]
    taken = {word.casefold() for one in entities for word in _TOKEN.findall(one)} | ours
    rest = times_in(message, now).rest
    topics = []
    for token in _TOKEN.findall(rest):
        word = re.sub(r"['’]s?$", "", token)
        plain = word.casefold()
        if plain not in taken and plain not in DROPPED and len(plain) > 2:
            taken.add(plain)
            topics.append(word)
    times = _removed(message, rest)
    return " ".join([*entities, *topics, *times])


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
    left = _TOKEN.findall(rest)
    found = []
    for token in _TOKEN.findall(message):
        if left and left[0] == token:
            left.pop(0)
        else:
            found.append(token)
    return found


def _relevant(one: Recalled, words: str) -> bool:
    if one.relevance is not None:
        return one.relevance >= RELEVANT
    return bool(set(words_of(words)) & set(words_of(one.text)))  # a service that does not say


def _source(one: Recalled) -> str:
    roles = {each.role for each in one.evidence}
    if one.source == "episode":
        return "you said" if roles == {"assistant"} else "they said"
    return "noted from what they said" if roles else "noted"
