"""A model that keeps failing costs what only it could find; what rules find is kept meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.memory.desk import DAY, EMPTY, ME, PART, Desk, open_desk

from polyvox.memory import extract
from polyvox.memory.tables import derived
from polyvox.memory.values import Partition
from polyvox.store import jobs
from polyvox.store.database import Database
from polyvox.work.worker import ATTEMPTS

NO = "I'm sorry, I can't help with that."
SAYS = "Always answer in one sentence. I need to call Ann tomorrow. Call me Bob."
OTHER = Partition("polyvox", "other")
GOOD: dict[str, Any] = {
    "facts": [],
    "loops": [
        {
            "n": 0, "quote": "I need to call Ann tomorrow.", "type": "commitment",
            "text": "Call Ann tomorrow", "domain": "relationships", "importance": 5,
            "tags": ["family"],
        }
    ],
    "profile": [],
    "instructions": [
        {"n": 0, "quote": "Always answer in one sentence.", "text": "Answer in one sentence."}
    ],
    "summary": "They mean to call Ann.",
}  # fmt: skip


@pytest.fixture
async def desk(database: Database, tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(database, tmp_path) as desk:
        desk.always(NO)
        yield desk


async def give_up(desk: Desk) -> str:
    """Until the job has failed for good; answers its id."""
    for _ in range(ATTEMPTS):
        await desk.work()
        desk.clock.now += DAY // 4
    (job,) = await desk.jobs()
    assert (job.kind, job.state, job.attempts) == ("extract", "failed", ATTEMPTS)
    assert "lacks the data it was asked for" in (job.failure or "")
    return job.id


async def retry(desk: Desk, job_id: str, reply: dict[str, Any] | None = None) -> None:
    desk.always(reply or GOOD)
    await desk.database.write(lambda tx: jobs.retry(tx, job_id, desk.clock()), ME)
    await desk.work()
    assert await desk.jobs("failed", "pending") == [
        one for one in await desk.jobs("pending") if one.kind == "daily"
    ]


async def test_what_rules_find_is_kept_and_the_failure_shows(desk: Desk) -> None:
    await desk.ingest("s", SAYS)
    await desk.work()
    (loop,) = await desk.memory.loops(ME, PART)
    assert loop.text == "Call Ann tomorrow", "at once, not when it gives up"
    await give_up(desk)
    profile = await desk.memory.profile(ME, PART)
    assert [one.text for one in profile.all("instructions")] == ["Always answer in one sentence"]
    assert profile.version == 1, "kept once"
    name = profile.one("name")
    assert name is not None
    assert name.text == "Bob"
    done = await desk.database.read(lambda tx: derived.extracted(tx, PART, "s"), ME)
    assert done == 0, "it does not count as worked through"


@pytest.mark.parametrize(
    "reply", [{"facts": "none"}, {"facts": [[[]]]}, {**EMPTY, "loops": {"text": "Call Ann"}}]
)
async def test_a_reply_without_lists_is_none(desk: Desk, reply: dict[str, Any]) -> None:
    desk.always(reply)
    await desk.ingest("s", SAYS)
    await give_up(desk)
    (loop,) = await desk.memory.loops(ME, PART)
    assert loop.text == "Call Ann tomorrow", "it does not take away what rules found"


async def test_a_later_retry_gives_what_there_would_have_been_at_once(desk: Desk) -> None:
    more = [f"I need to {what}." for what in ("mend the fence", "sell my boat", "buy new paint")]
    await desk.ingest("s", SAYS, *more)
    job = await give_up(desk)
    assert len(await desk.memory.loops(ME, PART, statuses=("open", "stale"))) == 4
    await retry(desk, job)
    await desk.ingest("s", SAYS, *more, part=OTHER)
    await desk.work()
    assert await desk.view() == await desk.view(OTHER)
    (loop,) = await desk.memory.loops(ME, PART, statuses=("open", "stale"))
    assert (loop.importance, loop.tags) == (5, ("family",)), "as the model notes it"


async def test_what_the_model_does_not_note_goes_and_ends_with_it(desk: Desk) -> None:
    await desk.ingest("s", SAYS, "I called Ann. Call me Robert.")
    job = await give_up(desk)
    assert len(await desk.memory.loops(ME, PART, statuses=("done",))) == 1
    noted = {"n": 2, "quote": "Call me Robert.", "field": "current_focus", "text": "a new name"}
    await retry(desk, job, {**GOOD, "loops": [], "profile": [noted]})
    assert await desk.memory.loops(ME, PART, statuses=("open", "stale", "done")) == []
    await desk.ingest("s", SAYS, "I called Ann. Call me Robert.", part=OTHER)
    await desk.work()
    assert await desk.view() == await desk.view(OTHER)


async def test_only_the_rest_of_a_session_is_left_to_rules(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extract, "BATCH_MESSAGES", 1)
    desk.reply(GOOD)
    texts = [SAYS, "I need to buy new paint on Monday.", "I'll call the bank on Monday."]
    await desk.ingest("s", *texts)
    await desk.work()
    told = {one.text for one in await desk.memory.loops(ME, PART)}
    assert told == {"Call Ann tomorrow", "Buy new paint on Monday", "Call the bank on Monday"}
    desk.clock.now += DAY
    desk.reply({**EMPTY, "facts": []})
    await desk.work()
    told = {one.text for one in await desk.memory.loops(ME, PART, statuses=("open", "stale"))}
    assert told == {"Call Ann tomorrow", "Call the bank on Monday"}, "its batch alone"


async def test_what_the_person_did_with_it_stays(desk: Desk) -> None:
    await desk.ingest(
        "s", "I need to call Ann tomorrow.", "I need to buy new paint.", "I need to sell the boat."
    )
    await desk.work()
    loops = {one.text: one for one in await desk.memory.loops(ME, PART)}
    await desk.memory.change_loop(ME, PART, loops["Call Ann tomorrow"].id, status="done")
    await desk.memory.change_loop(ME, PART, loops["Buy new paint"].id, pinned=True)
    desk.clock.now += DAY
    desk.always({**GOOD, "instructions": [], "loops": [{**GOOD["loops"][0], "text": "Call Ann"}]})
    await desk.work()
    told = await desk.memory.loops(ME, PART, statuses=("open", "stale", "done"))
    assert {(one.text, one.status, one.pinned) for one in told} == {
        ("Call Ann", "done", False),
        ("Buy new paint", "open", True),
    }


async def test_what_cannot_be_stored_in_a_tag_is_left_out(desk: Desk) -> None:
    odd = ["a\ud800", "b\0c", " \n ", 3, "x" * 50, *"defghij"]
    desk.always({**GOOD, "loops": [{**GOOD["loops"][0], "tags": odd}]})
    await desk.ingest("s", SAYS)
    await desk.work()
    (loop,) = await desk.memory.loops(ME, PART)
    assert loop.tags == ("a?", "b c", "x" * 40, "d", "e", "f", "g", "h")
