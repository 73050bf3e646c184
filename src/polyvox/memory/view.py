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
    follower: str | None = None
    """The statement that stands in its place, even if it was over before."""
    reopened_at: int | None = None
    """When a person last took it up again."""
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
    slots: dict[str, list[Statement]] = defaultdict(list)
    for each in known.values():
        slots[slot_of(each)].append(each)
    ends: dict[str, list[Held]] = defaultdict(list)
    for old, new in [*_by_slot(slots.values()), *_by_link(said, known)]:
        if new.said_at >= reopened.get(old.id, -1):
            ends[old.id].append(Held(old, max(new.said_at, old.said_at), "superseded", new.id))
    followers = {name: min(found, key=_first).by for name, found in ends.items()}
    outcomes: dict[str, Held] = {}
    for link in sorted(said, key=lambda one: (one.said_at, one.session_id is None, one.id)):
        old = known[link.target_id]
        if link.said_at < old.said_at or link.said_at < reopened.get(old.id, -1):
            continue
        if link.kind in ("done", "dropped"):  # the last word on it counts
            outcomes[old.id] = Held(old, link.said_at, link.kind, link.id)
        elif link.kind == "ended":
            ends[old.id].append(Held(old, link.said_at, link.kind, link.id))
            if link.session_id is None:  # what a person took back is not inferred again
                for new in slots[slot_of(old)]:
                    late = new.said_at > link.said_at >= reopened.get(new.id, -1)
                    if new.source == "inferred" and late:
                        ends[new.id].append(Held(new, new.said_at, link.kind, link.id))
    for name, end in outcomes.items():
        ends[name].append(end)
    held = {
        name: replace(
            min(ends[name], key=_first, default=Held(one)),
            follower=followers.get(name),
            reopened_at=reopened.get(name),
        )
        for name, one in known.items()
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


def _first(end: Held) -> tuple[int, str]:
    return end.valid_to or 0, end.by or ""


def _by_slot(slots: Iterable[list[Statement]]) -> list[tuple[Statement, Statement]]:
    """Pairs (older, newer) of the same slot."""
    pairs = []
    for slot in slots:
        line = sorted(slot, key=order)
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
            first, second = sorted((known[link.target_id], known[link.by_id]), key=order)
            if second.source != "inferred" or first.source == "inferred":
                pairs.append((first, second))
            else:
                pairs.append((second, first))
    return pairs


def order(one: Statement) -> tuple[int, int, str, int, str]:
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
    return tuple(each for old in sorted(same.values(), key=order) for each in _said(old))


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
    followers = {one.statement.id: one.follower or "" for one in held if one.follower in by_id}
    chain_of: dict[str, list[Held]] = defaultdict(list)
    for one in sorted(held, key=lambda each: order(each.statement)):
        last, seen = one.statement.id, set[str]()
        while last in followers and last not in seen:
            seen.add(last)
            last = followers[last]
        chain_of[last].append(one)
    return list(chain_of.values())
