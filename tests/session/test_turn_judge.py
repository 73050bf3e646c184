"""Each turn remembered at once: what it says is found in the next, and nothing is doubled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.provider import Script
from tests.session.remembered import FILLER, OWN, told
from tests.session.room import ME, Hand, Room, open_room

from polyvox.memory import derive, loops
from polyvox.memory.tables import derived, episodes, statements
from polyvox.store import jobs
from polyvox.store.database import Tx
from polyvox.store.sessions import INGEST

BANK = "I will call the bank about the mortgage tomorrow."
WISH = "Always answer in short sentences."


def everything(tx: Tx) -> dict[str, list[Any]]:
    """What is remembered, without when it was made."""
    every = loops.listed(tx, OWN, Hand().now, statuses=("open", "needs_review", "stale", "done"))
    return {
        "messages": [
            (one.role, one.text)
            for row in tx.all("SELECT session_id FROM transcripts ORDER BY number")
            for one in episodes.episodes_of(tx, OWN, row[0])
        ],
        "facts": sorted(one.text for one in statements.every(tx, OWN, ["fact"])),
        "loops": sorted((one.text, len(one.evidence)) for one in every),
        "profile": [one.text for one in statements.every(tx, OWN, ["instruction"])],
        "summaries": [one.text for one in derived.list_summaries(tx, OWN, "session", 9)],
    }


async def session_of(room: Room, turn_id: str) -> str:
    return (await room.turn(turn_id))[0].session_id or ""


async def test_a_turn_is_remembered_before_its_session_ends(
    tmp_path: Path, database_url: str
) -> None:
    """The same is remembered in the end, judged or not."""
    seen = []
    for judge in (True, False):
        clock = Hand()
        url = database_url if judge else ""
        models = {"default": "scripted:echo", "memory": "lab:notes"}
        async with open_room(
            tmp_path / str(judge), database=url, clock=clock, models=models, memory={"judge": judge}
        ) as room:
            fact = {"text": "They have a bank", "quote": "the bank", "n": 0}
            wish = {"text": WISH, "quote": WISH, "n": 0}
            notes = {"facts": [fact], "instructions": [wish], "summary": "They spoke of a bank."}
            room.provider.script("notes", Script(text=json.dumps(notes)))
            polyvox = room.polyvox
            ann = await room.advisor("Ann", Script(text="Noted."))
            bob = await room.advisor("Bob", Script(text="Noted as well."))
            talk = await room.conversation(ann, bob)
            calls = []
            for text in (BANK, WISH, *FILLER[:3]):
                turn, answers = await room.say(talk, text)
                await polyvox.worker.run_due()
                found = await polyvox.database.read(everything, ME)
                assert bool(found["messages"]) is judge
                assert bool(found["loops"] or found["facts"]) is judge
                assert found["summaries"] == [], "a session that goes on has none"
                calls.append(len(room.provider.requests("notes")))
                clock.on(minutes=1)
            if judge:
                assert calls == [1, 2, 3, 4, 5], "each turn is read once"
            await room.again(answers[0].id, retry=False)
            await polyvox.end_session(ME, await session_of(room, turn.id))
            await polyvox.worker.run_due()
            before = await polyvox.database.read(everything, ME)
            assert len(before["summaries"]) == 1
            for kind in (derive.JUDGE, INGEST):
                subject = await session_of(room, turn.id)
                now = clock()
                await polyvox.database.write(
                    lambda tx, k=kind, s=subject, n=now: jobs.enqueue_again(tx, k, s, n),  # type: ignore[misc]  # bound now
                    ME,
                )
                await polyvox.worker.run_due()
            assert await polyvox.database.read(everything, ME) == before
            assert await polyvox.database.read(lambda tx: jobs.counts(tx), ME) == {
                "pending": before_daily(await polyvox.database.read(_pending, ME)),
                "running": 0,
                "failed": 0,
            }
            seen.append(before)
    judged, ended = seen
    for part in ("facts", "loops", "profile"):
        assert judged[part] == ended[part], part
    assert set(ended["messages"]) <= set(judged["messages"])


def _pending(tx: Tx) -> list[str]:
    return [one.kind for one in jobs.list_jobs(tx)]


def before_daily(kinds: list[str]) -> int:
    """Only a day that is not over waits."""
    assert set(kinds) <= {derive.DAILY}
    return len(kinds)


async def test_it_is_told_in_the_next_turn_of_another_conversation(tmp_path: Path) -> None:
    clock = Hand()
    async with open_room(tmp_path, clock=clock, memory={"judge": True}) as room:
        ann = await room.advisor("Ann", Script(text="Noted."))
        talk = await room.conversation(ann)
        for text in (*FILLER, "My sister Rosalind keeps bees in Porto."):
            await room.say(talk, text)
        room.provider.script("default", Script(text='{"facts": []}'))
        await room.polyvox.worker.run_due()
        await room.say(await room.conversation(ann), "Where does Rosalind keep her bees?")
        assert "keeps bees in Porto" in told(room.provider.log[-1])["supplemental_context"]
        await room.say(talk, "Where does Rosalind keep her bees?")
        assert "supplemental_context" not in told(room.provider.log[-1]), "it is in the request"


async def test_it_is_off_unless_it_is_wanted(tmp_path: Path) -> None:
    async with open_room(tmp_path) as room:
        ann = await room.advisor("Ann")
        await room.say(await room.conversation(ann), BANK)
        assert await room.polyvox.database.read(lambda tx: jobs.list_jobs(tx), ME) == []
