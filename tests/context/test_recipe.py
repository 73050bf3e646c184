"""Recipes are data: changed by tables, refused where unknown, named by their content."""

from __future__ import annotations

from typing import Any

import pytest

from polyvox.context.recipe import (
    BUILT_IN,
    Pair,
    Recipe,
    Visibility,
    as_data,
    changed,
    layered,
    phase_for,
    shortened,
    without_base,
)
from polyvox.errors import Invalid

COUNCIL = BUILT_IN["council"]


def test_a_change_is_laid_over_the_rest() -> None:
    recipe = changed(COUNCIL, {"window": {"max_messages": 9}, "count_turns": True})
    assert recipe.window.max_messages == 9
    assert recipe.window.recent_messages == COUNCIL.window.recent_messages
    assert recipe.phases == COUNCIL.phases
    assert recipe.hash != COUNCIL.hash
    assert changed(COUNCIL, {}).hash == COUNCIL.hash


def test_data_and_back() -> None:
    for recipe in BUILT_IN.values():
        data = without_base(as_data(recipe))
        data.pop("name")
        assert changed(recipe, data) == recipe


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"windows": {}}, "no part 'windows'"),
        ({"name": "x"}, "no part 'name'"),
        ({"window": {"kind": "round"}}, "window.kind"),
        ({"window": {"size": 3}}, "window.size"),
        ({"window": {"max_messages": 0}}, "at least one message"),
        ({"window": {"system_messages": -1}}, "system_messages"),
        ({"phases": [{"name": "early", "answers": -1}]}, "negative"),
        ({"phases": [{"name": "middle", "answers": 2}]}, "'middle' has no text"),
        ({"blocks": ["identity", "motto"]}, "'motto' has no text"),
        ({"stamps": "some"}, "stamps"),
    ],
)
def test_what_is_unknown_or_senseless_is_refused(change: dict[str, Any], told: str) -> None:
    with pytest.raises(Invalid) as caught:
        changed(COUNCIL, change)
    assert told in caught.value.message
    assert caught.value.param


def test_blocks_and_phases_of_the_users_own() -> None:
    recipe = changed(
        COUNCIL,
        {
            "blocks": ["identity", "motto", "protocol"],
            "texts": {"motto": "Less is more."},
            "phases": [{"name": "middle", "answers": 2, "text": "Be brief."}],
        },
    )
    assert recipe.texts["motto"] == "Less is more."


def test_the_last_pair_that_fits_wins() -> None:
    visibility = Visibility(
        "last_turn", (Pair("a", "b", "none"), Pair("a-slug", "b-slug", "thread"))
    )
    assert visibility.level(("a", "a-slug"), ("b", "b-slug")) == "thread"
    assert visibility.level(("a", "x"), ("b", "y")) == "none"
    assert visibility.level(("b", "b-slug"), ("a", "a-slug")) == "last_turn"


def test_a_copy_has_its_bases_parts_and_traits() -> None:
    quick = layered("quick", {"phases": []}, {"stamps": "none"})
    assert (quick.name, quick.base, quick.phases, quick.stamps) == ("quick", "council", (), "none")
    helper = layered("helper", {"base": "agent"})
    assert helper.window == BUILT_IN["agent"].window
    assert helper.traits == BUILT_IN["agent"].traits
    assert helper.hash != BUILT_IN["agent"].hash


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("mine", {"base": "soup"}, "'soup' cannot be copied"),
        ("My own", {}, "cannot be called 'My own'"),
        ("council", {"base": "agent"}, "no part 'base'"),
        ("mine", {"windows": {}}, "no part 'windows'"),
    ],
)
def test_a_copy_that_cannot_be(name: str, change: dict[str, Any], told: str) -> None:
    with pytest.raises(Invalid) as caught:
        layered(name, change)
    assert told in caught.value.message
    assert caught.value.param


def test_limited_phases_can_be_shortened_and_skipped() -> None:
    places = [phase_for(shortened(COUNCIL, 2), answers) for answers in range(3)]
    assert [(place.name, place.k, place.n) for place in places] == [
        ("early", 1, 2),
        ("early", 2, 2),
        ("ongoing", 3, None),
    ]
    assert phase_for(shortened(COUNCIL, 0), 0).name == "ongoing"
    assert shortened(COUNCIL, None) is COUNCIL
    assert shortened(COUNCIL, 3) is COUNCIL


def test_the_agent_recipe_sends_the_prompt_alone() -> None:
    agent = BUILT_IN["agent"]
    assert (agent.blocks, agent.phases, agent.stamps) == (("identity",), (), "none")
    assert agent.window.kind == "bookends"
    assert isinstance(agent, Recipe)
