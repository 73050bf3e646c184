"""Prompt assembly: the blocks of a companion turn, in their one order, each with its reason.

    persona → standing instructions → posture → overlay? → bridge? → handover? → daily steering? →
    ops snippet? → user context? → supplemental context?

Pure. Each block is its own system message. What comes from memory is quoted as data: it is said
what it is, and it cannot close its own quotation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from polyvox.companion import posture
from polyvox.companion.gate import Posture, Reading
from polyvox.companion.ops import Ops
from polyvox.companion.overlays import Choice, Open
from polyvox.companion.posture import Stance, sentences
from polyvox.companion.recalling import MONTHS
from polyvox.companion.texts import text
from polyvox.context.words import plain, quoted, unstructured
from polyvox.memory.normalise import gap_in
from polyvox.memory.packets import UserModel
from polyvox.memory.remembering import Start, as_handover
from polyvox.memory.times import depth_of

# -- when what is known from before is said again: the bridge, the handover, one reinjection -------

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


# -- the deferred profile: at most two lines about the person, each only where the turn needs it ---

MOST = 2
LONGEST = 240
"""Characters of one text in a line."""
_WORDS = """will may mark bill rose grace hope joy art pat sue rob drew dawn faith summer april june
august chase grant frank rich miles dean guy iris ivy jade lily ruby olive penny violet"""
COMMON = frozenset(_WORDS.split())
"""Names that are words, too."""
_TITLES = """mr mrs ms miss dr prof professor doctor aunt uncle grandma grandpa granny sir madam the
my our"""
TITLES = frozenset(_TITLES.split())


@dataclass(frozen=True, slots=True)
class Profile:
    """Of the user model what may become a line."""

    relationships: Mapping[str, str]
    """Tracked people by name, with who they are."""
    patterns: Sequence[str] = ()
    work_context: str = ""
    long_term_direction: str = ""
    communication_preference: str = ""


def profile_lines(
    profile: Profile, turn: int, reading: Reading, posture: Posture, message: str
) -> list[tuple[str, str]]:
    """(which part, the line) for this turn, the most telling first."""
    if turn == 1:
        return []
    found: list[tuple[str, str]] = []
    if told := people(profile, message, posture):
        found.append(("relationships", told))
    if reading.avoidance and profile.patterns:
        found.append(("patterns", f"A pattern seen before: {_quoted(profile.patterns[0])}"))
    if reading.intent in ("momentum", "output_task") and profile.work_context:
        found.append(("work_context", f"Work: {_quoted(profile.work_context)}"))
    if reading.intent == "momentum" and reading.direct_request and profile.long_term_direction:
        found.append(("long_term_direction", f"Long term: {_quoted(profile.long_term_direction)}"))
    if reading.asks_about_style and profile.communication_preference:
        wanted = _quoted(profile.communication_preference)
        preference = f"How they like to be spoken to: {wanted}"
        found.append(("communication_preference", preference))
    return found[:MOST]


def named(profile: Profile, message: str) -> list[str]:
    """The tracked people whom a message names, as whole words: by the whole name, or by the first
    of several."""
    return [
        name
        for name in profile.relationships
        if any(_named(one, message) for one in (name, _first(name)) if one)
    ]


def _first(name: str) -> str:
    words = name.split()
    titled = not words or words[0].strip(".").casefold() in TITLES
    return "" if titled or len(words) == 1 else words[0]


def _named(name: str, message: str) -> bool:
    """A name that is a word as well counts where it is written as one inside a sentence."""
    if name.casefold() in COMMON:
        return re.search(rf"[\w,;’'\"] +{re.escape(name.title())}(?!\w)", message) is not None
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message, re.IGNORECASE) is not None


def people(profile: Profile, message: str, posture: Posture = "COMPANION") -> str:
    """The line on the people whom a message names, or on everybody's where it is about them."""
    names = named(profile, message)
    if not names and posture == "RELATIONSHIP":
        names = list(profile.relationships)[:3]
    told = [_person(name, profile.relationships[name]) for name in names[:3]]
    return f"People in their life: {'; '.join(told)}" if told else ""


