"""Times in words: which stretch of time a question speaks of ("in May 2023", "last week").

Days are days where the person is. What has no year is the last such day before the time of asking;
what cannot be read is no time at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

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
