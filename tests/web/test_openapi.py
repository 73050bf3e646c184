"""The OpenAPI page: complete, and true. Schemathesis makes requests from it, good and bad ones;
whatever comes back must be on the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from tests.web.house import house_in_thread

from polyvox.app import Polyvox
from polyvox.settings import Settings
from polyvox.web.server import build_api

PAGE: dict[str, Any] = build_api(Polyvox(Settings(), env={})).openapi()
MODEL = "scripted:say=Yes,_but."

config = schemathesis.Config.from_dict(
    {
        "checks": {
            # Much is well formed and still not so here: an advisor nobody knows, a taken slug.
            "positive_data_acceptance": {
                "expected-statuses": ["2xx", "400", "401", "402", "403", "404", "409", "422"]
            },
        }
    }
)
schema = schemathesis.openapi.from_dict(PAGE, config=config)


class Known:
    """Ids of things that are there, so that not everything is 404."""

    ids: dict[str, list[str]] = {}  # noqa: RUF012 - filled once, by the fixture


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A house with something in it."""
    home = tmp_path_factory.mktemp("openapi")
    with house_in_thread(home, models={"default": MODEL}) as (house, run):
        advisors = [run(house.advisor(MODEL)) for _ in range(3)]
        council = run(house.council(*advisors))
        conversation = run(house.conversation(*advisors[:2]))
        turns = [run(house.say(conversation, content)) for content in ("One?", "Two?")]
        Known.ids = {
            "advisor": [advisors[0]["id"], advisors[1]["slug"]],
            "council": [council["id"], council["slug"]],
            "conversation": [conversation],
            "turn": [turn["turn_id"] for turn in turns],
            "message": [turn["message_id"] for turn in turns],
            "answer": [a["answer_id"] for turn in turns for a in turn["answers"]],
            "name": ["council", "agent"],
        }
        yield house.url


@schema.hook
def before_generate_path_parameters(context: Any, strategy: Any) -> Any:
    """Every second time, something that is there."""

    def known(given: dict[str, Any]) -> Any:
        there = {name: st.sampled_from(Known.ids.get(name) or ["x"]) for name in given}
        return st.one_of(st.just(given), st.fixed_dictionaries(there))

    return strategy.flatmap(known)


@schema.hook
def map_query(context: Any, query: dict[str, Any] | None) -> dict[str, Any] | None:
    """The stream of events is asked for what is stored: a live one does not end."""
    if context.operation.path.endswith("/events"):
        return {**(query or {}), "live": "false"}
    return query


@schema.parametrize()
@settings(
    max_examples=40,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
def test_what_comes_back_is_on_the_page(case: schemathesis.Case, address: str) -> None:
    case.call_and_validate(base_url=address, timeout=20)
