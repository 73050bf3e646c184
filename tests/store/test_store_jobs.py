"""Jobs: wanted once, claimed by one, taken over from the dead, kept with ids alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest

from polyvox.errors import Conflict, NotFound
from polyvox.store import jobs
from polyvox.store.database import Database, Tx, Value
from polyvox.store.jobs import Job
from polyvox.values import Scope

ME, YOU = Scope("anna"), Scope("bert")
KINDS = ("ingest", "daily")


async def claimed(database: Database, runner: str, now: int = 100) -> Job | None:
    return await database.write(lambda tx: jobs.claim(tx, KINDS, runner, now), ME)


async def test_wanting_a_job_twice_is_wanting_it_once(database: Database) -> None:
    def want(tx: Tx) -> list[bool]:
        return [jobs.enqueue(tx, "ingest", "s1", 10) for _ in range(3)]

    assert await database.write(want, ME) == [True, False, False]
    job = await claimed(database, "one")
    assert job is not None
    assert (job.id, job.subject, job.state, job.attempts) == ("ingest:s1", "s1", "running", 1)
    await database.write(lambda tx: jobs.finish(tx, job, "one", 20), ME)
    assert await database.write(lambda tx: jobs.enqueue(tx, "ingest", "s1", 30), ME) is False
    assert await claimed(database, "one") is None, "what is done is not done again"


async def test_each_job_is_claimed_by_one_runner_the_longest_due_first(database: Database) -> None:
    def want(tx: Tx) -> None:
        jobs.enqueue(tx.of(ME), "ingest", "late", 10, due_at=50)
        jobs.enqueue(tx.of(YOU), "ingest", "early", 10, due_at=40)
        jobs.enqueue(tx.of(ME), "ingest", "not yet", 10, due_at=500)
        jobs.enqueue(tx.of(ME), "unknown", "x", 10)

    await database.write(want, ME)
    assert await database.read(lambda tx: jobs.next_due(tx, KINDS), ME) == 40
    first, second = await claimed(database, "one"), await claimed(database, "two")
    assert first is not None
    assert second is not None
    assert (first.subject, first.scope) == ("early", YOU)
    assert (second.subject, second.scope) == ("late", ME)
    assert await claimed(database, "three") is None


async def test_what_a_dead_runner_held_waits_again_and_the_dead_cannot_end_it(
    database: Database,
) -> None:
    await database.write(lambda tx: jobs.enqueue(tx, "ingest", "s1", 10), ME)
    lost = await claimed(database, "dead")
    assert lost is not None
    assert await database.read(jobs.holders, ME) == {"dead"}
    assert await database.write(lambda tx: jobs.release_all(tx, "dead", 20), ME) == 1
    again = await claimed(database, "living")
    assert again is not None
    assert again.attempts == 2
    await database.write(lambda tx: jobs.fail(tx, lost, "dead", "Too late.", 30), ME)
    held = await database.read(lambda tx: jobs.get(tx, "ingest:s1"), ME)
    assert (held.state, held.runner_id, held.failure) == ("running", "living", None)


async def test_failures_are_shown_with_their_reason_and_can_be_tried_again(
    database: Database,
) -> None:
    await database.write(lambda tx: jobs.enqueue(tx, "ingest", "s1", 10), ME)
    job = await claimed(database, "one")
    assert job is not None
    await database.write(lambda tx: jobs.postpone(tx, job, "one", "Not now.", 900, 20), ME)
    (waiting,) = await database.read(lambda tx: jobs.list_jobs(tx), ME)
    assert (waiting.state, waiting.failure, waiting.due_at) == ("pending", "Not now.", 900)
    assert await claimed(database, "one", 899) is None
    second = await claimed(database, "one", 900)
    assert second is not None
    await database.write(lambda tx: jobs.fail(tx, second, "one", "Never.", 901), ME)
    assert await database.read(lambda tx: jobs.counts(tx), ME) == {
        "pending": 0,
        "running": 0,
        "failed": 1,
    }
    assert await database.read(lambda tx: jobs.list_jobs(tx), YOU) == []
    with pytest.raises(NotFound):
        await database.write(lambda tx: jobs.retry(tx, "ingest:s1", 950), YOU)
    await database.write(lambda tx: jobs.retry(tx, "ingest:s1", 950), ME)
    third = await claimed(database, "one", 950)
    assert third is not None
    assert third.attempts == 1
    with pytest.raises(Conflict):
        await database.write(lambda tx: jobs.retry(tx, "ingest:s1", 960), ME)


async def test_a_job_can_be_wanted_anew(database: Database) -> None:
    await database.write(lambda tx: jobs.enqueue(tx, "daily", "monday", 10), ME)
    job = await claimed(database, "one")
    assert job is not None

    def end(tx: Tx) -> None:
        jobs.fail(tx, job, "one", "No.", 20)
        jobs.enqueue_again(tx, "daily", "monday", 30)

    await database.write(end, ME)
    fresh = await claimed(database, "one")
    assert fresh is not None
    assert (fresh.attempts, fresh.failure) == (1, None)


async def test_forgetting_a_subject_leaves_nothing_to_do_about_it(database: Database) -> None:
    def want(tx: Tx) -> None:
        for scope in (ME, YOU):
            jobs.enqueue(tx.of(scope), "ingest", "s1", 10)
        jobs.delete_about(tx.of(ME), "s1")

    await database.write(want, ME)
    assert await database.read(lambda tx: jobs.list_jobs(tx), ME) == []
    assert len(await database.read(lambda tx: jobs.list_jobs(tx), YOU)) == 1


@pytest.mark.parametrize("ending", ["finish", "fail", "postpone"])
async def test_wanted_again_while_it_runs_is_wanted_once_more(
    database: Database, ending: str
) -> None:
    """Whoever does it may have looked already: nothing is lost, whatever it comes to."""

    def work(tx: Tx) -> None:
        jobs.enqueue(tx, "ingest", "s1", 10)
        job = jobs.claim(tx, KINDS, "one", 20)
        assert job is not None
        jobs.enqueue_again(tx, "ingest", "s1", 30)
        assert jobs.get(tx, job.id).state == "running"
        if ending == "finish":
            jobs.finish(tx, job, "one", 40)
        elif ending == "fail":
            jobs.fail(tx, job, "one", "Why.", 40)
        else:
            jobs.postpone(tx, job, "one", "Why.", 40, 40)
        after = jobs.get(tx, job.id)
        assert (after.state, after.attempts, after.runner_id) == ("pending", 0, None)
        second = jobs.claim(tx, KINDS, "two", 50)
        assert second is not None
        jobs.finish(tx, second, "two", 60)
        assert jobs.get(tx, job.id).state == "done"

    await database.write(work, ME)


async def test_jobs_about_some_subjects_alone(database: Database) -> None:
    def want(tx: Tx) -> None:
        jobs.enqueue(tx.of(ME), "ingest", "s1", 10)
        jobs.enqueue(tx.of(ME), "daily", "s1", 20)
        jobs.enqueue(tx.of(ME), "ingest", "s2", 30)
        jobs.enqueue(tx.of(YOU), "ingest", "s1", 10)

    await database.write(want, ME)
    found = await database.read(lambda tx: jobs.list_jobs(tx, subjects=["s1", "other"]), ME)
    assert [job.id for job in found] == ["ingest:s1", "daily:s1"]
    assert await database.read(lambda tx: jobs.list_jobs(tx, ("done",), subjects=["s1"]), ME) == []
    assert len(await database.read(lambda tx: jobs.list_jobs(tx), ME)) == 3


@pytest.mark.parametrize("state", ["pending", "done"])
async def test_a_wish_is_not_lost_to_who_begins_the_job_right_then(
    database: Database, state: str
) -> None:
    """On PostgreSQL somebody may begin it between any two statements."""

    class Begun:
        """Somebody begins the job behind a statement."""

        def __init__(self, tx: Tx, behind: int) -> None:
            self.tx, self.left, self.dialect = tx, behind, tx.dialect
            self.scope, self.user = tx.scope, tx.user

        def run(self, sql: str, params: Sequence[Value] = ()) -> int:
            done = self.tx.run(sql, params)
            self.left -= 1
            if self.left == 0:
                jobs.claim_one(self.tx, "ingest:s", "two", 100)
            return done

    early = 0
    for behind in range(1, 5):

        def work(tx: Tx, behind: int = behind) -> tuple[Job, bool]:
            jobs.delete_about(tx, "s")
            jobs.enqueue(tx, "ingest", "s", 10)
            if state == "done":
                first = jobs.claim(tx, KINDS, "one", 20)
                assert first is not None
                jobs.finish(tx, first, "one", 20)
            watched = Begun(tx, behind)
            jobs.enqueue_again(cast("Tx", watched), "ingest", "s", 30)
            left = jobs.get(tx, "ingest:s")
            if left.state == "running":
                jobs.finish(tx, left, "two", 110)
            return jobs.get(tx, "ingest:s"), watched.left < 0

        left, begun_before_it_was_wished = await database.write(work, ME)
        early += begun_before_it_was_wished
        assert left.state == "pending" or not begun_before_it_was_wished
    assert early
