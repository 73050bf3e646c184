"""Of what a session started with, what each rule of a companion looks at."""

from __future__ import annotations

from polyvox.companion import handover
from polyvox.companion.deferred import Profile
from polyvox.memory.packets import UserModel
from polyvox.session.remembering import Start, as_handover


def brief_of(start: Start) -> handover.Brief:
    """The handover and the bridge, and when they are told."""
    text, found = as_handover(start), start.startbrief
    if found is None:
        return handover.Brief(text)
    resume, times = found.resume, found.time_context
    return handover.Brief(
        text,
        found.handover_depth or "",
        None if times is None else times.gap_minutes,
        (resume.bridge_text or "") if resume is not None else "",
        resume is not None and resume.use_bridge,
    )


def loops_of(start: Start) -> list[str]:
    """Open loops: those that the service lists, else those of the startbrief."""
    listed = [one.text for one in start.loops if one.text.strip()]
    if listed or start.startbrief is None:
        return listed
    return [one.text for one in start.startbrief.items if one.kind == "loop"]


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
