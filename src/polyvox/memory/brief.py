"""The brief, the plainer packet for clients that know no startbrief; and who writes startbriefs.

A brief can be foreign: all its texts are quoted as data when they are told.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from polyvox.context.words import plain
from polyvox.errors import CapReached, ModelError, StoreError
from polyvox.memory.handover import Handover, ended, quote
from polyvox.memory.packets import Brief, StartBrief
from polyvox.memory.session_start import FACTS, SUMMARIES, Known, startbrief, telling
from polyvox.models.base import Model
from polyvox.resources import Resources
from polyvox.store import usage
from polyvox.store.database import Tx
from polyvox.store.usage import check_caps
from polyvox.values import Scope

LOOPS = 5
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
    promised = [one for one in known.loops if one.type == "commitment"]
    others = [one for one in known.loops if one.type != "commitment"]
    made = Brief(
        time_gap_description=None if gap is None else f"{gap} since the last talk",
        time_of_day_label=moment.part,
        facts=_texts(known.facts, FACTS),
        open_loops=_texts((one.text for one in others), LOOPS),
        commitments=_texts((one.text for one in promised), LOOPS),
        current_focus=plain(known.focus) if known.focus else None,
        narrative_summary=_texts(known.summaries, SUMMARIES) or _narrative(known),
    )
    pinned = {plain(one.text) for one in known.loops if one.pinned}
    lines = [f"time of day: {moment.part}"]
    lines += [f"gap: {made.time_gap_description}"] if gap else []
    pieces = _pieces(made)
    pieces.sort(key=lambda each: each[0] != "In focus" and each[1] not in pinned)
    lines += [f"{_SHEET[name]}: {quote(one)}" for name, one in pieces if one]
    room, sheet = CHARS, list[str]()
    for line in lines:  # as long as they fit, one on a line
        room -= len(line) + 1
        if room < 0:
            break
        sheet.append(line)
    return replace(made, brief_context="\n".join(sheet) or None)


_SHEET = {
    "In focus": "focus",
    "Promised": "promised",
    "Open": "open",
    "Known": "fact",
    "Before": "before",
}


def _pieces(found: Brief) -> list[tuple[str, str]]:
    named = (
        ("In focus", (found.current_focus or "",)),
        ("Promised", found.commitments),
        ("Open", found.open_loops),
        ("Known", found.facts),
        ("Before", found.narrative_summary),
    )
    return [(name, one) for name, texts in named for one in texts]


def as_handover(found: Brief) -> str:
    """The brief as a text for the handover's place: every piece a quotation, as long as it fits.
    Nothing, where it says nothing."""
    text = ""
    if found.time_gap_description:
        text = f"Since the last talk: {quote(found.time_gap_description, 12) or 'unknown'}."
    if found.time_of_day_label:
        text += f" Part of day: {quote(found.time_of_day_label.lower(), 3) or 'unknown'}."
    listed = _pieces(found)
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
    said = [plain(one).casefold() for one in texts]
    cores = {line: _core(line) for line in (found.brief_context or "").splitlines()}
    return [line for line, core in cores.items() if core and not any(core in one for one in said)]


def _core(line: str) -> str:
    return _LABEL.sub("", plain(line).casefold()).strip(" '.…-")


def _narrative(known: Known) -> tuple[str, ...]:
    """Without summaries: the last telling words of each of the last sessions, newest first."""
    last: dict[str, str] = {}
    for one in reversed(known.said):
        if telling(one.text):
            last.setdefault(one.session_id, quote(one.text))
    return tuple(f"They said: {words}" for words in last.values() if words)[:SUMMARIES]


def _texts(texts: Iterable[str], most: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for one in texts if (text := plain(one))))[:most]


# -- a startbrief whose handover is written by the model that memory works with --------------------
# Only a model that somebody chose for memory is asked, within the budget of a session's start and
# the caps on cost; whatever hinders it, the template is there. `known` must have been read for a
# cloud model: which machine a model runs on is not asked here.

log = logging.getLogger("polyvox.session")

SHARE = 0.8
"""Of a session start's budget, what the writing may take."""
PURPOSE = "memory"
"""Under this name its usage is summed."""


@dataclass(frozen=True, slots=True)
class BriefWriter:
    """Writes the handovers of sessions."""

    resources: Resources

    @property
    def writes(self) -> bool:
        """Whether somebody chose a model for memory; else a template does."""
        return bool(self.resources.settings.models.memory)

    @property
    def cloud(self) -> bool:
        """Whether what it is told leaves this machine."""
        resources = self.resources
        return not resources.models.stays_here(resources.settings.models.memory)

    async def brief(self, scope: Scope, known: Known) -> StartBrief:
        """The brief, with time left to tell it plainly where the model takes too long."""
        budget = self.resources.settings.memory.budget * SHARE
        return await written_brief(self.resources, scope, known, budget)


async def written_brief(
    resources: Resources, scope: Scope, known: Known, seconds: float | None = None
) -> StartBrief:
    """The brief; why its handover is the template's stands in its evidence."""
    model, reason = await _model(resources, scope)
    budget = resources.settings.memory.budget if seconds is None else seconds
    made, handover = await startbrief(known, model, budget)
    if handover.spent:
        await _record(resources, scope, handover)
    if reason and made.evidence is not None:
        return replace(made, evidence=replace(made.evidence, fallback=reason))
    return made


async def _model(resources: Resources, scope: Scope) -> tuple[Model | None, str]:
    """Who writes, or why nobody does."""
    name = resources.settings.models.memory
    if not name:
        return None, ""
    now, limits = resources.clock(), resources.settings.limits
    try:
        await resources.database.read(lambda tx: check_caps(tx, limits, "", None, now), scope)
        return resources.models.chain(name, ()), ""
    except CapReached:
        return None, "cap_reached"
    except ModelError as error:
        return None, error.category


async def _record(resources: Resources, scope: Scope, handover: Handover) -> None:
    now = resources.clock()

    def write(tx: Tx) -> None:
        for model, used in handover.spent:
            usage.record(tx, usage=used, model=model, advisor_id=PURPOSE, at=now, purpose=PURPOSE)

    try:
        await resources.database.write(write, scope)
    except StoreError as error:  # the brief is there; it shall not be lost for its bill
        log.warning("usage not recorded: %s", error.message)
