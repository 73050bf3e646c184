"""Where remembered words stand: from a session and an index to the turn of a conversation.

A message is found by when it was said, an answer by when it ended: neither changes, while the index
of a message among those that were ingested says nothing of the turns there are now. Invariant: a
conversation that is gone, or that is another memory's, is no place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyvox.memory.tables import episodes
from polyvox.memory.values import Episode, Partition, Role
from polyvox.store.database import Tx


@dataclass(frozen=True, slots=True)
class Place:
    """Where a remembered message stands."""

    session_id: str
    index: int
    role: Role
    advisor_id: str | None
    advisor_name: str | None
    conversation_id: str | None = None
    """None: it came from elsewhere, or its conversation is deleted."""
    title: str | None = None
    turn_id: str | None = None
    """None: the conversation is there, but not this turn."""


def places(tx: Tx, partition: Partition, wanted: Sequence[tuple[str, int]]) -> list[Place]:
    """The places of these messages (session, index), as far as they are remembered."""
    found = episodes.at_places(tx, partition, wanted)
    own = partition == Partition.own(tx.scope)
    names = dict.fromkeys(one.session_id for one in found.values()) if own else {}
    sessions = {name: _conversation(tx, name) for name in names}
    return [
        _placed(tx, one, sessions.get(one.session_id))
        for one in (found.get(place) for place in dict.fromkeys(wanted))
        if one is not None
    ]


def _conversation(tx: Tx, session_id: str) -> tuple[str, str] | None:
    row = tx.one(
        "SELECT c.id, c.title FROM sessions s JOIN conversations c ON c.user_id = s.user_id"
        " AND c.id = s.conversation_id WHERE s.user_id = ? AND s.id = ?",
        (tx.user, session_id),
    )
    return None if row is None else (row[0], row[1])


def _placed(tx: Tx, one: Episode, there: tuple[str, str] | None) -> Place:
    name, turn = _name(tx, one.advisor_id), None
    if there is not None and one.said_at is not None:
        if one.role == "user":
            row = tx.one(
                "SELECT id FROM turns WHERE user_id = ? AND session_id = ? AND said_at = ?"
                " ORDER BY created_at, id",
                (tx.user, one.session_id, one.said_at),
            )
        else:
            row = tx.one(
                "SELECT turn_id FROM answers WHERE user_id = ? AND conversation_id = ?"
                " AND advisor_id = ? AND ended_at = ? ORDER BY id",
                (tx.user, there[0], one.advisor_id or "", one.said_at),
            )
        turn = None if row is None else str(row[0])
    talk, title = (None, None) if there is None else there
    return Place(one.session_id, one.index, one.role, one.advisor_id, name, talk, title, turn)


def _name(tx: Tx, advisor_id: str | None) -> str | None:
    if advisor_id is None:
        return None
    row = tx.one("SELECT name FROM advisors WHERE user_id = ? AND id = ?", (tx.user, advisor_id))
    return None if row is None else str(row[0])
