"""Forgetting reaches assertions to the last trace; deleting a conversation leaves them working."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.memory.canary import WORD, Nest, open_nest

from polyvox.values import REDACTED

pytestmark = pytest.mark.contract

OURS = {"assertions", "assertion_versions", "contexts", "past_runs"}


@pytest.fixture
async def nest(database_url: str, tmp_path: Path) -> AsyncIterator[Nest]:
    url = "" if database_url.startswith("sqlite") else database_url
    async with open_nest(url, tmp_path / "home") as found:
        await found.everywhere()
        yield found


async def asserted(nest: Nest) -> Any:
    """An assertion drawn from an answer that repeats the word, and a run that quotes it."""
    answer = nest.ids["answer"]
    house = nest.house
    made = await house.make(
        "/api/assertions", {"answer_id": answer, "texts": [f"Mentions {WORD}", "Is brief"]}
    )
    await house.make(
        "/api/assertions",
        {"answer_id": answer, "kind": "contains", "args": {"text": f"the {WORD} thing"}},
    )
    record = {
        "responseId": answer,
        "advisorName": made["advisor_name"],
        "assertions": [{"id": "x1", "text": "Is calm"}],
        "evaluations": [{"id": "e", "results": [{"reason": WORD}]}],
    }
    reply = await house.post("/api/assertions/import", {"content": json.dumps(record)})
    assert reply.json()["refused"] == [], reply.text
    assert set(await nest.traces()) >= OURS
    return made


async def test_a_forgotten_message_is_in_no_assertion(nest: Nest) -> None:
    made = await asserted(nest)
    house = nest.house
    await house.make(
        "/api/assertions",
        {
            "answer_id": nest.ids["answer"],
            "kind": "contains",
            "args": {"text": WORD},
            "tags": [WORD, "tea"],
        },
    )
    target = {"kind": "message", "id": f"{nest.ids['session']}#0"}
    went = await house.post("/api/memory/forget", target)
    assert went.status == 200, went.text
    assert OURS & set(await nest.traces()) == set()
    found = (await house.get(f"/api/assertions/{made['id']}")).json()
    assert found["text"] == f"Mentions {REDACTED}"
    assert found["source"]["user_input"] == REDACTED
    every = (await house.get(f"/api/advisors/{made['advisor_id']}/assertions")).json()["items"]
    assert [one["tags"] for one in every if one["tags"]] == [["tea"]]
    listed = await house.get(f"/api/advisors/{made['advisor_id']}/assertions?q={WORD}")
    assert listed.json()["items"] == []
    file = await house.get(f"/api/advisors/{made['advisor_id']}/assertions/export")
    assert WORD not in file.text.lower()
    assert "contexts" not in file.text


async def test_a_deleted_conversation_leaves_what_was_drawn_from_it(nest: Nest) -> None:
    made = await asserted(nest)
    house = nest.house
    gone = await house.delete(f"/api/conversations/{nest.ids['conversation']}")
    assert gone.status == 204
    found = (await house.get(f"/api/assertions/{made['id']}")).json()
    assert WORD in found["source"]["user_input"].lower()
    file = await house.get(f"/api/advisors/{made['advisor_id']}/assertions/export")
    assert "contexts" in file.text
    for one in (await house.get(f"/api/advisors/{made['advisor_id']}/assertions")).json()["items"]:
        assert (await house.delete(f"/api/assertions/{one['id']}")).status == 204
    assert {"assertions", "contexts", "past_runs"} & set(await nest.traces()) == set()
