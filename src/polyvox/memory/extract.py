"""From what a person said to facts, loops and profile: by a model where one is set, else by rules.

Only the person's own words are read, so nothing that an advisor answered (or repeated from memory)
becomes a fact. Whatever a model notes must quote them: what it says without their words is dropped.
Pure: no store, no model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, tzinfo
from functools import partial
from typing import get_args

from polyvox.memory import loops, rules, statements
from polyvox.memory.asking import Table, number_of, rows_of, text_of
from polyvox.memory.facts import about, line_of
from polyvox.memory.statements import id_of, plain
from polyvox.memory.tables.derived import Entry
from polyvox.memory.tables.facts import Fact
from polyvox.memory.tables.loops import Ended, Horizon, LoopType, Sighting
from polyvox.memory.times import date_of
from polyvox.memory.values import Episode
from polyvox.memory.words import words_of

BATCH_CHARS = 16_000
BATCH_MESSAGES = 60
MOST_ROWS = 60
"""Of each kind, from one batch: a model that notes more is only copying."""
MOST_TAGS = 8
LISTS = ("facts", "loops", "profile", "instructions")
"""What a model notes."""
_FOLDED = str.maketrans("’‘‚‛“”„‟«»–—\u00a0", '\'\'\'\'""""""-- ')
_PROFILE = ("north_star", "current_focus", "work_context", "key_relationships", "patterns")
_TYPES: dict[object, LoopType] = {one: one for one in get_args(LoopType)}
_HORIZONS: dict[object, Horizon] = {one: one for one in get_args(Horizon)}
_PROFILE_FIELDS = (*_PROFILE, "preferences.tone")


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the person's, with when it was said and whether a cloud model may read it."""

    episode: Episode
    at: int
    cloud: bool
    doc: int = 0
    """Its number in the index."""


