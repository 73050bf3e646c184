"""Of what a session started with, what each rule of a companion looks at."""

from __future__ import annotations

from polyvox.companion import handover
from polyvox.companion.deferred import Profile
from polyvox.companion.overlays import Open
from polyvox.memory.moment import depth_of
from polyvox.memory.normalise import gap_in
from polyvox.memory.packets import UserModel
from polyvox.memory.remembering import Start, as_handover
from polyvox.quote import unstructured

TUGGED = ("commitment", "decision", "habit")


def brief_of(start: Start) -> handover.Brief:
    """The handover and the bridge, and when they are told."""
    text, found = as_handover(start), start.startbrief
    if found is None:
        told = start.brief.time_gap_description if start.brief is not None else None
        gap = gap_in(told or "")
        return handover.Brief(text, "" if gap is None else depth_of(gap), gap)
    if found.evidence is not None and found.evidence.quality == "empty":
        return handover.Brief(text, first_talk=True)
    resume, times = found.resume, found.time_context
    return handover.Brief(
        text,
        found.handover_depth or "",
        None if times is None else times.gap_minutes,
        unstructured(resume.bridge_text or "") if resume is not None else "",
        resume is not None and resume.use_bridge,
    )


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
    for kind, text in rows:
        if text.strip() and kind in (None, *TUGGED):
            quote = quotes.get(text)
            return Open(quote, said=True) if quote else Open(text)
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
