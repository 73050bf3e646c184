"""A whole conversation in one hand: every turn of every branch, every version of every answer, the
advisors and their texts as they were, the receipts. What all its file formats are made from."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polyvox.store import advisors as advisor_rows
from polyvox.store import conversations as conversation_rows
from polyvox.store import turns as turn_rows
from polyvox.store import versions
from polyvox.store.database import Tx
from polyvox.values import Advisor, Answer, Conversation, PromptVersion, Turn


@dataclass(frozen=True, slots=True)
class Branch:
    """A line of turns that leaves another one after a depth."""

    id: str
    parent_id: str | None
    fork_depth: int
    created_at: int


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A session: a stretch of activity."""

    id: str
    started_at: int
    last_user_at: int
    ended_at: int | None


@dataclass(frozen=True, slots=True)
class ReceiptLine:
    """A stored receipt."""

    answer_id: str
    base_id: str | None
    data: str


@dataclass(frozen=True, slots=True)
class Whole:
    """All of it, in the order in which it came to be."""

    conversation: Conversation
    advisors: tuple[Advisor, ...]
    """Everyone who is in it or was asked, as they are now; the removed ones too."""
    versions: tuple[PromptVersion, ...]
    """The texts with which the answers were given."""
    branches: tuple[Branch, ...]
    sessions: tuple[SessionLine, ...]
    turns: tuple[Turn, ...]
    body_hashes: dict[str, str]
    answers: dict[str, tuple[Answer, ...]]
    """By turn."""
    spans: dict[str, str]
    receipts: tuple[ReceiptLine, ...]

    def path(self) -> list[Turn]:
        """The current branch, oldest first."""
        by_id = {turn.id: turn for turn in self.turns}
        path: list[Turn] = []
        at = by_id.get(self.conversation.head_id or "")
        while at is not None and len(path) <= len(by_id):
            path.append(at)
            at = by_id.get(at.parent_id or "")
        return path[::-1]


def read_whole(tx: Tx, conversation_id: str) -> Whole:
    """A conversation from the store, or NotFound."""
    conversation = conversation_rows.get(tx, conversation_id)
    key = (tx.user, conversation_id)
    rows = tx.all(
        f"SELECT {turn_rows.TURNS.columns}, body_hash FROM turns"  # noqa: S608 - our own constant
        " WHERE user_id = ? AND conversation_id = ? ORDER BY created_at, id",
        key,
    )
    turns = tuple(turn_rows.TURNS.value(row) for row in rows)
    answers = {turn.id: _answers(tx, turn) for turn in turns}
    asked = {
        *(conversation.advisors or ()),
        *(advisor_id for turn in turns for advisor_id in turn.asked),
    }
    asked |= {answer.advisor_id for some in answers.values() for answer in some}
    used = {answer.prompt_version_id for some in answers.values() for answer in some}
    people = [advisor for advisor in _everyone(tx) if advisor.id in asked]
    return Whole(
        conversation,
        tuple(people),
        tuple(
            version
            for advisor in people
            for version in reversed(versions.list_all(tx, advisor.id))
            if version.id in used
        ),
        tuple(
            Branch(*row)
            for row in tx.all(
                "SELECT id, parent_id, fork_depth, created_at FROM branches"
                " WHERE user_id = ? AND conversation_id = ? ORDER BY created_at, id",
                key,
            )
        ),
        tuple(
            SessionLine(*row)
            for row in tx.all(
                "SELECT id, started_at, last_user_at, ended_at FROM sessions"
                " WHERE user_id = ? AND conversation_id = ? ORDER BY started_at, id",
                key,
            )
        ),
        turns,
        {row[0]: row[-1] for row in rows},
        answers,
        dict(
            tx.all(
                "SELECT hash, text FROM spans WHERE user_id = ? AND conversation_id = ?"
                " ORDER BY hash",
                key,
            )
        ),
        tuple(
            ReceiptLine(*row)
            for row in tx.all(
                "SELECT answer_id, base_id, data FROM receipts"
                " WHERE user_id = ? AND conversation_id = ? ORDER BY answer_id",
                key,
            )
        ),
    )


def _answers(tx: Tx, turn: Turn) -> tuple[Answer, ...]:
    """Every version, those under way with what there is of them."""
    return tuple(
        turn_rows.with_text_so_far(tx, answer) if answer.state == "streaming" else answer
        for answer in turn_rows.answers_of(tx, turn.id)
    )


def _everyone(tx: Tx) -> list[Advisor]:
    return advisor_rows.ADVISORS.all(tx, "ORDER BY position, id")


def as_ended(answer: Answer) -> Answer:
    """An answer that was under way when it was written to a file has been cut off."""
    return (
        replace(answer, state="interrupted") if answer.state in ("pending", "streaming") else answer
    )
