"""What to do when somebody is in danger ends the system text of every recipe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.context.world import LARGE, limits

from polyvox.context.compile import compile_request, with_memory
from polyvox.context.recipe import BUILT_IN, changed
from polyvox.context.words import prompt_set
from polyvox.models.base import ModelFacts
from polyvox.session.council import plain_assistant
from polyvox.thread import Thread, ThreadTurn
from polyvox.values import Advisor, Params

COUNCIL = BUILT_IN["council"]
EARLY = [{"name": "early", "answers": 3}]
SMALL = ModelFacts("local:smollm2", 2_048, prompts="compact", max_tokens=512)
DANGER = {name: prompt_set(name).text("danger") for name in ("full", "compact")}
BARE: list[dict[str, Any]] = [
    {"blocks": ()},
    {"blocks": ("identity",), "texts": {"identity": "{identity}"}},
    {"blocks": ("danger", "identity")},
]
"""Recipes that say as little as they can."""


@pytest.mark.parametrize("change", [{}, *BARE], ids=str)
@pytest.mark.parametrize("base", ["council", "agent", "companion"])
@pytest.mark.parametrize("facts", [LARGE, SMALL], ids=["full", "compact"])
def test_every_recipe_ends_with_what_to_do_in_danger(
    change: dict[str, Any], base: str, facts: ModelFacts
) -> None:
    recipe = changed(BUILT_IN[base], change)
    for who in (Advisor("i", "s", "n", ""), Advisor("i", "s", "n", "Who."), plain_assistant()):
        for round_ in (0, 1):
            thread = Thread(who, ThreadTurn("t", "m", 1, "hi", None), round=round_)
            system = compile_request(recipe, thread, limits(), facts, Params()).request.system
            assert len(system) == 1
            assert system[0].stable
            assert system[0].text.endswith(DANGER[facts.prompts])
            assert system[0].text.count(DANGER[facts.prompts]) == 1


def test_nobody_can_write_over_what_to_do_in_danger() -> None:
    own = changed(COUNCIL, {"blocks": ["identity", "danger"], "texts": {"danger": "Be brave."}})
    thread = Thread(Advisor("i", "s", "n", "Who."), ThreadTurn("t", "m", 1, "hi", None))
    system = compile_request(own, thread, limits(), LARGE, Params()).request.system
    assert system[0].text == f"You are n.\n\nWho.\n\nBe brave.\n\n{DANGER['full']}"


@pytest.mark.parametrize("name", BUILT_IN)
def test_beside_the_block_of_a_hard_moment_no_protocol_holds(name: str) -> None:
    recipe = changed(BUILT_IN[name], {"blocks": ["identity", "protocol"], "phases": EARLY})
    thread = Thread(Advisor("i", "s", "n", "Who."), ThreadTurn("t", "m", 1, "hi", None))
    for memory, there in (((), True), ((("safety", "[SAFETY]"),), False)):
        told = replace(thread, memory=memory)
        draft = compile_request(recipe, told, limits(), LARGE, Params()).draft
        assert ("protocol" in [block.kind for block in draft.blocks]) is there
    bare = compile_request(recipe, thread, limits(), LARGE, Params())
    assert with_memory(bare, thread, [("handover", "Then.")]) is not None
    assert with_memory(bare, thread, [("safety", "[SAFETY]")]) is None, "it has to be compiled"
