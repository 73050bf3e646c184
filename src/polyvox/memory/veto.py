"""The veto: what a person does not want a session to be told of what is remembered.

A veto holds ids of items, never their words. What rests on the same messages goes with an item: a
handover is composed without them, and nothing recalls them. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from polyvox.ids import content_hash
from polyvox.memory import loops
from polyvox.memory.brief import as_handover
from polyvox.memory.loops import Loop
from polyvox.memory.packets import (
    Brief,
    Daily,
    ItemKind,
    Resume,
    StartBrief,
    StartItem,
    Stated,
    UserModel,
)
from polyvox.memory.remote import SessionStart
from polyvox.memory.session_start import Known, OpenLoop, bridge_of
from polyvox.memory.statements import Line, Profile, plain

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

    day, brief, model, plainer = start.daily, start.startbrief, start.user_model, start.brief
    if brief is not None:
        plainer = None
    elif plainer is not None:
        plainer = Brief() if HANDOVER in veto.ids else _plainer(plainer, left)
    told = replace(
        start,
        startbrief=None if brief is None else _brief(silenced(brief, veto), left),
        brief=plainer,
        user_model=None if model is None else _model(model, left),
        daily=None if day is None or day_id(day.analysis_date) in veto.ids else _day(day, left),
        loops=tuple(one for one in start.loops if left(one.text)),
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
    return "" if start.brief is None else as_handover(start.brief)


def _item(kind: ItemKind, text: str) -> StartItem:
    return StartItem(f"{kind}:{content_hash(plain(text))}", kind, text)


def _brief(brief: StartBrief, left: Tells) -> StartBrief:
    text, ops, resume = brief.handover_text or "", brief.ops_context, brief.resume
    if ops is not None:
        ops = replace(
            ops,
            top_loops_today=tuple(filter(left, ops.top_loops_today)),
            waiting_on=tuple(filter(left, ops.waiting_on)),
            user_model_hints=tuple(filter(left, ops.user_model_hints)),
            yesterday_themes=tuple(filter(left, ops.yesterday_themes)),
            steering_note=_kept(ops.steering_note, left),
        )
    if resume is not None and not left(resume.bridge_text or ""):
        resume = Resume()
    return replace(
        brief,
        handover_text=text if text and left(text) else None,
        resume=resume,
        items=tuple(one for one in brief.items if left(one.text)),
        ops_context=ops,
    )


def _plainer(brief: Brief, left: Tells) -> Brief:
    """Its sheet says the same once more, in cut words: it is told only where there is no more."""
    said = (brief.facts, brief.open_loops, brief.commitments, brief.narrative_summary)
    alone = not any(said) and not brief.current_focus
    return replace(
        brief,
        time_gap_description=_kept(brief.time_gap_description, left),
        time_of_day_label=_kept(brief.time_of_day_label, left),
        facts=tuple(filter(left, brief.facts)),
        open_loops=tuple(filter(left, brief.open_loops)),
        commitments=tuple(filter(left, brief.commitments)),
        current_focus=_kept(brief.current_focus, left),
        narrative_summary=tuple(filter(left, brief.narrative_summary)),
        brief_context=_kept(brief.brief_context, left) if alone else None,
    )


def _day(day: Daily, left: Tells) -> Daily:
    return replace(
        day,
        themes=tuple(filter(left, day.themes)),
        steering_note=_kept(day.steering_note, left),
    )


def _kept(text: str | None, left: Tells) -> str | None:
    return text if text and left(text) else None


def _model(model: UserModel, left: Tells) -> UserModel:
    def kept(line: Stated | None) -> Stated | None:
        return line if line is not None and left(line.text) else None

    def standing(place: str, *texts: str) -> tuple[str, ...]:
        return tuple(one for one in texts if left(told_as(place, one)))

    return replace(
        model,
        north_star={
            name: star
            for name, star in model.north_star.items()
            if all(left(one.text) for one in (star.vision, star.goal) if one is not None)
        },
        current_focus=kept(model.current_focus),
        work_context=kept(model.work_context),
        tone=kept(model.tone),
        patterns=tuple(one for one in model.patterns if left(one.text)),
        key_relationships=tuple(
            one for one in model.key_relationships if left(f"{one.name}: {one.about}")
        ),
        avoid=standing("preferences.avoid", *model.avoid),
        instructions=standing("instructions", *model.instructions),
        name=next(iter(standing("name", *([model.name] if model.name else []))), None),
    )
