"""Reads from the store what a brief may draw on.

Sessions are those that were ingested and, in the person's own memory, those of the account too: one
that ended a second ago counts before it is ingested. The session that begins is none of them. Only
the person's own words are read and what was derived from them, as far as they were said by then;
what they excluded, and (for a cloud model) what must never leave, is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, timedelta, tzinfo
from itertools import islice
from typing import NamedTuple

from polyvox.memory import facts, loops, profile
from polyvox.memory.packets import Daily
from polyvox.memory.profile import Profile
from polyvox.memory.startbrief import Known, OpenLoop, Said
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
HINTS = ("work_context", "preferences.tone", "patterns")


class Found(NamedTuple):
    """What a brief may draw on, with the loops and the profile as they are."""

    known: Known
    loops: list[loops.Loop]
    who: Profile


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
    person = profile.read(tx, partition, now, cloud=cloud, without=session_id)
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
        yesterday=_yesterday(tx, partition, at(now, zone).date(), cloud),
    )
    live = live_loops(tx, partition, now, cloud=cloud, zone=zone, session_id=session_id)
    return Found(replace(known, loops=tuple(map(_open, live))), live, person)


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
    found = (one.statement for one in facts.newest(tx, partition, now))
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


def _yesterday(tx: Tx, partition: Partition, today: date, cloud: bool) -> Daily | None:
    """The day before's analysis, unless it tells of what must not leave."""
    day = today - timedelta(days=1)
    found = derived.find_daily(tx, partition, day.isoformat())
    if found is None or (cloud and not found.cloud):
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
