"""The veto: what a person does not want a session to be told of what is remembered.

A veto holds ids of items, never their words. What rests on the same messages goes with an item: a
handover is composed without them, and nothing recalls them. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from polyvox.ids import content_hash
from polyvox.memory import session_start as briefs
from polyvox.memory.loops import Loop
from polyvox.memory.packets import (
    Brief,
    ItemKind,
    Person,
    Resume,
    Star,
    StartBrief,
    StartItem,
    UserModel,
)
from polyvox.memory.profile import Line, Profile
from polyvox.memory.remote import SessionStart
from polyvox.memory.session_start import Known, OpenLoop, bridge_of
from polyvox.memory.tables.statements import plain

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


NO_VETO = Veto()


@dataclass(frozen=True, slots=True)
class Left:
    """What is left to tell, and the messages that are not to be recalled."""

    known: Known
    loops: list[Loop]
    who: Profile
    hidden: tuple[str, ...]


def without(known: Known, kept: Sequence[Loop], who: Profile, veto: Veto) -> Left:
    """Everything that is known, less what was vetoed; the messages it was taken from are not to be
    recalled either."""
    if not veto.ids:
        return Left(known, list(kept), who, ())
    gone = {one.id for one in known.loops if f"loop:{one.id}" in veto.ids}
    lines = [line for some in who.lines.values() for line in some if line_id(line) in veto.ids]
    hidden = {place for one in known.loops if one.id in gone for place in one.places}
    hidden |= {f"{each.session_id}#{each.index}" for line in lines for each in line.evidence}
    bridge = bridge_of(known) if BRIDGE in veto.ids else None
    hidden |= {bridge.id} if bridge is not None else set()
    texts = {plain(line.text) for line in lines}
    day = known.yesterday
    left = replace(
        known,
        said=tuple(one for one in known.said if one.id not in hidden),
        loops=tuple(one for one in known.loops if one.id not in gone),
        focus=None if known.focus and plain(known.focus) in texts else known.focus,
        hints=tuple(one for one in known.hints if plain(one) not in texts),
        yesterday=None if day is not None and day_id(day.analysis_date) in veto.ids else day,
    )
    told = {
        place: tuple(line for line in some if line not in lines)
        for place, some in who.lines.items()
    }
    left_loops = [one for one in kept if one.id not in gone]
    return Left(left, left_loops, replace(who, lines=told), tuple(sorted(hidden)))


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
    for place in INSTRUCTIONS:
        found += [_line(one, told_as(place, one.text)) for one in who.all(place)]
    for place, name in LINES.items():
        found += [_line(one, _named(name, one)) for one in who.all(place)]
    found += [_loop(one) for one in known.loops]
    return tuple(found)


def line_id(line: Line) -> str:
    """Which item a line of the profile is."""
    return f"{_kind(line)}:{line.id}"


def _kind(line: Line) -> ItemKind:
    return "instruction" if line.place in INSTRUCTIONS else "profile"


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


def _line(line: Line, text: str) -> StartItem:
    said = line.evidence[-1] if line.evidence else None
    quote, session = (None, None) if said is None else (said.quote or None, said.session_id)
    return StartItem(line_id(line), _kind(line), text, quote, line.said_at, session)


def _named(name: str, line: Line) -> str:
    name = name or line.item
    return line.text if line.text.casefold() == name.casefold() else f"{name}: {line.text}"


def _loop(one: OpenLoop) -> StartItem:
    session = one.places[-1].rpartition("#")[0] if one.places else None
    return StartItem(f"loop:{one.id}", "loop", one.text, one.quote or None, one.seen_at, session)


# -- the same veto where a foreign service tells ---------------------------------------------------

Tells = Callable[[str], bool]
"""Whether it may still be told, of a text."""


def foreign_items(start: SessionStart) -> tuple[StartItem, ...]:
    """Everything in it that a person may veto."""
    found: list[StartItem] = []
    brief, model, day = start.startbrief, start.user_model, start.daily
    plainer = start.brief if brief is None else None
    if text := _handover(start):
        found.append(StartItem(HANDOVER, "handover", text))
    if brief is not None and brief.resume is not None and brief.resume.bridge_text:
        found.append(StartItem(BRIDGE, "bridge", brief.resume.bridge_text))
    if day is not None and day.steering_note:
        found.append(StartItem(day_id(day.analysis_date), "steering", day.steering_note))
    if model is not None:
        found += [_item("instruction", one) for one in instructions(model)]
        stars = [one.vision or one.goal for one in model.north_star.values()]
        lines = (model.current_focus, model.work_context, *stars, model.tone, *model.patterns)
        found += [_item("profile", one.text) for one in lines if one is not None]
        found += [_item("profile", f"{one.name}: {one.about}") for one in model.key_relationships]
    if plainer is not None:
        known = (plainer.current_focus or "", *plainer.facts, *plainer.narrative_summary)
        found += [_item("profile", one) for one in known if one]
    found += [_item("loop", one.text) for one in start.loops]
    if brief is not None and not start.loops:
        found += [_item("loop", one.text) for one in brief.items]
    if plainer is not None:
        found += [_item("loop", one) for one in (*plainer.commitments, *plainer.open_loops)]
    each: dict[str, StartItem] = {}
    for one in found:
        each.setdefault(one.id, one)
    return tuple(each.values())


def instructions(model: UserModel) -> tuple[str, ...]:
    """What a profile says that the person asked for once and for all, as it is told."""
    said = {
        "name": (model.name,) if model.name else (),
        "preferences.avoid": model.avoid,
        "instructions": model.instructions,
    }
    told = (told_as(place, text) for place in INSTRUCTIONS for text in said[place])
    return tuple(dict.fromkeys(told))


def foreign_without(start: SessionStart, veto: Veto) -> SessionStart:
    """What was told, less what was vetoed."""
    items = foreign_items(start)
    gone = {plain(one.text) for one in items if one.id in veto.ids} - {""}
    if not gone:
        return replace(start, items=items)

    def left(text: str) -> bool:
        return not any(one in plain(text) for one in gone)

    brief, day = start.startbrief, start.daily
    told = replace(
        start,
        startbrief=None if brief is None else _pruned(silenced(brief, veto), left),
        brief=None if brief is not None else _plainer(start.brief, veto, left),
        user_model=_pruned(start.user_model, left),
        daily=None if day is None or day_id(day.analysis_date) in veto.ids else _pruned(day, left),
        loops=_pruned(start.loops, left) or (),
    )
    if HANDOVER not in veto.ids:  # it may say less now, or nothing
        now = _handover(told)
        items = tuple(
            replace(one, text=now) if one.id == HANDOVER else one
            for one in items
            if now or one.id != HANDOVER
        )
    return replace(told, items=items)


def _handover(start: SessionStart) -> str:
    """What fills the handover's place."""
    if start.startbrief is not None:
        return start.startbrief.handover_text or ""
    return "" if start.brief is None else briefs.as_handover(start.brief)


