"""A session that is ingested more than once, whatever happens to its conversation meanwhile."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.memory.canary import EMPTY, MINUTE, WORD, open_nest
from tests.memory.house import Counted, Killed
from tests.memory.test_transcript import answer, turn
from tests.provider import Script

from polyvox.memory import excluding
from polyvox.memory.derive import subject_of
from polyvox.memory.tables import episodes
from polyvox.memory.tables import remembered as sources
from polyvox.memory.transcript import ingest_session, transcript_of
from polyvox.memory.values import Partition
from polyvox.store import jobs, sessions, turns
from polyvox.store.database import Database, Tx
from polyvox.store.open import open_database
from polyvox.values import Scope

ME = Scope("anna")
OWN = Partition.own(ME)
TURNS = 5


def begin(tx: Tx) -> str:
    """A session of some turns, each with an answer, that has ended."""
    session = sessions.begin(tx, "c", 1)
    for number in range(TURNS):
        turn(tx, session.id, f"t{number}", f"message {number}", number + 1)
        answer(tx, f"t{number}", f"a{number}", f"answer {number}", version=1)
    sessions.close(tx, session, "person", TURNS + 1)
    return session.id


def remembered(tx: Tx, session: str) -> dict[int, tuple[str, str, bool]]:
    """What is remembered: by index, where it came from, its words and whether it is excluded."""
    known = sources.of_session(tx, OWN, session)
    return {
        one.index: (known[one.index], one.text, one.excluded)
        for one in episodes.episodes_of(tx, OWN, session)
    }


def exclude(tx: Tx, number: int, excluded: bool) -> None:
    turns.set_excluded(tx, "turns", f"t{number}", excluded)
    now = turns.get_turn(tx, f"t{number}")
    excluding.follow(tx, now, turns.answers_of(tx, now.id), 9)


def another(tx: Tx, number: int, name: str) -> None:
    """Have an answer written again."""
    tx.run("UPDATE answers SET current = 0 WHERE turn_id = ?", (f"t{number}",))
    answer(tx, f"t{number}", name, f"answer {number}, by {name}", version=2)


DEEDS = st.tuples(
    st.sampled_from(["ingest", "exclude", "include", "another", "killed"]),
    st.integers(0, TURNS - 1),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(DEEDS, max_size=14))
def test_nothing_is_lost_doubled_or_moved(deeds: list[tuple[str, int]]) -> None:
    asyncio.run(go_through(deeds))


async def go_through(deeds: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as home:
        database = await open_database(f"sqlite:///{home}/p.db", Path(home))
        try:
            session = await database.write(begin, ME)
            before: dict[int, tuple[str, str, bool]] = {}
            for count, (deed, number) in enumerate(deeds):

                def act(tx: Tx, deed: str = deed, number: int = number, count: int = count) -> None:
                    if deed == "ingest":
                        ingest_session(tx, session)
                    elif deed == "killed":
                        ingest_session(Counted(tx, 3 * number + 1), session)
                    elif deed == "another":
                        another(tx, number, f"n{count}")
                    else:
                        exclude(tx, number, deed == "exclude")

                try:
                    await database.write(act, ME)
                except Killed:
                    assert deed == "killed"
                now = await database.read(lambda tx: remembered(tx, session), ME)
                for index, (ref, text, _) in before.items():
                    assert now[index][:2] == (ref, text), "what was there stays at its place"
                before = now
            await database.write(lambda tx: ingest_session(tx, session), ME)
            await check(database, session)
        finally:
            await database.close()


async def check(database: Database, session: str) -> None:
    """What is told now is remembered, once, and nothing else is told."""

    def read(tx: Tx) -> None:
        told = transcript_of(tx, session)
        found = remembered(tx, session)
        refs = [ref for ref, _, _ in found.values()]
        assert len(refs) == len(set(refs)), "nothing is doubled"
        assert set(told.refs) <= set(refs), "nothing is lost"
        texts = {ref: text for ref, text, _ in found.values()}
        for ref, message in zip(told.refs, told.messages, strict=True):
            assert texts[ref] == message.text
        out = {ref for ref, _, excluded in found.values() if excluded}
        assert out.isdisjoint(told.refs), "what is in again is recalled again"
        for ref in set(refs) - out:
            if ref[0] == "u":
                assert not turns.get_turn(tx, ref[1:]).excluded, "what is kept out is not"

    await database.read(read, ME)
    again = await database.write(lambda tx: ingest_session(tx, session), ME)
    assert again in ("duplicate", "empty")


async def test_killed_at_every_step(database: Database) -> None:
    session = await database.write(begin, ME)
    steps = 0
    while True:
        try:
            counted: list[int] = []

            def act(tx: Tx, most: int = steps, counted: list[int] = counted) -> str:
                one = Counted(tx, most)
                status = ingest_session(one, session)
                counted.append(one.statements)
                return status

            status = await database.write(act, ME)
        except Killed:
            assert await database.read(lambda tx: remembered(tx, session), ME) == {}
            steps += 1
            continue
        assert status == "ingested"
        assert steps > 10
        break
    await check(database, session)
    assert len(await database.read(lambda tx: remembered(tx, session), ME)) == 2 * TURNS


async def test_what_was_ingested_before_sources_were_kept_is_recognised(
    database: Database,
) -> None:
    session = await database.write(begin, ME)
    await database.write(lambda tx: ingest_session(tx, session), ME)
    before = await database.read(lambda tx: remembered(tx, session), ME)
    await database.write(lambda tx: tx.run("DELETE FROM episode_sources"), ME)
    await database.write(lambda tx: exclude(tx, 1, True), ME)
    await database.write(lambda tx: another(tx, 2, "new"), ME)
    assert await database.write(lambda tx: ingest_session(tx, session), ME) == "ingested"
    after = await database.read(lambda tx: remembered(tx, session), ME)
    assert {index: one[:2] for index, one in after.items() if index in before} == {
        index: one[:2] for index, one in before.items()
    }
    assert [one[1] for index, one in after.items() if index not in before] == ["answer 2, by new"]


async def test_a_message_that_is_let_in_later_is_remembered_then(database: Database) -> None:
    session = await database.write(begin, ME)
    await database.write(lambda tx: exclude(tx, 2, True), ME)
    await database.write(lambda tx: ingest_session(tx, session), ME)
    found = await database.read(lambda tx: remembered(tx, session), ME)
    assert "message 2" not in [text for _, text, _ in found.values()]
    await database.write(lambda tx: jobs.mark_done(tx, sessions.INGEST, 1), ME)
    await database.write(lambda tx: exclude(tx, 2, False), ME)
    wanted = await database.read(lambda tx: jobs.get(tx, f"ingest:{session}"), ME)
    assert wanted.state == "pending"
    await database.write(lambda tx: ingest_session(tx, session), ME)
    later = await database.read(lambda tx: remembered(tx, session), ME)
    assert [text for index, (_, text, _) in later.items() if index not in found] == [
        "message 2",
        "answer 2",
    ]


@pytest.mark.parametrize("model", ["lab:notes", ""])
async def test_what_was_only_recalled_becomes_no_fact(
    database_url: str, tmp_path: Path, model: str
) -> None:
    """A session whose prompts held memories, and whose answer repeats them, is ingested twice: only
    the person's own words may be noted, and nothing new is known."""
    url = "" if database_url.startswith("sqlite") else database_url
    async with open_nest(url, tmp_path / "home") as nest:
        await nest.everywhere()
        sent = nest.house.provider.requests("talker")[-1].body.decode().lower()
        assert WORD in sent, "the prompt held it"
        old = nest.polyvox.settings
        models = old.models.model_copy(
            update={"memory": model, "default": model or "local:smollm2"}
        )
        nest.polyvox._use(old.model_copy(update={"models": models}))
        nest.house.provider.script(
            "notes", Script(pieces=(json.dumps({**EMPTY, "summary": "Herons."}),))
        )
        nest.house.provider.log.clear()
        before = await known(nest)
        nest.clock[0] += MINUTE
        session = await nest.close_session(nest.ids["companion"])
        assert await known(nest) == before
        asked = [one.json()["messages"] for one in nest.house.provider.requests("notes")]
        assert bool(asked) == bool(model)
        lines = [line for messages in asked for line in messages[-1]["content"].splitlines()]
        assert not any(WORD in line.lower() for line in lines if line.startswith('{"n"'))

        def again(tx: Tx) -> None:
            own = Partition.own(Scope())
            tx.run("DELETE FROM extractions WHERE session_id = ?", (session,))
            jobs.enqueue_again(tx, sessions.INGEST, session, nest.clock[0])
            jobs.enqueue_again(tx, "extract", subject_of(own, session), nest.clock[0])

        await nest.polyvox.database.write(again, Scope())
        await nest.work()
        assert await known(nest) == before


async def known(nest: Any) -> list[Any]:
    found: list[Any] = await nest.polyvox.database.read(
        lambda tx: tx.all("SELECT id, text FROM statements ORDER BY id"), ME
    )
    return found
