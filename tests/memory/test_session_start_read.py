"""What a brief draws on is read from the store: only what was said by then, elsewhere, by them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

import pytest
from tests.memory.house import Counted
from tests.memory.test_startbrief import DAY, HOUR, LISBON, ME, MINE, NOW, YOU, of

from polyvox.memory import loops, profile, session_start
from polyvox.memory.session_start import Known, brief
from polyvox.memory.tables import derived, episodes, statements
from polyvox.memory.tables.derived import Daily as StoredDaily
from polyvox.memory.tables.derived import Summary
from polyvox.memory.tables.statements import Kind, Link, Plan, Statement
from polyvox.memory.times import MINUTE
from polyvox.memory.transcript import ingest
from polyvox.memory.values import Message, Partition
from polyvox.store.database import Database, Tx
from polyvox.store.sessions import placed
from polyvox.values import Scope


async def remember(
    database: Database,
    session: str,
    *texts: str,
    ago: int = HOUR,
    cloud: bool = True,
    part: Partition = MINE,
    scope: Scope = ME,
) -> None:
    end = NOW - ago
    messages = [Message("user", text, end - len(texts) + at) for at, text in enumerate(texts)]
    messages.append(Message("assistant", "I advise you to sell the boat", end, "advisor"))
    await database.write(
        lambda tx: ingest(tx, part, session, None, end - 10 * MINUTE, end, messages, cloud=cloud),
        scope,
    )


def statement(kind: Kind, session: str, text: str, at: int, quote: str = "") -> Statement:
    """What was taken from a session's first message."""
    field = "current_focus" if kind == "profile" else ""
    return Statement(
        f"{kind} {session}", kind, "Anna", field, text, at, session_id=session, message_index=0,
        role="user", quote=quote or text, plan=Plan() if kind == "loop" else None,
    )  # fmt: skip


async def read(database: Database, session: str | None = None, **more: Any) -> Known:
    return await database.read(
        lambda tx: session_start.read(tx, MINE, NOW, LISBON, session, **more).known, ME
    )


async def test_the_store_tells_sessions_words_and_loops(database: Database) -> None:
    await remember(database, "old", "We sailed to the island", ago=DAY)
    await remember(database, "new", "I will call the harbour office tomorrow.", "Thank you")
    seen = await read(database)
    assert [one.session_id for one in seen.sessions] == ["old", "new"]
    assert [one.text for one in seen.said] == [
        "We sailed to the island",
        "I will call the harbour office tomorrow.",
        "Thank you",
    ]
    told = await of(seen)
    assert "sell the boat" not in repr(told), "advisors' answers are not for everybody"
    assert told.handover_depth == "today"


async def test_a_start_asks_no_more_where_more_was_left_open(database: Database) -> None:
    async def count() -> int:
        def look(tx: Tx) -> int:
            counted = Counted(tx)
            session_start.read(counted, MINE, NOW, LISBON)
            return counted.statements

        return await database.read(look, ME)

    asked = []
    for number in range(12):
        session, text = (
            f"s{number}",
            f"I will paint the boat {'abcdefghijkl'[number] * 5} some day.",
        )
        await remember(database, session, text, ago=number * HOUR)
        loop = statement("loop", session, text, NOW - number * HOUR)
        await database.write(partial(statements.add, partition=MINE, statements=[loop]), ME)
        asked.append(await count())
    assert asked[0] == asked[-1]


async def test_the_store_keeps_partitions_and_people_apart(database: Database) -> None:
    await remember(database, "s", "My secret is a canoe", part=Partition("other", "anna"))
    await remember(database, "s", "My secret is a raft", scope=YOU, part=Partition.own(YOU))
    seen = await read(database)
    assert (seen.sessions, seen.said) == ((), ())


async def test_what_must_not_leave_or_was_excluded_is_not_told(database: Database) -> None:
    await remember(database, "s", "The safe is behind the stove", cloud=False)
    await remember(database, "t", "The stove is behind the house", ago=2 * HOUR)
    assert [one.session_id for one in (await read(database)).said] == ["t"]
    everything = await read(database, cloud=False)
    assert [one.session_id for one in everything.said] == ["t", "s"]
    await database.write(lambda tx: episodes.mark(tx, MINE, "t", 0, excluded=True), ME)
    assert (await read(database)).said == ()


async def test_a_session_counts_before_it_is_ingested_and_the_one_that_begins_does_not(
    database: Database,
) -> None:
    ended = await database.write(lambda tx: placed(tx, "c", NOW - HOUR, 5).session_id, ME)
    begun = await database.write(lambda tx: placed(tx, "c", NOW, 5).session_id, ME)
    seen = await read(database, begun)
    assert [one.session_id for one in seen.sessions] == [ended]
    assert seen.moment.gap_minutes == 60
    assert seen.moment.earlier_today == 1
    await database.write(lambda tx: episodes.remove_session(tx, MINE, ended), ME)
    assert (await read(database, begun)).sessions == (), "forgotten is forgotten"


async def test_a_session_does_not_hear_of_itself(database: Database) -> None:
    await remember(database, "s", "I will call the harbour office tomorrow.")
    seen = await read(database, "s")
    assert (seen.sessions, seen.said, seen.loops) == ((), (), ())


