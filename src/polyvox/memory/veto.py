"""The veto: what a person does not want a session to be told of what is remembered.

A veto holds ids of items, never their words. What rests on the same messages goes with an item: a
handover is composed without them, and nothing recalls them. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from polyvox.memory import loops
from polyvox.memory.loops import Loop
from polyvox.memory.packets import ItemKind, Resume, StartBrief, StartItem
from polyvox.memory.profile import Line, Profile
from polyvox.memory.startbrief import Known, OpenLoop, bridge_of
from polyvox.memory.statements import plain

HANDOVER, BRIDGE = "handover", "bridge"
INSTRUCTIONS = ("name", "preferences.avoid", "instructions")
"""Places of the profile that are told as instructions."""
LINES = {
    "current_focus": "In focus",
    "work_context": "Work",
    "north_star": "Long term",
    "preferences.tone": "How they like to be spoken to",
    "patterns": "A pattern",
    "key_relationships": "",
}
"""The other places, and what a line of each is called."""


@dataclass(frozen=True, slots=True)
class Veto:
    """What shall not be told, by the ids of items."""

    ids: frozenset[str] = frozenset()

    @classmethod
    def of(cls, ids: Iterable[str]) -> Veto:
        """From a list of ids."""
        return cls(frozenset(ids))


NO_VETO = Veto()


@dataclass(frozen=True, slots=True)
class Left:
    """What is left to tell, and the messages that are not to be recalled."""

    known: Known
    loops: list[Loop]
    who: Profile
    hidden: tuple[str, ...]


def without(known: Known, kept: Sequence[Loop], who: Profile, veto: Veto) -> Left:
    """What is known, less what was vetoed and whatever else those messages say."""
    if not veto.ids:
        return Left(known, list(kept), who, ())
    names = _names(who)
    gone = _gone(veto, [(one.id, one.places) for one in known.loops])
    gone |= _gone(veto, [(one.id, _places(one)) for one in kept])
    topics = {loops.topic_of(one.text) for one in known.loops if one.id in gone}
    open_gone = [one for one in known.loops if one.id in gone or _is(one, topics)]
    kept_gone = [one for one in kept if one.id in gone or loops.topic_of(one.text) in topics]
    quotes = [(one.places, one.quote) for one in open_gone]
    quotes += [(_places(one), each.quote) for one in kept_gone for each in one.evidence]
    lines = [
        line
        for some in who.lines.values()
        for line in some
        if names.get(line.id) in veto.ids or any(_same(line, at, words) for at, words in quotes)
    ]
    hidden = {place for one in open_gone for place in one.places}
    hidden |= {place for one in kept_gone for place in _places(one)}
    hidden |= {f"{each.session_id}#{each.index}" for line in lines for each in line.evidence}
    bridge = bridge_of(known) if BRIDGE in veto.ids else None
    hidden |= {bridge.id} if bridge is not None else set()
    texts = {plain(line.text) for line in lines}
    day = known.yesterday
    left = replace(
        known,
        said=tuple(one for one in known.said if one.id not in hidden),
        loops=tuple(
            one for one in known.loops if one not in open_gone and not hidden & set(one.places)
        ),
        focus=None if known.focus and plain(known.focus) in texts else known.focus,
        hints=tuple(one for one in known.hints if plain(one) not in texts),
        yesterday=None if day is not None and day_id(day.analysis_date) in veto.ids else day,
    )
    told = {
        place: tuple(line for line in some if line not in lines)
        for place, some in who.lines.items()
    }
    return Left(
        left,
        [one for one in kept if one not in kept_gone and not hidden & set(_places(one))],
        replace(who, lines=told),
        tuple(sorted(hidden)),
    )


def silenced(brief: StartBrief, veto: Veto) -> StartBrief:
    """A brief without the texts that were vetoed as a whole."""
    if HANDOVER in veto.ids:
        brief = replace(brief, handover_text=None)
    return replace(brief, resume=Resume()) if BRIDGE in veto.ids else brief


def items_of(known: Known, brief: StartBrief, who: Profile) -> tuple[StartItem, ...]:
    """Everything that a session is told of this, vetoed or not; `brief` is what is told now."""
    found: list[StartItem] = []
    cited = {one.id: one for one in known.said}
    if brief.handover_text:
        ids = brief.evidence.episode_ids if brief.evidence is not None else ()
        source = next((cited[one] for one in ids if one in cited), None)
        found.append(
            StartItem(
                HANDOVER,
                "handover",
                brief.handover_text,
                None if source is None else source.text,
                None if source is None else source.at,
                None if source is None else source.session_id,
            )
        )
    if (bridge := bridge_of(known)) is not None:
        text = bridge.text
        found.append(StartItem(BRIDGE, "bridge", text, text, bridge.at, bridge.session_id))
    if (day := known.yesterday) is not None and day.steering_note:
        found.append(StartItem(day_id(day.analysis_date), "steering", day.steering_note))
    names = _names(who)
    for place in INSTRUCTIONS:
        found += [
            _line(names[one.id], one, "instruction", told_as(place, one.text))
            for one in who.all(place)
        ]
    for place, name in LINES.items():
        found += [_line(names[one.id], one, "profile", _named(name, one)) for one in who.all(place)]
    found += [_loop(one) for one in known.loops]
    return tuple(found)


def _names(who: Profile) -> dict[str, str]:
    """Which item each line of the profile is, by its id. Lines that were taken from the same words
    are told and vetoed together: "Never use lists" and "Avoid: lists"."""
    found: dict[str, str] = {}
    at: dict[str, list[Line]] = {}
    for place in (*INSTRUCTIONS, *LINES):
        for line in who.all(place):
            where = [f"{each.session_id}#{each.index}" for each in line.evidence]
            alike = (one for each in where for one in at.get(each, ()))
            twin = next(
                (o for o in alike if any(_same(line, where, e.quote) for e in o.evidence)), None
            )
            kind = "instruction" if place in INSTRUCTIONS else "profile"
            found[line.id] = f"{kind}:{line.id}" if twin is None else found[twin.id]
            for each in where:
                at.setdefault(each, []).append(line)
    return found


def day_id(day: str | None) -> str:
    """Which item the note on a day is."""
    return f"steering:{day or ''}"


def told_as(place: str, text: str) -> str:
    """An instruction as it is told."""
    return (
        f"Call me {text}"
        if place == "name"
        else (f"Avoid: {text}" if place == "preferences.avoid" else text)
    )


def loop_id(one: OpenLoop) -> str:
    """Which item a loop is. It names a message too: what is read off a message by plain rules gets
    another id once the session was worked through."""
    return f"loop:{one.id}@{one.places[-1] if one.places else ''}"


def _gone(veto: Veto, known: Sequence[tuple[str, tuple[str, ...]]]) -> set[str]:
    """The ids of the loops that were vetoed: by their own id, else by a message of theirs."""
    ids = {one for one, _ in known}
    gone: set[str] = set()
    for item in veto.ids:
        if item.startswith("loop:"):
            name, _, place = item.removeprefix("loop:").partition("@")
            gone |= {name} if name in ids else {one for one, some in known if place in some}
    return gone


def _is(one: OpenLoop, topics: set[str]) -> bool:
    return loops.topic_of(one.text) in topics


def _places(loop: Loop) -> tuple[str, ...]:
    return tuple(f"{each.session_id}#{each.index}" for each in loop.evidence)


def _same(line: Line, places: Sequence[str], quote: str) -> bool:
    """Whether a line was taken from these words of one of these messages."""
    words = _words(quote)
    return any(
        f"{each.session_id}#{each.index}" in places and _within(words, _words(each.quote))
        for each in line.evidence
    )


def _within(one: str, other: str) -> bool:
    return bool(one and other) and (one in other or other in one)


def _words(quote: str) -> str:
    """Its words alone, each between spaces."""
    found = re.findall(r"[^\W_]+", quote.casefold())
    return f" {' '.join(found)} " if found else ""


def _line(name: str, line: Line, kind: ItemKind, text: str) -> StartItem:
    said = line.evidence[-1] if line.evidence else None
    quote, session = (None, None) if said is None else (said.quote or None, said.session_id)
    return StartItem(name, kind, text, quote, line.said_at, session)


def _named(name: str, line: Line) -> str:
    name = name or line.item
    return line.text if line.text.casefold() == name.casefold() else f"{name}: {line.text}"


def _loop(one: OpenLoop) -> StartItem:
    session = one.places[-1].rpartition("#")[0] if one.places else None
    return StartItem(loop_id(one), "loop", one.text, one.quote or None, one.seen_at, session)
