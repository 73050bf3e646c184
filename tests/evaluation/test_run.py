"""Evaluations: planned once, kept step by step, called off at once, taken up where they were."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.suites import (
    JUDGED,
    asked,
    assert_for,
    assert_of,
    begin,
    evaluate,
    finish,
    judging,
    outcomes,
    reasons,
)
from tests.provider import Script
from tests.session.room import ME, Room, open_room

from polyvox.errors import Conflict, Invalid, NotFound
from polyvox.evaluation import assertion, report
from polyvox.evaluation.assertion import Wording
from polyvox.evaluation.run import KIND
from polyvox.evaluation.tables import evaluations, verdicts
from polyvox.evaluation.tables.assertions import Assertion
from polyvox.evaluation.tables.evaluations import Evaluation
from polyvox.store import jobs, usage
from polyvox.values import Advisor, Params


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    async with open_room(tmp_path, **JUDGED) as found:
        judging(found)
        yield found


async def suite(
    room: Room, *texts: str, text: str = "It costs {n}."
) -> tuple[Advisor, list[Assertion]]:
    """An advisor with assertions drawn from one answer."""
    ann = await room.advisor("Ann", Script(text=text))
    talk = await room.conversation(ann)
    _, (answer,) = await room.say(talk, "How much?")
    return ann, await assert_of(room, answer.id, *(texts or ("It names a price.",)))


async def state(room: Room, run_id: str) -> Evaluation:
    return await room.polyvox.database.read(lambda tx: evaluations.get(tx, run_id), ME)


async def test_a_run_is_planned_waits_and_ends(both: Room) -> None:
    """On each kind of database."""
    ann = await both.advisor("Ann", Script(text="It costs {n}."))
    talk = await both.conversation(ann)
    _, (answer,) = await both.say(talk, "How much?")
    (made,) = await assert_of(both, answer.id, "It names a price.")
    (coded,) = await assert_for(both, ann.id, Wording("", "words", {"max": 2}), asks="And?")
    both.provider.script("default", Script(judges=True))
    run_id = await begin(both, advisor="ann", repeats=2, early=False)
    waiting = await state(both, run_id)
    assert (waiting.state, waiting.done, waiting.total) == ("waiting", 0, 4)
    found = await finish(both, run_id)
    assert outcomes(found) == {made.id: "pass", coded.id: "fail"}
    ended = found.evaluation
    assert (ended.state, ended.done, ended.total) == ("finished", 4, 4)
    assert ended.message == "1 of 2 assertions passed, 1 failed."
    assert ended.calls == 6
    assert ended.unpriced == 6
    assert found.results.rate == 0.5
    assert not found.results.all_passed
    assert {one.repeat for one in found.verdicts} == {0, 1}
    assert all(one.prompt_hash and one.context_hash and one.sample for one in found.verdicts)
    job = await both.polyvox.database.read(lambda tx: jobs.get(tx, f"{KIND}:{run_id}"), ME)
    assert job.state == "done"


async def test_repeats_stop_once_they_are_decided(room: Room) -> None:
    ann, (clear, _) = await suite(room, "It names a price.", "It is a bit odd.")
    odd = iter((False, True, True, False, True))

    def moody(data: Any) -> Script:
        return Script(judges=True, fails=("odd",) if next(odd) else ())

    room.provider.made("judge", moody)
    found = await evaluate(room, advisor=ann.id, repeats=5)
    rows = {row.assertion_id: row for row in found.results.assertions}
    assert (rows[clear.id].passes, rows[clear.id].fails) == (3, 0)
    (other,) = [row for row in rows.values() if row.assertion_id != clear.id]
    assert (other.passes, other.fails, other.flaky, other.outcome) == (2, 3, True, "fail")
    assert other.low < 0.4 < other.high
    assert found.evaluation.done == found.evaluation.total == 10
    assert found.results.flaky == 1
    sizes = [data["messages"][1]["content"].count('"id"') for data in asked(room, "judge")]
    assert sizes == [2, 2, 2, 1, 1]


async def test_all_subjects_are_asked_at_once_but_not_more_than_may_be(tmp_path: Path) -> None:
    settings = {**JUDGED, "evaluation": {"concurrency": 3}}
    async with open_room(tmp_path, **settings) as room:
        judging(room)
        ann = await room.advisor("Ann", Script(text="Yes.", hold="go"))
        for n in range(5):
            await assert_for(room, ann.id, f"It says {n}.", asks=f"Question {n}?")
        run_id = await begin(room, advisor=ann.id)
        working = asyncio.create_task(finish(room, run_id))
        await room.provider.arrived(3)
        await room.quiet()
        assert len(room.provider.log) == 3
        room.provider.gate("go").set()
        found = await working
        assert set(outcomes(found).values()) == {"pass"}


async def test_calling_off_closes_what_is_in_flight(room: Room) -> None:
    ann, made = await suite(room)
    room.polyvox.evaluations._bells.look = 3600  # at once, not at the next look
    room.provider.script("m1", Script(text="one two three four", gates={2: "never"}))
    run_id = await begin(room, advisor=ann.id)
    working = asyncio.create_task(finish(room, run_id))
    await room.provider.arrived(2)
    (call,) = [one for one in room.provider.log if one.number == 2]
    ended = await room.polyvox.evaluations.cancel(ME, run_id)
    await asyncio.wait_for(call.left.wait(), 20)
    found = await working
    assert ended.state == found.evaluation.state == "cancelled"
    assert outcomes(found) == {made[0].id: "error"}
    spent = await room.polyvox.database.read(lambda tx: usage.totals(tx, "advisor"), ME)
    assert next(one for one in spent if one.key == "evaluation").answers == 1
    with pytest.raises(Conflict):
        await room.polyvox.evaluations.cancel(ME, run_id)
    job = await room.polyvox.database.read(lambda tx: jobs.get(tx, f"{KIND}:{run_id}"), ME)
    assert job.state == "done"
    room.provider.script("m1", Script(text="It costs 3."))
    await room.polyvox.evaluations.retry_errors(ME, run_id)
    again = await finish(room, run_id)
    assert (again.evaluation.state, outcomes(again)) == ("finished", {made[0].id: "pass"})


async def test_another_process_can_call_it_off(room: Room) -> None:
    ann, _ = await suite(room)
    room.provider.script("m1", Script(text="one two three", gates={1: "never"}))
    run_id = await begin(room, advisor=ann.id)
    working = asyncio.create_task(finish(room, run_id))
    await room.provider.arrived(2)
    call = room.provider.log[-1]
    await room.polyvox.database.write(
        lambda tx: evaluations.RUNS.end(tx, run_id, "cancelled", 1, "Elsewhere."), ME
    )
    await asyncio.wait_for(call.left.wait(), 20)
    assert (await working).evaluation.state == "cancelled"


async def test_one_that_waits_is_called_off_before_it_begins(room: Room) -> None:
    ann, _ = await suite(room)
    run_id = await begin(room, advisor=ann.id)
    await room.polyvox.evaluations.cancel(ME, run_id)
    before = len(room.provider.log)
    found = await finish(room, run_id)
    assert found.evaluation.state == "cancelled"
    assert len(room.provider.log) == before


async def test_a_run_that_is_broken_off_goes_on_and_pays_only_for_what_was_in_flight(
    room: Room,
) -> None:
    ann = await room.advisor("Ann", Script(text="Yes."))
    for n in range(4):
        await assert_for(room, ann.id, f"It says {n}.", asks=f"Question {n}?")
    run_id = await begin(room, advisor=ann.id)
    room.polyvox.resources.settings = room.polyvox.settings.model_copy(
        update={
            "evaluation": room.polyvox.settings.evaluation.model_copy(update={"concurrency": 1})
        }
    )
    done = Script(text="Yes.")
    room.provider.queue("m1", done, done, Script(text="Yes.", gates={0: "never"}))
    working = asyncio.create_task(finish(room, run_id))
    while len(asked(room, "m1")) < 3:
        await room.provider.arrived(len(room.provider.log) + 1)
    judged = len(asked(room, "judge"))
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    broken = await state(room, run_id)
    assert broken.state == "running"
    kept = await room.polyvox.database.read(lambda tx: verdicts.of_evaluation(tx, run_id), ME)
    found = await finish(room, run_id)
    assert set(outcomes(found).values()) == {"pass"}
    assert len(asked(room, "m1")) == 4 + 1
    assert len(asked(room, "judge")) <= 4 + 1
    assert judged >= len(kept)
    assert {one.id for one in kept} <= {one.id for one in found.verdicts}


async def test_a_plan_is_kept_to_when_the_prompt_or_an_assertion_changes(room: Room) -> None:
    ann, (made,) = await suite(room)
    run_id = await begin(room, advisor=ann.id)
    await room.polyvox.advisors.update(ME, ann.id, prompt="Something else.")
    await assertion.change(room.polyvox.resources, ME, made.id, {"text": "It is kind."})
    original = asked(room, "m1")[-1]
    found = await finish(room, run_id)
    assert asked(room, "m1")[-1] == original
    assert "It names a price." in asked(room, "judge")[-1]["messages"][1]["content"]
    assert found.verdicts[0].number == 1


async def test_an_advisor_that_does_not_answer_is_an_error(room: Room) -> None:
    ann, (made,) = await suite(room)
    room.provider.script("m1", Script(status=401))
    found = await evaluate(room, advisor=ann.id, repeats=2)
    assert outcomes(found) == {made.id: "error"}
    assert reasons(found)[0].startswith("The advisor could not be asked:")
    assert asked(room, "judge") == []
    last = await evaluate(room, advisor=ann.id, model="lab:other")
    assert outcomes(last) == {made.id: "pass"}
    assert len(asked(room, "other")) == 1


async def test_a_cap_ends_a_run_with_a_clear_word(tmp_path: Path) -> None:
    async with open_room(tmp_path, models={"judge": "openai:gpt-4o-mini"}) as room:
        room.provider.script("gpt-4o-mini", Script(judges=True, input_tokens=10_000_000))
        ann, _ = await suite(room)
        for n in range(3):
            await assert_for(room, ann.id, f"It says {n}.", asks=f"Question {n}?")
        limits = room.polyvox.settings.limits.model_copy(update={"cost_per_day": 0.5})
        room.polyvox.resources.settings = room.polyvox.settings.model_copy(
            update={
                "limits": limits,
                "evaluation": room.polyvox.settings.evaluation.model_copy(
                    update={"concurrency": 1}
                ),
            }
        )
        found = await evaluate(room, advisor=ann.id)
        assert found.evaluation.state == "failed"
        assert "limits.cost_per_day" in found.evaluation.message
        assert found.evaluation.spent > 500_000_000
        assert len(asked(room, "gpt-4o-mini")) == 1


async def test_only_what_failed_is_run_again(room: Room) -> None:
    ann, (price, kind) = await suite(room, "It names a price.", "It is kind.")
    with pytest.raises(Invalid, match="no earlier run"):
        await begin(room, advisor=ann.id, failing=True)
    judging(room, "kind")
    await evaluate(room, advisor=ann.id)
    again = await evaluate(room, advisor=ann.id, failing=True)
    assert outcomes(again) == {kind.id: "fail"}
    judging(room)
    assert outcomes(await evaluate(room, advisor=ann.id, failing=True)) == {kind.id: "pass"}
    with pytest.raises(Invalid, match="Nothing failed"):
        await begin(room, advisor=ann.id, failing=True)
    assert price.active


async def test_what_cannot_be_begun(room: Room) -> None:
    ann, (made,) = await suite(room)
    bob = await room.advisor("Bob")
    wrong: list[tuple[type[Exception], dict[str, Any]]] = [
        (Invalid, {"advisor": bob.id}),
        (NotFound, {"advisor": "nobody"}),
        (NotFound, {"assertion_ids": ("nothing",)}),
        (Invalid, {"advisor": bob.id, "assertion_ids": (made.id,)}),
        (NotFound, {"answer_id": "nothing"}),
        (Invalid, {"answer_id": "x", "mode": "replay"}),
        (Invalid, {"advisor": ann.id, "model": "nowhere:x"}),
    ]
    for error, wish in wrong:
        with pytest.raises(error):
            await begin(room, **wish)
    await assertion.change(room.polyvox.resources, ME, made.id, {"active": False})
    with pytest.raises(Invalid, match="no active assertions"):
        await begin(room, advisor=ann.id)
    page = await room.polyvox.database.read(lambda tx: evaluations.list_page(tx), ME)
    assert page.items == ()


async def test_what_has_no_place_to_be_tried_says_so(room: Room) -> None:
    ann = await room.advisor("Ann")
    (made,) = await assert_for(room, ann.id, "It is kind.")
    found = await evaluate(room, advisor=ann.id)
    assert outcomes(found) == {made.id: "error"}
    assert "no stored context" in reasons(found)[0]
    judged = await evaluate(room, advisor=ann.id, mode="judge")
    assert "made by hand" in reasons(judged)[0]
    assert room.provider.log == []


async def test_everybodys_assertions_and_the_stored_answers(room: Room) -> None:
    _, (one,) = await suite(room)
    _, (two,) = await suite(room, "It is kind.")
    found = await evaluate(room, mode="judge")
    assert outcomes(found) == {one.id: "pass", two.id: "pass"}
    assert found.evaluation.advisor_id is None
    assert len(asked(room, "judge")) == 2
    assert len(asked(room, "m1")) == 1


async def test_a_persons_word_counts_and_is_a_label(room: Room) -> None:
    ann, made = await suite(room, "It names a price.", "It is kind.", "It is short.")
    judging(room, "kind", "short")
    found = await evaluate(room, advisor=ann.id)
    by_id = {one.assertion_id: one for one in found.verdicts}
    price, kind, short = (by_id[one.id] for one in made)
    road = room.polyvox.evaluations
    await road.overrule(ME, kind.id, "pass")
    await road.overrule(ME, short.id, "fail")
    await road.overrule(ME, price.id, "pass")
    now = await road.get(ME, found.evaluation.id)
    assert outcomes(now)[kind.assertion_id] == "pass"
    assert now.results.passed == 2
    told = await room.polyvox.database.read(lambda tx: report.agreements(tx), ME)
    overall = told.overall
    assert (overall.n, overall.both_pass, overall.both_fail, overall.judge_fail) == (3, 1, 1, 1)
    assert overall.tpr == 0.5
    assert overall.tnr == 1.0
    assert overall.kappa == pytest.approx(0.4)
    assert told.judges[0].judge == "lab:judge"
    assert len(told.assertions) == 3
    await road.overrule(ME, kind.id, None)
    assert (await road.get(ME, found.evaluation.id)).results.passed == 1
    stored = await state(room, found.evaluation.id)
    assert stored.results is not None
    assert stored.results.passed == 1


async def test_an_error_cannot_be_overruled(room: Room) -> None:
    ann, _ = await suite(room)
    room.provider.script("judge", Script(status=500))
    found = await evaluate(room, advisor=ann.id)
    with pytest.raises(Conflict):
        await room.polyvox.evaluations.overrule(ME, found.verdicts[0].id, "pass")
    with pytest.raises(NotFound):
        await room.polyvox.evaluations.overrule(ME, "nothing", "pass")


async def test_retrying_needs_an_end_and_an_error(room: Room) -> None:
    ann, _ = await suite(room)
    run_id = await begin(room, advisor=ann.id)
    with pytest.raises(Conflict):
        await room.polyvox.evaluations.retry_errors(ME, run_id)
    await finish(room, run_id)
    with pytest.raises(Conflict):
        await room.polyvox.evaluations.retry_errors(ME, run_id)
    with pytest.raises(NotFound):
        await room.polyvox.evaluations.retry_errors(ME, "nothing")


async def test_a_run_is_not_taken_up_while_it_is_being_called_off(room: Room) -> None:
    """Whoever held it would end the job behind the back of the new wish."""
    ann, _ = await suite(room)
    run_id = await begin(room, advisor=ann.id)
    runner = room.polyvox.resources.runner_id
    job_id = f"{KIND}:{run_id}"
    now = room.polyvox.clock()
    job = await room.polyvox.database.write(lambda tx: jobs.claim_one(tx, job_id, runner, now), ME)
    assert job is not None
    await room.polyvox.evaluations.cancel(ME, run_id)
    with pytest.raises(Conflict, match="still being called off"):
        await room.polyvox.evaluations.retry_errors(ME, run_id)
    await room.polyvox.database.write(lambda tx: jobs.finish(tx, job, runner, now), ME)
    await room.polyvox.evaluations.retry_errors(ME, run_id)
    assert (await finish(room, run_id)).evaluation.state == "finished"


async def test_pass_rates_over_prompt_versions(room: Room) -> None:
    ann, _ = await suite(room, "It names a price.", "It is kind.")
    judging(room, "kind")
    await evaluate(room, advisor=ann.id)
    await room.polyvox.advisors.update(ME, ann.id, prompt="You are kind.")
    judging(room)
    await evaluate(room, advisor=ann.id)
    await evaluate(room, advisor=ann.id, mode="judge")
    points = await room.polyvox.database.read(lambda tx: report.pass_rates(tx, ann.id), ME)
    assert [(one.version_number, one.passes, one.n) for one in points] == [(1, 1, 2), (2, 2, 2)]


async def badges(room: Room, answer_id: str) -> report.AnswerVerdicts:
    return await room.polyvox.database.read(lambda tx: report.answer_verdicts(tx, answer_id), ME)


async def test_new_answers_get_badges_where_that_is_wanted(tmp_path: Path) -> None:
    async with open_room(tmp_path, **JUDGED, evaluation={"badges": True}) as room:
        judging(room, "kind")
        ann = await room.advisor("Ann", Script(text="It costs {n}."))
        talk = await room.conversation(ann)
        _, (before,) = await room.say(talk, "How much?")
        assert (await badges(room, before.id)).state == "none"
        price, kind = await assert_for(
            room, ann.id, "It names a price.", "It is kind.", phase="early"
        )
        _, (answer,) = await room.say(talk, "And now?")
        assert (await badges(room, answer.id)).state == "pending"
        assert await room.polyvox.worker.run_due([KIND]) == 1
        marked = await badges(room, answer.id)
        assert (marked.state, marked.outcome) == ("ready", "fail")
        assert {one.assertion_id: one.outcome for one in marked.verdicts} == {
            price.id: "pass",
            kind.id: "fail",
        }
        page = await room.polyvox.database.read(lambda tx: evaluations.list_page(tx), ME)
        assert page.items == ()
        with pytest.raises(NotFound):
            await badges(room, "nothing")


async def test_without_a_judge_badges_come_from_code_alone(tmp_path: Path) -> None:
    alone: dict[str, Any] = {"models": {"default": "local:smollm2"}, "evaluation": {"badges": True}}
    async with open_room(tmp_path, **alone) as room:
        ann = await room.advisor("Ann", Script(text="It costs {n}."))
        await assert_for(room, ann.id, "It is kind.", phase="early")
        talk = await room.conversation(ann)
        _, (first,) = await room.say(talk, "How much?")
        assert (await badges(room, first.id)).state == "none"
        (coded,) = await assert_for(room, ann.id, Wording("", "words", {"max": 2}), phase="early")
        _, (second,) = await room.say(talk, "And now?")
        assert await room.polyvox.worker.run_due([KIND]) == 1
        marked = await badges(room, second.id)
        assert [one.assertion_id for one in marked.verdicts] == [coded.id]
        assert marked.outcome == "fail"


async def test_badges_are_drawn_in_the_background(tmp_path: Path) -> None:
    """The worker is rung by the answer's end; nobody waits for its next look."""
    async with open_room(tmp_path, **JUDGED, evaluation={"badges": True}) as room:
        judging(room)
        ann = await room.advisor("Ann", Script(text="Yes."))
        await assert_for(room, ann.id, "It is kind.", phase="early")
        talk = await room.conversation(ann)
        room.polyvox.worker.start()
        _, (answer,) = await room.say(talk, "So?")
        async with asyncio.timeout(60):
            while (await badges(room, answer.id)).state != "ready":
                await room.quiet()


