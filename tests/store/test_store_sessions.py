"""Sessions: ended by idleness or by the person, remembered exactly once."""

from __future__ import annotations

import pytest
from tests.store.rows import insert, insert_turn

from polyvox.errors import Conflict, NotFound
from polyvox.session.lifecycle import end_session, sweep
from polyvox.settings import Settings
from polyvox.store import jobs, sessions
from polyvox.store.database import Database, Tx
from polyvox.store.sessions import Session, placed
from polyvox.values import Scope

ME, YOU = Scope("anna"), Scope("bert")
MINUTE = 60_000_000
IDLE = 5.0
SETTINGS = Settings.model_validate({"sessions": {"idle_minutes": IDLE}})


async def say(database: Database, conversation: str, now: int, scope: Scope = ME) -> str:
    return await database.write(lambda tx: placed(tx, conversation, now, IDLE).session_id, scope)


async def wanted(database: Database, scope: Scope = ME) -> list[str]:
    return [job.subject for job in await database.read(lambda tx: jobs.list_jobs(tx), scope)]


async def conversation(database: Database, name: str, recipe: str, scope: Scope = ME) -> None:
    await database.write(
        lambda tx: insert(tx, "conversations", user_id=scope.user, id=name, recipe=recipe), ME
    )


async def test_a_session_goes_on_while_the_person_does(database: Database) -> None:
    first = await say(database, "c", 0)
    for minute in (5, 10, 15):
        assert await say(database, "c", minute * MINUTE) == first, "five minutes are not more"
    second = await say(database, "c", 20 * MINUTE + 1)
    assert second != first
    old = await database.read(lambda tx: sessions.get(tx, first), ME)
    assert (old.ended_at, old.ended_by) == (15 * MINUTE, "idle"), "the time of its last message"
    assert await wanted(database) == [first]
    assert await say(database, "other", 20 * MINUTE) not in (first, second)


async def test_the_person_ends_a_session_once(database: Database) -> None:
    session = await say(database, "c", 0)
    ended = await end_session(database, ME, session, lambda: MINUTE)
    assert (ended.ended_at, ended.ended_by) == (MINUTE, "person")
    with pytest.raises(Conflict):
        await end_session(database, ME, session, lambda: MINUTE)
    with pytest.raises(NotFound):
        await end_session(database, YOU, session, lambda: MINUTE)
    assert await wanted(database) == [session]
    assert await say(database, "c", MINUTE + 1) != session


async def test_the_sweep_closes_what_nobody_came_back_to(database: Database) -> None:
    await conversation(database, "c", "council")
    await conversation(database, "theirs", "council", YOU)
    await conversation(database, "agent", "agent")
    left, theirs = await say(database, "c", 0), await say(database, "theirs", 0, YOU)
    kept = await say(database, "agent", 0)
    assert await sweep(database, lambda: 5 * MINUTE, SETTINGS) == 0
    assert await sweep(database, lambda: 5 * MINUTE + 1, SETTINGS) == 2
    assert await sweep(database, lambda: 9 * MINUTE, SETTINGS) == 0
    assert await wanted(database) == [left]
    assert await wanted(database, YOU) == [theirs]
    agent = await database.read(lambda tx: sessions.get(tx, kept), ME)
    assert agent.ended_at is None, "an agent's session is continued by name"


async def test_what_is_never_swept_keeps_nothing_else_from_it(database: Database) -> None:
    """However many of them are idle, and for longer than all others."""
    for number in range(101):
        await conversation(database, f"agent{number}", "agent")
        await say(database, f"agent{number}", number)
    await conversation(database, "c", "council")
    left = await say(database, "c", 1_000)
    assert await sweep(database, lambda: 9 * MINUTE, SETTINGS) == 1
    assert await wanted(database) == [left]


async def test_a_session_that_went_on_meanwhile_is_not_swept(database: Database) -> None:
    await conversation(database, "c", "council")
    session = await say(database, "c", 0)
    found = await database.read(lambda tx: sessions.idle(tx, MINUTE), ME)
    assert [one.id for _, one in found] == [session]
    await say(database, "c", 4 * MINUTE)
    assert await sweep(database, lambda: 6 * MINUTE, SETTINGS) == 0


