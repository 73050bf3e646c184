"""The deferred profile: at most two lines about the person, each only where the turn needs it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polyvox.companion.reading import Posture, Reading
from polyvox.quote import quoted

MOST = 2
LONGEST = 240
"""Characters of one text in a line."""
_WORDS = """will may mark bill rose grace hope joy art pat sue rob drew dawn faith summer april june
august chase grant frank rich miles dean guy iris ivy jade lily ruby olive penny violet"""
COMMON = frozenset(_WORDS.split())
"""Names that are words, too."""
_TITLES = """mr mrs ms miss dr prof professor doctor aunt uncle grandma grandpa granny sir madam the
my our"""
TITLES = frozenset(_TITLES.split())


@dataclass(frozen=True, slots=True)
class Profile:
    """Of the user model what may become a line."""

    relationships: Mapping[str, str]
    """Tracked people by name, with who they are."""
    patterns: Sequence[str] = ()
    work_context: str = ""
    long_term_direction: str = ""
    communication_preference: str = ""


def lines(
    profile: Profile, turn: int, reading: Reading, posture: Posture, message: str
) -> list[tuple[str, str]]:
    """(which part, the line) for this turn, the most telling first."""
    if turn == 1:
        return []
    found: list[tuple[str, str]] = []
    if told := people(profile, message, posture):
        found.append(("relationships", told))
    if reading.avoidance and profile.patterns:
        found.append(("patterns", f"A pattern seen before: {_quoted(profile.patterns[0])}"))
    if reading.intent in ("momentum", "output_task") and profile.work_context:
        found.append(("work_context", f"Work: {_quoted(profile.work_context)}"))
    if reading.intent == "momentum" and reading.direct_request and profile.long_term_direction:
        found.append(("long_term_direction", f"Long term: {_quoted(profile.long_term_direction)}"))
    if reading.asks_about_style and profile.communication_preference:
        wanted = _quoted(profile.communication_preference)
        preference = f"How they like to be spoken to: {wanted}"
        found.append(("communication_preference", preference))
    return found[:MOST]


def named(profile: Profile, message: str) -> list[str]:
    """The tracked people whom a message names, as whole words: by the whole name, or by the first
    of several."""
    return [
        name
        for name in profile.relationships
        if any(_named(one, message) for one in (name, _first(name)) if one)
    ]


def _first(name: str) -> str:
    words = name.split()
    titled = not words or words[0].strip(".").casefold() in TITLES
    return "" if titled or len(words) == 1 else words[0]


def _named(name: str, message: str) -> bool:
    """A name that is a word as well counts where it is written as one inside a sentence."""
    if name.casefold() in COMMON:
        return re.search(rf"[\w,;’'\"] +{re.escape(name.title())}(?!\w)", message) is not None
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message, re.IGNORECASE) is not None


def people(profile: Profile, message: str, posture: Posture = "COMPANION") -> str:
    """The line on the people whom a message names, or on everybody's where it is about them."""
    names = named(profile, message)
    if not names and posture == "RELATIONSHIP":
        names = list(profile.relationships)[:3]
    told = [_person(name, profile.relationships[name]) for name in names[:3]]
    return f"People in their life: {'; '.join(told)}" if told else ""


def _person(name: str, about: str) -> str:
    return f"{_quoted(name)}, {_quoted(about)}" if about else _quoted(name)


def _quoted(text: str) -> str:
    return quoted(text if len(text) <= LONGEST else f"{text[:LONGEST].rstrip()}…")
