"""What the gate made of a message: a closed set of judgements, checked as they come in.

A reply that cannot be read is a degrade that is shown, never a silent default; only the free words,
which decide nothing, may be missing or too long.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from polyvox.errors import PolyvoxError
from polyvox.replies import objects

Intent = Literal["companion", "momentum", "output_task", "learning"]
Posture = Literal[
    "COMPANION", "MOMENTUM", "REFLECTION", "RELATIONSHIP", "IDEATION", "RECOVERY", "PRACTICAL"
]
Level = Literal["LOW", "MED", "HIGH"]
Risk = Literal["LOW", "MED", "HIGH", "CRISIS"]
Part = Annotated[float, Meta(ge=0, le=1)]
LONGEST = 60
"""Characters of a word that the gate chooses freely."""
Word = Annotated[str, Meta(max_length=LONGEST)]
FREE, NUMBERS = ("mood", "energy", "tone"), ("confidence", "posture_confidence")


class Unreadable(PolyvoxError):
    """The gate's reply is not a reading."""


class Reading(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """A message as the gate reads it."""

    action: Literal["memory_query", "none"]
    confidence: Part
    """How sure it is of the action."""
    explicit: bool
    """Whether memory was asked for in so many words."""
    direct_request: bool
    urgent: bool
    intent: Intent
    posture: Posture
    pressure: Level
    posture_confidence: Part
    topic_shift: bool
    explicit_shift: bool
    """Whether the person says that they want to talk differently now."""
    mood: Word
    energy: Word
    tone: Word
    risk: Risk
    avoidance: bool
    asks_about_style: bool
    correction: bool
    dismissal: bool
    conflict: bool
    story_worth_exploring: bool


NO_GATE = Reading(
    action="none",
    confidence=0.0,
    explicit=False,
    direct_request=False,
    urgent=False,
    intent="companion",
    posture="COMPANION",
    pressure="MED",
    posture_confidence=0.0,
    topic_shift=False,
    explicit_shift=False,
    mood="",
    energy="",
    tone="",
    risk="LOW",
    avoidance=False,
    asks_about_style=False,
    correction=False,
    dismissal=False,
    conflict=False,
    story_worth_exploring=False,
)
"""Where there is no gate: nothing is guessed from words."""


def read(reply: str) -> Reading:
    """The reading in a model's reply: JSON, perhaps fenced or with words around it."""
    wrong = "it holds no reading"
    for value in objects(reply):
        try:
            return msgspec.convert(_mended(value), Reading)
        except msgspec.ValidationError as error:
            wrong = str(error)
    raise Unreadable(f"The gate's reply cannot be read: {wrong}.")


def _mended(value: Mapping[str, Any]) -> dict[str, Any]:
    """The same, where a form is filled in carelessly: free words are cut or left out, and a number
    may stand between quotation marks. No decision is touched."""
    mended = dict(value)
    for name in FREE:
        word = mended.get(name)
        mended[name] = word.strip()[:LONGEST] if isinstance(word, str) else ""
    for name in NUMBERS:
        if isinstance(number := mended.get(name), str):
            with contextlib.suppress(ValueError):  # then it stays a text, which is no number
                mended[name] = float(number)
    return mended


@functools.cache
def schema() -> str:
    """The JSON schema that the gate's reply is to follow."""
    components = msgspec.json.schema_components([Reading], ref_template="#/$defs/{name}")
    told = components[1]["Reading"] | {"additionalProperties": False}
    return msgspec.json.encode(told).decode()
