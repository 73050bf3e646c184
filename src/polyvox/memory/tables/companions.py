"""What a companion keeps: its state with a person, what a session started with, what was decided.

All of it is JSON that is not looked into here. The newest state outlives conversations and holds
nobody's words; a session's packet does, and is a cache that `drop_packets` empties.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from polyvox.store.database import Tx
from polyvox.store.threads import is_on_path, path
from polyvox.values import Segment, Turn

KEPT = 500
"""Turns of a person with a persona whose states are kept: the newest ones."""

Mark = Literal["reinjected", "corrected"]
"""The handover was brought back; the person said that it is wrong."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a session started with. An empty packet: it has to be fetched (again)."""

    packet: str = ""
    vetoed: tuple[str, ...] = ()
    """What the person does not want it to be told, by the ids of the items."""
    drops: int = field(default=0, compare=False)
    """How often packets had been dropped when this was read."""


@dataclass(frozen=True, slots=True)
class Marks:
    """What happened in a session, as far as it led to a turn."""

    reinjected: bool = False
    """Before the turn."""
    corrected: bool = False
    """Before the turn."""
    corrected_here: bool = False
    """In it, when it was answered the first time."""


# -- the state -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Newest:
    """The newest state, and where its turn stands; that may be gone."""

    turn_id: str
    state: str
    conversation_id: str | None
    branch_id: str | None
    depth: int | None


def state(tx: Tx, persona_id: str, turn: Turn) -> str | None:
    """The state before a turn: the same one when that turn is written again, and for a message in
    place of another the one before that. What other branches led to is left out."""
    own = tx.one(
        "SELECT was FROM companion_turns WHERE user_id = ? AND persona_id = ? AND turn_id = ?",
        (tx.user, persona_id, turn.id),
    )
    if own is not None:
        return str(own[0])
    newest = _newest(tx, persona_id)
    if newest is None or newest.turn_id == turn.parent_id:
        return None if newest is None else newest.state
    replaced = _replaced(tx, persona_id, turn)
    if replaced is not None:
        return replaced[1]
    if newest.conversation_id != turn.conversation_id:
        return newest.state
    before = path(tx, turn.branch_id, turn.depth - 1) if turn.depth > 1 else []
    if is_on_path(before, newest.branch_id, newest.depth):
        return newest.state
    return _along(tx, persona_id, turn, before) or newest.state


def put_state(tx: Tx, persona_id: str, turn: Turn, was: str, now_is: str, at: int) -> None:
    """The state after a turn, and before it. It is the newest one, unless a later turn has one; and
    a message in place of an old one does not undo what was said elsewhere since."""
    newest, replaced = _newest(tx, persona_id), _replaced(tx, persona_id, turn)
    tx.run(
        "INSERT INTO companion_turns (user_id, persona_id, turn_id, conversation_id, was, state)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, persona_id, turn_id) DO UPDATE SET"
        " state = excluded.state",
        (tx.user, persona_id, turn.id, turn.conversation_id, was, now_is),
    )
    whose = (tx.user, persona_id)
    tx.run(
        "DELETE FROM companion_turns WHERE user_id = ? AND persona_id = ? AND turn_id <"
        " (SELECT turn_id FROM companion_turns WHERE user_id = ? AND persona_id = ?"
        " ORDER BY turn_id DESC LIMIT 1 OFFSET ?)",
        (*whose, *whose, KEPT - 1),
    )
    if newest is not None and replaced is not None:
        elsewhere = newest.conversation_id != turn.conversation_id
        if elsewhere and replaced[0] < newest.turn_id:
            return
    tx.run(
        "INSERT INTO companion_states (user_id, persona_id, turn_id, state, updated_at)"
        " VALUES (?, ?, ?, ?, ?) ON CONFLICT (user_id, persona_id) DO UPDATE SET"
        " turn_id = excluded.turn_id, state = excluded.state, updated_at = excluded.updated_at"
        " WHERE companion_states.turn_id <= excluded.turn_id",
        (tx.user, persona_id, turn.id, now_is, at),
    )


def _newest(tx: Tx, persona_id: str) -> _Newest | None:
    row = tx.one(
        "SELECT s.turn_id, s.state, t.conversation_id, t.branch_id, t.depth"
        " FROM companion_states s LEFT JOIN turns t ON t.user_id = s.user_id AND t.id = s.turn_id"
        " WHERE s.user_id = ? AND s.persona_id = ?",
        (tx.user, persona_id),
    )
    return None if row is None else _Newest(*row)


