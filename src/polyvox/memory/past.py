"""Reads from the store what a brief may draw on.

Sessions are those that were ingested and, in the person's own memory, those of the account too: one
that ended a second ago counts before it is ingested. The session that begins is none of them. Only
the person's own words are read and what was derived from them, as far as they were said by then;
what they excluded, and (for a cloud model) what must never leave, is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, timedelta, tzinfo
from itertools import islice
from typing import NamedTuple

from polyvox.memory import facts, loops, statements
from polyvox.memory.packets import Daily
from polyvox.memory.rules import loops_in
from polyvox.memory.startbrief import Known, OpenLoop, Said
from polyvox.memory.statements import Profile
from polyvox.memory.tables import derived, episodes, remembered
from polyvox.memory.times import Past, at
from polyvox.memory.values import Partition
from polyvox.store import sessions
from polyvox.store.database import Tx

SESSIONS = 50
"""So many sessions are looked at: more than anybody begins in a day."""
MESSAGES = 100
FACTS = 8
SUMMARIES = 3
STALE = {"today": timedelta(hours=48), "this_week": timedelta(days=10)}
OLD = timedelta(days=21)
HINTS = ("work_context", "preferences.tone", "patterns")


class Found(NamedTuple):
    """What a brief may draw on, with the loops and the profile as they are."""

    known: Known
    loops: list[loops.Loop]
    profile: Profile


def read(
    tx: Tx,
    partition: Partition,
    now: int,
    zone: tzinfo | None,
    session_id: str | None = None,
    *,
    cloud: bool = True,
    whole: bool = True,
) -> Found:
    """What is known as a session starts. `cloud`: it may be shown to a cloud model. Without
    `whole`, as much as a startbrief needs: no facts and no summaries."""
    stored = remembered.persons_words(tx, partition, now + 1, MESSAGES)
    said = tuple(
        Said(one.id, one.session_id, one.text, at)
        for one, at, may_leave in reversed(stored)
        if one.session_id != session_id and (may_leave or not cloud)
    )
    new = derived.unread(tx, partition, [(one.session_id, one.index) for one, *_ in stored])
    unread = {f"{name}#{index}" for name, index in new}
    person = statements.read(tx, partition, now, cloud=cloud, without=session_id)
    focus = person.one("current_focus")
    known = Known(
        now=now,
        zone=zone,
        sessions=_past(
            tx, partition, session_id, now, {one.session_id: at for one, at, _ in stored[::-1]}
        ),
        said=said,
        facts=_facts(tx, partition, now, session_id, cloud) if whole else (),
        focus=None if focus is None else focus.text,
        hints=tuple(line.text for place in HINTS for line in person.all(place)[-1:]),
        summaries=_summaries(tx, partition, now, session_id, cloud) if whole else (),
        yesterday=_yesterday(tx, partition, at(now, zone).date()),
    )
    live = live_loops(tx, partition, now, cloud=cloud, zone=zone, session_id=session_id)
    fresh = [one for one in said if one.id in unread]
    return Found(replace(known, loops=_loops(known, fresh, live)), live, person)


def live_loops(
    tx: Tx,
    partition: Partition,
    now: int,
    *,
    cloud: bool,
    zone: tzinfo | None = UTC,
    session_id: str | None = None,
) -> list[loops.Loop]:
    """The loops that may be told as a session starts, by priority. Of those whose every word was
    excluded there are none."""
    live = loops.listed(tx, partition, now, zone=zone, said_by=now, without=session_id)
    return [one for one in live if one.cloud or not cloud]


def spoken_loops(
    said: Iterable[Said], now: int, zone: tzinfo | None = None
) -> tuple[tuple[str, OpenLoop], ...]:
    """What the person said they would do and what is not too long ago, the latest first; each with
    its session."""
    found: dict[str, tuple[str, OpenLoop]] = {}
    for one in said:
        told = at(one.at, zone)
        for number, loop in enumerate(loops_in(one.text, told.date())):
            if at(now, zone) - told > STALE.get(loop.horizon, OLD):
                continue
            key = loop.text.casefold()
            found.pop(key, None)
            opened = OpenLoop(
                id=f"{one.id}/{number}",
                text=loop.text,
                type=loop.type,
                horizon=loop.horizon,
                due=loop.due,
                seen_at=one.at,
                quote=loop.quote,
                places=(one.id,),
            )
            found[key] = (one.session_id, opened)
    return tuple(reversed(found.values()))


def _loops(
    known: Known, unread: Iterable[Said], live: Iterable[loops.Loop]
) -> tuple[OpenLoop, ...]:
    """Those that are pinned; then those of messages that nobody has worked through yet, read off by
    the plain rules; then the others that are kept, by priority."""
    kept = [_open(one) for one in live]
    new = [loop for _, loop in spoken_loops(unread, known.now, known.zone)]
    newest = {loops.topic_of(one.text): one for one in reversed(new)}
    pins = [one for one in kept if one.pinned]
    # Where a pinned one was spoken of anew, the newer words stand in its place.
    first = [replace(newest.get(loops.topic_of(one.text), one), pinned=True) for one in pins]
    topics = {loops.topic_of(one.text) for one in pins}
    first += [one for one in new if loops.topic_of(one.text) not in topics]
    rest = [one for one in kept if not one.pinned]
    return tuple(first + [one for one in rest if loops.topic_of(one.text) not in newest])


def _open(one: loops.Loop) -> OpenLoop:
    return OpenLoop(
        id=one.id,
        text=one.text,
        type=one.type,
        horizon=one.horizon,
        due=None if one.due is None else date.fromisoformat(one.due),
        salience=float(one.salience),
        seen_at=one.last_seen_at,
        quote=one.evidence[-1].quote if one.evidence else "",
        places=tuple(f"{each.session_id}#{each.index}" for each in one.evidence),
        pinned=one.pinned,
    )


def _facts(
    tx: Tx, partition: Partition, now: int, session_id: str | None, cloud: bool
) -> tuple[str, ...]:
    """What holds, of what belongs to nobody's private memory."""
    found = (one.fact for one in facts.newest(tx, partition, now))
    told = (
        one.text
        for one in found
        if one.advisor_id is None
        and (one.cloud or not cloud)
        and (one.session_id is None or one.session_id != session_id)
    )
    return tuple(islice(told, FACTS))


