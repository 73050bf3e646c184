"""Looking at what happened: a conversation's branch, and the receipt of an answer rebuilt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from polyvox.context.rebuild import Receipt, ReceiptSources, needs, rebuild
from polyvox.models.wire import encode
from polyvox.shapes import shape
from polyvox.store import conversations, receipts, sessions, threads, turns
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
    more: bool


def view(tx: Tx, conversation_id: str, before: int | None = None, limit: int = PAGE) -> View:
    """The newest turns of the current branch (or those before a depth)."""
    conversation = conversations.get(tx, conversation_id)
    if conversation.head_id is None:
        return View(conversation, (), {}, {}, more=False)
    head = turns.get_turn(tx, conversation.head_id)
    upto = head.depth if before is None else min(before - 1, head.depth)
    after = max(0, upto - limit)
    segments = threads.path(tx, head.branch_id, upto)
    shown = turns.on_path(tx, conversation_id, segments, after)
    branches = turns.forks(tx, conversation_id)
    forked = [turn_id for ids in branches.values() for turn_id in ids]
    return View(
        conversation,
        tuple((turn, _live(tx, turns.answers_of(tx, turn.id))) for turn in shown),
        branches,
        turns.tips(tx, forked),
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
