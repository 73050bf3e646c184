"""A model that keeps failing costs what it would have noted, until somebody has it retried."""

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
    assert "lacks the data" in (job.failure or "")
    return job.id


async def retry(desk: Desk, job_id: str, reply: dict[str, Any] | None = None) -> None:
    desk.always(reply or GOOD)
    await desk.database.write(lambda tx: jobs.retry(tx, job_id, desk.clock()), ME)
    await desk.work()
    assert await desk.jobs("failed", "pending") == [
        one for one in await desk.jobs("pending") if one.kind == "daily"
    ]


async def test_the_failure_shows_and_nothing_is_guessed(desk: Desk) -> None:
    await desk.ingest("s", SAYS)
    await give_up(desk)
    view = await desk.view()
    assert (view["facts"], view["loops"], view["profile"]) == ([], [], {})
    assert (await desk.ask("Ann"))[0].id == "s#0", "what was said stays findable"
    done = await desk.database.read(lambda tx: derived.extracted(tx, PART, "s"), ME)
    assert done == 0, "it does not count as worked through"


@pytest.mark.parametrize(
    "reply", [{"facts": "none"}, {"facts": [[[]]]}, {**EMPTY, "loops": {"text": "Call Ann"}}]
)
async def test_a_reply_without_lists_is_none(desk: Desk, reply: dict[str, Any]) -> None:
    desk.always(reply)
    await desk.ingest("s", SAYS)
    await give_up(desk)
    assert await desk.memory.loops(ME, PART) == []


async def test_a_later_retry_gives_what_there_would_have_been_at_once(desk: Desk) -> None:
    more = [f"I need to {what}." for what in ("mend the fence", "sell my boat", "buy new paint")]
    await desk.ingest("s", SAYS, *more)
    job = await give_up(desk)
    await retry(desk, job)
    await desk.ingest("s", SAYS, *more, part=OTHER)
    await desk.work()
    assert await desk.view() == await desk.view(OTHER)
    (loop,) = await desk.memory.loops(ME, PART, statuses=("open", "stale"))
    assert (loop.importance, loop.tags) == (5, ("family",)), "as the model notes it"


async def test_only_the_rest_of_a_session_is_read_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extract, "BATCH_MESSAGES", 1)
    desk.reply(GOOD)
    await desk.ingest("s", SAYS, "I need to buy new paint on Monday.")
    await desk.work()
    assert [one.text for one in await desk.memory.loops(ME, PART)] == ["Call Ann tomorrow"]
    desk.provider.log.clear()
    desk.clock.now += DAY
    row = {"n": 2, "quote": "I need to buy new paint", "text": "Buy new paint"}
    desk.always({**GOOD, "loops": [row], "instructions": []})
    await desk.work()
    first = desk.provider.log[0].json()["messages"][1]["content"]
    assert '"n": 0' not in first
    told = {one.text for one in await desk.memory.loops(ME, PART, statuses=("open", "stale"))}
    assert told == {"Call Ann tomorrow", "Buy new paint"}


async def test_what_cannot_be_stored_in_a_tag_is_left_out(desk: Desk) -> None:
    odd = ["a\ud800", "b\0c", " \n ", 3, "x" * 50, *"defghij"]
    desk.always({**GOOD, "loops": [{**GOOD["loops"][0], "tags": odd}]})
    await desk.ingest("s", SAYS)
    await desk.work()
    (loop,) = await desk.memory.loops(ME, PART)
    assert loop.tags == ("a?", "b c", "x" * 40, "d", "e", "f", "g", "h")
