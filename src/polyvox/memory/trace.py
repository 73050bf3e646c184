"""The trace of an answer: what memory and companion decided before its model was asked, and why.

Names and numbers only, nobody's words. It is stored as JSON under exactly these names; an answer
for which nothing was decided has the defaults.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from polyvox.context.draft import Draft

NO_ROOM = "no room"


class Runtime(msgspec.Struct, frozen=True):
    """The part that what a session started with had in a turn."""

    session_id: str | None = None
    turns_seen: int | None = msgspec.field(default=None, name="userTurnsSeen")
    handover_injected: bool = False
    bridge_injected: bool = False
    ops_injected: bool = False
    ops_source: str | None = None
    startbrief_fetch: str = "none"
    reinjection_used: bool = False


class RecallTrace(msgspec.Struct, frozen=True):
    """The decision of recall."""

    decision: str
    explicit: bool = False
    found: int = 0
    entities: int = 0
    relevance: float | None = None
    degrade: str | None = None


class PostureTrace(msgspec.Struct, frozen=True):
    """The posture of a persona, and why."""

    posture: str
    pressure: str
    confidence: float
    reason: str


class Trace(msgspec.Struct, frozen=True):
    """Every decision of one answer."""

    startbrief_used: bool = False
    startbrief_fallback: bool = False
    startbrief_items_count: int = 0
    bridge_chars: int = msgspec.field(default=0, name="bridgeText_chars")
    startbrief_runtime: Runtime = Runtime()
    system_blocks: tuple[str, ...] = ()
    gate: str = "none"
    gate_degrade: str | None = None
    reading: dict[str, Any] | None = None
    posture: PostureTrace | None = None
    overlay: str | None = None
    overlay_reason: str = ""
    handover_reason: str = ""
    ops_reason: str = ""
    user_context: tuple[str, ...] = ()
    recall: RecallTrace | None = None
    degrades: tuple[str, ...] = ()
    timings: dict[str, float] = msgspec.field(default_factory=dict)

    @property
    def json(self) -> str:
        """As it is stored."""
        return msgspec.json.encode(self).decode()


def undecided(session_id: str | None) -> Trace:
    """The trace of an answer for which nothing was decided."""
    return Trace(startbrief_runtime=Runtime(session_id))


def read(stored: str) -> Trace:
    """A stored trace, of this version or an earlier one."""
    return msgspec.json.decode(stored, type=Trace)


def left_out(draft: Draft) -> list[str]:
    """The blocks of memory for which a request had no room, in their order."""
    unsent = [name for part in draft.unsent if part.kind == "memory" for name in part.sources]
    return unsent if draft.memory_sent else [block.kind for block in draft.memory] + unsent


def as_sent(trace: Trace, gone: Sequence[str]) -> Trace:
    """The trace less the blocks that were not sent after all; and that they were not."""
    if not gone:
        return trace
    run = trace.startbrief_runtime
    run = replace(
        run,
        handover_injected=run.handover_injected and "handover" not in gone,
        bridge_injected=run.bridge_injected and "bridge" not in gone,
        ops_injected=run.ops_injected and "ops" not in gone,
        ops_source=None if "ops" in gone else run.ops_source,
    )
    late_handover = bool({"handover", "bridge"} & set(gone)) and not run.handover_injected
    recall = trace.recall
    if "supplemental_context" in gone and recall is not None:
        recall = replace(recall, found=0, entities=0)
    return replace(
        trace,
        startbrief_runtime=run,
        ops_reason=NO_ROOM if "ops" in gone else trace.ops_reason,
        handover_reason=NO_ROOM if late_handover else trace.handover_reason,
        overlay=None if "overlay" in gone else trace.overlay,
        overlay_reason=NO_ROOM if "overlay" in gone else trace.overlay_reason,
        user_context=() if "user_context" in gone else trace.user_context,
        recall=recall,
        degrades=(*trace.degrades, f"context: {NO_ROOM} for {', '.join(gone)}"),
    )