async def test_what_was_derived_is_told_too(database: Database) -> None:
    await remember(database, "s", "I will call the harbour office tomorrow.", ago=DAY)
    words, then = "I will call the harbour office tomorrow.", NOW - DAY
    call = statement("loop", "s", "Call the harbour office", then, words)
    call = replace(call, plan=Plan(horizon="today", due="2026-05-13"))
    done = Statement("f1", "fact", "Anna", "boat", "Anna owns a boat", then)
    secret = Statement("f2", "fact", "Anna", "safe", "Anna owns a safe", then, cloud=False)
    private = Statement("f3", "fact", "Anna", "cat", "Anna owns a cat", then, advisor_id="a")

    def write(tx: Tx) -> None:
        statements.add(tx, MINE, [call, done, secret, private])
        profile.patch(tx, MINE, {"current_focus": "the survey", "work_context": "a yard"}, NOW)
        for name, cloud in (("s", True), ("t", False)):
            summary = Summary("session", name, f"About {name}.", (), "", cloud, NOW - DAY, NOW)
            derived.put_summary(tx, MINE, summary)
        day = "2026-05-12"
        derived.put_daily(
            tx, MINE, StoredDaily(day, ("boats",), {}, "Go slow.", 0.9, "ok", ("s",), "m", NOW)
        )

    await database.write(write, ME)
    seen = await read(database)
    (loop,) = seen.loops
    assert (loop.text, loop.due) == ("Call the harbour office", date(2026, 5, 13))
    assert loop.quote == "I will call the harbour office tomorrow."
    assert seen.facts == ("Anna owns a boat",)
    assert (seen.focus, seen.hints) == ("the survey", ("a yard",))
    assert seen.summaries == ("About s.",)
    told = await of(seen)
    assert told.ops_context is not None
    assert told.ops_context.top_loops_today == ("Call the harbour office",)
    assert told.ops_context.yesterday_themes == ("boats",)
    assert told.ops_context.steering_note == "Go slow."
    assert told.evidence is not None
    assert told.evidence.loop_ids == (loop.id,)
    assert brief(seen).facts == ("Anna owns a boat",)
    everything = await read(database, cloud=False)
    assert set(everything.facts) == {"Anna owns a boat", "Anna owns a safe"}
    assert len(everything.summaries) == 2
    await database.write(lambda tx: loops.end(tx, MINE, loop.id, "done", NOW), ME)
    assert (await read(database)).loops == ()


async def worked_through(database: Database, session: str, at: int) -> None:
    """A loop, a fact, a line of the profile and a summary are kept of a session."""
    (episode, *_) = await database.read(lambda tx: episodes.episodes_of(tx, MINE, session), ME)
    made = [
        statement("loop", session, episode.text.removeprefix("I will "), at),
        statement("fact", session, episode.text, at),
        statement("profile", session, session, at),
    ]
    summary = Summary("session", session, f"About {session}.", (), "", True, at, at)

    def write(tx: Tx) -> None:
        statements.add(tx, MINE, made)
        derived.put_summary(tx, MINE, summary)

    await database.write(write, ME)


@pytest.mark.parametrize("own", [True, False])
async def test_nothing_is_told_that_was_said_later_or_in_the_same_session(
    database: Database, own: bool
) -> None:
    ago = HOUR if own else -HOUR
    await remember(database, "before", "I will paint the boat.", ago=2 * HOUR)
    await remember(database, "s", "I will call the harbour office.", ago=ago)
    for session, at in (("before", NOW - 2 * HOUR), ("s", NOW - ago)):
        await worked_through(database, session, at)
    seen = await read(database, "s" if own else None)
    assert [one.session_id for one in seen.sessions] == ["before"]
    assert [one.text for one in seen.loops] == ["paint the boat."]
    assert (seen.facts, seen.summaries) == (("I will paint the boat.",), ("About before.",))
    assert seen.focus == "before"
    assert "harbour" not in repr(await of(seen))


async def test_what_ended_later_is_still_open_then(database: Database) -> None:
    await remember(database, "before", "I will paint the boat.", ago=2 * HOUR)
    await worked_through(database, "before", NOW - 2 * HOUR)
    over = Link("l", "done", "loop before", None, NOW + HOUR, "s", 0, "I painted the boat.")
    await database.write(lambda tx: statements.add(tx, MINE, (), [over]), ME)
    assert [one.text for one in (await read(database)).loops] == ["paint the boat."]


async def test_a_session_that_claims_to_end_later_lasts_until_its_last_word(
    database: Database,
) -> None:
    said = [Message("user", "We sailed to the island", NOW - 3 * HOUR)]
    await database.write(
        lambda tx: ingest(tx, MINE, "s", None, NOW - 4 * HOUR, NOW + 999 * DAY, said), ME
    )
    seen = await read(database)
    assert [(one.session_id, one.ended_at) for one in seen.sessions] == [("s", NOW - 3 * HOUR)]
    assert seen.moment.gap == "3 hours"


async def test_sessions_of_a_year_before_are_told_then(database: Database) -> None:
    await remember(database, "then", "We sailed to the island", ago=HOUR)
    for number in range(session_start.SESSIONS):
        await remember(database, f"s{number}", "We stayed", ago=-DAY - number * HOUR)
    assert [one.session_id for one in (await read(database)).sessions] == ["then"]
