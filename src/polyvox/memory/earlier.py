"""What was said earlier in the session and is not in the request: the window has dropped it.

A session is remembered when it ends. Until then, what its requests no longer hold is found in the
conversation itself, on this branch, without what was excluded.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from polyvox.memory.running import Heard
from polyvox.store.database import Tx
from polyvox.store.threads import thread_between
from polyvox.thread import Thread, ThreadTurn
from polyvox.values import Turn

TURNS = 200
"""So many turns before those that were read for a request are looked at."""


def unread_of(tx: Tx, turn: Turn, thread: Thread) -> tuple[ThreadTurn, ...]:
    """The turns of this session before what was read of an advisor's thread, the last ones."""
    first = thread.past[0] if thread.past else None
    if first is None or first.depth <= 1 or first.session_id != turn.session_id:
        return ()
    after = max(0, first.depth - 1 - TURNS)
    before = thread_between(tx, turn, thread.advisor.id, after, first.depth)
    return tuple(one for one in before if one.session_id == turn.session_id)


def heard_of(said: Sequence[ThreadTurn], shown: Collection[str]) -> tuple[Heard, ...]:
    """The messages and answers of these turns that are not shown ("u" and a turn's id, "a" and an
    answer's), in order."""
    found = []
    for one in said:
        session = one.session_id or ""
        if f"u{one.turn_id}" not in shown:
            found.append(Heard(session, "user", one.text, one.said_at))
        found += [
            Heard(session, "assistant", own.text, one.said_at)
            for own in one.own
            if f"a{own.answer_id}" not in shown
        ]
    return tuple(found)
