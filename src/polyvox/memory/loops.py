"""Loops: what a person means to do, decided, avoids, keeps up or waits for, until it is over.

A loop is a chain of statements: what was said first, and what repeats it or stands in its place.
It has the id of the first and the words of the last.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, tzinfo
from typing import Literal

import msgspec

from polyvox.errors import Conflict, NotFound
from polyvox.ids import content_hash
from polyvox.memory.tables import episodes
from polyvox.memory.tables import statements as rows
from polyvox.memory.tables.statements import Horizon, Link, LoopType, Plan, Statement
from polyvox.memory.times import date_of
from polyvox.memory.values import Evidence, Partition
from polyvox.memory.view import Held, chains, view
from polyvox.store.database import Tx

LoopStatus = Literal["open", "needs_review", "stale", "done", "dropped"]
Ending = Literal["done", "dropped", "open"]
HOUR = 3_600_000_000
STALE: dict[Horizon, int] = {"today": 48 * HOUR, "this_week": 240 * HOUR, "ongoing": 504 * HOUR}
"""A loop that nobody spoke of for so long is stale; an ongoing one needs a review."""
URGENCY: dict[Horizon, int] = {"today": 5, "this_week": 3, "ongoing": 2}
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
    last_seen_at: int
    domain: str
    importance: int
    urgency: int
    salience: int
    """1 to 5: how much of the talk it takes up."""
    tags: tuple[str, ...]
    confidence: float
    evidence: tuple[Evidence, ...]
    cloud: bool
    """True if a cloud model may be told."""
    pinned: bool
    last: Statement
    """The statement whose words it has."""
    ids: frozenset[str]
    """Of all its statements."""
    ended_at: int | None = None
    """When it was done or dropped."""


def listed(
    tx: Tx,
    partition: Partition,
    now: int,
    *,
    statuses: Collection[LoopStatus] = LIVE,
    domain: str | None = None,
    limit: int | None = None,
    zone: tzinfo | None = UTC,
    said_by: int | None = None,
    without: str | None = None,
) -> list[Loop]:
    """The loops in these states, by priority; as far as they were spoken of by a time, and not in
    one session."""
    out = episodes.kept_out(tx, partition)

    def counts(one: Statement | Link) -> bool:
        late = said_by is not None and one.said_at > said_by
        there = one.session_id is not None
        return one.place not in out and not (there and (late or one.session_id == without))

    links = [
        link
        for link in rows.links(tx, partition, ["loop"])
        if link.by_id is not None or counts(link)  # one loop, whichever of its words are left out
    ]
    held = view(rows.every(tx, partition, ["loop"]), links)
    every = [
        _loop(kept, now)
        for chain in chains(list(held.values()))
        if (kept := [one for one in chain if counts(one.statement)])
        and (_spoken(kept) or not _spoken(chain))
    ]
    wanted = [
        one for one in every if one.status in statuses and (domain is None or one.domain == domain)
    ]
    return sorted(wanted, key=lambda one: _rank(one, date_of(now, zone)))[:limit]


def find(tx: Tx, partition: Partition, loop_id: str, now: int) -> Loop:
    """One loop, by the id of any of its statements."""
    for one in listed(tx, partition, now, statuses=ALL):
        if loop_id in one.ids:
            return one
    raise NotFound(f"There is no loop {loop_id}.", "List the loops to see what there is.")


def end(tx: Tx, partition: Partition, loop_id: str, status: Ending, now: int) -> Loop:
    """Mark a loop by hand: done, dropped, or open again."""
    loop = find(tx, partition, loop_id, now)
    kind: Literal["done", "dropped", "reopens"] = "reopens" if status == "open" else status
    at = max(now, loop.last_seen_at, (loop.ended_at or 0) + 1)
    rows.add(tx, partition, (), [by_hand(kind, loop.last.id, at)], now)
    return find(tx, partition, loop_id, now)


def by_hand(
    kind: Literal["done", "dropped", "ended", "reopens", "supersedes"],
    target: str,
    at: int,
    by: str | None = None,
) -> Link:
    """A link that a person makes."""
    return Link(content_hash(f"{kind} {target} {by} {at}"), kind, target, by, at)


def mark(tx: Tx, partition: Partition, loop_id: str, now: int, *, pinned: bool) -> Loop:
    """Pin a loop or not. One that is over cannot be pinned."""
    loop = find(tx, partition, loop_id, now)
    if pinned and loop.status in OVER:
        raise _is_over()
    rows.mark(tx, partition, loop.ids, pinned=pinned)
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
    """Put a loop in other words, or give it another day, by hand: a statement in its place."""
    loop = find(tx, partition, loop_id, now)
    old, plan = loop.last, loop.last.plan or Plan()
    day = None if clear_due else plan.due if due is None else due.isoformat()
    words = old.text if text is None else text
    if (words, day) == (old.text, plan.due):
        return loop
    if loop.status in OVER:
        raise _is_over()
    horizon = plan.horizon
    if day != plan.due:
        horizon = horizon_of(None if day is None else date.fromisoformat(day), date_of(now, zone))
    urgency = plan.urgency if horizon == plan.horizon else URGENCY[horizon]
    at = max(now, old.said_at + 1)
    new = replace(
        old,
        id=content_hash(f"correction {old.id} {words} {day} {at}"),
        text=words,
        said_at=at,
        source="manual",
        confidence=1.0,
        session_id=None,
        message_index=None,
        role=None,
        quote=None,
        plan=msgspec.structs.replace(plan, due=day, horizon=horizon, urgency=urgency),
    )
    rows.add(tx, partition, [new], [by_hand("supersedes", old.id, at, new.id)], now)
    return find(tx, partition, loop_id, now)


def horizon_of(due: date | None, said_on: date) -> Horizon:
    """How near a day is."""
    if due is None:
        return "ongoing"
    days = (due - said_on).days
    return "today" if days <= 1 else "this_week" if days <= 7 else "ongoing"


def _spoken(chain: Sequence[Held]) -> list[Statement]:
    return [one.statement for one in chain if one.statement.session_id is not None]


def _loop(chain: Sequence[Held], now: int) -> Loop:
    """One loop of its chain."""
    first, last = chain[0].statement, chain[-1].statement
    plan = last.plan or Plan()
    said = _spoken(chain)
    places = {one.place for one in said}
    quotes = (each for one in chain for each in one.evidence)
    evidence = tuple(
        dict.fromkeys(each for each in quotes if (each.session_id, each.index) in places)
    )
    seen_at = max([last.said_at, *(one.said_at for one in said)])
    pinned = any(one.statement.pinned for one in chain)
    ended = chain[-1] if chain[-1].over in ("done", "dropped", "ended") else None
    if ended is not None:
        status: LoopStatus = "done" if ended.over == "done" else "dropped"
    elif pinned or now - max(seen_at, chain[-1].reopened_at or 0) <= STALE[plan.horizon]:
        status = "open"
    else:
        status = "needs_review" if plan.horizon == "ongoing" else "stale"
    return Loop(
        id=first.id,
        type=plan.type,
        text=last.text,
        status=status,
        horizon=plan.horizon,
        due=plan.due,
        last_seen_at=seen_at,
        domain=plan.domain,
        importance=max((one.plan or Plan()).importance for one in [last, *said]),
        urgency=plan.urgency,
        salience=min(5, 1 + max(1, len(said)) + (plan.importance > 3)),
        tags=tuple(
            dict.fromkeys(tag for one in chain for tag in (one.statement.plan or Plan()).tags)
        ),
        confidence=max(one.statement.confidence for one in chain),
        evidence=evidence,
        cloud=all(one.statement.cloud for one in chain),
        pinned=pinned,
        last=last,
        ids=frozenset(one.statement.id for one in chain),
        ended_at=None if ended is None else ended.valid_to,
    )


def _rank(one: Loop, today: date) -> tuple[int, bool, bool, bool, int, int, int, str]:
    """Live before stale before over; pinned first; what needs a review behind what is open; then
    what is due, and what matters more."""
    last = one.last_seen_at
    if one.ended_at is not None:
        return 2, True, True, True, -one.ended_at, -last, -one.importance, one.id
    urgency, due = one.urgency, False
    if one.due is not None:
        left = (date.fromisoformat(one.due) - today).days
        urgency = 6 if left < 0 else 5 if left <= 1 else max(urgency, 3) if left <= 7 else urgency
        due = left <= 0
    weight = 2 * urgency + one.importance + one.salience
    quiet = one.status == "needs_review"
    dead = one.status not in LIVE
    return int(dead), not one.pinned, quiet, not due, -weight, -last, -one.importance, one.id


def _is_over() -> Conflict:
    return Conflict("This loop is over.", "Take it up again first.")
