"""The trace of a turn: what was decided before its model was asked, and how the asking went.

Decisions are stored when they are made, names and numbers only; what of them was sent is read from
the receipt, and model, attempts and times from the answer itself. Every turn has a trace; one
without memory has nothing of it decided.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import msgspec

from polyvox.context.draft import Draft
from polyvox.errors import NotFound, StoreError
from polyvox.memory.tables import companions
from polyvox.session.inspect import inspect
from polyvox.session.road import Job, Road
from polyvox.store import turns
from polyvox.store.database import Tx
from polyvox.values import Answer, Turn

log = logging.getLogger("polyvox.chat")
PERSONA = "persona"
RECIPE = "companion"
NO_ROOM = "no room"


def undecided(turn: Turn) -> dict[str, Any]:
    """The trace of an answer for which nothing was decided."""
    return {
        "startbrief_used": False,
        "startbrief_fallback": False,
        "startbrief_items_count": 0,
        "bridgeText_chars": 0,
        "startbrief_runtime": {
            "session_id": turn.session_id,
            "userTurnsSeen": None,
            "handover_injected": False,
            "bridge_injected": False,
            "ops_injected": False,
            "ops_source": None,
            "startbrief_fetch": "none",
            "reinjection_used": False,
        },
        "system_blocks": [],
        "gate": "none",
        "gate_degrade": None,
        "reading": None,
        "posture": None,
        "overlay": None,
        "overlay_reason": "",
        "handover_reason": "",
        "ops_reason": "",
        "user_context": [],
        "recall": None,
        "degrades": [],
        "timings": {},
    }


def trace_of(tx: Tx, turn_id: str, answer_id: str | None = None) -> dict[str, Any]:
    """The trace of a turn: of the answer that is named, else of its first one as it is now."""
    turn = turns.get_turn(tx, turn_id)
    stored = companions.traces(tx, turn_id)
    answer = _answer(turns.answers_of(tx, turn_id), stored, answer_id)
    decided = stored.get(answer.id)
    data = undecided(turn) | (msgspec.json.decode(decided) if decided is not None else {})
    draft = _draft(tx, answer.id)
    if draft is not None:
        data = as_sent(data, left_out(draft)) | {"system_blocks": _blocks(draft)}
    return {
        "turn_id": turn.id,
        "conversation_id": turn.conversation_id,
        "answer_id": answer.id,
        "advisor_id": answer.advisor_id,
        "state": answer.state,
        **data,
        "model": answer.model,
        "attempts": [msgspec.to_builtins(one) for one in answer.attempts],
        "timings": {**data["timings"], **_timings(turn, answer)},
    }


def decided_for(tx: Tx, answer: Answer) -> dict[str, Any] | None:
    """What was decided for an answer, less what was not sent; None: nothing is stored of it."""
    stored = companions.traces(tx, answer.turn_id).get(answer.id)
    if stored is None:
        return None
    turn = turns.get_turn(tx, answer.turn_id)
    draft = _draft(tx, answer.id)
    gone = [] if draft is None else left_out(draft)
    return as_sent(undecided(turn) | msgspec.json.decode(stored), gone)


def left_out(draft: Draft) -> list[str]:
    """The blocks of memory for which a request had no room, in their order."""
    unsent = [name for one in draft.unsent if one.kind == "memory" for name in one.sources]
    return unsent if draft.memory_sent else [block.kind for block in draft.memory] + unsent


def as_sent(told: dict[str, Any], gone: Sequence[str]) -> dict[str, Any]:
    """What was decided, less the blocks that were not sent after all; and that they were not."""
    if not gone:
        return told
    run = dict(told["startbrief_runtime"])
    for name in ("handover", "bridge", "ops"):
        run[f"{name}_injected"] = run[f"{name}_injected"] and name not in gone
    changes: dict[str, Any] = {"startbrief_runtime": run}
    if "ops" in gone:
        run["ops_source"], changes["ops_reason"] = None, NO_ROOM
    if {"handover", "bridge"} & set(gone) and not run["handover_injected"]:
        changes["handover_reason"] = NO_ROOM
    if "overlay" in gone:
        changes |= {"overlay": None, "overlay_reason": NO_ROOM}
    if "user_context" in gone:
        changes["user_context"] = []
    if "supplemental_context" in gone and told["recall"] is not None:
        changes["recall"] = told["recall"] | {"found": 0, "entities": 0}
    changes["degrades"] = [*told["degrades"], f"context: {NO_ROOM} for {', '.join(gone)}"]
    return told | changes


async def tell(road: Road, jobs: Sequence[Job]) -> None:
    """One line of the log for each answer of a turn."""
    if not log.isEnabledFor(logging.INFO):
        return
    for job in jobs:
        try:
            told = await road.database.read(
                lambda tx, job=job: trace_of(tx, job.turn.id, job.answer_id),  # type: ignore[misc]  # bound now
                job.scope,
            )
        except (NotFound, StoreError):  # deleted meanwhile, or the store is away
            continue
        # A provider may quote the message in its own words, and nobody forgets what is in a log.
        told["attempts"] = [{**one, "message": None} for one in told["attempts"]]
        log.info("chat.trace %s", msgspec.json.encode(told).decode())


def _answer(found: Sequence[Answer], stored: dict[str, str], wanted: str | None) -> Answer:
    if wanted is not None:
        found = [one for one in found if one.id == wanted]
    else:
        found = sorted(found, key=lambda one: (not one.current, one.id not in stored))
    if not found:
        raise NotFound("This turn has no such answer.", "Leave the answer out.")
    return found[0]


def _draft(tx: Tx, answer_id: str) -> Draft | None:
    """The request as it was compiled; None: there is none."""
    try:
        return inspect(tx, answer_id).receipt.draft
    except NotFound:
        return None


def _blocks(draft: Draft) -> list[str]:
    """The blocks of a request in their order."""
    companion = draft.recipe == RECIPE
    stable = [PERSONA if companion else block.kind for block in draft.blocks]
    return stable + ([block.kind for block in draft.memory] if draft.memory_sent else [])


def _timings(turn: Turn, answer: Answer) -> dict[str, float | None]:
    """Times in ms. Speech has its places here; so far nothing is heard or spoken."""
    began = answer.attempts[0].started_at if answer.attempts else None
    ended, first = answer.ended_at, answer.first_at
    return {
        "stt_ms": 0,
        "first_ms": None if first is None or began is None else _ms(first - began),
        "llm_ms": None if ended is None or began is None else _ms(ended - began),
        "tts_ms": 0,
        "total_ms": None if ended is None else _ms(ended - turn.created_at),
    }


def _ms(micros: int) -> float:
    return round(max(0, micros) / 1000, 1)
