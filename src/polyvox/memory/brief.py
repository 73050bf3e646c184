"""The brief: the plainer packet, and how its content fills the handover's place.

Pure. A brief can be foreign: all its texts are quoted as data when they are told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from polyvox.memory.packets import Brief
from polyvox.memory.quoting import ended, quote
from polyvox.memory.startbrief import Known, telling
from polyvox.quoting import plain

FACTS, LOOPS, SUMMARIES = 8, 5, 3
CHARS = 1200
"""Most characters of the context sheet."""
WORDS = 120
"""Most words of the text that fills the handover's place."""


def brief(known: Known) -> Brief:
    """The brief of what is known."""
    moment = known.moment
    gap = moment.gap
    loops = [one for one in known.loops if one.type != "commitment"]
    promised = [one for one in known.loops if one.type == "commitment"]
    made = Brief(
        time_gap_description=None if gap is None else f"{gap} since the last talk",
        time_of_day_label=moment.part,
        facts=_texts(known.facts, FACTS),
        open_loops=_texts((one.text for one in loops), LOOPS),
        commitments=_texts((one.text for one in promised), LOOPS),
        current_focus=plain(known.focus) if known.focus else None,
        narrative_summary=_texts(known.summaries or _narrative(known), SUMMARIES),
    )
    return Brief(
        time_gap_description=made.time_gap_description,
        time_of_day_label=made.time_of_day_label,
        facts=made.facts,
        open_loops=made.open_loops,
        commitments=made.commitments,
        current_focus=made.current_focus,
        narrative_summary=made.narrative_summary,
        brief_context=_sheet(made, {plain(one.text) for one in known.loops if one.pinned}) or None,
    )


def as_handover(found: Brief) -> str:
    """What a brief says, as a text for the handover's place: every piece a quotation, as long as it
    fits. Nothing, where it says nothing."""
    text = ""
    if found.time_gap_description:
        text = f"Since the last talk: {quote(found.time_gap_description, 12) or 'unknown'}."
    if found.time_of_day_label:
        text += f" Part of day: {quote(found.time_of_day_label.lower(), 3) or 'unknown'}."
    named = (
        ("In focus", (found.current_focus or "",)),
        ("Promised", found.commitments),
        ("Open", found.open_loops),
        ("Known", found.facts),
        ("Before", found.narrative_summary),
    )
    listed = [(name, quote(one, 24)) for name, texts in named for one in texts]
    if not any(one for _, one in listed) and found.brief_context:
        listed = [("Known", quote(line, 24)) for line in found.brief_context.splitlines()]
    for name, quoted in listed:
        longer = ended(f"{text} {name}: {quoted}")
        if quoted and len(longer.split()) <= WORDS:
            text = longer
    return text.strip()


def _narrative(known: Known) -> list[str]:
    """Without summaries: the last telling words of each of the last sessions, newest first."""
    last: dict[str, str] = {}
    for one in reversed(known.said):
        if telling(one.text):
            last.setdefault(one.session_id, quote(one.text))
    return [f"They said: {words}" for words in last.values() if words]


def _texts(texts: Iterable[str], most: int) -> tuple[str, ...]:
    cleaned = (text if text.startswith("They said: “") else plain(text) for text in texts)
    return tuple(dict.fromkeys(text for text in cleaned if text))[:most]


def _sheet(made: Brief, pinned: Collection[str]) -> str:
    """Facts only, one on a line, as long as they fit; what is pinned before what is not."""
    named = (
        ("focus", (made.current_focus or "",)),
        ("promised", [one for one in made.commitments if one in pinned]),
        ("open", [one for one in made.open_loops if one in pinned]),
        ("promised", [one for one in made.commitments if one not in pinned]),
        ("open", [one for one in made.open_loops if one not in pinned]),
        ("fact", made.facts),
        ("before", made.narrative_summary),
    )
    times = [f"{part}: {text}" for part, text in _times(made) if text]
    lines = times + [f"{name}: {quote(one)}" for name, texts in named for one in texts if one]
    kept, room = [], CHARS
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join(kept)


def _times(made: Brief) -> tuple[tuple[str, str | None], ...]:
    return ("time of day", made.time_of_day_label), ("gap", made.time_gap_description)
