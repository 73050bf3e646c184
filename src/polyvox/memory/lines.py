"""The profile, one line at a time: what a person adds, rewords or takes back by hand.

A line is named by its id, which changes with its words: who looks at an old profile cannot change
what somebody else has changed since. Every other line keeps its source and its evidence, and what
must not go to a cloud model stays so in other words.
"""

from __future__ import annotations

from polyvox.errors import Conflict, Invalid, NotFound
from polyvox.memory import statements
from polyvox.memory.statements import (
    DOMAINS,
    FIELDS,
    LISTS,
    LONGEST,
    MOST_ITEMS,
    Line,
    Profile,
    id_of,
    plain,
)
from polyvox.memory.tables import derived as rows
from polyvox.memory.tables.derived import Entry
from polyvox.memory.values import Partition
from polyvox.store.database import Tx


def add(tx: Tx, partition: Partition, place: str, item: str, text: str, now: int) -> Profile:
    """Write a line at a place; where there is room for one only, in place of what stood there.
    `item` is the domain of a north star or the name of a person."""
    lines = statements.lines_of(statements.entries(tx, partition))
    name = _item(place, item, _checked(place, text))
    there = lines.get(place, ())
    old = next((one for one in there if one.item == name), None)
    if old is not None and plain(old.text) == plain(text):
        raise Conflict("This is in the profile already.", "Reword it, or leave it.")
    if old is None and len(there) >= MOST_ITEMS:
        raise Invalid(
            f"{place} holds at most {MOST_ITEMS} lines.", "Take one back first.", param="place"
        )
    at = _moment(tx, partition, now)
    made = _entry(place, name, text, at, cloud=old is None or old.cloud)
    rows.add(tx, partition, [made], now)
    return statements.read(tx, partition)


def change(tx: Tx, partition: Partition, line_id: str, text: str, now: int) -> Profile:
    """Put a line in other words."""
    place, old = _find(tx, partition, line_id)
    text = _checked(place, text)
    if text == old.text:
        return statements.read(tx, partition)
    at = _moment(tx, partition, now)
    name = statements.item_of(place, text) if place in LISTS else old.item
    made = [_entry(place, name, text, at, cloud=old.cloud)]
    if name != old.item:
        made.append(_entry(place, old.item, None, at))
    rows.add(tx, partition, made, now)
    return statements.read(tx, partition)


def take_back(tx: Tx, partition: Partition, line_id: str, now: int) -> Profile:
    """Let a line hold no more. What it was taken from stays, and it is not inferred again."""
    place, old = _find(tx, partition, line_id)
    at = _moment(tx, partition, now)
    rows.add(tx, partition, [_entry(place, old.item, None, at)], now)
    return statements.read(tx, partition)


def _find(tx: Tx, partition: Partition, line_id: str) -> tuple[str, Line]:
    for place, lines in statements.lines_of(statements.entries(tx, partition)).items():
        for one in lines:
            if one.id == line_id:
                return place, one
    raise NotFound(
        "The profile does not have this line any more.",
        "It was changed or forgotten meanwhile; look at it again.",
    )


def _moment(tx: Tx, partition: Partition, now: int) -> int:
    """Later than everything that stands in the profile: a change by hand holds."""
    return max([now, *(one.said_at + 1 for one in statements.entries(tx, partition))])


def _entry(place: str, item: str, text: str | None, at: int, *, cloud: bool = True) -> Entry:
    made = id_of("manual", place, item, text, at)
    return Entry(made, place, item, text or "", at, "manual", retracts=text is None, cloud=cloud)


def _checked(place: str, text: str) -> str:
    if place not in FIELDS:
        raise Invalid(
            f"The profile has no {place[:60]!r}.", f"It has {', '.join(FIELDS)}.", param="place"
        )
    text = text.strip()
    if not text or len(text) > LONGEST:
        raise Invalid(
            f"A line of the profile has 1 to {LONGEST:,} characters.", "Shorten it.", param="text"
        )
    return text


def _item(place: str, item: str, text: str) -> str:
    name = " ".join(item.split())
    if place == "north_star" and plain(name) not in DOMAINS:
        raise Invalid(
            f"{name[:60]!r} is no domain of life.", f"There are {', '.join(DOMAINS)}.", param="item"
        )
    if place == "key_relationships" and not name:
        raise Invalid("A person needs a name.", "Say who it is.", param="item")
    return statements.item_of(place, text, item=name)
