"""The briefs of memory in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from polyvox.cli.words import one_line

if TYPE_CHECKING:
    from polyvox.memory.packets import Brief, OpsContext, StartBrief
    from polyvox.web.briefs import BriefOut, OpsOut, StartBriefOut

WIDTH = 100
"""Most characters of a text."""


def brief_lines(made: BriefOut) -> Iterator[str]:
    """A brief, line by line."""
    gap = made.time_gap_description
    yield f"{made.time_of_day_label.capitalize()}, {gap or 'the first talk'}."
    yield from known_lines(made)


def startbrief_lines(made: StartBriefOut) -> Iterator[str]:
    """A startbrief, line by line."""
    yield made.handover_text
    if made.resume.bridge_text:
        yield made.resume.bridge_text
    ops = made.ops_context
    yield from open_lines(made)
    yield from ops_lines(ops)


def known_lines(made: BriefOut | Brief) -> Iterator[str]:
    """What a brief tells beside the time, ours or another service's."""
    yield from _listed("in focus", [made.current_focus] if made.current_focus else [])
    yield from _listed("promised", made.commitments)
    yield from _listed("open", made.open_loops)
    yield from _listed("known", made.facts)
    yield from _listed("before", made.narrative_summary)


def open_lines(made: StartBriefOut | StartBrief) -> Iterator[str]:
    """What a startbrief says is open."""
    for one in made.items:
        due = one.due_date or one.time_horizon
        yield f"open: {one_line(one.text, WIDTH)}{f' ({due})' if due else ''}"


def ops_lines(ops: OpsOut | OpsContext) -> Iterator[str]:
    """What is to be done, and what bears on it."""
    yield from _listed("today", ops.top_loops_today)
    yield from _listed("waiting for", ops.waiting_on)
    yield from _listed("profile", ops.user_model_hints)
    yield from _listed("yesterday", ops.yesterday_themes)
    yield from _listed("note", [ops.steering_note] if ops.steering_note else [])


def _listed(name: str, texts: Sequence[str]) -> Iterator[str]:
    return (f"{name}: {one_line(text, WIDTH)}" for text in texts)
