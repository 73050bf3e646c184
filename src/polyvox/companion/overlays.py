"""Overlays: a ritual or a move laid over one turn. At most one, by a fixed precedence; why one was
chosen, or none, is always said.

Rituals belong to the start of a session and go by clock and state alone; the others need a talk
that has begun, and a reading of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Literal

from polyvox.companion.gate import Reading
from polyvox.companion.posture import HARD

Overlay = Literal[
    "daily_focus",
    "daily_review",
    "weekly_compass",
    "conflict_regulation",
    "curiosity_spiral",
    "accountability_tug",
]
YOUNG = 2
"""A talk of fewer user messages than this is too young for anything but a ritual."""
SPIRAL_TURNS = 4
FRICTION_TURNS = 2
SESSIONS = 8
"""So many of them are remembered."""
DISMISSED = timedelta(hours=48)
MORNING = range(5, 12)
EVENING = range(18, 24)


@dataclass(frozen=True, slots=True)
class InSession:
    """What was done in one session."""

    session_id: str
    spiral_turns: int = 0
    spiral_last: int = 0
    """The last turn that was one of them."""
    friction_until: int = 0
    """The last turn that a correction still weighs on."""


@dataclass(frozen=True, slots=True)
class Rites:
    """What was done when, of one person with one persona. Dates are local."""

    focus_on: date | None = None
    review_on: date | None = None
    compass_in: tuple[int, int] | None = None
    """ISO year and week."""
    tug_on: date | None = None
    tug_dismissed_at: datetime | None = None
    sessions: tuple[InSession, ...] = ()
    """The last few of them: a persona may be talked to in two conversations at once."""

    def of(self, session_id: str) -> InSession:
        """What was done in a session."""
        mine = (one for one in self.sessions if one.session_id == session_id)
        return next(mine, InSession(session_id))

    def with_(self, done: InSession) -> Rites:
        """The same, with that for a session."""
        others = [one for one in self.sessions if one.session_id != done.session_id]
        return replace(self, sessions=(*others, done)[-SESSIONS:])


@dataclass(frozen=True, slots=True)
class Open:
    """An open loop."""

    text: str
    said: bool = False
    """Whether these are the person's own words; else somebody noted it so."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Where a turn stands."""

    session_id: str
    turn: int
    """Which user message of the session it is, from 1."""
    local: datetime
    loop: Open | None = None
    """The top open loop that somebody may be asked about."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The overlay of a turn, why, and the state after it."""

    overlay: Overlay | None
    reason: str
    rites: Rites
    loop: Open | None = None


def choose(moment: Moment, reading: Reading, rites: Rites, *, gated: bool = True) -> Choice:
    """The overlay for this turn, if any. Where no gate has read the message, only a ritual."""
    rites = heard(moment, reading, rites)
    if (why := _unwelcome(moment, reading, rites)) is not None:
        return Choice(None, why, rites)
    if moment.turn == 1 and (ritual := _ritual(moment.local, rites)) is not None:
        if reading.risk in HARD:
            return Choice(None, HARD[reading.risk], rites)
        name, done = ritual
        return Choice(name, "session start", done)
    if moment.turn < YOUNG:
        return Choice(None, "too young", rites)
    if not gated:
        return Choice(None, "no gate", rites)
    if reading.conflict:
        return Choice("conflict_regulation", "conflict", rites)
    if _spirals(moment, reading, rites):
        return Choice("curiosity_spiral", "a story worth exploring", _spun(moment, rites))
    if (tug := HARD.get(reading.risk) or _tugs(moment, rites)) is None:
        done = replace(rites, tug_on=moment.local.date())
        return Choice("accountability_tug", "an open loop", done, moment.loop)
    return Choice(None, tug, rites)


def heard(moment: Moment, reading: Reading, rites: Rites) -> Rites:
    """What the message itself changes, whatever is laid over it: a correction weighs on the next
    turns, a dismissal keeps away the tug that came before it."""
    if reading.correction:
        here = rites.of(moment.session_id)
        rites = rites.with_(replace(here, friction_until=moment.turn + FRICTION_TURNS))
    tugged = rites.tug_on is not None and (moment.local.date() - rites.tug_on).days <= 1
    if reading.dismissal and tugged:
        rites = replace(rites, tug_dismissed_at=moment.local)
    return rites


def _unwelcome(moment: Moment, reading: Reading, rites: Rites) -> str | None:
    if reading.risk == "CRISIS":
        return "crisis"
    if reading.urgent:
        return "urgent"
    if reading.intent == "output_task":
        return "output task"
    if reading.direct_request and reading.intent not in ("momentum", "learning"):
        return "direct request"
    if moment.turn <= rites.of(moment.session_id).friction_until:
        return "friction"
    return None


def _ritual(local: datetime, rites: Rites) -> tuple[Overlay, Rites] | None:
    """The ritual that is due, and the state once it is done. The compass comes before the day's
    focus: else only who talks twice in a morning would ever have one."""
    today, morning = local.date(), local.hour in MORNING
    week = compass_week(today)
    if morning and today.isoweekday() in (7, 1) and rites.compass_in != week:
        return "weekly_compass", replace(rites, compass_in=week)
    if morning and rites.focus_on != today:
        return "daily_focus", replace(rites, focus_on=today)
    if local.hour in EVENING and rites.review_on != today:
        return "daily_review", replace(rites, review_on=today)
    return None


def compass_week(day: date) -> tuple[int, int]:
    """The week a compass is for: a Sunday already looks at the week that begins the day after."""
    ahead = day + timedelta(days=1) if day.isoweekday() == 7 else day
    year, week, _ = ahead.isocalendar()
    return year, week


def _spirals(moment: Moment, reading: Reading, rites: Rites) -> bool:
    """It begins with a story, once in a session, and goes on for some turns while it is one. A turn
    without it ends it."""
    if not reading.story_worth_exploring:
        return False
    here = rites.of(moment.session_id)
    if not here.spiral_turns:
        return True
    return here.spiral_turns < SPIRAL_TURNS and moment.turn == here.spiral_last + 1


def _spun(moment: Moment, rites: Rites) -> Rites:
    here = rites.of(moment.session_id)
    return rites.with_(replace(here, spiral_turns=here.spiral_turns + 1, spiral_last=moment.turn))


def _tugs(moment: Moment, rites: Rites) -> str | None:
    """Why the top loop is not brought up; None: it is."""
    if moment.loop is None:
        return "no open loop"
    if rites.tug_on == moment.local.date():
        return "tugged today"
    dismissed = rites.tug_dismissed_at
    if dismissed is not None and moment.local - dismissed < DISMISSED:
        return "dismissed"
    return None
