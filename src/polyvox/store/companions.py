"""What a companion keeps: its state with a person, what a session started with, what was decided.

All of it is JSON that is not looked into here. The state outlives conversations and holds nobody's
words; a session's packet does, and is a cache that `drop_packets` empties.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from polyvox.store.database import Tx
from polyvox.values import Scope


@dataclass(frozen=True, slots=True)
class Kept:
    """What a session started with. An empty packet: it has to be fetched (again)."""

    packet: str = ""
    reinjected_in: str | None = None
    """The turn in which the handover was brought back."""
    corrected_in: str | None = None
    """The turn in which the person said that it is wrong."""
    vetoed: tuple[str, ...] = ()
    """What the person does not want it to be told, by the ids of the items."""


def state(tx: Tx, scope: Scope, persona_id: str, turn_id: str) -> str | None:
    """The state before a turn; the same one when that turn is written again."""
    row = tx.one(
        "SELECT turn_id, was, state FROM companion_states WHERE user_id = ? AND persona_id = ?",
        (scope.user, persona_id),
    )
    if row is None:
        return None
    return str(row[1] if row[0] == turn_id else row[2])


def put_state(
    tx: Tx, scope: Scope, persona_id: str, turn_id: str, was: str, now_is: str, at: int
) -> None:
    """The state after a turn, and before it."""
    tx.run(
        "INSERT INTO companion_states (user_id, persona_id, turn_id, was, state, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, persona_id) DO UPDATE SET"
        " turn_id = excluded.turn_id, was = excluded.was, state = excluded.state,"
        " updated_at = excluded.updated_at",
        (scope.user, persona_id, turn_id, was, now_is, at),
    )


def session(tx: Tx, scope: Scope, session_id: str) -> Kept | None:
    """What a session started with, if that is known."""
    row = tx.one(
        "SELECT packet, reinjected_in, corrected_in, vetoed FROM companion_sessions"
        " WHERE user_id = ? AND id = ?",
        (scope.user, session_id),
    )
    return None if row is None else Kept(row[0], row[1], row[2], _ids(row[3]))


def put_session(
    tx: Tx, scope: Scope, session_id: str, conversation_id: str, kept: Kept, at: int
) -> None:
    """Keep it, all but the veto. A packet that was made before the veto was changed is not kept."""
    tx.run(
        "INSERT INTO companion_sessions (user_id, id, conversation_id, packet,"
        " reinjected_in, corrected_in, vetoed, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (user_id, id) DO UPDATE SET packet = CASE WHEN companion_sessions.vetoed"
        " = excluded.vetoed THEN excluded.packet ELSE companion_sessions.packet END,"
        " reinjected_in = excluded.reinjected_in, corrected_in = excluded.corrected_in,"
        " updated_at = excluded.updated_at",
        (
            scope.user,
            session_id,
            conversation_id,
            kept.packet,
            kept.reinjected_in,
            kept.corrected_in,
            _text(kept.vetoed),
            at,
        ),
    )


def veto(
    tx: Tx, scope: Scope, session_id: str, conversation_id: str, ids: Iterable[str], at: int
) -> None:
    """What a session shall not be told, in place of what was said of it before."""
    vetoed = _text(tuple(sorted(set(ids))))
    tx.run(
        "INSERT INTO companion_sessions (user_id, id, conversation_id, packet, vetoed, updated_at)"
        " VALUES (?, ?, ?, '', ?, ?) ON CONFLICT (user_id, id) DO UPDATE SET packet = CASE WHEN"
        " companion_sessions.vetoed = excluded.vetoed THEN companion_sessions.packet ELSE '' END,"
        " vetoed = excluded.vetoed, updated_at = excluded.updated_at",
        (scope.user, session_id, conversation_id, vetoed, at),
    )


def _text(ids: tuple[str, ...]) -> str:
    return msgspec.json.encode(ids).decode()


def _ids(text: str) -> tuple[str, ...]:
    return msgspec.json.decode(text, type=tuple[str, ...])


def drop_packets(tx: Tx, scope: Scope) -> None:
    """Let go of everything that memory told: something of it was forgotten or changed."""
    tx.run("UPDATE companion_sessions SET packet = '' WHERE user_id = ?", (scope.user,))


def put_traces(
    tx: Tx,
    scope: Scope,
    turn_id: str,
    conversation_id: str,
    made: Iterable[tuple[str, str]],
    at: int,
) -> None:
    """What was decided for each of these answers."""
    tx.many(
        "INSERT INTO companion_traces (user_id, turn_id, answer_id, conversation_id, data, made_at)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, turn_id, answer_id) DO UPDATE SET"
        " data = excluded.data, made_at = excluded.made_at",
        [(scope.user, turn_id, answer, conversation_id, data, at) for answer, data in made],
    )


def traces(tx: Tx, scope: Scope, turn_id: str) -> dict[str, str]:
    """What was decided for each answer of a turn, by the answer's id."""
    rows = tx.all(
        "SELECT answer_id, data FROM companion_traces WHERE user_id = ? AND turn_id = ?",
        (scope.user, turn_id),
    )
    return {row[0]: row[1] for row in rows}
