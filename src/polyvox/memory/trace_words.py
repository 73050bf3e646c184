"""The decisions of a trace in words that a person understands, for every door.

Names without words here are shown as they came.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

FETCHED = {
    "none": "nothing was asked of memory",
    "fetched": "memory told how things stand",
    "cached": "how things stand is known since its start",
    "brief": "memory gave the plainer packet",
    "empty": "memory had nothing to tell yet",
    "failed": "memory could not be asked",
    "invalidated": "you said that it was wrong, so it is not used in this session",
}
CARRIED = {
    "session start": "a session began",
    "continued": "you went straight on",
    "low-signal first message": "the first message said little",
    "said already": "it was brought back once in this session",
    "nothing to say": "there was nothing to say",
    "asked for": "you asked about it",
    "third turn or later": "only the first messages of a session are told",
}
RECALL = {
    "off": "looking things up is switched off",
    "none": "nothing in the message asked for it",
    "unsure": "not sure enough that you wanted it",
    "no query": "the message has no words to look for",
    "nothing found": "nothing that fits was found",
    "told already": "what was found stands in the request anyway",
    "unreachable": "memory could not be reached",
    "crisis": "nothing is looked up in a crisis",
}
POSTURES = {
    "COMPANION": "keeps you company",
    "MOMENTUM": "keeps things moving",
    "REFLECTION": "thinks along",
    "RELATIONSHIP": "listens for the people in it",
    "IDEATION": "looks for ideas",
    "RECOVERY": "goes gently",
    "PRACTICAL": "helps to get it done",
}
PRESSURES = {"LOW": "with little pressure", "MED": "with some pressure", "HIGH": "under pressure"}
HELD = {
    "unchanged": "as before",
    "sure": "the message left no doubt",
    "asked for": "you asked for it",
    "suggested twice": "two messages running spoke for it",
    "held": "one hint is not enough to change it",
    "no gate": "no model read your message",
    "held: the gate did not read": "your message could not be read, so nothing was changed",
    "crisis": "you may be in danger",
    "hard moment": "this is a hard moment",
}
OVERLAYS = {
    "daily_focus": "the day's focus",
    "daily_review": "a look back at the day",
    "weekly_compass": "a compass for the week",
    "conflict_regulation": "calming a conflict",
    "curiosity_spiral": "following a story",
    "accountability_tug": "a tug at something open",
}
BROUGHT_UP = {
    "session start": "a session began, and it was time for it",
    "too young": "the talk is too young for that",
    "no gate": "no model read your message",
    "conflict": "there is a conflict in it",
    "a story worth exploring": "there is a story worth exploring",
    "an open loop": "something is still open",
    "crisis": "not in a crisis",
    "hard moment": "not in a hard moment",
    "urgent": "it was urgent",
    "output task": "you wanted something made",
    "direct request": "you asked for something directly",
    "friction": "you had just corrected it",
    "no open loop": "nothing is open",
    "tugged today": "that was done today",
    "dismissed": "you waved it away not long ago",
}
THREADS = {
    "supplemental context is present": "what was looked up takes their place",
    "crisis": "never in a crisis",
    "hard moment": "not in a hard moment",
    "not about doing": "it was not about doing",
    "no thread to anchor on": "nothing is open",
    "about doing": "it was about doing",
    "pressure": "there was pressure",
}
MISSING = {
    "startbrief": "what a session starts with",
    "brief": "the plainer packet",
    "user_model": "your profile",
    "daily": "the note about yesterday",
    "loops": "what is open",
    "query": "looking things up",
    "standing": "your standing instructions",
    "gate": "reading your message",
    "ingest": "keeping the session",
}
WHY = {
    "timeout": "did not come in time",
    "unreachable": "could not be reached",
    "unavailable": "could not be reached",
    "malformed": "came in a shape that cannot be read",
    "unreadable": "gave a reply that cannot be read",
    "invalid": "said what its sources do not bear out",
    "status": "was refused",
    "refused": "was refused",
    "cap": "was left out: the spending limit is reached",
    "rate_limit": "was asked too often",
    "quota": "has no credit left",
    "authentication": "has no key that is accepted",
    "protocol": "sent nonsense",
    "empty": "came back empty",
    "resting": "is left alone for a minute, for it did not answer in time",
    "incomplete": "left something out:",
}
STEPS = {
    "session_ms": "reading the session",
    "brief_ms": "asking memory",
    "gate_ms": "reading your message",
    "recall_ms": "looking things up",
    "context_ms": "all of that",
    "stt_ms": "hearing you",
    "first_ms": "until the first word",
    "llm_ms": "the model",
    "tts_ms": "speaking",
    "total_ms": "in all",
}


class Decision(NamedTuple):
    """One decision: its topic, the outcome and the reason, which may be empty."""

    topic: str
    text: str
    why: str = ""


def decisions(trace: Mapping[str, Any]) -> Iterator[Decision]:
    """Yield each decision of a trace."""
    run, recall, posture = trace["startbrief_runtime"], trace["recall"], trace["posture"]
    number = run["userTurnsSeen"]
    place = f"message {number} of its session; " if number else ""
    opened = trace["startbrief_items_count"]
    items = f", {_count(opened, 'thing')} open" if opened else ""
    yield Decision("start", f"{place}{_word(FETCHED, run['startbrief_fetch'])}{items}")
    yield Decision("reading", _read(trace["gate"], trace["gate_degrade"]))
    if posture is not None:
        stance = f"{_word(POSTURES, posture['posture'])}, {_word(PRESSURES, posture['pressure'])}"
        yield Decision("posture", stance, _word(HELD, posture["reason"]))
        overlay = _word(OVERLAYS, trace["overlay"]) if trace["overlay"] else "none"
        yield Decision("brings up", overlay, _word(BROUGHT_UP, trace["overlay_reason"]))
    names = {"handover": "what was before", "bridge": "where you stopped"}
    carried = [words for name, words in names.items() if run[f"{name}_injected"]]
    why = _carried(trace["handover_reason"])
    yield Decision("carried", " and ".join(carried) or "nothing", why)
    if posture is not None:
        threads = "named" if run["ops_injected"] else "none"
        yield Decision("threads", threads, _word(THREADS, trace["ops_reason"]))
    yield Decision("about you", ", ".join(map(_tidy, trace["user_context"])) or "nothing")
    if recall is not None:
        yield _recalled(recall)


def steps(timings: Iterable[str]) -> dict[str, str]:
    """The name of each timed step, by its key."""
    return {key: STEPS.get(key) or _tidy(key.removesuffix("_ms")) for key in timings}


def missing(degrade: str) -> str:
    """Put a degrade in words, such as "startbrief: timeout (3 s)"."""
    match = re.fullmatch(r"([a-z_]+): ([a-z_]+)( \(.*\))?", degrade)
    if match is None:
        return degrade.removeprefix("context: ")
    what, why, detail = match[1], _word(WHY, match[2]), match[3] or ""
    if what == "handover":
        return f"what was before is told in plain words: the model that writes it {why}"
    return f"{_word(MISSING, what)} {why}{detail}"


def _read(gate: str, degrade: str | None) -> str:
    if gate == "none":
        return "no model read your message beforehand"
    return f"{gate} read your message" if not degrade else f"{gate} {_word(WHY, degrade)}"


def _carried(reason: str) -> str:
    if (gap := re.fullmatch(r"gap of (\d+) minutes", reason)) is not None:
        return f"you were away for {_count(int(gap[1]), 'minute')}"
    return "it was a day ago, or longer" if reason[:6] == "depth " else _word(CARRIED, reason)


def _recalled(recall: Mapping[str, Any]) -> Decision:
    if recall["decision"] != "found":
        return Decision("looked up", _word(RECALL, recall["decision"]))
    best = recall["relevance"]
    why = "" if best is None else f"the best fits by {best:.0%}"
    return Decision("looked up", f"it found {_count(recall['found'], 'thing')}", why)


def _word(words: Mapping[str, str], name: str) -> str:
    return words.get(name) or _tidy(name)


def _tidy(name: str) -> str:
    return name.replace("_", " ").lower() if name.isupper() or "_" in name else name


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
