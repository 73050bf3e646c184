"""Posture: how the companion holds itself. It does not change at every word.

A posture changes when the gate is sure, when the person asks for it, or when it was suggested twice
running; after three hours without a word it is forgotten. A crisis outlasts that: it is over when
two later readings in a row say so, and never because nobody could read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import msgspec

from polyvox.companion.gate import Gated, Level, Posture, Reading, Risk

SURE = 0.75
HOURS = 3
HOUR = 3_600_000_000
REST: Posture = "COMPANION"
HARD: dict[Risk, str] = {"HIGH": "hard moment", "CRISIS": "crisis"}
"""The risks that put everything else aside, in the words of the trace."""
CALM = 2
"""Readings in a row without danger that end a crisis."""


@dataclass(frozen=True, slots=True)
class Stance:
    """The posture of a person's talk with one persona, and what was suggested last."""

    posture: Posture = REST
    pressure: Level = "MED"
    confidence: float = 0.0
    """Of the reading that the pressure is of, also where its posture was not taken."""
    suggested: Posture | None = None
    at: int = 0
    risk: Risk = "LOW"
    """The risk in force."""
    calm: int = 0
    """Readings in a row, since a crisis was read, that were LOW or MED."""


def settle(before: Stance, reading: Reading, now: int) -> tuple[Stance, str]:
    """The stance after a message, and why it is so."""
    before = rested(before, now)
    wanted = reading.posture
    fresh = Stance(before.posture, reading.pressure, reading.posture_confidence, wanted, now)
    if wanted == before.posture:
        return fresh, "unchanged"
    if reading.posture_confidence >= SURE:
        why = "sure"
    elif reading.explicit_shift:
        why = "asked for"
    elif before.suggested == wanted:
        why = "suggested twice"
    else:
        return fresh, "held"
    return replace(fresh, posture=wanted), why


def rested(stance: Stance, now: int) -> Stance:
    """The stance, forgotten after three hours without a word."""
    return Stance() if stance.at and now - stance.at > HOURS * HOUR else stance


def stance_after(before: Stance, gated: Gated, now: int) -> tuple[Stance, str]:
    """The stance of a persona after a message, and why it is so."""
    risk, calm = _risk(before, gated, now)
    if gated.open:
        reading = gated.reading
        if "posture" in gated.unread:
            held = rested(before, now).posture
            reading = msgspec.structs.replace(reading, posture=held)
        stance, why = settle(before, reading, now)
    elif gated.model is None:
        stance, why = Stance(at=now), "no gate"
    else:
        stance, why = replace(rested(before, now), at=now), "held: the gate did not read"
    if risk in HARD:
        stance, why = replace(stance, posture="RECOVERY"), HARD[risk]
    return replace(stance, risk=risk, calm=calm), why


def _risk(before: Stance, gated: Gated, now: int) -> tuple[Risk, int]:
    """The risk in force after a message, and how many calm readings there were since a crisis."""
    crisis = before.risk == "CRISIS"
    if not gated.open or "risk" in gated.unread:
        fresh = rested(before, now) is before
        if gated.model is None:  # nobody will ever read that it is over
            return ("CRISIS", before.calm) if crisis and fresh else ("LOW", 0)
        return (before.risk, before.calm) if crisis or fresh else ("LOW", 0)
    risk = gated.reading.risk
    if crisis and risk != "CRISIS":
        calm = 0 if risk == "HIGH" else before.calm + 1
        return (risk, 0) if calm >= CALM else ("CRISIS", calm)
    return risk, 0


def last_question(text: str | None) -> str:
    """The last question in what the companion said before: not to be asked again at once."""
    asked = [one for one in sentences(text or "") if one.rstrip("'\"”’)").endswith(("?", "？"))]
    return asked[-1] if asked else ""


# -- sentences, as far as punctuation tells them apart ---------------------------------------------

_END = re.compile(
    r"""(?!(?<=\b\w)\.\s+[^\W\d_a-z]\w)(?!(?<=\w\.\w)\.\s+[a-z])
    (?<!\b(?:Dr|Mr|Ms|St|vs))(?<!\b(?:Mrs|etc))
    [.!?…]+['"”’)]*(?=\s|$)
    | [。！？] | \n\s*(?=\n|[-*•]|\d+[.)])""",
    re.VERBOSE,
)
"""The end of a sentence (no initial, no "p.m. today"), or of a line that is one of several."""


def sentences(text: str) -> list[str]:
    """The sentences of a text, each with its mark at the end; the last one may have none."""
    found, at = [], 0
    for end in _END.finditer(text):
        found.append(text[at : end.end()].strip())
        at = end.end()
    found.append(text[at:].strip())
    return [one for one in found if one]