def _summaries(
    tx: Tx, partition: Partition, now: int, session_id: str | None, cloud: bool
) -> tuple[str, ...]:
    found = derived.list_summaries(tx, partition, "session", SUMMARIES + 1, now)
    return tuple(
        one.text for one in found if one.subject != session_id and (one.cloud or not cloud)
    )[:SUMMARIES]


def _yesterday(tx: Tx, partition: Partition, today: date) -> Daily | None:
    """The day before's analysis. It is made without what must not leave."""
    day = today - timedelta(days=1)
    found = derived.find_daily(tx, partition, day.isoformat())
    if found is None:
        return None
    return Daily(
        analysis_date=found.day,
        themes=found.themes,
        scores=found.scores,
        steering_note=found.steering_note,
        confidence=found.confidence,
        exists=True,
        quality_flag=None if found.quality == "ok" else found.quality,
    )


def _past(
    tx: Tx, partition: Partition, session_id: str | None, now: int, spoken: Mapping[str, int]
) -> tuple[Past, ...]:
    """The sessions before this one. What is not over yet, or claims to end later, lasts until the
    person's last word by now (`spoken`, by session)."""
    found = {name: Past(name, time, time) for name, time in spoken.items()}
    for one in episodes.list_transcripts(tx, partition, SESSIONS, now + 1):
        found[one.session_id] = Past(one.session_id, one.started_at, one.ended_at)
    if partition == Partition.own(tx.scope):
        newest = sessions.newest(tx, SESSIONS)
        gone = episodes.forgotten_of(tx, partition, [one.id for one in newest])
        for session in newest:
            if session.id not in gone and session.started_at <= now:
                end = session.last_user_at if session.ended_at is None else session.ended_at
                end = end if end <= now else spoken.get(session.id, session.started_at)
                found[session.id] = Past(session.id, session.started_at, end)
    found.pop(session_id or "", None)
    return tuple(sorted(found.values(), key=lambda one: (one.ended_at, one.session_id)))
