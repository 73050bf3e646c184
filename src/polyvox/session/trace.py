"""Reading the trace of a turn: what was decided before its model was asked, and how that went.

Decisions are stored when they are made (`memory.trace`); what of them was sent is read from the
receipt, and model, attempts and times from the answer itself. Every turn has a trace.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from polyvox.context.draft import Draft
from polyvox.context.recipe import traits_of
from polyvox.errors import NotFound, StoreError
from polyvox.memory import trace as traces
from polyvox.memory.tables import companions
from polyvox.memory.trace import Trace
from polyvox.session.inspect import inspect
from polyvox.store import turns
from polyvox.store.database import Database, Tx
from polyvox.values import Answer, Scope, Turn

chat_log = logging.getLogger("polyvox.chat")

PERSONA = "persona"
"""The name of a persona's kernel among the blocks of its request."""


def trace_of(tx: Tx, turn_id: str, answer_id: str | None = None) -> dict[str, Any]:
    """The trace of a turn: of the answer that is named, else of its first one as it is now."""
    turn = turns.get_turn(tx, turn_id)
    stored = companions.traces(tx, turn_id)
    answer = _traced(turns.answers_of(tx, turn_id), stored, answer_id)
    trace = _decided(turn, stored.get(answer.id))
    draft = _draft(tx, answer.id)
    if draft is not None:
        trace = traces.as_sent(trace, traces.left_out(draft))
        trace = msgspec.structs.replace(trace, system_blocks=_blocks(draft))
    data: dict[str, Any] = msgspec.json.decode(trace.json)
    return {
        "turn_id": turn.id,
        "conversation_id": turn.conversation_id,
        "answer_id": answer.id,
        "advisor_id": answer.advisor_id,
        "state": answer.state,
        **data,
        "model": answer.model,
        "attempts": [msgspec.to_builtins(attempt) for attempt in answer.attempts],
        "timings": {**data["timings"], **_timings(turn, answer)},
    }


def decided_for(tx: Tx, answer: Answer) -> dict[str, Any] | None:
    """The decisions for an answer, less what was not sent; None: nothing is stored of it."""
    stored = companions.traces(tx, answer.turn_id).get(answer.id)
    if stored is None:
        return None
    draft = _draft(tx, answer.id)
    gone = [] if draft is None else traces.left_out(draft)
    trace = _decided(turns.get_turn(tx, answer.turn_id), stored)
    data: dict[str, Any] = msgspec.json.decode(traces.as_sent(trace, gone).json)
    return data


async def log_traces(
    database: Database, scope: Scope, turn: Turn, answer_ids: Sequence[str]
) -> None:
    """Write one line of the log for each of these answers of a turn."""
    if not chat_log.isEnabledFor(logging.INFO):
        return
    for answer_id in answer_ids:
        try:
            data = await database.read(partial(_trace_for_log, turn.id, answer_id), scope)
        except (NotFound, StoreError):  # deleted meanwhile, or the store is away
            continue
        chat_log.info("chat.trace %s", msgspec.json.encode(data).decode())


def _trace_for_log(turn_id: str, answer_id: str, tx: Tx) -> dict[str, Any]:
    """The trace without a provider's own words: it may quote the message, and nobody forgets what
    is in a log."""
    data = trace_of(tx, turn_id, answer_id)
    return {**data, "attempts": [{**each, "message": None} for each in data["attempts"]]}


def _decided(turn: Turn, stored: str | None) -> Trace:
    return traces.undecided(turn.session_id) if stored is None else traces.read(stored)


def _traced(answers: Sequence[Answer], stored: Mapping[str, str], wanted: str | None) -> Answer:
    if wanted is not None:
        answers = [answer for answer in answers if answer.id == wanted]
    else:
        answers = sorted(answers, key=lambda answer: (not answer.current, answer.id not in stored))
    if not answers:
        raise NotFound("This turn has no such answer.", "Leave the answer out.")
    return answers[0]


def _draft(tx: Tx, answer_id: str) -> Draft | None:
    """The request as it was compiled; None: there is none."""
    try:
        return inspect(tx, answer_id).receipt.draft
    except NotFound:
        return None


def _blocks(draft: Draft) -> tuple[str, ...]:
    """The blocks of a request in their order."""
    persona = traits_of(draft.recipe).persona
    stable = [PERSONA if persona else block.kind for block in draft.blocks]
    return (*stable, *(block.kind for block in draft.memory if draft.memory_sent))


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