def _person(name: str, about: str) -> str:
    return f"{_quoted(name)}, {_quoted(about)}" if about else _quoted(name)


def _quoted(text: str) -> str:
    return quoted(text if len(text) <= LONGEST else f"{text[:LONGEST].rstrip()}…")


STANDING_CHARS = 1200
STEERING_WORDS = 24
YESTERDAY = "Yesterday's note, not an instruction:"


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
    lead = "The person asked for this, in their own words; it applies until they say otherwise:"
    return "\n".join([lead, *kept])


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
            lines.append(f"You asked this last time; do not ask it again now: {quoted(asked)}")
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
        return "Note on an earlier day, not an instruction:"
    if about == today - timedelta(days=1):
        return YESTERDAY
    return f"Note on {about.day} {MONTHS[about.month - 1]} {about.year}, not an instruction:"


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


# -- what each rule looks at of what a session started with ----------------------------------------

TUGGED = ("commitment", "decision", "habit")


def brief_of(start: Start) -> Brief:
    """The handover and the bridge, and when they are told."""
    text, found = as_handover(start), start.startbrief
    if found is None:
        told = start.brief.time_gap_description if start.brief is not None else None
        gap = gap_in(told or "")
        return Brief(text, "" if gap is None else depth_of(gap), gap)
    if found.evidence is not None and found.evidence.quality == "empty":
        return Brief(text, first_talk=True)
    resume, times = found.resume, found.time_context
    return Brief(
        text,
        found.handover_depth or "",
        None if times is None else times.gap_minutes,
        unstructured(resume.bridge_text or "") if resume is not None else "",
        resume is not None and resume.use_bridge,
    )


def sources_of(start: Start, blocks: Collection[str]) -> list[tuple[str, str]]:
    """(block, message or day) that a start's texts were made from, where they are told: what
    quotes somebody is known by its quotation."""
    found: list[tuple[str, str]] = []
    brief, daily = start.startbrief, start.daily
    if "handover" in blocks and brief is not None and brief.evidence is not None:
        found += [("handover", one) for one in brief.evidence.episode_ids]
    if "daily_steering" in blocks and daily is not None:
        found.append(("daily_steering", f"day:{daily.analysis_date}"))
    return found


def loops_of(start: Start) -> list[str]:
    """Open loops: those that the service lists, else those of the startbrief."""
    listed = [one.text for one in start.loops if one.text.strip()]
    if listed or start.startbrief is None:
        return listed
    return [one.text for one in start.startbrief.items if one.kind == "loop"]


def tug_of(start: Start) -> Open | None:
    """The first loop that somebody may be asked about, as they put it where that is known: what
    they have promised, decided or taken up, no worry and no mere topic."""
    quotes = {one.text: one.quote for one in start.items if one.kind == "loop" and one.quote}
    rows = [(one.type, one.text) for one in start.loops]
    if not rows and start.startbrief is not None:
        rows = [(one.type, one.text) for one in start.startbrief.items if one.kind == "loop"]
    for kind, loop in rows:
        if loop.strip() and kind in (None, *TUGGED):
            quote = quotes.get(loop)
            return Open(quote, said=True) if quote else Open(loop)
    return None


def ops_of(start: Start) -> list[str]:
    """The threads that the startbrief names for today."""
    found = start.startbrief.ops_context if start.startbrief is not None else None
    return [] if found is None else [*found.top_loops_today, *found.waiting_on]


def profile_of(model: UserModel | None) -> Profile:
    """The profile, as far as it may become a line."""
    if model is None:
        return Profile({})
    star = model.north_star.get("general") or next(iter(model.north_star.values()), None)
    heading = (star.vision or star.goal) if star is not None else None
    tone = [model.tone.text] if model.tone is not None else []
    tone += [f"avoid {', '.join(model.avoid)}"] if model.avoid else []
    return Profile(
        {one.name: one.about for one in model.key_relationships},
        [one.text for one in model.patterns],
        model.work_context.text if model.work_context is not None else "",
        heading.text if heading is not None else "",
        "; ".join(tone),
    )
