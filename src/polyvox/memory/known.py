"""What answers a question about the memory itself: who they are, what was talked about last time,
what is open, what they asked for. Nothing is searched: it is read, with its dates and sources."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import tzinfo
from itertools import islice
from typing import TypeAlias

from polyvox.memory import facts, loops, profile
from polyvox.memory.recall import Reader
from polyvox.memory.tables import derived, remembered
from polyvox.memory.values import Evidence, Item, Partition
from polyvox.store.database import Tx

LATEST = 3
"""Sessions that are told of."""
MESSAGES = 100
"""The last so many messages are looked through for the sessions that have no summary."""
MOST = 20
INSTRUCTIONS = ("name", "preferences.avoid", "instructions")

Ask: TypeAlias = "Callable[[Tx, Partition, int, Reader, tzinfo | None], list[Item]]"


def read(
    tx: Tx,
    partition: Partition,
    kind: str,
    now: int,
    reader: Reader,
    hidden: Collection[str],
    zone: tzinfo | None,
) -> list[Item]:
    """What answers one of KINDS, as far as the reader may know it."""
    return [one for one in KINDS[kind](tx, partition, now, reader, zone) if one.id not in hidden]


def _about_me(
    tx: Tx, partition: Partition, now: int, reader: Reader, _zone: tzinfo | None
) -> list[Item]:
    told = profile.read(tx, partition, now, cloud=reader.cloud).lines
    lines = [_line(one) for place, some in told.items() if place != "instructions" for one in some]
    current = (
        facts.item_of(one, 1.0)
        for one in facts.newest(tx, partition, now)
        if one.statement.advisor_id in (None, reader.advisor_id)
        and (one.statement.cloud or not reader.cloud)
    )
    return [*lines, *islice(current, MOST)]


def _instructions(
    tx: Tx, partition: Partition, now: int, reader: Reader, _zone: tzinfo | None
) -> list[Item]:
    told = profile.read(tx, partition, now, cloud=reader.cloud)
    return [_line(one) for place in INSTRUCTIONS for one in told.all(place)]


def _open_loops(
    tx: Tx, partition: Partition, now: int, reader: Reader, zone: tzinfo | None
) -> list[Item]:
    live = loops.listed(tx, partition, now, zone=zone, said_by=now, limit=MOST)
    return [
        Item(one.id, one.text, 1.0, one.type, one.evidence, one.last_seen_at)
        for one in live
        if one.cloud or not reader.cloud
    ]


def _last_time(
    tx: Tx, partition: Partition, now: int, reader: Reader, _zone: tzinfo | None
) -> list[Item]:
    """The newest summaries; of later sessions, which have none, the person's last words."""
    written = [
        one
        for one in derived.list_summaries(tx, partition, "session", LATEST, now)
        if one.cloud or not reader.cloud
    ]
    said = remembered.persons_words(tx, partition, now, MESSAGES)
    hard = {
        session for session, _ in derived.hard(tx, partition, {one.session_id for one, *_ in said})
    }
    found = {
        one.subject: Item(one.subject, one.text, 1.0, "summary", (), one.told_at) for one in written
    }
    for one, at, cloud in said:
        if one.session_id not in {*found, *hard} and (cloud or not reader.cloud):
            quote = Evidence(one.session_id, one.index, one.role, one.text, one.said_at)
            found[one.session_id] = Item(one.id, one.text, 1.0, "episode", (quote,), at)
    return sorted(found.values(), key=lambda one: -(one.valid_from or 0))[:LATEST]


def _line(line: profile.Line) -> Item:
    named = line.item and line.item.casefold() not in line.text.casefold()
    text = f"{line.item}: {line.text}" if named and line.item[:1].isupper() else line.text
    return Item(line.id, text, 1.0, "profile", line.evidence, line.said_at)


KINDS: Mapping[str, Ask] = {
    "about_me": _about_me,
    "last_time": _last_time,
    "open_loops": _open_loops,
    "instructions": _instructions,
}
