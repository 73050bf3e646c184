"""The startbrief: what a session starts with, made of plain values by pure functions.

`Known` is all it may draw on; whoever reads it from a store (`past.read`) or makes it up in a test
gets the same brief. Only the person's own words are told again, quoted; the bridge is drawn from
the very session that it bridges to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, tzinfo

from polyvox.memory.checking import Sources, Thread
from polyvox.memory.handover import Handover, write
from polyvox.memory.moment import CONTINUATION, Moment, Past, at, moment_of
from polyvox.memory.packets import (
    BriefEvidence,
    BriefItem,
    Daily,
    OpsContext,
    Resume,
    StartBrief,
)
from polyvox.memory.quoting import ended, quote
from polyvox.models.base import Model
from polyvox.quote import plain

ITEMS = 5
THREADS = 6
TOP = 3
"""Loops, hints, themes of the ops context, each."""
UNSURE = ("needs_review", "insufficient_data")
_WAITING = re.compile(
    r"\b(?:wait\w*|hear(?:ing)? (?:back )?from|pending|reply from)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Said:
    """Something that the person said."""

    id: str
    session_id: str
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class OpenLoop:
    """Something open, in the person's words or close to them."""

    id: str
    text: str
    type: str | None = None
    horizon: str | None = None
    due: date | None = None
    salience: float | None = None
    seen_at: int | None = None
    quote: str = ""
    """The sentence that opened it."""
    places: tuple[str, ...] = ()
    """The ids of the messages that speak of it."""
    pinned: bool = False

    @property
    def waiting(self) -> bool:
        """Whether somebody else has to move first."""
        return self.type == "thread" and bool(_WAITING.search(f"{self.text} {self.quote}"))


@dataclass(frozen=True, slots=True)
class Known:
    """All that a brief may draw on. Loops come by priority, pinned ones first; what was said comes
    oldest first."""

    now: int
    zone: tzinfo | None = None
    sessions: tuple[Past, ...] = ()
    said: tuple[Said, ...] = ()
    loops: tuple[OpenLoop, ...] = ()
    facts: tuple[str, ...] = ()
    focus: str | None = None
    hints: tuple[str, ...] = ()
    """Lines of the profile."""
    summaries: tuple[str, ...] = ()
    """Of the last sessions, the newest first."""
    yesterday: Daily | None = None

    @property
    def moment(self) -> Moment:
        """When it is."""
        return moment_of(self.now, self.zone, self.sessions)

    @property
    def last(self) -> Past | None:
        """The session before this one."""
        before = [one for one in self.sessions if one.started_at <= self.now]
        return max(before, key=lambda one: (one.ended_at, one.session_id), default=None)


async def startbrief(
    known: Known, model: Model | None = None, seconds: float | None = None
) -> tuple[StartBrief, Handover]:
    """The brief, and how its handover came about."""
    moment = known.moment
    threads = threads_of(known)
    handover = await write(Sources(moment, threads), model, seconds)
    loops = known.loops[:ITEMS]
    bridge = bridge_of(known)
    told = threads if handover.fallback is None else (handover.thread,)
    ids = {one.id for one in told if one is not None} | ({bridge.id} if bridge else set())
    cited = [one for one in known.said if one.id in ids]
    brief = StartBrief(
        handover_text=handover.text,
        handover_depth=moment.depth,
        time_context=moment.context(),
        resume=_resume(bridge),
        items=tuple(_item(one, known.zone) for one in loops),
        ops_context=_ops(known, moment.local.date()),
        evidence=BriefEvidence(
            session_ids=_sessions(known, cited),
            episode_ids=tuple(one.id for one in cited),
            loop_ids=tuple(one.id for one in loops),
            quality=_quality(known),
            fallback=handover.fallback,
        ),
    )
    return brief, handover


def threads_of(known: Known) -> tuple[Thread, ...]:
    """What may be told again, the most telling first: soon after, the last words; later, what is
    open. A greeting leaves nothing open."""
    last = known.last
    every = [one for one in reversed(known.said) if telling(one.text)]
    told = [one for one in every if last is not None and one.session_id == last.session_id] or every
    words = [Thread(one.id, one.text) for one in told]
    open_ones = [Thread(one.id, one.quote or one.text) for one in known.loops]
    near = known.moment.depth in ("continuation", "today")
    ordered = words[:1] + open_ones + words[1:] if near else open_ones + words
    unique: dict[str, Thread] = {}
    for one in ordered:
        unique.setdefault(plain(one.text).casefold(), one)
    return tuple(one for key, one in unique.items() if key)[:THREADS]


def bridge_of(known: Known) -> Said | None:
    """The words to go on from: the last ones of the last session, if it ended just now."""
    gap, last = known.moment.gap_minutes, known.last
    if gap is None or last is None or gap > CONTINUATION:
        return None
    said = [one for one in known.said if one.session_id == last.session_id and plain(one.text)]
    return next((one for one in reversed(said) if telling(one.text)), said[-1] if said else None)


def telling(text: str) -> bool:
    """Whether a message says more than hello or thanks."""
    return len(text.split()) > 3 or len(plain(text)) > 24


def _resume(bridge: Said | None) -> Resume:
    quoted = quote(bridge.text) if bridge else ""
    if not quoted:
        return Resume()
    return Resume(True, ended(f"A moment ago they said: {quoted}"))


def _item(loop: OpenLoop, zone: tzinfo | None) -> BriefItem:
    return BriefItem(
        kind="tension" if loop.type == "friction" else "loop",
        text=plain(loop.text),
        type=loop.type,
        time_horizon=loop.horizon,
        due_date=None if loop.due is None else loop.due.isoformat(),
        salience=loop.salience,
        last_seen_at=None if loop.seen_at is None else at(loop.seen_at, zone).isoformat(),
    )


def _ops(known: Known, today: date) -> OpsContext:
    due = [one for one in known.loops if not one.waiting and (one.pinned or _due(one, today))]
    daily = known.yesterday
    sure = daily is not None and daily.exists and daily.quality_flag not in UNSURE
    return OpsContext(
        top_loops_today=tuple(plain(one.text) for one in due[:TOP]),
        waiting_on=tuple(plain(one.text) for one in known.loops if one.waiting)[:TOP],
        user_model_hints=tuple(plain(one) for one in known.hints[:TOP]),
        yesterday_themes=tuple(plain(one) for one in daily.themes[:TOP]) if daily and sure else (),
        steering_note=daily.steering_note if daily and sure else None,
    )


def _due(one: OpenLoop, today: date) -> bool:
    return one.due <= today if one.due is not None else one.horizon == "today"


def _sessions(known: Known, cited: list[Said]) -> tuple[str, ...]:
    last = known.last
    ids = [] if last is None else [last.session_id]
    return tuple(dict.fromkeys(ids + [one.session_id for one in cited]))


def _quality(known: Known) -> str:
    if not known.sessions:
        return "empty"
    return "good" if known.said or known.loops else "thin"
