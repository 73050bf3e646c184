"""The ops snippet: one sentence that names a thread or two to anchor on, only where it is about
doing, never in a crisis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyvox.companion.gate import Reading
from polyvox.companion.posture import Stance
from polyvox.context.words import plain, quoted

WORDS = 22
SURE = 0.70
DOING_INTENTS = ("momentum", "output_task")
NO_THREAD = "no thread to anchor on"
DOING_POSTURES = ("MOMENTUM", "PRACTICAL")


@dataclass(frozen=True, slots=True)
class Ops:
    """The snippet, where its threads came from, and why it is there or not."""

    text: str = ""
    source: str = ""
    reason: str = ""


def snippet(
    reading: Reading,
    stance: Stance,
    brief: Sequence[str],
    loops: Sequence[str],
    recalled: Sequence[str],
    *,
    supplemental: bool,
) -> Ops:
    """The sentence for this turn."""
    if supplemental:
        return Ops(reason="supplemental context is present")
    if reading.risk == "CRISIS":
        return Ops(reason="crisis")
    doing = reading.intent in DOING_INTENTS or stance.posture in DOING_POSTURES
    pressed = stance.pressure == "HIGH" and stance.confidence >= SURE
    if not doing and not pressed:
        return Ops(reason="not about doing")
    for source, threads in (("startbrief", brief), ("loops", loops), ("recall", recalled)):
        shown = (plain(thread).rstrip(".") for thread in threads)
        named = [thread for thread in shown if thread][:2]
        if named:
            return Ops(_sentence(named), source, "about doing" if doing else "pressure")
    return Ops(reason=NO_THREAD)


def _sentence(threads: Sequence[str]) -> str:
    """At most 22 words; two threads where both fit, else the first, cut."""
    lead = "Worth coming back to:"
    both = f"{lead} {' and '.join(map(quoted, threads))}."
    if len(both.split()) <= WORDS:
        return both
    words, room = threads[0].split(), WORDS - len(lead.split())
    cut = " ".join(words[:room]) + ("" if len(words) <= room else "…")
    return f"{lead} {quoted(cut)}."
