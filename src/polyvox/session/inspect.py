"""Looking at what happened: a conversation's branch, and the receipt of an answer rebuilt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from polyvox.context.describe import Description, describe
from polyvox.context.draft import Draft
from polyvox.context.rebuild import Receipt, ReceiptSources, needs, rebuild
from polyvox.errors import NotFound
from polyvox.memory.tables import companions
from polyvox.memory.tell import Trace, as_sent, read_trace, undecided, unsent_blocks
from polyvox.models.wire import encode
from polyvox.shapes import shape
from polyvox.store import conversations, events, receipts, sessions, threads, turns
from polyvox.store.database import Tx
from polyvox.store.sessions import Session
from polyvox.values import Answer, Conversation, Turn

PAGE = 200
"""Turns of a conversation that are shown at once."""


@dataclass(frozen=True, slots=True)
class View:
    """A conversation's current branch, oldest first, with what runs beside it."""

    conversation: Conversation
    turns: tuple[tuple[Turn, tuple[Answer, ...]], ...]
    branches: Mapping[str, tuple[str, ...]]
    tips: Mapping[str, str]
    notices: Mapping[str, str]
    """What there is to know of exchanges, by turn."""
    more: bool


def view(tx: Tx, conversation_id: str, before: int | None = None, limit: int = PAGE) -> View:
    """The newest turns of the current branch (or those before a depth)."""
    conversation = conversations.get(tx, conversation_id)
    if conversation.head_id is None:
        return View(conversation, (), {}, {}, {}, more=False)
    head = turns.get_turn(tx, conversation.head_id)
    upto = head.depth if before is None else min(before - 1, head.depth)
    after = max(0, upto - limit)
    segments = threads.path(tx, head.branch_id, upto)
    shown = turns.on_path(tx, conversation_id, segments, after)
    branches = turns.forks(tx, conversation_id)
    forked = [turn_id for ids in branches.values() for turn_id in ids]
    whole = tuple((turn, _live(tx, turns.answers_of(tx, turn.id))) for turn in shown)
    exchanged = any(answer.round for _, answers in whole for answer in answers)
    told = events.notices(tx, conversation_id) if exchanged else ()
    return View(
        conversation,
        whole,
        branches,
        turns.tips(tx, forked),
        {notice.turn_id: f"{notice.message} {notice.hint}".strip() for notice in told},
        more=after > 0,
    )


def _live(tx: Tx, answers: list[Answer]) -> tuple[Answer, ...]:
    """Answers with their text so far, where they are still being written."""
    return tuple(
        turns.with_text_so_far(tx, answer) if answer.state == "streaming" else answer
        for answer in answers
    )


@dataclass(frozen=True, slots=True)
class Inspected:
    """A receipt with its texts, and the very bytes that were sent, where anything was."""

    receipt: Receipt
    answer: Answer
    body: bytes | None
    verified: bool
    """Whether these bytes have the hash of those that went out."""


@dataclass(frozen=True, slots=True)
class ReceiptOut:
    """The request of an advisor, with its reasons."""

    answer_id: str
    description: Description
    request: dict[str, Any] | None
    """The very request, as the provider received it; null when none was sent."""
    wire_hash: str | None
    verified: bool
    """Whether the rebuilt bytes have the hash of those that were sent."""
    exact: bool
    """False when a text in it was forgotten since."""

    @classmethod
    def of(cls, seen: Inspected) -> ReceiptOut:
        """From what was rebuilt."""
        sent = seen.receipt.sent
        return cls(
            seen.answer.id,
            describe(seen.receipt),
            None if seen.body is None else msgspec.json.decode(seen.body),
            None if sent is None else sent.wire_hash,
            seen.verified,
            seen.receipt.exact,
        )


def inspect(tx: Tx, answer_id: str) -> Inspected:
    """Rebuild what an advisor was sent for an answer, from references."""
    answer = turns.get_answer(tx, answer_id)
    receipts.get(tx, answer_id)
    chain = receipts.chain(tx, answer_id)
    wanted = needs(answer_id, chain)
    loaded = ReceiptSources(
        receipts=chain,
        turns=receipts.messages(tx, wanted.turns),
        answers=receipts.answers(tx, wanted.answers),
        texts=receipts.spans(tx, wanted.hashes),
        marked=receipts.marked(tx, wanted.answers),
    )
    receipt = rebuild(answer_id, loaded)
    sent = receipt.sent
    if sent is None:
        return Inspected(receipt, answer, None, verified=False)
    encoded = encode(sent.dialect, sent.model, receipt.request)
    return Inspected(receipt, answer, encoded.body, verified=receipt.matches(encoded))


FIRST_WORDS = 200
"""Characters of a session's first message that are shown."""


@dataclass(frozen=True, slots=True)
class SessionOut:
    """A session beside its conversation."""

    id: str
    conversation_id: str
    started_at: int
    last_user_at: int
    ended_at: int | None
    ended_by: Literal["idle", "person"] | None
    messages: int
    """Messages that the person sent in it."""
    title: str
    """Of its conversation."""
    recipe: str
    first: str
    """The beginning of its first message."""


def list_sessions(
    tx: Tx, conversation_id: str | None, limit: int = 50, after: str | None = None
) -> list[SessionOut]:
    """The newest sessions first, of one conversation or of all."""
    return _sessions(tx, sessions.list_sessions(tx, conversation_id, limit, after))


def get_session(tx: Tx, session_id: str) -> SessionOut:
    """One session."""
    return _sessions(tx, [sessions.counted(tx, session_id)])[0]


def _sessions(tx: Tx, rows: Sequence[tuple[Session, int]]) -> list[SessionOut]:
    ids = {session.conversation_id for session, _ in rows}
    known = {id_: conversations.find(tx, id_) for id_ in ids}
    first = sessions.first_words(tx, [session.id for session, _ in rows], FIRST_WORDS)
    bodies = []
    for session, messages in rows:
        conversation = known[session.conversation_id]
        title = conversation.title if conversation else ""
        recipe = conversation.recipe if conversation else ""
        given = {"messages": messages, "title": title, "recipe": recipe, "first": first[session.id]}
        bodies.append(shape(SessionOut, session, **given))
    return bodies


# -- the trace of a turn ---------------------------------------------------------------------------

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
        trace = as_sent(trace, unsent_blocks(draft))
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
    gone = [] if draft is None else unsent_blocks(draft)
    trace = _decided(turns.get_turn(tx, answer.turn_id), stored)
    data: dict[str, Any] = msgspec.json.decode(as_sent(trace, gone).json)
    return data


def _decided(turn: Turn, stored: str | None) -> Trace:
    return undecided(turn.session_id) if stored is None else read_trace(stored)


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
    stable = [PERSONA if draft.persona else block.kind for block in draft.blocks]
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
