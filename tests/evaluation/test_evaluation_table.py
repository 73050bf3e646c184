"""Evaluations, verdicts and samples as rows, on each kind of database."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from polyvox.errors import Conflict, Invalid, NotFound
from polyvox.evaluation.suite import Unit, results
from polyvox.evaluation.tables import contexts, evaluations, verdicts
from polyvox.evaluation.tables.evaluations import Evaluation
from polyvox.evaluation.tables.verdicts import StoredSample, Verdict
from polyvox.memory.tables.redaction import PLACES, Gone
from polyvox.store import jobs
from polyvox.store.database import Database, Tx
from polyvox.values import REDACTED, Scope, Usage

A, B = Scope("anna"), Scope("bert")


def run(number: int, **more: Any) -> Evaluation:
    made = Evaluation(
        id=f"e{number}",
        advisor_id="ann",
        mode="replay",
        origin="person",
        answer_id=None,
        model="",
        repeats=3,
        confirm=True,
        early=False,
        judge="lab:judge",
        judge_hash="h",
        plan=(Unit((("a1", 1),), context="c"),),
        warnings=("Careful.",),
        total=9,
        created_at=number,
    )
    return replace(made, **more)


def verdict(number: int, **more: Any) -> Verdict:
    made = Verdict(
        f"v{number}", "e1", "a1", 1, None, "s1", "p", "c", "m", "j", "jh", number, "why", "pass",
        None, number,
    )  # fmt: skip
    return replace(made, **more)


async def test_a_run_from_its_wish_to_its_end(database: Database) -> None:
    def write(tx: Tx) -> None:
        evaluations.add(tx, run(1))
        assert evaluations.get(tx, "e1") == run(1)
        started = evaluations.start(tx, "e1", 5)
        assert (started.state, started.started_at) == ("running", 5)
        assert evaluations.start(tx, "e1", 9).started_at == 5
        evaluations.change(tx, "e1", done=4)
        evaluations.spend(tx, "e1", Usage(1, 1, cost=7))
        evaluations.spend(tx, "e1", Usage(1, 1, cost=None))
        found = results(run(1).plan, [])
        evaluations.change(tx, "e1", results=found)
        assert evaluations.RUNS.end(tx, "e1", "finished", 10, "Done.")
        assert not evaluations.RUNS.end(tx, "e1", "cancelled", 11, "")
        ended = evaluations.get(tx, "e1")
        assert (ended.state, ended.ended_at, ended.message) == ("finished", 10, "Done.")
        assert (ended.done, ended.calls, ended.spent, ended.unpriced) == (4, 2, 7, 1)
        assert ended.ended
        assert ended.results == found
        assert evaluations.start(tx, "e1", 12).state == "finished"
        again = evaluations.RUNS.take_up(tx, "e1", judge="lab:other", judge_hash="h2")
        assert (again.state, again.judge, again.ended_at) == ("waiting", "lab:other", None)

    await database.write(write, A)


async def test_runs_are_listed_newest_first_page_by_page(database: Database) -> None:
    def write(tx: Tx) -> None:
        for number in range(5):
            evaluations.add(tx.of(A), run(number, advisor_id="ann" if number % 2 else None))
        evaluations.add(tx.of(A), run(9, origin="badge", answer_id="x"))
        evaluations.add(tx.of(B), run(7))
        first = evaluations.list_page(tx.of(A), limit=2)
        assert [one.id for one in first.items] == ["e4", "e3"]
        second = evaluations.list_page(tx.of(A), limit=2, before=first.next)
        assert [one.id for one in second.items] == ["e2", "e1"]
        last = evaluations.list_page(tx.of(A), limit=2, before=second.next)
        assert ([one.id for one in last.items], last.next) == (["e0"], None)
        own = evaluations.list_page(tx.of(A), advisor_id="ann")
        assert [one.id for one in own.items] == ["e3", "e1"]
        assert evaluations.under_way(tx.of(A), "x")
        assert not evaluations.under_way(tx.of(B), "x")
        with pytest.raises(Invalid):
            evaluations.list_page(tx.of(A), before="x")
        with pytest.raises(NotFound):
            evaluations.get(tx.of(B), "e1")

    await database.write(write, A)


async def test_the_blessed_run_is_the_one_that_was_blessed_last(database: Database) -> None:
    def write(tx: Tx) -> None:
        for number in (1, 2, 3):
            evaluations.add(tx.of(A), run(number))
        with pytest.raises(Conflict):
            evaluations.bless(tx.of(A), 50, "e1")
        for name in ("e1", "e2", "e3"):
            evaluations.RUNS.end(tx.of(A), name, "finished", 20, "")
        assert evaluations.latest(tx.of(A), "ann", blessed=True) is None
        evaluations.bless(tx.of(A), 51, "e2")
        evaluations.bless(tx.of(A), 52, "e1")

        def latest(**more: Any) -> str | None:
            found = evaluations.latest(tx.of(A), "ann", **more)
            return None if found is None else found.id

        assert latest(blessed=True) == "e1"
        assert latest(blessed=True, other_than="e1") == "e2"
        assert latest() == "e3"
        assert latest(mode="judge") is None
        evaluations.bless(tx.of(A), 53, "e1", blessed=False)
        assert latest(blessed=True) == "e2"
        assert evaluations.latest(tx.of(A), None) is None
        assert evaluations.latest(tx.of(B), "ann") is None

    await database.write(write, A)


async def test_only_an_error_gives_way_to_another_verdict(database: Database) -> None:
    def write(tx: Tx) -> None:
        verdicts.put(tx.of(A), [verdict(1, outcome="error"), verdict(2, outcome="fail")])
        verdicts.put(
            tx.of(A),
            [
                verdict(1, id="v8", reason="found out", judge="other"),
                verdict(2, id="v9", reason="too late"),
            ],
        )
        found = {one.repeat: one for one in verdicts.of_evaluation(tx.of(A), "e1")}
        assert (found[1].id, found[1].outcome, found[1].judge) == ("v1", "pass", "other")
        assert (found[2].outcome, found[2].reason) == ("fail", "why")
        assert verdicts.of_subject(tx.of(A), "e1", "s1", 1) == [found[1]]
        assert verdicts.of_subject(tx.of(A), "e1", "s2", 1) == []
        assert verdicts.of_evaluation(tx.of(B), "e1") == []

    await database.write(write, A)


async def test_overruling_is_noted_beside_the_verdict(database: Database) -> None:
    def write(tx: Tx) -> None:
        verdicts.put(tx.of(A), [verdict(1), verdict(2, judge="k"), verdict(3, outcome="error")])
        one = verdicts.overrule(tx.of(A), "v1", "fail", 9)
        assert (one.outcome, one.overruled) == ("pass", "fail")
        verdicts.overrule(tx.of(A), "v2", "pass", 9)
        assert [v.id for v in verdicts.overruled(tx.of(A))] == ["v1", "v2"]
        assert verdicts.overrule(tx.of(A), "v1", None, 9).overruled is None
        with pytest.raises(Conflict):
            verdicts.overrule(tx.of(A), "v3", "pass", 9)
        with pytest.raises(NotFound):
            verdicts.overrule(tx.of(B), "v1", "pass", 9)

    await database.write(write, A)


async def test_verdicts_on_an_answer_and_on_an_assertion(database: Database) -> None:
    def write(tx: Tx) -> None:
        answered = {"sample": "", "answer_id": "x"}
        verdicts.put(tx, [verdict(n, **answered) for n in (1, 2)])
        verdicts.put(tx, [verdict(3, assertion_id="a2")])
        assert [one.id for one in verdicts.of_answer(tx, "x")] == ["v2", "v1"]
        assert [one.id for one in verdicts.of_assertion(tx, "a1", 1)] == ["v2"]
        assert verdicts.get(tx, "v1").subject == "x"
        assert verdicts.get(tx, "v3").subject == "s1"

    await database.write(write, A)


async def test_a_sample_is_kept_once(database: Database) -> None:
    one = StoredSample("k", "e1", "c", "p", "m", 0, "Yes.", 1)

    def write(tx: Tx) -> None:
        verdicts.put_sample(tx.of(A), one)
        verdicts.put_sample(tx.of(A), replace(one, text="No."))
        assert verdicts.find_sample(tx.of(A), "k") == one
        assert verdicts.find_sample(tx.of(B), "k") is None

    await database.write(write, A)


async def test_one_job_is_claimed_by_one_runner(database: Database) -> None:
    def write(tx: Tx) -> None:
        jobs.enqueue(tx, "evaluation", "e1", 5)
        assert jobs.claim_one(tx, "evaluation:e1", "r1", 4) is None
        assert jobs.claim_one(tx, "evaluation:e2", "r1", 9) is None
        job = jobs.claim_one(tx, "evaluation:e1", "r1", 9)
        assert job is not None
        assert (job.state, job.runner_id, job.attempts) == ("running", "r1", 1)
        assert jobs.claim_one(tx, "evaluation:e1", "r2", 9) is None
        jobs.release(tx, job, "r2", 10)
        assert jobs.get(tx, job.id).state == "running"
        jobs.release(tx, job, "r1", 10)
        assert jobs.get(tx, job.id).state == "pending"

    await database.write(write, A)


async def test_forgetting_reaches_samples_and_reasons(database: Database) -> None:
    told = "It names Quillabamba plainly."
    sent = {"asked": "?", "messages": [{"kind": "user", "text": "?", "refs": ["ut"]}]}

    def write(tx: Tx) -> None:
        mine = tx.of(A)
        held = contexts.put(mine, msgspec.json.encode(sent).decode(), 9)
        gone = Gone(turns=frozenset({"t"}), answers=frozenset({"a"}))
        sample = StoredSample("k", "e1", held, "p", "m", 0, told, 9)
        verdicts.put_sample(mine, sample)
        verdicts.put_sample(mine, replace(sample, key="other", context_hash="c"))
        of_answer = verdict(9, reason=told, answer_id="a", context_hash="c")
        of_context = verdict(8, reason=told, context_hash=held)
        other = verdict(7, reason="It is kind.", context_hash="c")
        verdicts.put(mine, [of_answer, of_context, other])
        verdicts.put(tx.of(B), [of_answer])
        for dry in (True, False):
            found = [(one.kind, one.id) for one in PLACES["verdict"](mine, gone, dry)]
            assert found == [("verdict", "v9"), ("verdict", "v8"), ("sample", "k")]
        kept = [verdicts.find_sample(mine, name) for name in ("k", "other")]
        assert [one and one.text for one in kept] == [REDACTED, told]
        reasons = [verdicts.get(mine, f"v{number}").reason for number in (9, 8, 7)]
        assert reasons == [REDACTED, REDACTED, "It is kind."]
        assert verdicts.get(tx.of(B), "v9").reason == told
        assert PLACES["verdict"](mine, gone, True) == []

    await database.write(write, A)
