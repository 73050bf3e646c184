"""The brief: the plainer packet, and how its content fills the handover's place.

Pure. A brief can be foreign: all its texts are quoted as data when they are told.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from polyvox.memory.packets import Brief
from polyvox.memory.quoting import ended, quote
from polyvox.memory.startbrief import Known, telling
from polyvox.quote import plain

FACTS, LOOPS, SUMMARIES = 8, 5, 3
CHARS = 1200
"""Most characters of the context sheet, and of the text that fills the handover's place."""
WORDS = 120
"""Most words of that text."""
EACH, SHEET = 60, 40
"""Most words of one piece of it; and so many are kept for a sheet that says something more."""
FEWEST = 8
"""A piece of which not even so many words fit is left out."""
_LABEL = re.compile(r"^[^:]{1,24}:")


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
    listed = [(name, one) for name, texts in named for one in texts]
    more = [("Known", line) for line in _unsaid(found, [one for _, one in listed])]
    kept = min(SHEET, sum(len(line.split()) + 1 for _, line in more))
    text = _filled(text, listed, WORDS - kept, EACH)
    return _filled(text, more, WORDS, WORDS).strip()


def _filled(text: str, pieces: Sequence[tuple[str, str]], most: int, each: int) -> str:
    """The text with these pieces, as long as they fit; the last one may be cut."""
    for name, words in pieces:
        lead = f"{text} {name}:"
        room = min(each, most - len(lead.split()))
        if told := _whole(words, room, CHARS - len(lead)):
            text = ended(f"{lead} {told}")
    return text


def _whole(text: str, words: int, chars: int) -> str:
    """A text between marks, whole where there is room for it, else cut; nothing, where too little
    of it would be left or it says nothing."""
    inside = plain(text)
    short = " ".join(inside.split()[: max(0, words)])[: max(0, chars - 5)].rstrip()
    if short != inside:
        if len(short.split()) < FEWEST:
            return ""
        short = f"{short.rstrip('…,;: ')}…"
    return f"“{short}”" if any(letter.isalnum() for letter in short) else ""


def _unsaid(found: Brief, listed: Iterable[str]) -> list[str]:
    """The lines of the context sheet that tell something which is not listed as well."""
    texts = (*listed, found.time_gap_description or "", found.time_of_day_label or "")
    said = sorted({plain(one).casefold().rstrip(".") for one in texts} - {""}, key=len)[::-1]
    lines = (found.brief_context or "").splitlines()
    return [line for line in lines if plain(line) and not _repeats(line, said)]


def _repeats(line: str, said: Sequence[str]) -> bool:
    """Whether a line says nothing but these, one or several of them, or the beginning of one."""
    core = _LABEL.sub("", plain(line).casefold()).strip(" '.…-")
    if not core or any(core in one for one in said):
        return True
    left = core
    for one in said:
        left = re.sub(rf"(?<!\w){re.escape(one)}(?!\w)", " ", left)
    return left != core and not re.search(r"\w", left)


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
