"""The startbrief: what a session starts with, made of plain values by pure functions.

`Known` is all it may draw on; whoever reads it from a store (`past.read`) or makes it up in a test
gets the same brief. Only the person's own words are told again, quoted; the bridge is drawn from
the very session that it bridges to.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, tzinfo

from polyvox.context.words import plain
from polyvox.errors import CapReached, ModelError, StoreError
from polyvox.memory.handover import Handover, Sources, Thread, ended, quote, write
from polyvox.memory.packets import (
    Brief,
    BriefEvidence,
    BriefItem,
    Daily,
    OpsContext,
    Resume,
    StartBrief,
)
from polyvox.memory.times import CONTINUATION, Moment, Past, at, moment_of
from polyvox.models.base import Model
from polyvox.resources import Resources
from polyvox.store import usage
from polyvox.store.database import Tx
from polyvox.store.usage import check_caps
from polyvox.values import Scope

ITEMS = 5
THREADS = 6
TOP = 3
"""Loops, hints, themes of the ops context, each."""
UNSURE = ("needs_review", "insufficient_data")
_WAITING = re.compile(
    r"\b(?:wait\w*|hear(?:ing)? (?:back )?from|pending|reply from)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Said:
    """Something that the person said."""

    id: str
    session_id: str
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class OpenLoop:
    """Something open, in the person's words or close to them."""

    id: str
    text: str
    type: str | None = None
    horizon: str | None = None
    due: date | None = None
    salience: float | None = None
    seen_at: int | None = None
    quote: str = ""
    """The sentence that opened it."""
    places: tuple[str, ...] = ()
    """The ids of the messages that speak of it."""
    pinned: bool = False

    @property
    def waiting(self) -> bool:
        """Whether somebody else has to move first."""
        return self.type == "thread" and bool(_WAITING.search(f"{self.text} {self.quote}"))


@dataclass(frozen=True, slots=True)
class Known:
    """All that a brief may draw on. Loops come by priority, pinned ones first; what was said comes
    oldest first."""

    now: int
    zone: tzinfo | None = None
    sessions: tuple[Past, ...] = ()
    said: tuple[Said, ...] = ()
    loops: tuple[OpenLoop, ...] = ()
    facts: tuple[str, ...] = ()
    focus: str | None = None
    hints: tuple[str, ...] = ()
    """Lines of the profile."""
    summaries: tuple[str, ...] = ()
    """Of the last sessions, the newest first."""
    yesterday: Daily | None = None

    @property
    def moment(self) -> Moment:
        """When it is."""
        return moment_of(self.now, self.zone, self.sessions)

    @property
    def last(self) -> Past | None:
        """The session before this one."""
        before = [one for one in self.sessions if one.started_at <= self.now]
        return max(before, key=lambda one: (one.ended_at, one.session_id), default=None)


async def startbrief(
    known: Known, model: Model | None = None, seconds: float | None = None
) -> tuple[StartBrief, Handover]:
    """The brief, and how its handover came about."""
    moment = known.moment
    threads = threads_of(known)
    handover = await write(Sources(moment, threads), model, seconds)
    loops = known.loops[:ITEMS]
    bridge = bridge_of(known)
    told = threads if handover.fallback is None else (handover.thread,)
    ids = {one.id for one in told if one is not None} | ({bridge.id} if bridge else set())
    cited = [one for one in known.said if one.id in ids]
    brief = StartBrief(
        handover_text=handover.text,
        handover_depth=moment.depth,
        time_context=moment.context(),
        resume=_resume(bridge),
        items=tuple(_item(one, known.zone) for one in loops),
        ops_context=_ops(known, moment.local.date()),
        evidence=BriefEvidence(
            session_ids=_sessions(known, cited),
            episode_ids=tuple(one.id for one in cited),
            loop_ids=tuple(one.id for one in loops),
            quality=_quality(known),
            fallback=handover.fallback,
        ),
    )
    return brief, handover


