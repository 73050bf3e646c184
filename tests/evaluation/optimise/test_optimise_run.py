"""Optimisations by the road: what is found, how each run ends, and what becomes of the result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.evaluation.suites import assert_for, assert_of
from tests.evaluation.workshop import (
    PROMPT,
    WORKED,
    Workshop,
    judges,
    open_workshop,
    system_of,
)
from tests.provider import Script
from tests.session.room import ME, Hand, Room, open_room

from polyvox.errors import Conflict, Invalid
from polyvox.evaluation.assertion import Wording
from polyvox.evaluation.tables import assertions
from polyvox.evaluation.tables.assertions import Assertion, AssertionFilter
from polyvox.store import recipes, usage


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    async with open_room(tmp_path, clock=Hand(), **WORKED) as found:
        yield found


MOON = "It speaks of the moon."


async def test_a_better_prompt_is_found_confirmed_and_accepted(room: Room) -> None:
    shop = await open_workshop(room, MOON, MOON)
    found = await shop.run()
    one, summary = found.optimisation, found.summary
    assert (one.state, one.verdict) == ("finished", "improved")
    assert one.message.startswith(
        "Improved: 0% before, 100% after (2 assertions in 2 contexts, 10 fresh answers"
    )
    assert one.final_text == f"{PROMPT} Speak of the moon."
    assert (one.iteration, one.best, one.best_rate, one.base_rate) == (1, 1, 1.0, 0.0)
    assert summary is not None
    assert (summary.improved, summary.assertions, summary.success) == (2, 2, True)
    assert [(row.before, row.after) for row in summary.rows] == [
        (row.before, row.after) for row in summary.rows if row.confirmed
    ]
    shown = (await room.polyvox.optimisations.get(ME, one.id)).results
    sides = [(row.answer_before, row.answer_after) for row in shown]
    assert sides == [("There is nothing to be said.", "There is moon to be said.")] * 2
    assert await shop.prompt() == PROMPT

    taken = await room.polyvox.optimisations.decide(ME, one.id, "accept")
    assert taken.decision == "accepted"
    assert await shop.prompt() == one.final_text
    newest, before = await room.polyvox.advisors.versions(ME, shop.advisor.id)
    assert (newest.id, newest.parent_id) == (taken.final_version, before.id)
    assert newest.reason == "optimised (improved)"

    back = await room.polyvox.optimisations.decide(ME, one.id, "rollback")
    assert back.decision == "rolled back"
    assert await shop.prompt() == PROMPT
    assert len(await room.polyvox.advisors.versions(ME, shop.advisor.id)) == 3


async def test_so_it_is_on_either_database(tmp_path: Path, database_url: str) -> None:
    async with open_room(tmp_path, clock=Hand(), database=database_url, **WORKED) as room:
        shop = await open_workshop(room, MOON, MOON)
        one = (await shop.run()).optimisation
        assert (one.state, one.verdict) == ("finished", "improved")
        taken = await room.polyvox.optimisations.decide(ME, one.id, "accept")
        assert await shop.prompt() == taken.final_text


async def test_what_the_rewriter_sees_is_data_and_no_more_than_it_needs(room: Room) -> None:
    shop = await open_workshop(room, MOON, "It speaks of nothing.")
    await shop.run()
    (asked,) = shop.told[:1]
    assert asked["instructions"] == PROMPT
    assert [one["statement"] for one in asked["failing"]] == [MOON]
    assert asked["failing"][0]["held"] == "0 of 3"
    assert asked["failing"][0]["asked"] == "What about question a?"
    assert asked["holding"] == ["It speaks of nothing."]


async def test_what_is_spent_is_noted_under_its_own_name(room: Room) -> None:
    shop = await open_workshop(room)
    one = (await shop.run()).optimisation
    totals = await room.polyvox.database.read(lambda tx: usage.totals(tx, "advisor"), ME)
    mine = next(total for total in totals if total.key == "optimisation")
    assert mine.answers == one.calls == shop.calls()
    assert one.unpriced == one.calls
    assert any("price" in warning for warning in one.warnings)


async def test_all_passing_already_ends_after_the_baseline(room: Room) -> None:
    shop = await open_workshop(room, "It speaks of nothing.", "There is nothing.")
    one = (await shop.run()).optimisation
    assert (one.state, one.verdict, one.final_text) == ("finished", None, None)
    assert one.message == (
        "All 2 assertions pass already, each 11 times of 11: there is nothing to improve."
    )
    assert shop.calls("writer") == 0
    assert shop.calls("ann") == 22
    with pytest.raises(Conflict, match="no better prompt"):
        await room.polyvox.optimisations.decide(ME, one.id, "accept")


async def test_a_blank_prompt_is_given_one(room: Room) -> None:
    shop = await open_workshop(room, prompt=None)
    await room.polyvox.advisors.update(ME, shop.advisor.id, description="")
    found = await shop.run()
    one = found.optimisation
    assert (one.state, one.verdict, one.base_text) == ("finished", "improved", "")
    assert one.final_text == "Speak of the moon."
    assert shop.told[0]["instructions"] == ""


async def test_one_assertion_alone_can_be_improved(room: Room) -> None:
    shop = await open_workshop(room, MOON)
    one = (await shop.run()).optimisation
    assert (one.state, one.verdict) == ("finished", "improved")
    assert "1 assertion in 1 context," in one.message


async def test_nothing_better_is_said_plainly(room: Room) -> None:
    shop = await open_workshop(room, MOON, additions=["Be kind.", "Be brave.", "Be quick."])
    one = (await shop.run(iterations=3)).optimisation
    assert (one.state, one.verdict, one.best) == ("finished", "not distinguishable", 0)
    assert one.message.startswith("None of 3 attempts did clearly better")
    with pytest.raises(Conflict):
        await room.polyvox.optimisations.decide(ME, one.id, "accept")


async def test_the_judge_down_half_way_fails_the_run_and_it_can_go_on(room: Room) -> None:
    shop = await open_workshop(room, MOON, MOON)
    served = 0

    def tired(body: Any) -> Script:
        nonlocal served
        served += 1
        return judges(body) if served <= 7 else Script(status=503, error="gone for lunch")

    room.provider.made("judge", tired)
    begun = await shop.begun()
    one = (await shop.finish(begun.id)).optimisation
    assert (one.state, one.verdict) == ("failed", None)
    assert "The judge could not be asked" in one.message
    assert "resume the run" in one.message
    assert one.iteration == 0
    paid = shop.calls("ann", "writer")

    room.provider.made("judge", judges)
    await room.polyvox.optimisations.resume(ME, one.id)
    found = await shop.finish(one.id)
    assert found.optimisation.verdict == "improved"
    # three answers before, two of the attempt, five fresh ones of each prompt: in two contexts
    assert shop.calls("ann") == 2 * (3 + 2 + 5 + 5)
    assert shop.calls("writer") == 1
    assert paid < shop.calls("ann")


async def test_an_advisor_that_does_not_answer_fails_the_run(room: Room) -> None:
    shop = await open_workshop(room, MOON, advising=lambda _: Script(text="So."))
    room.provider.made("ann", lambda _: Script(status=500, error="broken"))
    one = (await shop.run()).optimisation
    assert one.state == "failed"
    assert "The advisor did not answer" in one.message


async def test_a_rewriter_that_is_away_fails_the_run(room: Room) -> None:
    shop = await open_workshop(room, MOON)
    room.provider.made("writer", lambda _: Script(status=503, error="no"))
    one = (await shop.run()).optimisation
    assert one.state == "failed"
    assert "The rewriter could not be asked" in one.message


async def test_a_text_that_carries_over_the_conversation_is_asked_for_again(room: Room) -> None:
    leaky = "Speak of the moon. Mention that Brunhilde moved to 4711 Elm Street."
    shop = await open_workshop(room, additions=[leaky, "Speak of the moon."])
    talk = await room.conversation(shop.advisor)
    await room.say(talk, "My aunt Brunhilde lives at 4711 somewhere.")
    _, (answer,) = await room.say(talk, "And what now?")
    await assert_of(room, answer.id, MOON)
    found = await shop.run()
    assert found.optimisation.verdict == "improved"
    assert found.optimisation.final_text == f"{PROMPT} Speak of the moon."
    again = room.provider.requests("writer")[1].json()["messages"][-1]["content"]
    assert "carries over" in again
    assert "Brunhilde" in again


async def test_one_that_does_so_twice_is_refused_and_the_run_goes_on(room: Room) -> None:
    leaky = "Speak of the moon, as in: What about question a, what about it?"
    shop = await open_workshop(
        room, MOON, MOON, additions=[leaky, leaky + " Yes.", "Speak of the moon."]
    )
    talk = await room.conversation(shop.advisor)
    _, (answer,) = await room.say(talk, "Is it so as in what about question a what about it?")
    await assert_of(room, answer.id, MOON)
    found = await shop.run()
    first, second = found.attempts
    assert (first.state, first.text) == ("refused", None)
    assert "carried over words of the conversations" in first.note
    assert "question" not in first.note
    assert second.state == "scored"
    assert found.optimisation.verdict == "improved"


async def test_a_reply_without_a_prompt_is_refused_with_the_reason(room: Room) -> None:
    shop = await open_workshop(room)
    room.provider.made("writer", lambda _: Script(text="I would rather not."))
    found = await shop.run(iterations=2)
    assert [one.state for one in found.attempts] == ["refused", "refused"]
    assert found.optimisation.message.startswith("None of 2 attempts could be used.")
    assert shop.calls("writer") == 4


async def test_a_guard_holds_back_what_breaks_the_rest(room: Room) -> None:
    def fickle(body: Any) -> Script:
        said = system_of(body)
        if "Speak of the moon" in said:
            return Script(text="moon" if "and of the sea" not in said else "moon and sea")
        return Script(text="sea")

    shop = await open_workshop(
        room,
        MOON,
        "It speaks of the sea.",
        advising=fickle,
        additions=["Speak of the moon.", "Speak of the moon and of the sea."],
    )
    found = await shop.run(assertion_ids=(shop.assertions[0].id,))
    first, second = found.attempts
    assert first.state == "guarded"
    assert "It speaks of the sea." in first.note
    assert second.state == "scored"
    assert found.optimisation.best == 2
    assert found.optimisation.verdict == "improved"
    assert found.summary is not None
    assert [row.guard for row in found.summary.rows] == [False, True]


async def test_holdouts_are_never_shown_to_the_rewriter(room: Room) -> None:
    texts = [f"Part {number} speaks of the moon." for number in "abcdefgh"]
    shop = await open_workshop(room, *texts)
    begun = await shop.begun()
    found = await shop.finish(begun.id)
    held = {row.assertion_id for row in found.summary.rows if row.holdout} if found.summary else {}
    assert len(held) == 2
    hidden = {one.text for one in shop.assertions if one.id in held}
    asked = msgspec.json.encode(shop.told).decode()
    assert all(text not in asked for text in hidden)
    assert "the rewriter never saw 2: 0% before, 100% after" in found.optimisation.message
    with pytest.raises(Invalid, match="too few"):
        await shop.begun(assertion_ids=(shop.assertions[0].id,), holdout=0.5)


async def test_a_check_in_code_needs_no_judge(tmp_path: Path) -> None:
    models: dict[str, Any] = {"models": {"optimizer": "lab:writer", "judge": "local:smollm2"}}
    async with open_room(tmp_path, clock=Hand(), **models) as room:
        shop = await open_workshop(room)
        await assert_for(
            room,
            shop.advisor.slug,
            Wording("Says moon", "contains", {"text": "moon"}),
            asks="Well?",
        )
        judged = shop.assertions[0]
        with pytest.raises(Invalid, match="far too small"):
            await shop.begun(assertion_ids=(judged.id,))
        coded = [one.id for one in (await _assertions(room, shop)) if one.kind != "judge"]
        found = await shop.run(assertion_ids=tuple(coded))
        assert found.optimisation.verdict == "improved"
        assert shop.calls("judge") == 0


async def _assertions(room: Room, shop: Workshop) -> list[Assertion]:
    wanted = AssertionFilter(advisor_id=shop.advisor.id)
    return await room.polyvox.database.read(lambda tx: assertions.list_all(tx, wanted), ME)


async def test_without_a_model_to_rewrite_it_is_refused(tmp_path: Path) -> None:
    async with open_room(tmp_path, models={"default": "local:smollm2"}) as room:
        shop = await open_workshop(room)
        with pytest.raises(Invalid, match="far too small"):
            await shop.begun()


# calling off


async def test_cancel_closes_the_calls_in_flight_at_once(room: Room) -> None:
    shop = await open_workshop(room, MOON, MOON)
    room.provider.made("ann", lambda _: Script(hold="never"))
    begun = await shop.begun()
    room.polyvox.work()
    await room.provider.until(lambda: len(room.provider.log) == 2)
    held = list(room.provider.log)
    ended = await room.polyvox.optimisations.cancel(ME, begun.id)
    assert ended.state == "cancelled"
    async with asyncio.timeout(60):
        for request in held:
            await room.provider.gone(request)
    await room.quiet()
    assert len(room.provider.log) == 2
    with pytest.raises(Conflict, match="cancelled"):
        await room.polyvox.optimisations.cancel(ME, begun.id)
    with pytest.raises(Conflict, match="cancelled"):
        await room.polyvox.optimisations.resume(ME, begun.id)


async def test_another_engine_is_refused(room: Room) -> None:
    shop = await open_workshop(room)
    with pytest.raises(Invalid, match="no engine 'gepa'"):
        await shop.begun(engine="gepa")


async def test_two_runs_for_one_prompt_are_refused(room: Room) -> None:
    shop = await open_workshop(room)
    await shop.begun()
    with pytest.raises(Conflict, match="under way"):
        await shop.begun()


# deciding


async def test_a_prompt_that_was_changed_meanwhile_is_not_overwritten(room: Room) -> None:
    shop = await open_workshop(room)
    one = (await shop.run()).optimisation
    await room.polyvox.advisors.update(ME, shop.advisor.id, prompt="Something else.")
    with pytest.raises(Conflict, match="was changed since this optimisation began"):
        await room.polyvox.optimisations.decide(ME, one.id, "accept")
    assert await shop.prompt() == "Something else."
    await room.polyvox.optimisations.decide(ME, one.id, "accept", force=True)
    assert await shop.prompt() == one.final_text
    await room.polyvox.advisors.update(ME, shop.advisor.id, prompt="And else again.")
    with pytest.raises(Conflict, match="changed again"):
        await room.polyvox.optimisations.decide(ME, one.id, "rollback")


async def test_rejecting_keeps_the_attempt_and_the_prompt(room: Room) -> None:
    shop = await open_workshop(room)
    one = (await shop.run()).optimisation
    ended = await room.polyvox.optimisations.decide(ME, one.id, "reject")
    assert ended.decision == "rejected"
    assert await shop.prompt() == PROMPT
    found = await shop.found(one.id)
    assert [attempt.text for attempt in found.attempts] == [one.final_text]
    with pytest.raises(Conflict, match="not in force"):
        await room.polyvox.optimisations.decide(ME, one.id, "rollback")
    await room.polyvox.optimisations.decide(ME, one.id, "accept")
    with pytest.raises(Conflict, match="accepted already"):
        await room.polyvox.optimisations.decide(ME, one.id, "reject")


async def test_a_phase_is_improved_accepted_and_rolled_back(room: Room) -> None:
    shop = await open_workshop(room)
    one = (await shop.run(target="phase:early")).optimisation
    assert (one.verdict, one.recipe) == ("improved", "council")
    assert one.final_text is not None
    assert one.final_text.endswith("Speak of the moon.")
    await room.polyvox.optimisations.decide(ME, one.id, "accept")
    assert await shop.prompt() == PROMPT
    change = await room.polyvox.database.read(lambda tx: recipes.get(tx, "council"), ME)
    assert change is not None
    assert change["phases"][0]["text"] == one.final_text
    talk = await room.conversation(shop.advisor)
    await room.say(talk, "And now?")
    assert "Speak of the moon." in system_of(room.provider.log[-1].json())
    await room.polyvox.optimisations.decide(ME, one.id, "rollback")
    change = await room.polyvox.database.read(lambda tx: recipes.get(tx, "council"), ME)
    assert change is not None
    assert change["phases"][0]["text"] == ""


async def test_a_phase_that_no_context_was_in_cannot_be_tried(room: Room) -> None:
    shop = await open_workshop(room)
    with pytest.raises(Invalid, match="early was in force in its context, not ongoing"):
        await shop.begun(target="phase:ongoing")
    with pytest.raises(Invalid, match="no target"):
        await shop.begun(target="mood")


async def test_what_was_changed_during_a_run_does_not_change_what_it_tries(room: Room) -> None:
    shop = await open_workshop(room)
    begun = await shop.begun()
    await room.polyvox.advisors.update(ME, shop.advisor.id, prompt="Speak of the moon.")
    found = await shop.finish(begun.id)
    assert found.optimisation.verdict == "improved"
    first = system_of(room.provider.requests("ann")[0].json())
    assert PROMPT in first


async def test_too_many_pairs_of_assertion_and_context_are_refused(room: Room) -> None:
    shop = await open_workshop(room, *[MOON] * 8)
    more = [f"Part {number} speaks of the moon." for number in range(125)]
    for some in (more[:90], more[90:]):
        await assert_for(room, shop.advisor.slug, *some)  # each holds in all eight contexts
    with pytest.raises(Invalid, match="1008 pairs of assertion and context are too many"):
        await shop.begun()
