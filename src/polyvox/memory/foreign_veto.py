"""The same veto where a foreign service tells: it gives texts without sources, so an item is known
by its words, and a text of theirs that holds the words of a vetoed one is not told at all. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from polyvox.ids import content_hash
from polyvox.memory.packets import ItemKind, StartBrief, StartItem, Stated, UserModel
from polyvox.memory.remote import SessionStart
from polyvox.memory.statements import plain
from polyvox.memory.veto import BRIDGE, HANDOVER, Veto, day_id, silenced


def items_of(start: SessionStart) -> tuple[StartItem, ...]:
    """Everything in it that a person may veto."""
    found: list[StartItem] = []
    brief, model, day = start.startbrief, start.user_model, start.daily
    if brief is not None and brief.handover_text:
        found.append(StartItem(HANDOVER, "handover", brief.handover_text))
    if brief is not None and brief.resume is not None and brief.resume.bridge_text:
        found.append(StartItem(BRIDGE, "bridge", brief.resume.bridge_text))
    if day is not None and day.steering_note:
        found.append(StartItem(day_id(day.analysis_date), "steering", day.steering_note))
    if model is not None:
        found += [_item("instruction", f"Avoid: {one}") for one in model.avoid]
        stars = [one.vision or one.goal for one in model.north_star.values()]
        lines = (model.current_focus, model.work_context, *stars, model.tone, *model.patterns)
        found += [_item("profile", one.text) for one in lines if one is not None]
        found += [_item("profile", f"{one.name}: {one.about}") for one in model.key_relationships]
    found += [_item("loop", one.text) for one in start.loops]
    if brief is not None and not start.loops:
        found += [_item("loop", one.text) for one in brief.items]
    return tuple(dict.fromkeys(found))


def without(start: SessionStart, veto: Veto) -> SessionStart:
    """What was told, less what was vetoed."""
    items = items_of(start)
    gone = {plain(one.text) for one in items if one.id in veto.ids} - {""}
    if not gone:
        return replace(start, items=items)

    def left(text: str) -> bool:
        return not any(one in plain(text) for one in gone)

    day, brief, model = start.daily, start.startbrief, start.user_model
    return replace(
        start,
        startbrief=None if brief is None else _brief(silenced(brief, veto), left),
        brief=None,
        user_model=None if model is None else _model(model, left),
        daily=None if day is not None and day_id(day.analysis_date) in veto.ids else day,
        loops=tuple(one for one in start.loops if left(one.text)),
        items=items,
    )


def _item(kind: ItemKind, text: str) -> StartItem:
    return StartItem(f"{kind}:{content_hash(plain(text))}", kind, text)


def _brief(brief: StartBrief, left: Callable[[str], bool]) -> StartBrief:
    text, ops = brief.handover_text or "", brief.ops_context
    if ops is not None:
        ops = replace(
            ops,
            top_loops_today=tuple(filter(left, ops.top_loops_today)),
            waiting_on=tuple(filter(left, ops.waiting_on)),
        )
    return replace(
        brief,
        handover_text=text if text and left(text) else None,
        items=tuple(one for one in brief.items if left(one.text)),
        ops_context=ops,
    )


def _model(model: UserModel, left: Callable[[str], bool]) -> UserModel:
    def kept(line: Stated | None) -> Stated | None:
        return line if line is not None and left(line.text) else None

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
        avoid=tuple(one for one in model.avoid if left(f"Avoid: {one}")),
    )