def threads_of(known: Known) -> tuple[Thread, ...]:
    """What may be told again, the most telling first: soon after, the last words; later, what is
    open. A greeting leaves nothing open."""
    last = known.last
    every = [one for one in reversed(known.said) if telling(one.text)]
    told = [one for one in every if last is not None and one.session_id == last.session_id] or every
    words = [Thread(one.id, one.text) for one in told]
    open_ones = [Thread(one.id, one.quote or one.text) for one in known.loops]
    near = known.moment.depth in ("continuation", "today")
    ordered = words[:1] + open_ones + words[1:] if near else open_ones + words
    unique: dict[str, Thread] = {}
    for one in ordered:
        unique.setdefault(plain(one.text).casefold(), one)
    return tuple(one for key, one in unique.items() if key)[:THREADS]


def bridge_of(known: Known) -> Said | None:
    """The words to go on from: the last ones of the last session, if it ended just now."""
    gap, last = known.moment.gap_minutes, known.last
    if gap is None or last is None or gap > CONTINUATION:
        return None
    said = [one for one in known.said if one.session_id == last.session_id and plain(one.text)]
    return next((one for one in reversed(said) if telling(one.text)), said[-1] if said else None)


def telling(text: str) -> bool:
    """Whether a message says more than hello or thanks."""
    return len(text.split()) > 3 or len(plain(text)) > 24


def _resume(bridge: Said | None) -> Resume:
    quoted = quote(bridge.text) if bridge else ""
    if not quoted:
        return Resume()
    return Resume(True, ended(f"A moment ago they said: {quoted}"))


def _item(loop: OpenLoop, zone: tzinfo | None) -> BriefItem:
    return BriefItem(
        kind="tension" if loop.type == "friction" else "loop",
        text=plain(loop.text),
        type=loop.type,
        time_horizon=loop.horizon,
        due_date=None if loop.due is None else loop.due.isoformat(),
        salience=loop.salience,
        last_seen_at=None if loop.seen_at is None else at(loop.seen_at, zone).isoformat(),
    )


def _ops(known: Known, today: date) -> OpsContext:
    due = [one for one in known.loops if not one.waiting and (one.pinned or _due(one, today))]
    daily = known.yesterday
    sure = daily is not None and daily.exists and daily.quality_flag not in UNSURE
    return OpsContext(
        top_loops_today=tuple(plain(one.text) for one in due[:TOP]),
        waiting_on=tuple(plain(one.text) for one in known.loops if one.waiting)[:TOP],
        user_model_hints=tuple(plain(one) for one in known.hints[:TOP]),
        yesterday_themes=tuple(plain(one) for one in daily.themes[:TOP]) if daily and sure else (),
        steering_note=daily.steering_note if daily and sure else None,
    )


def _due(one: OpenLoop, today: date) -> bool:
    return one.due <= today if one.due is not None else one.horizon == "today"


def _sessions(known: Known, cited: list[Said]) -> tuple[str, ...]:
    last = known.last
    ids = [] if last is None else [last.session_id]
    return tuple(dict.fromkeys(ids + [one.session_id for one in cited]))


def _quality(known: Known) -> str:
    if not known.sessions:
        return "empty"
    return "good" if known.said or known.loops else "thin"


# -- the brief: the plainer packet, and how its content fills the handover's place -----------------
# Pure. A brief can be foreign: all its texts are quoted as data when they are told.

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


# -- a startbrief whose handover is written by the model that memory works with --------------------
# Only a model that somebody chose for memory is asked, within the budget of a session's start and
# the caps on cost; whatever hinders it, the plain handover is there. `known` must have been read
# for a cloud model: which machine a model runs on is not asked here.

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
        """Only a model that somebody chose for memory is asked."""
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
    """The brief; why its handover is the plain one stands in its evidence."""
    model, reason = await _model(resources, scope)
    budget = resources.settings.memory.budget if seconds is None else seconds
    made, handover = await startbrief(known, model, budget)
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
    if not handover.spent:
        return
    now = resources.clock()

    def write(tx: Tx) -> None:
        for model, used in handover.spent:
            usage.record(tx, usage=used, model=model, advisor_id=PURPOSE, at=now, purpose=PURPOSE)

    try:
        await resources.database.write(write, scope)
    except StoreError as error:  # the brief is there; it shall not be lost for its bill
        log.warning("usage not recorded: %s", error.message)
