"""The profile: who a person is and how they want to be answered, always loaded.

Its lines are statements: for each place the newest holds. Whatever is written by hand stands in
place of what it changes; taking a line back ends it, and it is not inferred again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from polyvox.errors import Conflict, Invalid, NotFound
from polyvox.ids import content_hash
from polyvox.memory.loops import by_hand
from polyvox.memory.tables import episodes
from polyvox.memory.tables import statements as rows
from polyvox.memory.tables.statements import Link, Source, Statement, plain
from polyvox.memory.values import Evidence, Partition
from polyvox.memory.view import Held, view
from polyvox.store.database import Tx

Domain = Literal["relationships", "work", "health", "spirituality", "general"]
DOMAINS: tuple[Domain, ...] = ("relationships", "work", "health", "spirituality", "general")
SINGLE = ("current_focus", "work_context", "preferences.tone", "name")
LISTS = ("patterns", "preferences.avoid", "instructions")
PLACES = ("north_star", "key_relationships", *SINGLE, *LISTS)
LONGEST = 2_000
MOST_ITEMS = 100
FRESH_DAYS = 30
"""A profile of which nothing was said for longer is called stale."""
DAY = 86_400_000_000
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
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

    place: str
    item: str
    """Which one of several: a domain, a name; else empty."""
    text: str
    source: Source
    confidence: float
    said_at: int
    evidence: tuple[Evidence, ...]
    cloud: bool
    id: str


@dataclass(frozen=True, slots=True)
class Profile:
    """All of it, as it is now."""

    lines: Mapping[str, tuple[Line, ...]]
    """By place, the oldest first."""
    version: int = 0
    updated_at: int | None = None

    def one(self, place: str) -> Line | None:
        """The line at a place that has room for one."""
        return next(iter(self.all(place)), None)

    def all(self, place: str) -> tuple[Line, ...]:
        """The lines at a place."""
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
        return any(not item or line.item == item for line in self.all(name))

    def days_old(self, now: int) -> int | None:
        """Whole days since the last of it was said or written."""
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
    """The profile; `cloud`: for a cloud model, less what must not go there; `without` a session:
    as if nothing had been said in it."""
    out = episodes.kept_out(tx, partition)

    def counts(one: Statement | Link) -> bool:
        return one.place not in out and (one.session_id is None or one.session_id != without)

    said = [one for one in rows.every(tx, partition, ["profile", "instruction"]) if counts(one)]
    links = [one for one in rows.links(tx, partition, ["profile", "instruction"]) if counts(one)]
    found: dict[str, list[Line]] = {}
    for held in view(said, links, as_of).values():
        one = held.statement
        if held.current and not one.excluded and (one.cloud or not cloud):
            found.setdefault(place_of(one), []).append(_line(held))
    version, updated_at = rows.version(tx, partition)
    lines = {
        place: tuple(sorted(some, key=lambda line: (line.said_at, line.item, line.id)))
        for place, some in found.items()
    }
    return Profile(lines, version, updated_at)


def place_of(one: Statement) -> str:
    """The place of a statement in the profile."""
    return "instructions" if one.kind == "instruction" else one.attribute


def add(tx: Tx, partition: Partition, place: str, item: str, text: str, now: int) -> Profile:
    """Write a line at a place; where there is room for one only, in place of what stood there."""
    if place not in PLACES:
        raise Invalid(
            f"The profile has no {place[:60]!r}.", f"It has {', '.join(PLACES)}.", param="place"
        )
    text, item = _filled(place, text), _item(place, item, text, param="item")
    there = read(tx, partition).all(place)
    old = next((one for one in there if one.item == item), None)
    if old is not None and plain(old.text) == plain(text):
        raise Conflict("This is in the profile already.", "Reword it, or leave it.")
    if old is None and len(there) >= MOST_ITEMS:
        raise Invalid(f"{place} holds at most {MOST_ITEMS} lines.", "Take one back first.")
    at, cloud = _moment(tx, partition, now), old is None or old.cloud
    rows.add(tx, partition, [_manual(place, item, text, at, cloud=cloud)], (), now)
    return read(tx, partition)


def change(tx: Tx, partition: Partition, line_id: str, text: str, now: int) -> Profile:
    """Put a line in other words; what must not go to a cloud model stays so."""
    profile = read(tx, partition)
    old = _find(profile, line_id)
    text = _filled(old.place, text)
    if text == old.text:
        return profile
    at = _moment(tx, partition, now)
    item = _item(old.place, old.item, text)
    new = _manual(old.place, item, text, at, cloud=old.cloud)
    rows.add(tx, partition, [new], [by_hand("supersedes", old.id, at, new.id)], now)
    return read(tx, partition)


def take_back(tx: Tx, partition: Partition, line_id: str, now: int) -> Profile:
    """End a line. The words it was taken from stay."""
    old = _find(read(tx, partition), line_id)
    rows.add(tx, partition, (), [by_hand("ended", old.id, _moment(tx, partition, now))], now)
    rows.changed(tx, partition, now)
    return read(tx, partition)


def patch(tx: Tx, partition: Partition, changes: Mapping[str, Any], now: int) -> Profile:
    """Change the profile by hand: a list replaces the list, a null takes back."""
    profile = read(tx, partition)
    at = _moment(tx, partition, now)
    made: list[Statement] = []
    links: list[Link] = []
    for place, items in _wanted(changes).items():
        there = {line.item: line for line in profile.all(place)}
        several = place in LISTS or place == "key_relationships"
        for item, text in items.items():
            old = there.get(item)
            if text is None and old is not None:
                links.append(by_hand("ended", old.id, at))
            # A list is sent whole: what it repeats is no statement. A line alone is one.
            same = old is not None and text == old.text and (several or old.source != "inferred")
            if text is not None and not same:
                made.append(_manual(place, item, text, at))
        if several:
            links += [by_hand("ended", there[item].id, at) for item in there if item not in items]
    rows.add(tx, partition, made, links, now)
    if links:
        rows.changed(tx, partition, now)
    return read(tx, partition)


def _find(profile: Profile, line_id: str) -> Line:
    for lines in profile.lines.values():
        for line in lines:
            if line.id == line_id:
                return line
    raise NotFound(
        "The profile does not have this line any more.",
        "It was changed or forgotten meanwhile; look at it again.",
    )


def _moment(tx: Tx, partition: Partition, now: int) -> int:
    """Later than everything that was ever in the profile: a change by hand holds."""
    said = rows.every(tx, partition, ["profile", "instruction"])
    links = rows.links_about(tx, partition, {one.id for one in said})
    times = [one.said_at for one in said] + [link.said_at for link in links]
    return max([now, *(time + 1 for time in times)])


def _manual(place: str, item: str, text: str, at: int, *, cloud: bool = True) -> Statement:
    return Statement(
        content_hash(f"manual {place} {item} {text} {at}"),
        "instruction" if place == "instructions" else "profile",
        "user" if place == "instructions" else item,
        "" if place == "instructions" else place,
        text,
        at,
        source="manual",
        cloud=cloud,
    )


def _line(held: Held) -> Line:
    one = held.statement
    return Line(
        place := place_of(one),
        plain(one.text) if place in LISTS else one.subject,
        one.text,
        one.source,
        one.confidence,
        one.said_at,
        held.evidence,
        one.cloud,
        one.id,
    )


# -- a change as texts by place and item -----------------------------------------------------------


def _wanted(change: Mapping[str, Any]) -> dict[str, dict[str, str | None]]:
    wanted: dict[str, dict[str, str | None]] = {}
    flat: dict[str, Any] = {}
    for name, value in change.items():
        if name == "preferences":
            inner = value if value is not None else {"tone": None, "avoid": []}
            flat |= {f"preferences.{key}": one for key, one in _table(name, inner).items()}
        else:
            flat[name] = value
    for place, value in flat.items():
        if place not in PLACES:
            raise Invalid(
                f"The profile has no {place[:60]!r}.",
                "It has north_star, current_focus, work_context, key_relationships, patterns,"
                " preferences (tone, avoid), instructions and name.",
                param=place[:60].encode("utf-8", "replace").decode(),
            )
        if place == "north_star":
            stars = dict.fromkeys(DOMAINS) if value is None else _table(place, value)
            wanted[place] = {_item(place, key, ""): _text(place, one) for key, one in stars.items()}
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
        table: Mapping[str, Any] = {"text": one}
        if place == "key_relationships":
            table = {"name": one} if isinstance(one, str) else _table(place, one)
        name = _text(place, table.get("name")) or ""
        text = _text(place, table.get("text") or table.get("about") or name)
        if text is not None:
            found[_item(place, name, text)] = text
    return found


def _item(place: str, name: str, text: str, param: str = "") -> str:
    """Which one of several at a place a line is."""
    if place in SINGLE:
        return ""
    if place in LISTS:
        return plain(text)
    name = " ".join(name.split())
    if place == "key_relationships" and not name:
        raise Invalid("A person needs a name.", "Send name and text.", param=param or place)
    if place == "north_star" and (name := plain(name)) not in DOMAINS:
        raise Invalid(
            f"{name[:60]!r} is no domain of life.",
            f"There are {', '.join(DOMAINS)}.",
            param=param or place,
        )
    return name


def _table(place: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Invalid(f"{place} is a table.", "Send an object.", param=place)
    return value


def _text(place: str, value: object) -> str | None:
    if isinstance(value, dict):
        value = value.get("text")
    if value is None:
        return None
    if not isinstance(value, str):
        raise Invalid(f"{place} must be a text.", "Send a text.", param=place)
    return _storable(place, value).strip() or None


def _filled(place: str, text: str) -> str:
    if not (text := _storable(place, text).strip()):
        raise Invalid("A line of the profile needs words.", "Write some.", param="text")
    return text


def _storable(place: str, text: str) -> str:
    if len(text) > LONGEST:
        raise Invalid(
            f"{place} must be a text of at most {LONGEST:,} characters.", "Shorten it.", param=place
        )
    if _UNSTORABLE.search(text):
        raise Invalid(
            f"{place} holds a character that cannot be stored.",
            "Leave out NUL and half surrogates.",
            param=place,
        )
    return text