async def test_without_the_setting_nothing_is_judged(room: Room) -> None:
    ann, _ = await suite(room)
    talk = await room.conversation(ann)
    _, (answer,) = await room.say(talk, "So?")
    assert await room.polyvox.worker.run_due([KIND]) == 0
    assert (await badges(room, answer.id)).state == "none"


async def test_a_long_run_does_not_keep_memory_waiting(room: Room) -> None:
    """Evaluations have hands of their own."""
    ann, _ = await suite(room)
    room.provider.script("m1", Script(text="Yes.", hold="never"))
    await begin(room, advisor=ann.id)
    room.polyvox.worker.start()
    await room.provider.arrived(2)
    await room.polyvox.database.write(lambda tx: jobs.enqueue(tx, "ingest", "nothing", 0), ME)
    room.polyvox.resources.bell.ring()
    async with asyncio.timeout(60):
        while True:
            job = await room.polyvox.database.read(lambda tx: jobs.get(tx, "ingest:nothing"), ME)
            if job.state != "pending" or job.attempts:
                break
            await room.quiet()


async def test_what_asks_the_same_is_asked_and_judged_together(room: Room) -> None:
    ann = await room.advisor("Ann", Script(text="It costs {n}."))
    made = await assert_for(room, ann.id, "It is kind.", "It is short.", asks="How much?")
    judging(room, "short")
    found = await evaluate(room, advisor=ann.id, repeats=2)
    assert outcomes(found) == {made[0].id: "pass", made[1].id: "fail"}
    assert len(asked(room, "m1")) == len(asked(room, "judge")) == 2


@pytest.mark.slow
async def test_the_embedded_model_is_evaluated_offline(tmp_path: Path) -> None:
    """The whole loop with nothing but what is in the package: it answers, code checks, and what
    needs a judge says that this model is none."""
    models = {"default": "local:smollm2"}
    async with open_room(tmp_path, models=models, limits={"first_byte": 60, "stall": 60}) as room:
        ann = await room.polyvox.advisors.create(
            ME, name="Ann", description="Bakes bread.", params=Params(max_tokens=24)
        )
        talk = await room.conversation(ann)
        _, (answer,) = await room.say(talk, "What is bread?")
        assert answer.state == "completed"
        (judged,) = await assert_of(room, answer.id, "It is kind.")
        some = Wording("", "words", {"min": 1, "max": 200})
        none = Wording("", "contains", {"text": "xyzzy"})
        coded = await assertion.from_answer(room.polyvox.resources, ME, answer.id, [some, none])
        found = await evaluate(room, advisor=ann.id)
        assert outcomes(found) == {judged.id: "error", coded[0].id: "pass", coded[1].id: "fail"}
        assert "far too small" in found.evaluation.warnings[0]
        assert found.evaluation.calls == 1
        assert room.provider.log == []
