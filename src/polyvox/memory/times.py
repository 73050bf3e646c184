"""Times: the dates that a text names, and the moment a session starts as the person lives it.

Dates are read as they are written in seven languages: ISO, day and month, month and year, a year;
and the commonest English words for a stretch (measured on LoCoMo: calendar dates alone find as much
evidence as a longer list of phrases; without them 1.6 points are lost among the first ten).
dateparser was tried: 118 ms to import, 11 MB, and "we" is Wednesday to it. Days are days where the
person is. What has no year is the last such day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from polyvox.errors import Invalid
from polyvox.memory.packets import Depth, PartOfDay, TimeContext

_NAMES = """january february march april may june july august september october november december
jan feb mar apr may jun jul aug sep oct nov dec
januar februar märz april mai juni juli august september oktober november dezember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
januari februari maart april mei juni juli augustus september oktober november december"""
MONTHS = {
    name: number for line in _NAMES.splitlines() for number, name in enumerate(line.split(), 1)
} | {"sept": 9}
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
CALENDAR = {*_NAMES.splitlines()[0].split(), *map(str.lower, WEEKDAYS)} - {
    "april",
    "august",
    "june",
    "may",
}
"""Names of months and days that are hardly ever anybody's name."""

_MONTH = rf"(?P<month>{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b\.?"
_YEAR = r"(?P<year>(?:19|20)\d\d)\b"
_OF = r"(?:of |de |di |do |del |vom )?"
_ISO = re.compile(rf"\b{_YEAR}-(?P<month>\d\d)(?:-(?P<day>\d\d))?\b")
_DAY_FIRST = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|\.|º)? {_OF}{_MONTH},?(?: {_OF}{_YEAR})?"
)
_MONTH_FIRST = re.compile(rf"\b{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b,?(?: {_YEAR})?")
_MONTH_YEAR = re.compile(rf"\b{_MONTH},? {_OF}{_YEAR}")
_IN_MONTH = re.compile(
    rf"\b(?:in|since|during|last|this|of|by|im|seit|letzten|en|em|depuis|desde|a|ad|sinds) {_MONTH}"
)
_IN_YEAR = re.compile(rf"\b(?:in|since|during|of|seit|en|em|depuis|desde|nel|sinds) {_YEAR}")
_AGO = re.compile(r"\b(?P<count>\d{1,3}) (?P<unit>day|week|month|year)s? ago\b")
_WHEN = re.compile(r"\b(?P<when>today|yesterday|(?:last|this) (?:week|month|year))\b")
_UNITS = {"day": 1, "week": 7, "month": 30, "year": 365}


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time: from `start`, before `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Times:
    """The times that a text speaks of, and what else it says."""

    spans: tuple[Span, ...]
    words: tuple[str, ...]
    """How it says them."""
    rest: str


def times_in(text: str, now: int, zone: tzinfo | None = UTC) -> Times:
    """Take the times out of a text that is said now, there (None: where this machine is)."""
    today = date_of(now, zone)
    spans: list[Span] = []
    words: list[str] = []
    rest = text
    for pattern, read in _READERS:
        lower = rest.lower()
        if len(lower) != len(rest):
            break  # a letter whose lower case is longer: offsets would not fit
        for match in reversed(list(pattern.finditer(lower))):
            try:
                first, last = read(match, today)
                span = Span(midnight(first, zone), midnight(last + timedelta(days=1), zone))
            except (ValueError, OverflowError):
                continue  # the 31st of June
            spans.append(span)
            words.append(rest[match.start() : match.end()])
            rest = f"{rest[: match.start()]} {rest[match.end() :]}"
    return Times(tuple(dict.fromkeys(spans)), tuple(words), rest)


def next_date(text: str, today: date) -> date | None:
    """The first day of the calendar that a text names ("3 December", "2026-12-01"); without a year,
    the next such day."""
    for pattern in (_ISO, _DAY_FIRST, _MONTH_FIRST):
        for match in pattern.finditer(text.lower()):
            found = match.groupdict()
            years = [int(found["year"])] if found["year"] else range(today.year, today.year + 9)
            for year in years if found["day"] else ():
                try:
                    day = date(year, _month(found["month"]), int(found["day"]))
                except ValueError:
                    continue  # the 29th of February, the 31st of June
                if found["year"] or day >= today:
                    return day
    return None


def date_of(at: int, zone: tzinfo | None = UTC) -> date:
    """The day of a time there; None: where this machine is."""
    return datetime.fromtimestamp(at // 1_000_000, zone).date()


day_of = date_of


def midnight(day: date, zone: tzinfo | None = UTC) -> int:
    """When a day begins there; clocks may have been changed since."""
    return int(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()) * 1_000_000


def _month(name: str) -> int:
    return MONTHS.get(name) or int(name)


def _calendar(match: re.Match[str], today: date) -> tuple[date, date]:
    found = match.groupdict()
    year, day, month = found.get("year"), found.get("day"), _month(found["month"])
    for candidate in [int(year)] if year else range(today.year, today.year - 5, -1):
        first = date(candidate, month, int(day or 1))
        if year or first <= today:
            return first, first if day else month_end(first)
    raise ValueError(match[0])


def month_end(first: date) -> date:
    """The last day of a month."""
    return (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)


def _year(match: re.Match[str], _: date) -> tuple[date, date]:
    year = int(match["year"])
    return date(year, 1, 1), date(year, 12, 31)


def _ago(match: re.Match[str], today: date) -> tuple[date, date]:
    unit = _UNITS[match["unit"]]
    # "3 weeks ago" is some day about then: half a unit to either side.
    middle = today - timedelta(days=int(match["count"]) * unit)
    about = timedelta(days=unit // 2)
    return middle - about, min(today, middle + about)


def _relative(match: re.Match[str], today: date) -> tuple[date, date]:
    which, _, unit = match["when"].partition(" ")
    back = which in ("last", "yesterday")
    if not unit:
        return (today - timedelta(days=back),) * 2
    if unit == "week":
        first = today - timedelta(days=today.weekday() + 7 * back)
        return first, first + timedelta(days=6)
    if unit == "month":
        first = today.replace(day=1)
        first = (first - timedelta(days=1)).replace(day=1) if back else first
        return first, month_end(first)
    return date(today.year - back, 1, 1), date(today.year - back, 12, 31)


_READERS = (
    (_ISO, _calendar),
    (_DAY_FIRST, _calendar),
    (_MONTH_FIRST, _calendar),
    (_MONTH_YEAR, _calendar),
    (_IN_MONTH, _calendar),
    (_IN_YEAR, _year),
    (_AGO, _ago),
    (_WHEN, _relative),
)
"""The most exact reading first: what one has taken, the next does not see."""


# -- the moment a session starts, as the person lives it -------------------------------------------
# A gap is measured in UTC and told in whole units; what is "today" goes by the local calendar, so
# a day that has 23 or 25 hours is one day.

MINUTE = 60_000_000
CONTINUATION, TODAY, YESTERDAY = 30, 360, 1440
"""Minutes since the last session ended, at most, for each depth."""
MOST = 99
"""A larger count says nothing more, and could be read as a year."""


@dataclass(frozen=True, slots=True)
class Past:
    """A session before this one."""

    session_id: str
    started_at: int
    ended_at: int
    running: bool = False
    """It goes on in another conversation: it counts today, but nothing is measured from it."""


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
        return WEEKDAYS[self.local.weekday()]

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


def moment_of(
    now: int, zone: tzinfo | None, sessions: Iterable[Past], last: Past | None = None
) -> Moment:
    """The moment after these sessions; one that began later than now is not known yet. `last`: the
    one that the gap is measured from, in place of the last that ended."""
    local = at(now, zone)
    before = [one for one in sessions if one.started_at <= now]
    over = [last] if last is not None else [one for one in before if not one.running]
    end = max((min(one.ended_at, now) for one in over), default=None)
    began = midnight(local.date(), zone)
    today = sum(min(one.ended_at, now) >= began for one in before)
    if end is None:
        return Moment(local, None, 0, today)
    days = (local.date() - at(end, zone).date()).days
    return Moment(local, (now - end) // MINUTE, days, today)


def at(time: int, zone: tzinfo | None) -> datetime:
    """A time where the person is; without a zone, where this machine is."""
    there = datetime.fromtimestamp(time / 1_000_000, zone)
    return there if zone is not None else there.astimezone()


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


def iso(micros: int) -> str:
    """A time as the contract writes it, in UTC."""
    try:
        time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    except OverflowError:
        return str(micros)  # no calendar has it
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")
