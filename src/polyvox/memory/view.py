"""The current view of statements: which of them hold, which are over, and since when. Pure.

A statement is superseded by a newer one of its slot (same subject, same attribute), or by one that
a link names. Which of the two is newer is decided by when they were said, never by the order in
which they arrived; what was only inferred never stands against what was said or written by hand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from polyvox.memory.tables.statements import Link, Source, Statement, plain, slot_of
from polyvox.memory.values import Evidence, Status

_RANK: dict[Source, int] = {"inferred": 0, "manual": 1, "user_stated": 2}
Over = Literal["superseded", "done", "dropped", "ended"]


@dataclass(frozen=True, slots=True)
class Held:
    """A statement with the time for which it held."""

    statement: Statement
    valid_to: int | None = None
    """None: it holds."""
    over: Over | None = None
    by: str | None = None
    """The statement that stands in its place, or the link that says it is over."""
    evidence: tuple[Evidence, ...] = ()
    """Where it was said, repetitions included, the oldest first."""
    said_again: bool = False
    """True if the statement in its place says the same: together they are one."""

    @property
    def status(self) -> Status:
        """Current, or superseded by whatever ended it."""
        return "current" if self.current else "superseded"

    @property
    def current(self) -> bool:
        """True if it holds."""
        return self.valid_to is None


def view(
    statements: Iterable[Statement], links: Iterable[Link] = (), as_of: int | None = None
) -> dict[str, Held]:
    """Every statement that was known at a time, by id, with when it held. All that bears on them
    must be given (see `statements.about`)."""
    known = {one.id: one for one in statements if as_of is None or one.said_at <= as_of}
    said = [
        link
        for link in links
        if (as_of is None or link.said_at <= as_of)
        and link.target_id in known
        and (link.by_id is None or link.by_id in known)
    ]
    reopened: dict[str, int] = {}
    for link in said:
        if link.kind == "reopens":
            reopened[link.target_id] = max(link.said_at, reopened.get(link.target_id, 0))
    ends: dict[str, list[Held]] = defaultdict(list)
    for old, new in [*_by_slot(known.values()), *_by_link(said, known)]:
        if new.said_at > reopened.get(old.id, -1):
            ends[old.id].append(Held(old, max(new.said_at, old.said_at), "superseded", new.id))
    for link in said:
        old = known[link.target_id]
        counts = link.said_at >= old.said_at and link.said_at > reopened.get(old.id, -1)
        if link.kind in ("done", "dropped", "ended") and counts:
            ends[old.id].append(Held(old, link.said_at, link.kind, link.id))
    held = {
        one.id: min(
            ends[one.id], key=lambda end: (end.valid_to or 0, end.by or ""), default=Held(one)
        )
        for one in known.values()
    }
    pairs = {frozenset((link.target_id, link.by_id)) for link in said if link.kind == "repeats"}
    again: dict[str, list[Statement]] = defaultdict(list)
    for one in held.values():
        if one.over == "superseded" and one.by is not None:
            same = plain(one.statement.text) == plain(known[one.by].text)
            if same or frozenset((one.statement.id, one.by)) in pairs:
                again[one.by].append(one.statement)
    repeated = {old.id for some in again.values() for old in some}
    return {
        name: replace(one, evidence=_evidence(one.statement, again), said_again=name in repeated)
        for name, one in held.items()
    }


def _by_slot(statements: Iterable[Statement]) -> list[tuple[Statement, Statement]]:
    """Pairs (older, newer) of the same slot."""
    slots: dict[str, list[Statement]] = defaultdict(list)
    for one in statements:
        slots[slot_of(one)].append(one)
    pairs = []
    for slot in slots.values():
        line = sorted(slot, key=_order)
        for place, old in enumerate(line):
            sure = old.source != "inferred"
            before = [one for one in line[:place] if one.source != "inferred"]
            if not sure and before:
                pairs.append((old, before[-1]))
            after = (one for one in line[place + 1 :] if one.source != "inferred" or not sure)
            if (new := next(after, None)) is not None:
                pairs.append((old, new))
    return pairs


def _by_link(
    links: Iterable[Link], known: dict[str, Statement]
) -> list[tuple[Statement, Statement]]:
    """Pairs (older, newer) that links name; repeating something takes its place too."""
    pairs = []
    for link in links:
        if link.kind in ("supersedes", "repeats") and link.by_id is not None:
            first, second = sorted((known[link.target_id], known[link.by_id]), key=_order)
            if second.source != "inferred" or first.source == "inferred":
                pairs.append((first, second))
            else:
                pairs.append((second, first))
    return pairs


def _order(one: Statement) -> tuple[int, int, str, int, str]:
    """By when it was said; at the same moment the surer source wins, then what comes later."""
    place = one.place or ("", 0)
    return one.said_at, _RANK[one.source], *place, one.id


def _evidence(one: Statement, again: Mapping[str, Sequence[Statement]]) -> tuple[Evidence, ...]:
    """Where a statement was said, and where the same was said before."""
    same, fresh = {one.id: one}, [one]
    while fresh:
        more = [old for each in fresh for old in again.get(each.id, ()) if old.id not in same]
        same |= {old.id: old for old in more}
        fresh = more
    return tuple(each for old in sorted(same.values(), key=_order) for each in _said(old))


def _said(one: Statement) -> tuple[Evidence, ...]:
    if one.session_id is None or one.message_index is None:
        return ()
    return (
        Evidence(
            one.session_id, one.message_index, one.role or "user", one.quote or "", one.said_at
        ),
    )


def chains(held: Sequence[Held]) -> list[list[Held]]:
    """Statements that stand in each other's place, each chain the oldest first."""
    by_id = {one.statement.id: one for one in held}
    followers: dict[str, str] = {
        one.statement.id: one.by
        for one in held
        if one.over == "superseded" and one.by is not None and one.by in by_id
    }
    chain_of: dict[str, list[Held]] = defaultdict(list)
    for one in sorted(held, key=lambda each: _order(each.statement)):
        last, seen = one.statement.id, set[str]()
        while last in followers and last not in seen:
            seen.add(last)
            last = followers[last]
        chain_of[last].append(one)
    return list(chain_of.values())
