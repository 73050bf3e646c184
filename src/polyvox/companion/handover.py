"""When what is known from before is said again: the bridge, the handover, one reinjection."""

from __future__ import annotations

import re
from dataclasses import dataclass

from polyvox.companion.reading import Reading

FAR = ("yesterday", "multi_day")
LONG_GAP = 120
SURE = 0.75
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?", re.UNICODE)
_UNPARTED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]{2}")
"""Two letters of a script that does not part its words: about one of them."""
_GREETING = """hi hey hello yo hiya heya howdy greetings good morning afternoon evening day there
again sup whats what's up how hows how's are you doing it going is everything back"""
GREETINGS = frozenset(_GREETING.split())


@dataclass(frozen=True, slots=True)
class Brief:
    """Of a session's brief what these rules look at."""

    handover: str = ""
    depth: str = ""
    gap_minutes: int | None = None
    bridge: str = ""
    use_bridge: bool = False
    first_talk: bool = False
    """Nobody has talked before: to say so once is enough."""


@dataclass(frozen=True, slots=True)
class Said:
    """What of it goes into this turn, and why."""

    bridge: str = ""
    handover: str = ""
    reinjected: bool = False
    reason: str = ""


def low_signal(text: str) -> bool:
    """Whether a message says next to nothing: at most three words, or only a greeting."""
    parted = _UNPARTED.sub(r"\g<0> ", text).replace("’", "'")
    words = [word.lower() for word in _WORD.findall(parted)]
    return len(words) <= 3 or all(word in GREETINGS for word in words)


def carry(brief: Brief, turn: int, first_message: str, reading: Reading, reinjected: bool) -> Said:
    """What to carry into the `turn`th message of a session (from 1). The bridge and the handover
    are independent: an empty one never suppresses the other."""
    if turn == 1:
        bridge = brief.bridge.strip() if brief.use_bridge else ""
        return Said(bridge, brief.handover, reason="session start")
    if turn == 2:
        why = _second(brief, first_message)
        return Said(handover=brief.handover if why else "", reason=why or "continued")
    if reinjected or not brief.handover:
        return Said(reason="said already" if reinjected else "nothing to say")
    wanted = reading.action == "memory_query" and reading.explicit and reading.direct_request
    if wanted and reading.confidence >= SURE and not reading.topic_shift:
        return Said(handover=brief.handover, reinjected=True, reason="asked for")
    return Said(reason="third turn or later")


def _second(brief: Brief, first_message: str) -> str:
    if brief.first_talk:
        return ""
    if brief.depth in FAR:
        return f"depth {brief.depth}"
    if brief.gap_minutes is not None and brief.gap_minutes >= LONG_GAP:
        return f"gap of {brief.gap_minutes} minutes"
    return "low-signal first message" if low_signal(first_message) else ""
