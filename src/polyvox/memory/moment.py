"""The moment a session starts, as the person lives it: day, part of day, how long since, how often.

A gap is measured in UTC and told in whole units; what is "today" goes by the local calendar, so a
day that has 23 or 25 hours is one day.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from zoneinfo import ZoneInfo

from polyvox.errors import Invalid
from polyvox.memory.packets import Depth, PartOfDay, TimeContext

MINUTE = 60_000_000
CONTINUATION, TODAY, YESTERDAY = 30, 360, 1440
"""Minutes since the last session ended, at most, for each depth."""
MOST = 99
"""A larger count says nothing more, and could be read as a year."""
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class Past:
    """A session before this one."""

    session_id: str
    started_at: int
    ended_at: int


@dataclass(frozen=True, slots=True)
class Moment:
    """Now, seen from the last session."""

    local: datetime
    gap_minutes: int | None
    """None: there was no session before."""
    gap_days: int
    """Nights between, by the local calendar."""
    earlier_today: int

    @property
    def day(self) -> str:
        """The local day's name."""
        return _DAYS[self.local.weekday()]

    @property
    def part(self) -> PartOfDay:
        """The local part of day."""
        return part_of_day(self.local.hour)

    @property
    def depth(self) -> Depth:
        """How far back the last session is."""
        return depth_of(self.gap_minutes)

    @property
    def gap(self) -> str | None:
        """The gap in words, without any clock."""
        if self.gap_minutes is None:
            return None
        if self.gap_minutes < 1:
            return "less than a minute"
        if self.gap_minutes < 60:
            return _count(self.gap_minutes, "minute")
        if self.gap_minutes < YESTERDAY:
            return _count(self.gap_minutes // 60, "hour")
        days = max(1, self.gap_days)
        if days < 14:
            return _count(days, "day")
        return _count(days // 7, "week") if days < 60 else _count(days // 30, "month")

    @property
    def talks(self) -> str:
        """How often they talked today, in words."""
        if not self.earlier_today:
            return "first talk today"
        return f"{_count(self.earlier_today, 'earlier talk')} today"

    def context(self) -> TimeContext:
        """As the packet tells it."""
        return TimeContext(
            local_time=self.local.isoformat(timespec="seconds"),
            time_of_day=self.part,
            gap_minutes=self.gap_minutes,
            sessions_today=self.earlier_today,
            first_session_today=self.earlier_today == 0,
        )


def moment_of(now: int, zone: tzinfo | None, sessions: Iterable[Past]) -> Moment:
    """The moment, after these sessions; one that began later than now is not known yet."""
    local = at(now, zone)
    ends = [min(one.ended_at, now) for one in sessions if one.started_at <= now]
    last = max(ends, default=None)
    if last is None:
        return Moment(local, None, 0, 0)
    began = _midnight(local, zone)
    today = sum(end >= began for end in ends)
    days = (local.date() - at(last, zone).date()).days
    return Moment(local, (now - last) // MINUTE, days, today)


def at(time: int, zone: tzinfo | None) -> datetime:
    """A time where the person is; without a zone, where this machine is."""
    there = datetime.fromtimestamp(time / 1_000_000, zone)
    return there if zone is not None else there.astimezone()


def day_of(time: int, zone: tzinfo | None) -> date:
    """The day of a time where the person is."""
    return datetime.fromtimestamp(time / 1_000_000, zone).date()


def _midnight(local: datetime, zone: tzinfo | None) -> int:
    """When a day began there; clocks may have been changed since."""
    first = datetime(local.year, local.month, local.day, tzinfo=zone)
    return int(first.timestamp()) * 1_000_000


def zone_of(name: str | None) -> ZoneInfo | None:
    """A zone by its name; None: the machine's."""
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise Invalid(
            f"{name[:60]!r} is not a known time zone.",
            "Give a name such as Europe/Lisbon, or leave it out.",
            param="timezone",
        ) from None


def part_of_day(hour: int) -> PartOfDay:
    """Morning from five, afternoon from noon, evening from six, night from midnight."""
    if hour < 5:
        return "night"
    if hour < 12:
        return "morning"
    return "afternoon" if hour < 18 else "evening"


def depth_of(gap_minutes: int | None) -> Depth:
    """How far back a gap reaches; with nothing before it, as far as can be."""
    if gap_minutes is None or gap_minutes > YESTERDAY:
        return "multi_day"
    if gap_minutes > TODAY:
        return "yesterday"
    return "today" if gap_minutes > CONTINUATION else "continuation"


def _count(number: int, what: str) -> str:
    if number > MOST:
        return f"more than {MOST} {what}s"
    return f"{number} {what}{'' if number == 1 else 's'}"
