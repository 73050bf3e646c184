"""Loops: what a person means to do, decided, avoids, keeps up or waits for, until it is over.

A loop is every sighting of the same thing; it is over when that was said, or marked by hand, after
the last one. All of it is computed from rows that are only ever added, so their order of arrival
changes nothing, and saying it again takes it up again. One that is pinned comes first and does not
grow old; it is so in each of its sightings, so it stays pinned whichever of them goes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, tzinfo
from typing import Literal

from polyvox.errors import Conflict, NotFound
from polyvox.memory import rules
from polyvox.memory.likeness import Endings, Group, groups, joined
from polyvox.memory.statements import id_of
from polyvox.memory.tables import episodes
from polyvox.memory.tables import loops as rows
from polyvox.memory.tables.loops import Ended, Ending, Horizon, LoopType, Sighting
from polyvox.memory.times import date_of
from polyvox.memory.values import Episode, Evidence, Partition
from polyvox.memory.words import words_of
from polyvox.store.database import Tx

LoopStatus = Literal["open", "needs_review", "stale", "done", "dropped"]
HOUR = 3_600_000_000
STALE: dict[Horizon, int] = {"today": 48 * HOUR, "this_week": 240 * HOUR, "ongoing": 504 * HOUR}
"""So long after it was last spoken of, a loop is stale; an ongoing one needs a review."""
_URGENCY: dict[Horizon, int] = {"today": 5, "this_week": 3, "ongoing": 2}
_IMPORTANCE: dict[LoopType, int] = {
    "commitment": 3, "decision": 3, "friction": 3, "habit": 2, "thread": 2,
}  # fmt: skip
LIVE: tuple[LoopStatus, ...] = ("open", "needs_review")
OVER: tuple[LoopStatus, ...] = ("done", "dropped")
ALL: tuple[LoopStatus, ...] = (*LIVE, "stale", *OVER)


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop as it is now."""

    id: str
    type: LoopType
    text: str
    status: LoopStatus
    horizon: Horizon
    due: str | None
    first_seen_at: int
    last_seen_at: int
    domain: str
    importance: int
    urgency: int
    salience: int
    """1 to 5: how much of the talk it takes up."""
    tags: tuple[str, ...]
    confidence: float
    topics: frozenset[str]
    evidence: tuple[Evidence, ...]
    cloud: bool
    """Whether a cloud model may be told."""
    pinned: bool = False
    ended_at: int | None = None
    """When it was done or dropped."""


def topic_of(text: str) -> str:
    """What a loop is about, whenever it is due: its words, in no order."""
    return " ".join(sorted(set(words_of(rules.without_times(text)))))


def found_in(
    episode: Episode, said_at: int, cloud: bool, zone: tzinfo | None = UTC
) -> tuple[list[Sighting], list[Ended]]:
    """What a message says by plain rules, without a model; its days are days there."""
    if episode.role != "user":
        return [], []
    seen = [
        sighting(
            episode,
            said_at,
            type_=one.type,
            text=one.text,
            quote=one.quote,
            horizon=one.horizon,
            due=one.due,
            cloud=cloud,
        )
        for one in rules.loops_in(episode.text, date_of(said_at, zone))
    ]
    over = [
        ended(episode, said_at, status=one.status, text=one.text, quote=one.quote)
        for one in rules.endings_in(episode.text)
    ]
    return seen, over


def sighting(
    episode: Episode,
    said_at: int,
    *,
    type_: LoopType,
    text: str,
    quote: str,
    horizon: Horizon,
    due: date | None,
    cloud: bool,
    domain: str = "general",
    importance: int | None = None,
    urgency: int | None = None,
    tags: Sequence[str] = (),
    confidence: float = 0.8,
) -> Sighting:
    """A loop that a message speaks of; the same one gets the same id every time."""
    return Sighting(
        id_of("sighting", episode.session_id, episode.index, quote, topic_of(text)),
        topic_of(text),
        type_,
        text,
        said_at,
        horizon,
        None if due is None else due.isoformat(),
        domain,
        _IMPORTANCE[type_] if importance is None else importance,
        _URGENCY[horizon] if urgency is None else urgency,
        tuple(tags),
        confidence,
        episode.session_id,
        episode.index,
        quote,
        cloud,
    )


def ended(
    episode: Episode, said_at: int, *, status: Literal["done", "dropped"], text: str, quote: str
) -> Ended:
    """The end of something that a message speaks of."""
    return Ended(
        id_of("ending", episode.session_id, episode.index, quote),
        status,
        None,
        tuple(sorted(set(words_of(rules.without_times(text))))),
        said_at,
        episode.session_id,
        episode.index,
        quote,
    )


