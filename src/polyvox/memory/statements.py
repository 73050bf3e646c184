"""What is so now, and what was so then: statements about a subject, newer ones over older ones.

A statement is never overwritten. Which one holds is computed from all of them, by when they were
said, so that any order of arrival gives the same view and the past can be asked, too. What was only
inferred never stands against what a person said themself, before or after.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from polyvox.errors import Invalid
from polyvox.ids import content_hash
from polyvox.memory.rules import wishes_in
from polyvox.memory.tables import derived, episodes, remembered
from polyvox.memory.tables import derived as rows
from polyvox.memory.tables.derived import Entry
from polyvox.memory.tables.facts import Source
from polyvox.memory.values import Episode, Evidence, Partition
from polyvox.memory.words import words_of
from polyvox.store.database import Tx

_RANK: dict[Source, int] = {"inferred": 0, "manual": 1, "user_stated": 2}


@dataclass(frozen=True, slots=True)
class Statement:
    """Somebody said that an attribute of a subject is so. Without an attribute it is about nothing
    but itself, and only saying the same again is about the same."""

    id: str
    subject: str
    attribute: str
    text: str
    said_at: int
    source: Source = "user_stated"
    retracts: bool = False
    """It says that nothing is known of this any more."""
    owner: str | None = None
    """The advisor whose own it is: nobody's own statements stand against anybody else's."""
    session: str = ""
    index: int = 0
    place: int = 0
    """Where it was said: in which message of which session, and where in it."""


@dataclass(frozen=True, slots=True)
class Held:
    """A statement with the time for which it held, as far as is known. One that never held, since
    something surer was known, has `valid_to` when it was said."""

    statement: Statement
    valid_from: int
    valid_to: int | None

    @property
    def current(self) -> bool:
        """Whether nothing newer was said."""
        return self.valid_to is None


Key = tuple[str, str, str]


def key_of(statement: Statement) -> Key:
    """What a statement is about: two that differ only in case or space are about the same."""
    attribute = plain(statement.attribute) or f"#{plain(statement.text)}"
    return statement.owner or "", plain(statement.subject), attribute


def history(statements: Iterable[Statement], as_of: int | None = None) -> list[Held]:
    """Every statement known at that time, with when it held; oldest first within each subject."""
    about: dict[Key, list[Statement]] = defaultdict(list)
    for one in statements:
        if as_of is None or one.said_at <= as_of:
            about[key_of(one)].append(one)
    return [held for key in sorted(about) for held in _line(sorted(about[key], key=_order))]


def _line(line: Sequence[Statement]) -> list[Held]:
    found = []
    for at, one in enumerate(line):
        sure = one.source != "inferred"
        known = not sure and any(other.source != "inferred" for other in line[:at])
        after = (
            other.said_at for other in line[at + 1 :] if other.source != "inferred" or not sure
        )
        found.append(Held(one, one.said_at, one.said_at if known else next(after, None)))
    return found


def current(statements: Iterable[Statement], as_of: int | None = None) -> list[Held]:
    """What held then (None: holds now): at most one statement for each subject and attribute."""
    return [
        held for held in history(statements, as_of) if held.current and not held.statement.retracts
    ]


def _order(one: Statement) -> tuple[int, int, str, int, int, str]:
    """By when it was said; at the same moment the surer source wins, then what comes later in its
    session, then the later id. Messages without a time share that of their session."""
    return one.said_at, _RANK[one.source], one.session, one.index, one.place, one.id


def plain(words: str) -> str:
    """Words as they are compared."""
    return " ".join(words.casefold().split())


def id_of(*parts: object) -> str:
    """An id that the same thing gets every time."""
    return content_hash(json.dumps(parts, ensure_ascii=False))


# -- the profile: who a person is and how they want to be answered, always loaded ------------------
# It is computed from statements that are only ever added: for each place the newest holds, and
# what was only inferred never stands against what was said or written by hand. Writing by hand
# what a list shall be takes back whatever is not in it.

Domain = Literal["relationships", "work", "health", "spirituality", "general"]
DOMAINS: tuple[Domain, ...] = ("relationships", "work", "health", "spirituality", "general")
SINGLE = ("current_focus", "work_context", "preferences.tone", "name")
LISTS = ("patterns", "preferences.avoid", "instructions")
FIELDS = ("north_star", "key_relationships", *SINGLE, *LISTS)
LONGEST = 2_000
MOST_ITEMS = 100
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
FRESH_DAYS = 30
"""So long after the last of it was said a profile is not called stale."""
DAY = 86_400_000_000
MESSAGES = 100
"""So many of the last messages may wait to be worked through."""
EVER = 1 << 62
"""Later than anything."""
_DOMAIN_OF: dict[Domain, tuple[str, ...]] = {
    "relationships": ("north_star/relationships", "key_relationships"),
    "work": ("north_star/work", "work_context", "current_focus"),
    "health": ("north_star/health",),
    "spirituality": ("north_star/spirituality",),
    "general": ("north_star/general", "patterns", "preferences.tone"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """Something in the profile, and who says so."""

    item: str
    """Which one: a domain, a name, or the text's own words."""
    text: str
    source: Source
    confidence: float
    said_at: int
    evidence: tuple[Evidence, ...]
    cloud: bool
    id: str
    """By which it is forgotten."""


