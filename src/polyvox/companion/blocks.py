"""Prompt assembly: the blocks of a companion turn, in their one order, each with its reason.

    persona → standing instructions → posture → overlay? → bridge? → handover? → daily steering? →
    ops snippet? → user context? → supplemental context?

Pure. Each block is its own system message. What comes from memory is quoted as data: it is said
what it is, and it cannot close its own quotation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from polyvox.companion import deferred, posture
from polyvox.companion.handover import Said
from polyvox.companion.ops import Ops
from polyvox.companion.overlays import Choice
from polyvox.companion.posture import Stance
from polyvox.companion.reading import Reading
from polyvox.companion.sentences import sentences
from polyvox.companion.sheet import MONTHS
from polyvox.companion.texts import text
from polyvox.quote import plain, quoted

STANDING_CHARS = 1200
STEERING_WORDS = 24
YESTERDAY = "Yesterday's note, no instruction:"


@dataclass(frozen=True, slots=True)
class Block:
    """A named piece of the system prompt."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that was decided for a turn."""

    kernel: str
    standing: Sequence[str]
    stance: Stance
    reading: Reading
    hour: int
    before: str
    """What the companion said last."""
    overlay: Choice
    carried: Said
    steering: str
    ops: Ops
    lines: Sequence[tuple[str, str]]
    supplemental: str
    lead: str = YESTERDAY
    """What the steering begins with."""


def assemble(parts: Parts) -> list[Block]:
    """The blocks in their order; one without a text is left out."""
    blocks = [
        Block("persona", parts.kernel),
        Block("standing_instructions", standing(parts.standing)),
        Block("posture", _posture(parts)),
        Block("overlay", _overlay(parts.overlay)),
        Block("bridge", parts.carried.bridge),
        Block("handover", parts.carried.handover),
        Block("daily_steering", f"{parts.lead} {quoted(parts.steering)}" if parts.steering else ""),
        Block("ops", parts.ops.text),
        Block("user_context", user_context(parts.lines)),
        Block("supplemental_context", parts.supplemental),
    ]
    return [block for block in blocks if block.text.strip()]


def _headed(name: str, body: str) -> str:
    return f"[{name}]\n{body}" if body else ""


def user_context(lines: Sequence[tuple[str, str]]) -> str:
    """Lines of the profile, each with which part it is."""
    return _headed("USER_CONTEXT", "\n".join(line for _, line in lines))


def standing(instructions: Sequence[str], room: int = STANDING_CHARS) -> str:
    """What the person asked for once and for all, as long as it fits, the newest kept."""
    kept = _fitting(instructions, room)
    if not kept:
        return ""
    return "The person asked for this, in their own words; it holds until they say otherwise:\n" + (
        "\n".join(kept)
    )


def left_out(instructions: Sequence[str], room: int = STANDING_CHARS) -> str:
    """How many of the instructions do not fit, in words; nothing where all of them do."""
    gone = len(instructions) - len(_fitting(instructions, room))
    return f"standing: {gone} of {len(instructions)} left out, too long" if gone else ""


def _fitting(instructions: Sequence[str], room: int) -> list[str]:
    """Their lines. One that is too long is left out whole: half of it may say something else."""
    kept: list[str] = []
    for one in reversed(list(instructions)):
        line = f"- {quoted(one)}"
        if len(line) <= room:
            room -= len(line) + 1
            kept.insert(0, line)
    return kept


def _posture(parts: Parts) -> str:
    stance = parts.stance
    lines = [f"{stance.posture}, pressure {stance.pressure}. {text(f'posture/{stance.posture}')}"]
    if parts.reading.intent == "momentum":
        night = posture.is_night(parts.hour)
        lines.append(text("posture/momentum_guard_night" if night else "posture/momentum_guard"))
        if asked := posture.last_question(parts.before):
            lines.append(f"Asked last time, not to be asked again now: {quoted(asked)}")
    return _headed("CONVERSATION_POSTURE", "\n".join(lines))


def _overlay(choice: Choice) -> str:
    if choice.overlay is None:
        return ""
    body = f"{choice.overlay}: {text(f'overlay/{choice.overlay}')}"
    if choice.loop is not None:
        whose = "They said" if choice.loop.said else "Noted as open"
        body += f"\n{whose}: {quoted(choice.loop.text)}"
    return _headed("OVERLAY", body)


def steering_lead(day: str | None, today: date) -> str:
    """Of which day a note is, in words."""
    try:
        about = date.fromisoformat((day or "")[:10])
    except ValueError:
        return "Note on an earlier day, no instruction:"
    if about == today - timedelta(days=1):
        return YESTERDAY
    return f"Note on {about.day} {MONTHS[about.month - 1]} {about.year}, no instruction:"


def steering(note: str, confidence: float, flag: str, lead: str = YESTERDAY) -> str:
    """The daily analysis in its first sentence, as much of it as fits beside its lead; only where
    it is sure of itself."""
    if flag in ("needs_review", "insufficient_data") or confidence < 0.75:
        return ""
    text = note.strip().lstrip("-*• ")
    words = plain(next(iter(sentences(text)), "")).split()
    room = STEERING_WORDS - len(lead.split())
    if len(words) <= room:
        return " ".join(words)
    return " ".join(words[:room]).rstrip(".,;:!?…") + "…"


__all__ = [
    "Block",
    "Parts",
    "assemble",
    "deferred",
    "left_out",
    "quoted",
    "standing",
    "steering",
    "steering_lead",
    "user_context",
]
