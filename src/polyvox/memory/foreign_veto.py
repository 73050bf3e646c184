"""The same veto where a foreign service tells: it gives texts without sources, so an item is known
by its words, and a text of theirs that holds the words of a vetoed one is not told at all. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from polyvox.ids import content_hash
from polyvox.memory import brief as briefs
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
from polyvox.memory.statements import plain
from polyvox.memory.veto import BRIDGE, HANDOVER, INSTRUCTIONS, Veto, day_id, silenced, told_as

Tells = Callable[[str], bool]
"""Whether it may still be told, of a text."""


def items_of(start: SessionStart) -> tuple[StartItem, ...]:
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


def without(start: SessionStart, veto: Veto) -> SessionStart:
    """What was told, less what was vetoed."""
    items = items_of(start)
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
    return "" if start.brief is None else briefs.as_handover(start.brief)


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