@dataclass(frozen=True, slots=True)
class Profile:
    """All of it, as it is now."""

    lines: Mapping[str, tuple[Line, ...]]
    """By place, the oldest first."""
    version: int
    updated_at: int | None

    def one(self, place: str) -> Line | None:
        """What stands at a place that has room for one."""
        return next(iter(self.lines.get(place, ())), None)

    def all(self, place: str) -> tuple[Line, ...]:
        """What stands at a place."""
        return self.lines.get(place, ())

    @property
    def completeness(self) -> dict[Domain, float]:
        """How much is known of each domain, 0 to 1."""
        return {
            domain: round(sum(self._has(place) for place in places) / len(places), 2)
            for domain, places in _DOMAIN_OF.items()
        }

    def _has(self, place: str) -> bool:
        name, _, item = place.partition("/")
        return any(not item or line.item == item for line in self.lines.get(name, ()))

    def days_old(self, now: int) -> int | None:
        """Whole days since the last of it was said or written; when it was stored says nothing."""
        times = [line.said_at for some in self.lines.values() for line in some]
        return max(0, (now - max(times)) // DAY) if times else None


def read(
    tx: Tx,
    partition: Partition,
    as_of: int | None = None,
    *,
    cloud: bool = False,
    without: str | None = None,
) -> Profile:
    """The profile; `cloud`: for a cloud model, without what must not go there; `without` a session:
    as if nothing had been said in it."""
    version, updated_at = rows.version(tx, partition)
    told = lines(tx, partition, as_of, cloud=cloud, without=without)
    return Profile(told, version, updated_at)


def lines(
    tx: Tx,
    partition: Partition,
    as_of: int | None = None,
    *,
    cloud: bool = False,
    without: str | None = None,
) -> dict[str, tuple[Line, ...]]:
    """What the profile says, by place; not by what was excluded."""
    told = entries(tx, partition)
    if any(one.session_id is not None for one in told):
        out = episodes.kept_out(tx, partition)
        told = [
            one
            for one in told
            if (one.session_id, one.index) not in out
            and (one.session_id is None or one.session_id != without)
        ]
    return lines_of(told, as_of, cloud)


def entries(tx: Tx, partition: Partition) -> list[Entry]:
    """Everything that was ever entered, and what plain rules hear in messages that nobody has
    worked through yet: an instruction holds at once, however slow a model is."""
    stored = rows.entries(tx, partition)
    said = remembered.persons_words(tx, partition, EVER, MESSAGES)
    places = derived.unread(tx, partition, [(one.session_id, one.index) for one, *_ in said])
    found = {one.id: one for one in stored}
    for one, at, cloud in said:
        if (one.session_id, one.index) in places:
            last = {(each.field, each.item): each for each in heard(one, at, cloud)}
            found |= {each.id: each for each in last.values() if each.id not in found}
    return list(found.values())


def lines_of(
    entries: Sequence[Entry], as_of: int | None = None, cloud: bool = False
) -> dict[str, tuple[Line, ...]]:
    """What holds of these entries."""
    by_id = {one.id: one for one in entries}
    statements = [
        Statement(
            one.id,
            one.field,
            one.item or "-",
            one.value,
            one.said_at,
            one.source,
            one.retracts,
            session=one.session_id or "",
            index=one.index or 0,
        )
        for one in entries
    ]
    found: dict[str, list[Line]] = {}
    for held in current(statements, as_of):
        entry = by_id[held.statement.id]
        if entry.cloud or not cloud:
            found.setdefault(entry.field, []).append(_profile_line(entry))
    return {
        place: tuple(sorted(lines, key=lambda line: (line.said_at, line.item)))
        for place, lines in found.items()
    }


def heard(episode: Episode, said_at: int, cloud: bool) -> list[Entry]:
    """What a message says about how to answer, by plain rules."""
    if episode.role != "user":
        return []
    return [
        said(episode, said_at, place=one.place, text=one.text, quote=one.quote, cloud=cloud)
        for one in wishes_in(episode.text)
    ]


def said(
    episode: Episode,
    said_at: int,
    *,
    place: str,
    text: str,
    quote: str,
    cloud: bool,
    item: str = "",
    source: Source = "user_stated",
    confidence: float = 0.9,
) -> Entry:
    """An entry that a message is the evidence of; the same one gets the same id every time."""
    name = item_of(place, text, quote, item)
    return Entry(
        id_of("profile", episode.session_id, episode.index, place, name, plain(text)),
        place,
        name,
        text,
        said_at,
        source,
        confidence,
        False,
        episode.session_id,
        episode.index,
        quote,
        cloud,
    )


def item_of(place: str, text: str, quote: str = "", item: str = "") -> str:
    """Which one of several at a place a text is. An instruction is known by the words in which it
    was given, so that it is one, whoever wrote it down."""
    if place in SINGLE:
        return ""
    if place in ("north_star", "key_relationships"):
        return plain(item) if place == "north_star" else " ".join(item.split())
    words = words_of(quote if place == "instructions" and quote else text)
    return " ".join(sorted(set(words))) or plain(text)


def patch(tx: Tx, partition: Partition, change: Mapping[str, Any], now: int) -> Profile:
    """Change the profile by hand. A null takes back what stands at a place."""
    before = entries(tx, partition)
    at = max([now, *(one.said_at + 1 for one in before if one.source == "manual")])
    wanted = _wanted(change)
    lines = lines_of(before)
    made: list[Entry] = []
    for place, items in wanted.items():
        there = {line.item: line for line in lines.get(place, ())}
        several = place in LISTS or place == "key_relationships"
        for item, text in items.items():
            old = there.get(item)
            if text is None and old is None:
                continue
            # A list is sent whole: what it repeats is no statement. A line alone is one.
            if old is not None and text == old.text and (several or old.source != "inferred"):
                continue
            moment = at if old is None else max(at, old.said_at + 1)
            made.append(_manual(place, item, text, moment))
        if several:
            gone = [line for item, line in there.items() if item not in items]
            made += [_manual(place, o.item, None, max(at, o.said_at + 1)) for o in gone]
    rows.add(tx, partition, made, now)
    return read(tx, partition)


def _manual(place: str, item: str, text: str | None, at: int) -> Entry:
    made = id_of("manual", place, item, text, at)
    return Entry(made, place, item, text or "", at, "manual", retracts=text is None)


def _wanted(change: Mapping[str, Any]) -> dict[str, dict[str, str | None]]:
    """A change as texts by place and item; Invalid for what has no place."""
    wanted: dict[str, dict[str, str | None]] = {}
    flat: dict[str, Any] = {}
    for name, value in change.items():
        if name == "preferences":
            inner = value if value is not None else {"tone": None, "avoid": []}
            flat |= {f"preferences.{key}": one for key, one in _table(name, inner).items()}
        else:
            flat[name] = value
    for place, value in flat.items():
        if place not in FIELDS:
            raise Invalid(
                f"The profile has no {place[:60]!r}.",
                "It has north_star, current_focus, work_context, key_relationships, patterns,"
                " preferences (tone, avoid), instructions and name.",
                param=place[:60].encode("utf-8", "replace").decode(),
            )
        if place == "north_star":
            stars = dict.fromkeys(DOMAINS) if value is None else _table(place, value)
            wanted[place] = {_domain(key): _text(place, one) for key, one in stars.items()}
        elif place in SINGLE:
            wanted[place] = {"": _text(place, value)}
        else:
            wanted[place] = _items(place, value)
    return wanted


def _items(place: str, value: object) -> dict[str, str | None]:
    if value is None:
        return {}
    if not isinstance(value, list) or len(value) > MOST_ITEMS:
        raise Invalid(f"{place} is a list of at most {MOST_ITEMS}.", "Send a list.", param=place)
    found: dict[str, str | None] = {}
    for one in value:
        name = ""
        if place == "key_relationships":
            table = {"name": one} if isinstance(one, str) else _table(place, one)
            name = " ".join((_text(place, table.get("name")) or "").split())
            if not name:
                raise Invalid("A relationship needs a name.", "Send name and text.", param=place)
            text = _text(place, table.get("text") or table.get("about") or name)
        else:
            text = _text(place, one)
        if text is not None:
            found[item_of(place, text, item=name)] = text
    return found


def _table(place: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Invalid(f"{place} is a table.", "Send an object.", param=place)
    return value


def _text(place: str, value: object) -> str | None:
    if isinstance(value, dict):
        value = value.get("text")
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > LONGEST:
        raise Invalid(
            f"{place} must be a text of at most {LONGEST:,} characters.", "Shorten it.", param=place
        )
    return _storable(place, value).strip() or None


def _storable(place: str, text: str) -> str:
    if _UNSTORABLE.search(text):
        raise Invalid(
            f"{place} holds a character that cannot be stored.",
            "Leave out NUL and half surrogates.",
            param=place,
        )
    return text


def _domain(name: str) -> str:
    if name not in DOMAINS:
        raise Invalid(
            f"There is no domain {name[:60]!r}.",
            f"There are {', '.join(DOMAINS)}.",
            param="north_star",
        )
    return name


def _profile_line(entry: Entry) -> Line:
    evidence: tuple[Evidence, ...] = ()
    if entry.session_id is not None and entry.index is not None:
        evidence = (
            Evidence(entry.session_id, entry.index, "user", entry.quote or "", entry.said_at),
        )
    return Line(
        entry.item,
        entry.value,
        entry.source,
        entry.confidence,
        entry.said_at,
        evidence,
        entry.cloud,
        entry.id,
    )
