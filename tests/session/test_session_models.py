"""Models that cannot be: one advisor's is that advisor's failure, the settings' are refused."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.provider import Script
from tests.session.room import ME, Room, open_room

from polyvox.errors import ConfigError, Conflict

pytestmark = pytest.mark.contract


async def test_an_advisor_whose_provider_is_gone_fails_alone(room: Room) -> None:
    ann = await room.advisor("Ann", Script(text="Still here."))
    bob = await room.advisor("Bob")
    await room.polyvox.advisors.update(ME, bob.id, model="nowhere:x")
    talk = await room.conversation(bob, ann)
    _, answers = await room.say(talk, "Well?")
    by_name = {answer.advisor_name: answer for answer in answers}
    assert by_name["Ann"].text == "Still here."
    failed = by_name["Bob"]
    assert failed.state == "failed"
    assert failed.failure is not None
    assert failed.failure.category == "refused"
    assert "nowhere" in failed.failure.message


@pytest.mark.parametrize(
    "models",
    [{"fallback": ["nope:x"]}, {"synthesis": "nope:x"}, {"default": "nope:x"}],
    ids=["fallback", "synthesis", "default"],
)
async def test_settings_that_name_nobody_are_refused_at_the_start(
    models: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="nope"):
        async with open_room(tmp_path, models=models):
            pass


@pytest.mark.parametrize(
    ("recipes", "said"),
    [({"cuncil": {}}, "recipes.council"), ({"council": {"fases": []}}, "phases")],
)
async def test_recipes_are_checked_at_the_start(
    recipes: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        async with open_room(tmp_path, recipes=recipes):
            pass
    assert said in caught.value.hint


async def test_a_fallback_with_a_shorter_answer_is_asked_for_that(tmp_path: Path) -> None:
    models = {"fallback": ["lab:small"], "known": {"lab:small": {"window": 2048, "max_tokens": 64}}}
    async with open_room(tmp_path, models=models) as room:
        ann = await room.advisor("Ann", Script(status=500))
        room.provider.script("small", Script(text="Briefly."))
        talk = await room.conversation(ann)
        _, (answer,) = await room.say(talk, "hi")
        assert (answer.text, answer.model) == ("Briefly.", "lab:small")
        sent = room.provider.requests("small")[0]
        assert sent.json()["max_tokens"] == 64
        seen = await room.receipt(answer.id)
        assert seen.verified
        assert seen.body == sent.body


async def test_the_same_key_and_body_is_the_same_turn_whoever_the_names_mean_by_now(
    room: Room,
) -> None:
    ann = await room.advisor("Ann")
    talk = await room.conversation(ann)
    send = room.polyvox.turns.send
    first = await send(ME, talk, "hi @zed", idempotency_key="k")
    named = await send(ME, talk, "hi", advisors=["ann"], idempotency_key="l")
    await room.advisor("Zed")
    await room.polyvox.advisors.remove(ME, ann.id)
    assert (await send(ME, talk, "hi @zed", idempotency_key="k")).turn.id == first.turn.id
    again = await send(ME, talk, "hi", advisors=["ann"], idempotency_key="l")
    assert again.turn.id == named.turn.id


async def test_only_one_synthesis_at_a_time(room: Room) -> None:
    ann = await room.advisor("Ann")
    talk = await room.conversation(ann)
    turn, _ = await room.say(talk, "Well?")
    synthesize = room.polyvox.turns.synthesize
    asked = await asyncio.gather(
        *(synthesize(ME, turn.id) for _ in range(3)), return_exceptions=True
    )
    assert sum(isinstance(one, Conflict) for one in asked) == 2


async def test_the_plain_assistant_can_be_named_and_stays_when_its_message_is_edited(
    room: Room,
) -> None:
    ann = await room.advisor("Ann")
    talk = await room.conversation(ann)
    begun = await room.polyvox.turns.send(ME, talk, "One?", advisors=["assistant", "ann"])
    edited = await room.polyvox.turns.edit_message(ME, begun.turn.message_id, "Two?")
    assert edited.turn.asked == ("assistant", ann.id)