def view(
    sightings: Sequence[Sighting],
    endings: Sequence[Ended],
    now: int,
    statuses: Collection[LoopStatus] = ALL,
    zone: tzinfo | None = UTC,
) -> list[Loop]:
    """Every loop in these states, by priority: of those that live what is pinned, then what is due,
    then what is open before what needs a review, each by how soon and how much it matters; then
    what is stale; what is over last, by when it ended, the newest first."""
    ends = Endings(endings)
    found = []
    for group in groups(sightings):
        status, ended_at = _status(group, ends, now)
        if status in statuses:
            found.append(_loop(group, status, ended_at))
    return sorted(found, key=lambda one: _rank(one, date_of(now, zone)))


def _loop(group: Group, status: LoopStatus, ended_at: int | None) -> Loop:
    first, last = group.sightings[0], group.sightings[-1]
    # A correction by hand rests on the words that it corrects: they were spoken once.
    spoken: dict[tuple[str, int, str], Sighting] = {}
    for one in group.sightings:
        spoken.setdefault((one.session_id, one.index, one.quote), one)
    return Loop(
        id=id_of("loop", first.topic),
        type=last.type,
        text=last.text,
        status=status,
        horizon=last.horizon,
        due=last.due,
        first_seen_at=first.said_at,
        last_seen_at=last.said_at,
        domain=last.domain,
        importance=max(one.importance for one in group.sightings),
        urgency=last.urgency,
        salience=min(5, 1 + len(spoken) + (last.importance > 3)),
        tags=tuple(dict.fromkeys(tag for one in group.sightings for tag in one.tags)),
        confidence=max(one.confidence for one in group.sightings),
        topics=group.topics,
        evidence=tuple(
            Evidence(one.session_id, one.index, "user", one.quote, one.said_at)
            for one in spoken.values()
        ),
        cloud=all(one.cloud for one in group.sightings),
        pinned=group.pinned,
        ended_at=ended_at,
    )


def _status(group: Group, endings: Endings, now: int) -> tuple[LoopStatus, int | None]:
    """How a loop is now; since when, if it is over."""
    last = group.sightings[-1]
    over = [one for one in endings.of(group) if _after(one, last)]
    seen_at = last.said_at
    if over:
        latest = max(over, key=lambda one: (one.said_at, one.topic is not None, one.id))
        if latest.status != "open":
            return latest.status, latest.said_at
        seen_at = latest.said_at
    if group.pinned or now - seen_at <= STALE[last.horizon]:
        return "open", None
    return "needs_review" if last.horizon == "ongoing" else "stale", None


def _after(one: Ended, last: Sighting) -> bool:
    if one.topic is not None:
        return one.said_at >= last.said_at
    return (one.said_at, one.index or 0) > (last.said_at, last.index)


def _rank(one: Loop, today: date) -> tuple[int, bool, bool, bool, int, int, int, str]:
    last = one.last_seen_at
    if one.ended_at is not None:
        return 2, True, True, True, -one.ended_at, -last, -one.importance, one.id
    urgency, due = one.urgency, False
    if one.due is not None:
        left = (date.fromisoformat(one.due) - today).days
        urgency = 6 if left < 0 else 5 if left <= 1 else max(urgency, 3) if left <= 7 else urgency
        due = left <= 0
    weight = 2 * urgency + one.importance + one.salience
    # What is due presses, however long ago it was spoken of.
    quiet = one.status == "needs_review" and not due
    return (
        int(one.status not in LIVE),
        not one.pinned,
        not due,
        quiet,
        -weight,
        -last,
        -one.importance,
        one.id,
    )


def add(
    tx: Tx, partition: Partition, sightings: Sequence[Sighting], endings: Sequence[Ended] = ()
) -> int:
    """Store what is not there yet; answers how much was new. What is said anew of a pinned loop is
    pinned with it."""
    new = rows.add(tx, partition, sightings, endings)
    ids = {one.id for one in sightings}
    if ids and rows.any_pinned(tx, partition):
        every = rows.sightings(tx, partition)
        rows.mark(tx, partition, joined(every, ids), pinned=True)
    return new


def listed(
    tx: Tx,
    partition: Partition,
    now: int,
    *,
    statuses: Sequence[LoopStatus] = LIVE,
    domain: str | None = None,
    limit: int | None = None,
    zone: tzinfo | None = UTC,
    said_by: int | None = None,
    without: str | None = None,
) -> list[Loop]:
    """The loops in these states, by priority; as far as they were spoken of by a time, and not in
    one session."""
    found = [
        one
        for one in _all(tx, partition, now, statuses, zone, said_by, without)
        if domain is None or one.domain == domain
    ]
    return found if limit is None else found[:limit]


