"""The Recall Sheet: what was looked up for a turn, with dates and sources, quoted as data.

Pure. A sheet that found nothing is one honest line, and only where it was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from polyvox.companion.texts import text
from polyvox.quote import quoted

MOST = 3
"""Facts, and entities, of one sheet."""
LONGEST = 300
"""Characters of one fact."""
HEAD = "[SUPPLEMENTAL_CONTEXT]"
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
"""In English, wherever this machine is."""


@dataclass(frozen=True, slots=True)
class Found:
    """Something recalled: its words, when they were said, and where they come from."""

    text: str
    on: date | None
    source: str
    """For instance: they said, you said, a note."""
    until: date | None = None
    """Since when it is no longer so."""


def sheet(query: str, facts: Sequence[Found], entities: Sequence[str]) -> str:
    """The block for what was found."""
    if not facts and not entities:
        return ""
    lines = [HEAD, f"Looked up: {quoted(query)}. {text('recall/sheet')}"]
    lines += [_line(one) for one in facts[:MOST]]
    lines += [f"- about: {quoted(one[:LONGEST])}" for one in entities[:MOST]]
    return "\n".join(lines)


def nothing() -> str:
    """Asked for, looked up, not there."""
    return f"{HEAD}\n{text('recall/nothing')}"


def not_sought() -> str:
    """Asked for, in words that nothing can be looked up by."""
    return f"{HEAD}\n{text('recall/not_sought')}"


def unreachable() -> str:
    """Asked for, and memory could not be asked."""
    return f"{HEAD}\n{text('recall/unreachable')}"


def _line(found: Found) -> str:
    when = "undated" if found.on is None else _day(found.on)
    ended = "" if found.until is None else f" (no longer so since {_day(found.until)})"
    words = found.text if len(found.text) <= LONGEST else f"{found.text[:LONGEST].rstrip()}…"
    return f"- {when}, {found.source}{ended}: {quoted(words)}"


def _day(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"
