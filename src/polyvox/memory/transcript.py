"""The transcript of a session of a conversation: what was said and what was answered.

Only messages and answers: whatever was put before a model beside them (briefs, recalled memories,
overlays) is in no turn, so it is never remembered as if somebody had said it. A synthesis speaks
for several advisors and belongs to none; it is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyvox.errors import Conflict
from polyvox.memory.values import Message
from polyvox.store import sessions
from polyvox.store.database import Tx
from polyvox.store.sessions import Session
from polyvox.store.turns import TURN, answers_of, turn_of
from polyvox.values import Scope


@dataclass(frozen=True, slots=True)
class Told:
    """A session with its transcript."""

    session: Session
    persona_id: str | None
    """Who answered, where it was one alone."""
    messages: tuple[Message, ...]


class Unfinished(Conflict):
    """The session has ended, but its last message is still being answered."""


def transcript_of(tx: Tx, scope: Scope, session_id: str) -> Told:
    """Everything said in a session, in order; what was excluded is left out."""
    session = sessions.get(tx, scope, session_id)
    rows = tx.all(
        f"SELECT {TURN} FROM turns WHERE user_id = ? AND conversation_id = ? AND session_id = ?"  # noqa: S608 - our own constant
        " ORDER BY created_at, id",
        (scope.user, session.conversation_id, session_id),
    )
    messages: list[Message] = []
    for turn in map(turn_of, rows):
        if turn.state != "completed":
            raise Unfinished(
                "A message of this session is still being answered.",
                "It is remembered when the answer has ended.",
            )
        if turn.excluded:
            continue
        messages.append(Message("user", turn.content, turn.said_at))
        messages += [
            Message("assistant", one.text, one.ended_at, one.advisor_id)
            for one in answers_of(tx, scope, turn.id)
            if one.speaks and one.kind != "synthesis" and one.text.strip()
        ]
    who = {one.advisor_id for one in messages if one.role == "assistant"}
    return Told(session, who.pop() if len(who) == 1 else None, tuple(messages))