def named(
    tx: Tx, partition: Partition, sightings: Collection[Sighting]
) -> tuple[tuple[str, str], ...]:
    """Sightings as (id, text), by the id of the loop that each belongs to."""
    wanted = {one.id for one in sightings}
    return tuple(
        dict.fromkeys(
            (id_of("loop", group.sightings[0].topic), one.text)
            for group in groups(rows.sightings(tx, partition))
            for one in group.sightings
            if one.id in wanted
        )
    )


def find(tx: Tx, partition: Partition, loop_id: str, now: int) -> Loop:
    """One loop."""
    for one in _all(tx, partition, now):
        if one.id == loop_id:
            return one
    raise NotFound(f"There is no loop {loop_id}.", "List the loops to see what there is.")


def end(tx: Tx, partition: Partition, loop_id: str, status: Ending, now: int) -> Loop:
    """Mark a loop by hand: done, dropped, or open again."""
    one = find(tx, partition, loop_id, now)
    at = max(now, one.last_seen_at)
    topic = min(one.topics)
    marks = [each.said_at for each in _manual(tx, partition) if each.topic in one.topics]
    at = max([at, *(mark + 1 for mark in marks)])
    made = Ended(id_of("mark", topic, status, at), status, topic, (), at)
    rows.add(tx, partition, (), [made])
    return find(tx, partition, loop_id, now)


def mark(tx: Tx, partition: Partition, loop_id: str, now: int, *, pinned: bool) -> Loop:
    """Pin a loop or not. What is over cannot be pinned; one that was before is again, once it is
    taken up again."""
    one = find(tx, partition, loop_id, now)
    if pinned and one.status in OVER:
        raise _is_over()
    # Those in excluded messages belong to it too, or they would pin it again when they return.
    out = episodes.kept_out(tx, partition)
    ids = [
        each.id
        for group in groups(rows.sightings(tx, partition))
        if any(each.topic in one.topics for each in group.sightings)
        for each in group.sightings
        if each.topic in one.topics or (each.session_id, each.index) in out
    ]
    rows.mark(tx, partition, ids, pinned=pinned)
    return find(tx, partition, loop_id, now)


def correct(
    tx: Tx,
    partition: Partition,
    loop_id: str,
    now: int,
    *,
    text: str | None = None,
    due: date | None = None,
    clear_due: bool = False,
    zone: tzinfo | None = UTC,
) -> Loop:
    """Put a loop in other words, or give it another day, by hand. It is a sighting of its own with
    the same evidence, so it goes when those words are forgotten, and saying it anew comes after."""
    one = find(tx, partition, loop_id, now)
    every = [each for each in rows.sightings(tx, partition) if each.topic in one.topics]
    last = max(every, key=lambda each: (each.said_at, each.index, each.id))
    wanted = None if clear_due else last.due if due is None else due.isoformat()
    day = None if wanted is None else date.fromisoformat(wanted)
    horizon = rules.horizon_of(day, date_of(now, zone)) if wanted != last.due else last.horizon
    words = last.text if text is None else text
    if (words, wanted) == (last.text, last.due):
        return one
    if one.status in OVER:
        raise _is_over()
    at = max(now, last.said_at + 1)
    new = replace(
        last,
        id=id_of("correction", last.id, words, wanted, at),
        text=words,
        due=wanted,
        horizon=horizon,
        urgency=last.urgency if horizon == last.horizon else _URGENCY[horizon],
        said_at=at,
        confidence=1.0,
    )
    rows.add(tx, partition, [new])
    return find(tx, partition, loop_id, now)


def _is_over() -> Conflict:
    return Conflict("This loop is over.", "Take it up again first.")


def _manual(tx: Tx, partition: Partition) -> Iterator[Ended]:
    return (one for one in rows.endings(tx, partition) if one.topic is not None)


def _all(
    tx: Tx,
    partition: Partition,
    now: int,
    statuses: Collection[LoopStatus] = ALL,
    zone: tzinfo | None = UTC,
    said_by: int | None = None,
    without: str | None = None,
) -> list[Loop]:
    out = episodes.kept_out(tx, partition)

    def heard(one: Sighting | Ended) -> bool:
        late = said_by is not None and one.said_at > said_by
        return one.session_id is None or not (late or one.session_id == without)

    seen = [
        one
        for one in rows.sightings(tx, partition)
        if (one.session_id, one.index) not in out and heard(one)
    ]
    since = min((one.said_at for one in seen), default=0)
    over = [one for one in rows.endings(tx, partition, since=since) if heard(one)]
    return view(seen, over, now, statuses, zone)
