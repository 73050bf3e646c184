"""The transcript of a session: what was said and answered, and nothing that was only shown."""

from __future__ import annotations

import pytest
from tests.store.rows import insert

from polyvox.memory.transcript import Unfinished, transcript_of
from polyvox.store import sessions
from polyvox.store.database import Database, Tx
from polyvox.values import Scope

ME = Scope("anna")


def turn(tx: Tx, session: str, name: str, text: str, at: int, **more: object) -> None:
    given = {"state": "completed", "excluded": 0, "said_at": at, **more}
    insert(
        tx, "turns", user_id=ME.user, id=name, conversation_id="c", session_id=session,
        message_id=f"m{name}", branch_id="b", depth=at, content=text, asked="[]", created_at=at,
        **given,  # type: ignore[arg-type]  # spelt by tests
    )  # fmt: skip


def answer(tx: Tx, turn_id: str, name: str, text: str, **more: object) -> None:
    given = {"kind": "advisor", "state": "completed", "current": 1, "excluded": 0, **more}
    insert(
        tx, "answers", user_id=ME.user, id=name, conversation_id="c", turn_id=turn_id,
        advisor_id=f"by-{name}", text=text, attempts="[]", ended_at=9,
        **given,  # type: ignore[arg-type]  # as above
    )  # fmt: skip


async def test_what_was_said_and_answered_in_order(database: Database) -> None:
    def write(tx: Tx) -> str:
        session = sessions.begin(tx, "c", 1).id
        turn(tx, session, "t2", "second", 2)
        turn(tx, session, "t1", "first", 1)
        turn(tx, session, "t3", "left out", 3, excluded=1)
        turn(tx, "another", "t4", "elsewhere", 4)
        answer(tx, "t1", "a", "good")
        answer(tx, "t1", "b", "an older version", current=0)
        answer(tx, "t1", "c", "left out", excluded=1)
        answer(tx, "t1", "d", "cut off", state="failed")
        answer(tx, "t1", "e", "all of them say", kind="synthesis")
        answer(tx, "t1", "f", "half", state="stopped")
        return session

    session = await database.write(write, ME)
    told = await database.read(lambda tx: transcript_of(tx, session), ME)
    assert [(one.role, one.text, one.advisor_id) for one in told.messages] == [
        ("user", "first", None),
        ("assistant", "good", "by-a"),
        ("assistant", "half", "by-f"),
        ("user", "second", None),
    ]
    assert told.persona_id is None, "two answered"


async def test_it_waits_for_the_last_answer(sqlite_database: Database) -> None:
    def write(tx: Tx) -> str:
        session = sessions.begin(tx, "c", 1).id
        turn(tx, session, "t1", "first", 1, state="running")
        return session

    session = await sqlite_database.write(write, ME)
    with pytest.raises(Unfinished):
        await sqlite_database.read(lambda tx: transcript_of(tx, session), ME)
