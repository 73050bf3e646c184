"""What is remembered, page by page, as the person looks through it: facts, messages, days.

A page is read from the index of times, and only the lines of what is on it are computed: it costs
what it shows, whatever is stored. Invariant: going from `next` to `next` shows everything once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, tzinfo
from typing import Literal

from polyvox.errors import Invalid
from polyvox.memory import facts
from polyvox.memory.daily import bounds
from polyvox.memory.recall import Source, recall
from polyvox.memory.tables import derived, episodes
from polyvox.memory.tables import statements as rows
from polyvox.memory.tables.derived import Daily, Summary
from polyvox.memory.tables.statements import Statement
from polyvox.memory.times import at
from polyvox.memory.values import Episode, Partition
from polyvox.memory.view import Held
from polyvox.store.database import Tx
from polyvox.values import Scope

Only = Literal["current", "pinned", "excluded", "superseded"]
CHUNK = 50
LONGEST = 300
MOST_SUMMARIES = 200
"""So many are looked at for a page of days."""
SOURCES: Mapping[str, Source] = {facts.KIND: facts.tell}


@dataclass(frozen=True, slots=True)
class Shown:
    """A fact or a message, as it is listed."""

    fact: Held | None = None
    message: Episode | None = None
    before: Statement | None = None
    """What was said of the same before."""
    others: int = 0
    """How many other statements of the same there are."""
    relevance: float | None = None
    excerpt: str = ""
    """The part of a long message that was found."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some of it; `next` leads to what follows."""

    items: tuple[Shown, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Day:
    """A day: its analysis, and what the sessions that ended in it were about."""

    day: str
    analysis: Daily | None
    summaries: tuple[Summary, ...]


Place = tuple[int, int, str]
"""Where a page ended: the stage, a time, and what was said then."""


def page(tx: Tx, partition: Partition, only: Only, limit: int, after: str | None = None) -> Page:
    """What holds (pinned facts first), what is pinned, what is excluded, or what was superseded;
    the newest first."""
    found: list[tuple[Place, Shown]] = []
    for one in _Walk(tx, tx.scope, partition, only).walk(_place(after)):
        found.append(one)
        if len(found) > limit:
            break
    shown = found[:limit]
    more = ".".join(map(str, shown[-1][0])) if len(found) > limit else None
    return Page(tuple(one for _, one in shown), more)


def search(
    tx: Tx, partition: Partition, words: str, now: int, limit: int, zone: tzinfo | None = UTC
) -> tuple[Shown, ...]:
    """What is remembered about something, best first; what was superseded is found, too."""
    items = recall(
        tx,
        partition,
        words,
        reference_time=now,
        zone=zone,
        limit=limit,
        include_history=True,
        sources=SOURCES,
    )
    walk = _Walk(tx, tx.scope, partition, "current")
    ids = [item.id for item in items if item.source == facts.KIND]
    stated = walk.shown(rows.by_ids(tx, partition, ids))
    known = {one.fact.statement.id: one for one in stated if one.fact is not None}
    said = {
        item.id: (item.evidence[0].session_id, item.evidence[0].index)
        for item in items
        if item.source != facts.KIND
    }
    messages = episodes.at_places(tx, partition, list(said.values()))
    known |= {
        name: Shown(message=messages[place]) for name, place in said.items() if place in messages
    }
    return tuple(
        replace(
            known[item.id],
            relevance=item.relevance,
            excerpt=item.evidence[0].quote if item.id in said else "",
        )
        for item in items
        if item.id in known
    )


def days(
    tx: Tx, partition: Partition, zone: tzinfo | None, limit: int, before: date | None = None
) -> tuple[tuple[Day, ...], str | None]:
    """The last days that anything is told of, or those before a day, the last first; and the day
    before which the next ones are."""
    until = None if before is None else bounds(before, zone)[0]
    told = derived.summaries_before(tx, partition, until, MOST_SUMMARIES)
    by_day: dict[str, list[Summary]] = {}
    for one in told:
        by_day.setdefault(at(one.told_at, zone).date().isoformat(), []).append(one)
    name = None if before is None else before.isoformat()
    analyses = {one.day: one for one in derived.daily_before(tx, partition, name, limit + 1)}
    names = sorted({*by_day, *analyses}, reverse=True)
    full = len(told) == MOST_SUMMARIES
    if full and len(by_day) > 1:
        # Of the earliest of these days there may be more: it is left for the next page.
        names = [one for one in names if one > min(by_day)]
    more = full or len(names) > limit
    shown = names[:limit]
    found = tuple(Day(one, analyses.get(one), tuple(by_day.get(one, ()))) for one in shown)
    return found, shown[-1] if more else None


@dataclass(frozen=True, slots=True)
class _Stage:
    """A part of a list: facts with these marks, or messages with this one."""

    pinned: bool | None = None
    excluded: bool | None = None
    messages: Literal["pinned", "excluded"] | None = None


_STAGES: Mapping[Only, tuple[_Stage, ...]] = {
    "current": (_Stage(pinned=True), _Stage(pinned=False)),
    "pinned": (_Stage(pinned=True), _Stage(messages="pinned")),
    "excluded": (_Stage(excluded=True), _Stage(messages="excluded")),
    "superseded": (_Stage(),),
}


@dataclass(frozen=True, slots=True)
class _Walk:
    """Goes through facts and messages, stage after stage, the newest first."""

    tx: Tx
    scope: Scope
    partition: Partition
    only: Only

    def walk(self, after: Place | None) -> Iterator[tuple[Place, Shown]]:
        """Everything behind a place, each with its own."""
        for number, stage in enumerate(_STAGES[self.only]):
            if after is not None and number < after[0]:
                continue
            behind = after[1:] if after is not None and number == after[0] else None
            told = self._messages if stage.messages is not None else self._facts
            for (when, what), one in told(stage, behind):
                yield (number, when, what), one

    def _facts(
        self, stage: _Stage, behind: tuple[int, str] | None
    ) -> Iterator[tuple[tuple[int, str], Shown]]:
        while True:
            some = rows.page(
                self.tx,
                self.partition,
                facts.KIND,
                CHUNK,
                pinned=stage.pinned,
                excluded=stage.excluded,
                after=behind,
            )
            for one in self.shown(some):
                if one.fact is not None and self._wanted(one.fact):
                    yield (one.fact.statement.said_at, one.fact.statement.id), one
            if len(some) < CHUNK:
                return
            behind = some[-1].said_at, some[-1].id

    def _messages(
        self, stage: _Stage, behind: tuple[int, str] | None
    ) -> Iterator[tuple[tuple[int, str], Shown]]:
        if stage.messages is None:
            return
        while True:
            place = None if behind is None else (behind[0], _number(behind[1]))
            some = episodes.marked(self.tx, self.partition, stage.messages, CHUNK, place)
            for one in some:
                yield (one.at, str(one.doc)), Shown(message=one.episode)
            if len(some) < CHUNK:
                return
            behind = some[-1].at, str(some[-1].doc)

    def _wanted(self, one: Held) -> bool:
        if self.only == "superseded":
            return not one.current and not one.said_again
        return one.current or (self.only == "excluded" and not one.said_again)

    def shown(self, some: Sequence[Statement]) -> list[Shown]:
        """Facts in this order, each with what was said of the same before."""
        every = facts.held(self.tx, self.partition, some)
        old: dict[str, list[Held]] = {}
        for one in every.values():
            if one.over == "superseded" and one.by is not None:
                old.setdefault(one.by, []).append(one)
        return [_shown(every[fact.id], old) for fact in some]


def _shown(fact: Held, old: Mapping[str, Sequence[Held]]) -> Shown:
    """A fact with what it replaced; what only says the same is part of it."""
    replaced: dict[str, Statement] = {}
    fresh, seen = [fact], set[str]()
    while fresh:
        seen |= {one.statement.id for one in fresh}
        more = [each for one in fresh for each in old.get(one.statement.id, ())]
        replaced |= {one.statement.id: one.statement for one in more if not one.said_again}
        fresh = [one for one in more if one.said_again and one.statement.id not in seen]
    before = max(replaced.values(), key=lambda one: one.said_at, default=None)
    return Shown(fact, None, before, len(replaced) + (not fact.current))


def _place(after: str | None) -> Place | None:
    if after is None:
        return None
    stage, _, rest = after.partition(".")
    when, _, what = rest.partition(".")
    if not (stage.isdecimal() and when.lstrip("-").isdecimal() and what) or len(after) > LONGEST:
        raise _nowhere(after)
    return int(stage), int(when), what


def _number(what: str) -> int:
    if not what.isdecimal():
        raise _nowhere(what)
    return int(what)


def _nowhere(after: str) -> Invalid:
    return Invalid(
        f"{after[:60]!r} is not a place in the list.", "Use `next` of a page.", param="after"
    )
