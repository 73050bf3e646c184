"""The deferred profile: at most two lines about the person, each only where the turn needs it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polyvox.companion.reading import Posture, Reading
from polyvox.quoting import quoted

MOST = 2


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
        found.append(("patterns", f"A pattern seen before: {quoted(profile.patterns[0])}"))
    if reading.intent in ("momentum", "output_task") and profile.work_context:
        found.append(("work_context", f"Work: {quoted(profile.work_context)}"))
    if reading.intent == "momentum" and reading.direct_request and profile.long_term_direction:
        found.append(("long_term_direction", f"Long term: {quoted(profile.long_term_direction)}"))
    if reading.asks_about_style and profile.communication_preference:
        wanted = quoted(profile.communication_preference)
        preference = f"How they like to be spoken to: {wanted}"
        found.append(("communication_preference", preference))
    return found[:MOST]


def named(profile: Profile, message: str) -> list[str]:
    """The tracked people whom a message names, as whole words."""
    return [
        name
        for name in profile.relationships
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message, re.IGNORECASE)
    ]


def people(profile: Profile, message: str, posture: Posture = "COMPANION") -> str:
    """The line on the people whom a message names, or on everybody's where it is about them."""
    names = named(profile, message)
    if not names and posture == "RELATIONSHIP":
        names = list(profile.relationships)[:3]
    told = [_person(name, profile.relationships[name]) for name in names[:3]]
    return f"People in their life: {'; '.join(told)}" if told else ""


def _person(name: str, about: str) -> str:
    return f"{quoted(name)}, {quoted(about)}" if about else quoted(name)