def _item(kind: ItemKind, text: str) -> StartItem:
    return StartItem(f"{kind}:{content_hash(plain(text))}", kind, text)


def _plainer(brief: Brief | None, veto: Veto, left: Tells) -> Brief | None:
    """Its sheet says the same once more, in cut words: it is told only where there is no more."""
    if brief is None or HANDOVER in veto.ids:
        return None if brief is None else Brief()
    said = (brief.facts, brief.open_loops, brief.commitments, brief.narrative_summary)
    alone = not any(said) and not brief.current_focus
    pruned: Brief | None = _pruned(replace(brief, brief_context=brief.brief_context or None), left)
    return pruned if pruned is None or alone else replace(pruned, brief_context=None)


def _pruned(value: Any, left: Tells) -> Any:  # noqa: ANN401 - packets, whatever is in them
    """A packet less the texts that are not told: a row whose text goes, goes with it."""
    if isinstance(value, str):
        return value if left(value) else None
    if isinstance(value, tuple):
        return tuple(one for one in (_pruned(each, left) for each in value) if one is not None)
    if isinstance(value, Mapping):
        kept = {name: _pruned(each, left) for name, each in value.items()}
        return {name: each for name, each in kept.items() if each is not None}
    if not is_dataclass(value) or isinstance(value, type):
        return value
    if isinstance(value, Person) and not left(f"{value.name}: {value.about}"):
        return None
    if isinstance(value, UserModel):
        return _model(value, left)
    parts = {field.name: getattr(value, field.name) for field in fields(value)}
    new = {name: _pruned(part, left) for name, part in parts.items()}
    if isinstance(value, Resume) and new["bridge_text"] != value.bridge_text:
        return Resume()
    if parts.get("text") is not None and new["text"] is None:
        return None
    return replace(value, **new)


def _model(model: UserModel, left: Tells) -> UserModel:
    def standing(place: str, *texts: str) -> tuple[str, ...]:
        return tuple(one for one in texts if left(told_as(place, one)))

    return replace(
        model,
        north_star={name: one for name, one in model.north_star.items() if _whole(one, left)},
        current_focus=_pruned(model.current_focus, left),
        work_context=_pruned(model.work_context, left),
        tone=_pruned(model.tone, left),
        patterns=_pruned(model.patterns, left),
        key_relationships=_pruned(model.key_relationships, left),
        avoid=standing("preferences.avoid", *model.avoid),
        instructions=standing("instructions", *model.instructions),
        name=next(iter(standing("name", *([model.name] if model.name else []))), None),
    )


def _whole(star: Star, left: Tells) -> bool:
    return all(left(one.text) for one in (star.vision, star.goal) if one is not None)