@dataclass(slots=True)
class Found:
    """What was found in some messages."""

    facts: list[Fact] = field(default_factory=list)
    sightings: list[Sighting] = field(default_factory=list)
    endings: list[Ended] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    dropped: int = 0
    """How many notes of a model had no such words behind them."""

    def counts(self) -> dict[str, int]:
        """How much it is; no texts."""
        return {
            "facts": len(self.facts),
            "loops": len(self.sightings),
            "endings": len(self.endings),
            "profile": len(self.entries),
            "dropped": self.dropped,
        }


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages that are worked through at once; `first` to `last` are indexes of the session's
    messages, those in between that nobody needs to read included."""

    first: int
    last: int
    said: tuple[Said, ...]


def next_batch(said: Sequence[Said], first: int, upto: int) -> Batch | None:
    """What is to be worked through next of a session of `upto` messages; None: all of it was."""
    if first >= upto:
        return None
    some: list[Said] = []
    chars = 0
    for one in (each for each in said if each.episode.index >= first):
        size = min(len(one.episode.text), BATCH_CHARS)
        if some and (chars + size > BATCH_CHARS or len(some) == BATCH_MESSAGES):
            return Batch(first, one.episode.index - 1, tuple(some))
        some.append(one)
        chars += size
    return Batch(first, upto - 1, tuple(some))


def by_rules(said: Sequence[Said], zone: tzinfo | None = UTC, *, with_loops: bool = True) -> Found:
    """What plain rules find. Here and below, days are days in the zone of who said it."""
    found = Found()
    for one in said:
        if with_loops:
            seen, over = loops.found_in(one.episode, one.at, one.cloud, zone)
            found.sightings += seen
            found.endings += over
        found.entries += statements.heard(one.episode, one.at, one.cloud)
    return found


def as_data(said: Sequence[Said], zone: tzinfo | None = UTC) -> str:
    """Messages as a model is shown them: each one line of JSON, so that none can pose as more."""
    return "\n".join(
        json.dumps(
            {
                "n": one.episode.index,
                "said": date_of(one.at, zone).isoformat(),
                "text": one.episode.text[:BATCH_CHARS],
            },
            ensure_ascii=False,
        )
        for one in said
    )


def by_model(data: Table, said: Sequence[Said], zone: tzinfo | None = UTC) -> Found:
    """What a model noted, as far as it can be shown."""
    found = Found()
    readers: tuple[Callable[[Found, Table, Said, str], bool], ...] = (
        partial(_fact, zone),
        partial(_loop, zone),
        _entry,
        _instruction,
    )
    for name, note in zip(LISTS, readers, strict=True):
        for row in rows_of(data, name)[:MOST_ROWS]:
            shown = _shown(row, said)
            if shown is None or not note(found, row, *shown):
                found.dropped += 1
    return found


def latest(entries: Sequence[Entry], said: Sequence[Said]) -> list[Entry]:
    """Of what one message says of one place in the profile, only what it says last."""
    texts = {(one.episode.session_id, one.episode.index): one.episode.text for one in said}

    def end(one: Entry) -> int:
        words = one.quote or ""
        text = texts.get((one.session_id or "", one.index or 0), "")
        return text.find(words) + len(words)

    last: dict[tuple[object, ...], Entry] = {}
    for one in entries:
        key = (one.session_id, one.index, one.field, plain(one.item), one.source)
        if key not in last or end(one) > end(last[key]):
            last[key] = one
    return list(last.values())


def quoted(text: str, quote: str) -> str | None:
    """The very words of a text that a quote means: it may differ in spaces, case and the shape of
    its marks, in nothing else. None: they do not occur, or say nothing."""
    wanted = quote.translate(_FOLDED).strip(" \t\n\"'.…")
    if sum(letter.isalnum() for letter in wanted) < 3:
        return None
    pattern = r"\s+".join(re.escape(word) for word in wanted.split())
    match = re.search(pattern, text.translate(_FOLDED), re.IGNORECASE)
    if match is None:
        return None
    alone = len(wanted.split()) == 1 and len(text.split()) > 3
    return None if alone else text[match.start() : match.end()]


def _shown(row: Table, said: Sequence[Said]) -> tuple[Said, str] | None:
    """The message that a note quotes, the one it names if it does, and its words."""
    quote = row.get("quote")
    if not isinstance(quote, str):
        return None
    for one in sorted(said, key=lambda one: one.episode.index != row.get("n")):
        words = quoted(one.episode.text, quote)
        if words is not None:
            return one, words
    return None


def _fact(zone: tzinfo | None, found: Found, row: Table, one: Said, quote: str) -> bool:
    text, subject = text_of(row, "text"), text_of(row, "subject", 120) or "user"
    attribute = text_of(row, "attribute", 80)
    if not text:
        return False
    when = about(text_of(row, "about", 40), one.at, zone) or about(quote, one.at, zone)
    stated = row.get("stated") is not False
    found.facts.append(
        Fact(
            id_of(
                "fact", one.episode.session_id, one.episode.index, subject, attribute, plain(text)
            ),
            line_of(subject, attribute, text, None),
            subject,
            attribute,
            text,
            one.at,
            about_from=None if when is None else when[0].start,
            about_to=None if when is None else when[0].end,
            about_precision=None if when is None else when[1],
            source="user_stated" if stated else "inferred",
            confidence=round(number_of(row, "confidence", 0, 1, 0.8), 3),
            session_id=one.episode.session_id,
            index=one.episode.index,
            role=one.episode.role,
            quote=quote,
            cloud=one.cloud,
            retracts=row.get("ended") is True,
        )
    )
    return True


def _loop(zone: tzinfo | None, found: Found, row: Table, one: Said, quote: str) -> bool:
    text = text_of(row, "text", 300)
    if not text:
        return False
    status = text_of(row, "status")
    if status in ("done", "dropped"):
        over = loops.ended(
            one.episode,
            one.at,
            status="done" if status == "done" else "dropped",
            text=text,
            quote=quote,
        )
        found.endings.append(over)
        return True
    today = date_of(one.at, zone)
    due = _due(text_of(row, "due"), quote, today)
    domain = text_of(row, "domain")
    found.sightings.append(
        loops.sighting(
            one.episode,
            one.at,
            type_=_TYPES.get(text_of(row, "type"), "commitment"),
            text=text,
            quote=quote,
            horizon=_HORIZONS.get(text_of(row, "horizon")) or rules.horizon_of(due, today, quote),
            due=due,
            cloud=one.cloud,
            domain=domain if domain in statements.DOMAINS else "general",
            importance=round(number_of(row, "importance", 1, 5, 3)),
            urgency=round(number_of(row, "urgency", 1, 5, 3)),
            tags=_tags(row.get("tags")),
            confidence=0.9,
        )
    )
    return True


def _entry(found: Found, row: Table, one: Said, quote: str) -> bool:
    place, text, item = text_of(row, "field"), text_of(row, "text"), text_of(row, "item", 80)
    if place not in _PROFILE_FIELDS or not text:
        return False
    if place == "north_star" and plain(item) not in statements.DOMAINS:
        item = "general"
    if place == "key_relationships" and not item:
        return False
    stated = row.get("stated") is not False
    found.entries.append(
        statements.said(
            one.episode,
            one.at,
            place=place,
            text=text,
            quote=quote,
            cloud=one.cloud,
            item=item,
            source="user_stated" if stated else "inferred",
            confidence=round(number_of(row, "confidence", 0, 1, 0.8), 3),
        )
    )
    return True


def _instruction(found: Found, row: Table, one: Said, quote: str) -> bool:
    text = text_of(row, "text", 300)
    if not text:
        return False
    if not set(words_of(text)) <= set(words_of(one.episode.text)):
        text = quote[:300]  # it is told as their own words
    found.entries.append(
        statements.said(
            one.episode, one.at, place="instructions", text=text, quote=quote, cloud=one.cloud
        )
    )
    return True


def _tags(value: object) -> list[str]:
    given = value if isinstance(value, list) else []
    return [tag for tag in (text_of({"tag": one}, "tag", 40) for one in given) if tag][:MOST_TAGS]


def _due(given: str, quote: str, today: date) -> date | None:
    """The day that a model names; where it names none, that of what the words say is to be done.
    A habit, or what was, has none, whichever day they speak of."""
    try:
        return date.fromisoformat(given)
    except ValueError:
        day = rules.due_in(given, today)
    return day or next((one.due for one in rules.loops_in(quote, today)), None)