async def test_sessions_are_listed_with_their_messages(database: Database) -> None:
    first = await say(database, "c", 0)

    def turn(tx: Tx) -> None:
        insert_turn(tx, "c", "t1", "Hello")
        tx.run("UPDATE turns SET session_id = ? WHERE id = 't1'", (first,))

    await database.write(turn, ME)
    second = await say(database, "c", 60 * MINUTE)
    listed = await database.read(lambda tx: sessions.list_sessions(tx), ME)
    assert [(session.id, count) for session, count in listed] == [(second, 0), (first, 1)]
    assert await database.read(lambda tx: sessions.list_sessions(tx, "none"), ME) == []
    assert await database.read(lambda tx: sessions.list_sessions(tx), YOU) == []


async def test_sessions_are_listed_page_by_page(database: Database) -> None:
    ids = [await say(database, "c", hour * 60 * MINUTE) for hour in range(5)]
    other = await say(database, "other", 0)  # as old as the first one

    async def page(after: str | None, conversation: str | None = "c") -> list[str]:
        found = await database.read(
            lambda tx: sessions.list_sessions(tx, conversation, 2, after), ME
        )
        return [session.id for session, _ in found]

    assert await page(None) == [ids[4], ids[3]]
    assert await page(ids[3]) == [ids[2], ids[1]]
    assert await page(ids[1]) == [ids[0]]
    assert await page(ids[0]) == []
    assert set(await page(ids[1], None)) == {ids[0], other}, "those of one moment, too"
    with pytest.raises(NotFound):
        await database.read(lambda tx: sessions.list_sessions(tx, "c", 2, ids[3]), YOU)


async def test_the_newest_turns_of_a_session_in_their_order(database: Database) -> None:
    mine, other = await say(database, "c", 0), await say(database, "d", 0)

    def fill(tx: Tx) -> None:
        for number in range(4):
            insert_turn(tx, "c", f"t{number}", "Hello")
            tx.run(
                "UPDATE turns SET session_id = ?, created_at = ? WHERE id = ?",
                (other if number == 2 else mine, 10 - number, f"t{number}"),
            )

    await database.write(fill, ME)
    session = await database.read(lambda tx: sessions.get(tx, mine), ME)
    found = await database.read(lambda tx: sessions.turns_in(tx, session, 10), ME)
    assert found == ["t3", "t1", "t0"], "oldest first"
    assert await database.read(lambda tx: sessions.turns_in(tx, session, 2), ME) == ["t1", "t0"]
    assert await database.read(lambda tx: sessions.turns_in(tx, session, 10), YOU) == []


async def test_a_message_never_lands_in_a_session_that_was_just_ended(database: Database) -> None:
    """Two programs on one database: what was read may have changed before it is written."""
    session = await say(database, "c", 0)
    stale = await database.read(lambda tx: sessions.get(tx, session), ME)

    assert await database.write(lambda tx: sessions.touch(tx, session, MINUTE), ME)
    assert not await database.write(lambda tx: sessions.close(tx, stale, "idle", 9 * MINUTE), ME)
    assert await wanted(database) == [], "somebody has said something since"

    await end_session(database, ME, session, lambda: 2 * MINUTE)
    assert not await database.write(lambda tx: sessions.touch(tx, session, 3 * MINUTE), ME)
    ended = await database.read(lambda tx: sessions.get(tx, session), ME)
    assert ended.last_user_at == MINUTE


async def test_a_session_that_ends_while_a_message_is_stored_is_left_behind(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await say(database, "c", 0)
    read = sessions.open_session

    def ends_meanwhile(tx: Tx, conversation: str) -> Session | None:
        found = read(tx, conversation)
        if found is not None:
            sessions.close(tx, found, "person", MINUTE)
        return found

    monkeypatch.setattr(sessions, "open_session", ends_meanwhile)
    assert await say(database, "c", 2 * MINUTE) != session
    assert await wanted(database) == [session]