def _replaced(tx: Tx, persona_id: str, turn: Turn) -> tuple[str, str] | None:
    """The first turn in whose place this one stands, and the state before it."""
    row = tx.one(
        "SELECT s.turn_id, s.was FROM companion_turns s"
        " JOIN turns t ON t.user_id = s.user_id AND t.id = s.turn_id"
        " WHERE s.user_id = ? AND s.persona_id = ? AND s.conversation_id = ? AND s.turn_id <> ?"
        " AND t.depth = ? AND COALESCE(t.parent_id, '') = ? ORDER BY s.turn_id LIMIT 1",
        (
            tx.user,
            persona_id,
            turn.conversation_id,
            turn.id,
            turn.depth,
            turn.parent_id or "",
        ),
    )
    return None if row is None or row[0] > turn.id else (row[0], row[1])


def _along(tx: Tx, persona_id: str, turn: Turn, before: Sequence[Segment]) -> str | None:
    """The state after the last turn that led to this one; with none kept, the state before the
    first that is kept of this conversation."""
    whose = (tx.user, persona_id, turn.conversation_id)
    for part in before:
        row = tx.one(
            "SELECT s.state FROM companion_turns s"
            " JOIN turns t ON t.user_id = s.user_id AND t.id = s.turn_id"
            " WHERE s.user_id = ? AND s.persona_id = ? AND s.conversation_id = ?"
            " AND t.branch_id = ? AND t.depth > ? AND t.depth <= ? ORDER BY t.depth DESC LIMIT 1",
            (*whose, part.branch_id, part.after, part.upto),
        )
        if row is not None:
            return str(row[0])
    row = tx.one(
        "SELECT was FROM companion_turns WHERE user_id = ? AND persona_id = ?"
        " AND conversation_id = ? ORDER BY turn_id LIMIT 1",
        whose,
    )
    return None if row is None else str(row[0])


# -- a session -----------------------------------------------------------------------------------


def marks(tx: Tx, turn: Turn) -> Marks:
    """What happened in a turn's session on the way to it."""
    rows = tx.all(
        "SELECT m.mark, t.id, t.branch_id, t.depth FROM companion_marks m"
        " JOIN turns t ON t.user_id = m.user_id AND t.id = m.turn_id"
        " WHERE m.user_id = ? AND m.session_id = ?",
        (tx.user, turn.session_id or turn.id),
    )
    if not rows:
        return Marks()
    way = path(tx, turn.branch_id, turn.depth)
    found = {(row[0], row[1] == turn.id) for row in rows if is_on_path(way, row[2], row[3])}
    wanted = (("reinjected", False), ("corrected", False), ("corrected", True))
    return Marks(*(one in found for one in wanted))


def at_risk(tx: Tx, sessions: Iterable[str]) -> dict[str, set[str]]:
    """The turns of these sessions in which the person was in danger, by session."""
    wanted = sorted({*sessions} - {""})
    if not wanted:
        return {}
    found: dict[str, set[str]] = {}
    for session_id, turn_id in tx.all(
        "SELECT session_id, turn_id FROM companion_marks WHERE user_id = ? AND mark = 'risk'"
        f" AND session_id IN ({', '.join('?' * len(wanted))})",
        (tx.user, *wanted),
    ):
        found.setdefault(session_id, set()).add(turn_id)
    return found


def put_marks(tx: Tx, turn: Turn, made: Iterable[Mark]) -> None:
    """What happened in a turn; it stays so when the turn is written again, till it is unmarked."""
    session = turn.session_id or turn.id
    tx.many(
        "INSERT INTO companion_marks (user_id, session_id, turn_id, mark, conversation_id)"
        " VALUES (?, ?, ?, ?, ?) ON CONFLICT (user_id, session_id, turn_id, mark) DO NOTHING",
        [(tx.user, session, turn.id, mark, turn.conversation_id) for mark in made],
    )


def unmark(tx: Tx, turn: Turn, mark: Mark) -> None:
    """It did not happen in that turn after all."""
    tx.run(
        "DELETE FROM companion_marks WHERE user_id = ? AND session_id = ? AND turn_id = ?"
        " AND mark = ?",
        (tx.user, turn.session_id or turn.id, turn.id, mark),
    )


def session(tx: Tx, session_id: str) -> Kept | None:
    """What a session started with, as far as that is known. None is the same as `Kept()`: nothing
    is, and nothing was ever dropped."""
    drops = _drops(tx) or 0
    row = tx.one(
        "SELECT packet, vetoed FROM companion_sessions WHERE user_id = ? AND id = ?",
        (tx.user, session_id),
    )
    if row is None:
        return Kept(drops=drops) if drops else None
    return Kept(row[0], _ids(row[1]), drops)


