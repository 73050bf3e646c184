"""Times in words: which stretch of time a question speaks of ("in May 2023", "last week").

Days are days where the person is. What has no year is the last such day before the time of asking;
what cannot be read is no time at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from polyvox.errors import Invalid
from polyvox.memory.packets import Depth, PartOfDay, TimeContext

_MONTHS = "january february march april may june july august september october november december"
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
MONTHS = {name: number for number, name in enumerate(_MONTHS.split(), 1)}
MONTHS |= {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}
DAYS = {name: number for number, name in enumerate(_DAYS.split())}
CALENDAR = {*_MONTHS.split(), *DAYS} - {"april", "august", "june", "may"}
"""Names of months and days that are hardly ever anybody's name."""
_UNITS = {"day": 1, "week": 7, "month": 30, "year": 365}
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}

_MONTH = rf"(?P<month>{'|'.join(sorted(MONTHS, key=len, reverse=True))})\.?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_ISO = re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)(?:-(?P<day>\d\d))?\b")
_DAY_FIRST = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}\b,?(?: {_YEAR}\b)?"
)
_MONTH_FIRST = re.compile(rf"\b{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b,?(?: {_YEAR}\b)?")
_MONTH_YEAR = re.compile(rf"\b{_MONTH},? (?:of )?{_YEAR}\b")
_IN_MONTH = re.compile(rf"\b(?:in|since|during|last|this|of|by) {_MONTH}\b")
_IN_YEAR = re.compile(rf"\b(?:in|since|during|of) {_YEAR}\b")
_AGO = re.compile(
    rf"\b(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)}) (?P<unit>day|week|month|year)s? ago\b"
)
_RELATIVE = re.compile(r"\b(?P<which>last|this|past|previous) (?P<unit>week|month|year|night)\b")
_NAMED = re.compile(r"\b(?P<named>today|tonight|yesterday|this morning|the day before yesterday)\b")
_WEEKDAY = re.compile(rf"\b(?:on|last|this) (?P<weekday>{'|'.join(DAYS)})\b")
_BACK = {"today": 0, "tonight": 0, "this morning": 0, "yesterday": 1, "the day before yesterday": 2}


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
                    day = date(
                        year, MONTHS.get(found["month"]) or int(found["month"]), int(found["day"])
                    )
                except ValueError:
                    continue  # the 29th of February, the 31st of June
                if found["year"] or day >= today:
                    return day
    return None


def date_of(at: int, zone: tzinfo | None = UTC) -> date:
    """The day of a time there; None: where this machine is."""
    return datetime.fromtimestamp(at // 1_000_000, zone).date()


def midnight(day: date, zone: tzinfo | None = UTC) -> int:
    """When a day begins there."""
    return int(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()) * 1_000_000


def _calendar(match: re.Match[str], today: date) -> tuple[date, date]:
    found = match.groupdict()
    year, day = found.get("year"), found.get("day")
    named = found["month"]
    month = MONTHS.get(named) or int(named)
    for candidate in [int(year)] if year else _years_back(today):
        first = date(candidate, month, int(day or 1))
        if year or first <= today:
            return first, first if day else month_end(first)
    raise ValueError(match[0])


def _years_back(today: date) -> Iterator[int]:
    yield from range(today.year, today.year - 5, -1)


def month_end(first: date) -> date:
    """The last day of a month."""
    return (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)


def _year(match: re.Match[str], _: date) -> tuple[date, date]:
    year = int(match["year"])
    return date(year, 1, 1), date(year, 12, 31)


def _ago(match: re.Match[str], today: date) -> tuple[date, date]:
    count = int(match["count"]) if match["count"].isdigit() else _NUMBERS[match["count"]]
    unit = _UNITS[match["unit"]]
    # "Three weeks ago" is some day about then: half a unit to either side.
    middle, about = today - timedelta(days=count * unit), timedelta(days=unit // 2)
    return middle - about, min(today, middle + about)


def _relative(match: re.Match[str], today: date) -> tuple[date, date]:
    unit, last = match["unit"], match["which"] != "this"
    if unit == "night":
        return (today - timedelta(days=1), today)
    if unit == "week":
        first = today - timedelta(days=today.weekday() + 7 * last)
        return first, first + timedelta(days=6)
    if unit == "month":
        first = today.replace(day=1)
        first = (first - timedelta(days=1)).replace(day=1) if last else first
        return first, month_end(first)
    return date(today.year - last, 1, 1), date(today.year - last, 12, 31)


def _named(match: re.Match[str], today: date) -> tuple[date, date]:
    day = today - timedelta(days=_BACK[match["named"]])
    return day, day


def _weekday(match: re.Match[str], today: date) -> tuple[date, date]:
    back = (today.weekday() - DAYS[match["weekday"]]) % 7 or 7
    day = today - timedelta(days=back)
    return day, day


_READERS = (
    (_ISO, _calendar),
    (_DAY_FIRST, _calendar),
    (_MONTH_FIRST, _calendar),
    (_MONTH_YEAR, _calendar),
    (_IN_MONTH, _calendar),
    (_IN_YEAR, _year),
    (_AGO, _ago),
    (_RELATIVE, _relative),
    (_NAMED, _named),
    (_WEEKDAY, _weekday),
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
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


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
        return _WEEKDAYS[self.local.weekday()]

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


def iso(micros: int) -> str:
    """A time as the contract writes it, in UTC."""
    try:
        time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    except OverflowError:
        return str(micros)  # no calendar has it
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")
