"""Prefix stability: provider caches hold because a growing conversation is sent as an append."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.context.world import World, limits, plain, tokens

from polyvox.context.compile import compile_request
from polyvox.context.recipe import BUILT_IN, changed
from polyvox.models.base import ModelFacts
from polyvox.values import Params

COUNCIL = BUILT_IN["council"]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(6_000, 14_000), st.floats(0.6, 0.95))
def test_between_two_trims_history_only_grows(seed: int, room: int, low: float) -> None:
    dice = random.Random(seed)
    world, cut, ratio = World(3), None, 1.0
    trims, turns = 0, 120
    before: list[tuple[str, str]] = []
    system: set[str] = set()
    for _ in range(turns):
        world.say("u" * dice.randint(5, 150))
        thread = world.thread(0, cut=cut, ratio=ratio)
        made = compile_request(
            COUNCIL, thread, limits(f"{room} chars", low), ModelFacts("m:n", 60_000), Params()
        )
        history = plain(made.request)[: made.request.settled]
        if made.draft.cut == cut:
            assert history[: len(before)] == before
        else:
            trims += 1
            assert made.draft.cut is not None
            assert cut is None or made.draft.cut > cut
            assert tokens(made.request) <= room // 4 * low or made.draft.history <= 2
        if made.draft.phase == "ongoing":
            system.add(made.request.system[0].text)
        assert tokens(made.request) <= room // 4
        before, cut = history, made.draft.cut
        ratio = 1.0 + dice.random() * 0.3
        for who in range(3):
            world.answer(world.turns[-1], who, "a" * dice.randint(5, 150))
    assert len(system) == 1
    assert trims < turns / 2


def test_trims_are_rare() -> None:
    """Turns of 200 characters, room for some forty of them: about one trim in six turns."""
    world, cut, trims = World(1), None, 0
    for _ in range(300):
        world.say("u" * 81)
        made = compile_request(
            COUNCIL, world.thread(cut=cut), limits("11000 chars"), ModelFacts("m:n", None), Params()
        )
        trims += made.draft.cut != cut
        cut = made.draft.cut
        world.answer(world.turns[-1], 0, "a" * 100)
    assert trims <= 260 / 6


@pytest.mark.parametrize("stamps", ["all", "none"])
def test_the_answered_message_is_sent_again_unchanged(stamps: str) -> None:
    recipe = changed(COUNCIL, {"stamps": stamps})
    world = World()
    world.round()
    world.say("now")
    facts = ModelFacts("m:n", None)
    first = compile_request(recipe, world.thread(), limits(), facts, Params()).request
    world.answer(world.turns[-1], 0, "then")
    world.say("next")
    second = compile_request(recipe, world.thread(), limits(), facts, Params()).request
    assert second.messages[: first.settled] == first.messages[: first.settled]
    assert second.messages[first.settled] == first.messages[-1]


def test_a_raised_limit_brings_history_back() -> None:
    world = World(1)
    for _ in range(60):
        world.round("u" * 100, 100)
    world.say("now")
    facts = ModelFacts("m:n", None)
    small = compile_request(COUNCIL, world.thread(), limits("6000 chars"), facts, Params())
    assert small.draft.cut is not None
    large = compile_request(
        COUNCIL, world.thread(cut=small.draft.cut), limits("90000 chars"), facts, Params()
    )
    assert large.draft.cut is None
    assert large.request.settled == 120