def put_session(tx: Tx, session_id: str, conversation_id: str, kept: Kept, at: int) -> None:
    """Keep it, all but the veto. A packet that was made before the veto was changed, or before
    packets were dropped, is not kept."""
    row = (tx.user, session_id, conversation_id, kept.packet, _text(kept.vetoed), at)
    if drops_held(tx) != kept.drops:
        tx.run(
            "INSERT INTO companion_sessions (user_id, id, conversation_id, packet, vetoed,"
            " updated_at) VALUES (?, ?, ?, '', ?, ?) ON CONFLICT (user_id, id) DO NOTHING",
            (*row[:3], *row[4:]),
        )
        return
    tx.run(
        "INSERT INTO companion_sessions (user_id, id, conversation_id, packet, vetoed, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (user_id, id) DO UPDATE SET packet = CASE WHEN companion_sessions.vetoed"
        " = excluded.vetoed THEN excluded.packet ELSE companion_sessions.packet END,"
        " updated_at = excluded.updated_at",
        row,
    )


def _drops(tx: Tx, lock: str = "") -> int | None:
    row = tx.one(f"SELECT number FROM companion_drops WHERE user_id = ?{lock}", (tx.user,))
    return None if row is None else int(row[0])


def drops_held(tx: Tx) -> int:
    """How often packets were dropped; nobody drops any until this transaction ends. So whoever
    stores what they made of remembered words asks first: what is read behind this is not being
    forgotten by anybody."""
    lock = " FOR SHARE" if tx.dialect == "postgresql" else ""
    found = _drops(tx, lock)
    if found is None:
        tx.run(
            "INSERT INTO companion_drops (user_id, number) VALUES (?, 0)"
            " ON CONFLICT (user_id) DO NOTHING",
            (tx.user,),
        )
        found = _drops(tx, lock)
    return found or 0


def veto(tx: Tx, session_id: str, conversation_id: str, ids: Iterable[str], at: int) -> None:
    """What a session shall not be told, in place of what was said of it before."""
    vetoed = _text(tuple(sorted(set(ids))))
    tx.run(
        "INSERT INTO companion_sessions (user_id, id, conversation_id, packet, vetoed, updated_at)"
        " VALUES (?, ?, ?, '', ?, ?) ON CONFLICT (user_id, id) DO UPDATE SET packet = CASE WHEN"
        " companion_sessions.vetoed = excluded.vetoed THEN companion_sessions.packet ELSE '' END,"
        " vetoed = excluded.vetoed, updated_at = excluded.updated_at",
        (tx.user, session_id, conversation_id, vetoed, at),
    )


def _text(ids: tuple[str, ...]) -> str:
    return msgspec.json.encode(ids).decode()


def _ids(text: str) -> tuple[str, ...]:
    return msgspec.json.decode(text, type=tuple[str, ...])


def drop_packets(tx: Tx) -> None:
    """Let go of everything that memory told: something of it was forgotten or changed. What is
    being read at this moment is not kept either."""
    tx.run(
        "INSERT INTO companion_drops (user_id, number) VALUES (?, 1)"
        " ON CONFLICT (user_id) DO UPDATE SET number = companion_drops.number + 1",
        (tx.user,),
    )
    tx.run(
        "UPDATE companion_sessions SET packet = '' WHERE user_id = ? AND packet <> ''",
        (tx.user,),
    )


# -- traces --------------------------------------------------------------------------------------


def put_traces(
    tx: Tx, turn_id: str, conversation_id: str, made: Iterable[tuple[str, str]], at: int
) -> None:
    """What was decided for each of these answers."""
    tx.many(
        "INSERT INTO companion_traces (user_id, turn_id, answer_id, conversation_id, data, made_at)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, turn_id, answer_id) DO UPDATE SET"
        " data = excluded.data, made_at = excluded.made_at",
        [(tx.user, turn_id, answer, conversation_id, data, at) for answer, data in made],
    )


def traces(tx: Tx, turn_id: str) -> dict[str, str]:
    """What was decided for each answer of a turn, by the answer's id."""
    rows = tx.all(
        "SELECT answer_id, data FROM companion_traces WHERE user_id = ? AND turn_id = ?",
        (tx.user, turn_id),
    )
    return {row[0]: row[1] for row in rows}
