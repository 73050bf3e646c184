"""Looking at what happened: a conversation's branch, and the receipt of an answer rebuilt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polyvox.context.rebuild import Receipt, ReceiptSources, needs, rebuild
from polyvox.models.wire import encode
from polyvox.store import conversations, receipts, threads, turns
from polyvox.store.database import Tx
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
    found = turns.on_path(tx, conversation_id, segments, after)
    branches = _branches(tx, conversation_id)
    forked = [one for ids in branches.values() for one in ids]
    return View(
        conversation,
        tuple((turn, _live(tx, turns.answers_of(tx, turn.id))) for turn in found),
        branches,
        _tips(tx, conversation_id, forked),
        more=after > 0,
    )


def _live(tx: Tx, answers: list[Answer]) -> tuple[Answer, ...]:
    """Answers with their text so far, where they are still being written."""
    return tuple(
        turns.with_text_so_far(tx, answer) if answer.state == "streaming" else answer
        for answer in answers
    )


def _branches(tx: Tx, conversation_id: str) -> dict[str, tuple[str, ...]]:
    """Turns that share a parent, by that parent ("" for first turns), where there are several."""
    forks = tx.all(
        "SELECT DISTINCT fork_depth + 1 FROM branches WHERE user_id = ? AND conversation_id = ?"
        " AND parent_id IS NOT NULL",
        (tx.user, conversation_id),
    )
    shared: dict[str, list[str]] = {}
    for (depth,) in forks:
        rows = tx.all(
            "SELECT parent_id, id FROM turns WHERE user_id = ? AND conversation_id = ?"
            " AND depth = ? ORDER BY created_at, id",
            (tx.user, conversation_id, depth),
        )
        for parent_id, turn_id in rows:
            shared.setdefault(parent_id or "", []).append(turn_id)
    return {parent: tuple(ids) for parent, ids in shared.items() if len(ids) > 1}


def _tips(tx: Tx, conversation_id: str, forked: Sequence[str]) -> dict[str, str]:
    """For each of these turns the last turn of the branch it stands on."""
    tips = {}
    for turn_id in forked:
        branch_id = turns.get_turn(tx, turn_id).branch_id
        last = tx.one(
            "SELECT id FROM turns WHERE user_id = ? AND conversation_id = ? AND branch_id = ?"
            " ORDER BY depth DESC LIMIT 1",
            (tx.user, conversation_id, branch_id),
        )
        tips[turn_id] = last[0] if last else turn_id
    return tips


@dataclass(frozen=True, slots=True)
class Inspected:
    """A receipt with its texts, and the very bytes that were sent, where anything was."""

    receipt: Receipt
    answer: Answer
    body: bytes | None
    verified: bool
    """Whether these bytes have the hash of those that went out."""


def inspect(tx: Tx, answer_id: str) -> Inspected:
    """What an advisor was sent for an answer, rebuilt from references."""
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
