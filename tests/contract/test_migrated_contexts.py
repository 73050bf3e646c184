"""Assertions of SPACE Terminal, imported and replayed: whose prompt and whose words are sent."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.app import App, open_app
from tests.provider import Script

pytestmark = pytest.mark.contract

MAPPER = "Draws maps of what people avoid."
EDITED = "You ask where the map ends."
COUNCIL = {
    "type": "advisor_response",
    "advisors": [
        {"name": "Map Maker", "response": "Mine in JSON."},
        {"name": "Other", "response": "Theirs in JSON."},
    ],
    "synthesis": "Both in JSON.",
}


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[App]:
    models = {"default": "lab:calm", "judge": "lab:judge", "optimizer": "lab:writer"}
    async with open_app(tmp_path, models=models) as app:
        app.provider.script("judge", Script(judges=True))
        yield app


def record(system: str, *messages: dict[str, Any], description: str = MAPPER) -> dict[str, Any]:
    return {
        "responseId": "resp-map-maker-1",
        "responseContent": "Where the river bends.",
        "advisorName": "Map Maker",
        "conversationContext": {
            "messages": [*messages, {"type": "user", "content": "Why do I never finish?"}],
            "advisors": [{"name": "Map Maker", "description": description}],
            "systemPrompt": system,
        },
        "assertions": [{"id": "assert-1", "text": "Uses an image of water"}],
    }


async def replayed(app: App, data: Any) -> Any:
    """Import a record, edit the advisor's prompt, evaluate: the request that the advisor got."""
    taken = (await app.post("/api/assertions/import", {"content": json.dumps(data)})).json()
    assert taken["refused"] == []
    changed = await app.patch("/api/advisors/map-maker", {"prompt": EDITED})
    assert changed.status == 200, changed.text
    run = await app.make("/api/evaluations", {"advisor_id": "map-maker"})
    await app.polyvox.worker.run_due(["evaluation"])
    told = (await app.get(f"/api/evaluations/{run['id']}")).json()
    assert told["summary"]["passed"] == 1, told["verdicts"]
    (call,) = [call for call in app.provider.log if call.model == "calm"]
    return json.loads(call.body)["messages"]


@pytest.mark.parametrize(
    ("system", "sent"),
    [
        (f"Map Maker: {MAPPER} Answer in one line.", f"Map Maker: {EDITED} Answer in one line."),
        (f"{MAPPER} I say it again: {MAPPER}", f"{EDITED} I say it again: {EDITED}"),
        (
            "Answer in one line. You are Map Maker, a cartographer! Never give advice.",
            f"Answer in one line.\n\nYou are Map Maker.\n\n{EDITED}\n\nNever give advice.",
        ),
        ("Answer in one line.", f"You are Map Maker.\n\n{EDITED}\n\nAnswer in one line."),
        ("", f"You are Map Maker.\n\n{EDITED}"),
    ],
)
async def test_the_edited_prompt_stands_in_the_identitys_place(
    home: App, system: str, sent: str
) -> None:
    messages = await replayed(home, record(system))
    assert messages[0] == {"role": "system", "content": sent}


async def test_a_record_without_a_description_runs_too(home: App) -> None:
    await home.make("/api/advisors", {"name": "Map Maker", "description": MAPPER})
    messages = await replayed(home, record("You are Map Maker. Be brief.", description=""))
    assert messages[0]["content"] == f"You are Map Maker.\n\n{EDITED}\n\nBe brief."


async def test_an_unedited_prompt_is_tried_under_the_same_system_text(home: App) -> None:
    """What an edit is compared with differs from it by the prompt alone."""
    data = {"content": json.dumps(record("You are Map Maker, a poet. Be brief."))}
    await home.post("/api/assertions/import", data)
    await home.make("/api/evaluations", {"advisor_id": "map-maker"})
    await home.polyvox.worker.run_due(["evaluation"])
    (call,) = [call for call in home.provider.log if call.model == "calm"]
    system = json.loads(call.body)["messages"][0]["content"]
    assert system == f"You are Map Maker.\n\n{MAPPER}\n\nBe brief."


@pytest.mark.parametrize(
    ("message", "own"),
    [
        (
            {
                "type": "assistant",
                "content": "Hm.\n[ADVISOR: Map Maker]\nMine.\n[ADVISOR: Other]\nTheirs.",
            },
            "Mine.",
        ),
        ({"type": "assistant", "content": "[ADVISOR: Other]\nTheirs."}, None),
        ({"type": "assistant", "content": "One voice."}, "One voice."),
        ({"type": "advisor_json", "content": json.dumps(COUNCIL)}, "Mine in JSON."),
        (
            {"type": "advisor_json", "content": f"```json\n{json.dumps(COUNCIL)}\n```"},
            "Mine in JSON.",
        ),
        ({"type": "assistant", "content": json.dumps(COUNCIL)}, "Mine in JSON."),
        ({"type": "advisor_json", "content": json.dumps(COUNCIL)[:-40]}, None),
        (
            {"type": "advisor_json", "content": "…", "parsedAdvisors": COUNCIL},
            "Mine in JSON.",
        ),
        ({"type": "advisor_response", "name": "Other", "content": "Theirs."}, None),
        (
            {
                "type": "parallel_advisor_response",
                "advisorResponses": {"b": {"name": "Other", "content": "Theirs."}},
            },
            None,
        ),
    ],
)
async def test_of_several_voices_only_its_own_is_replayed(
    home: App, message: dict[str, Any], own: str | None
) -> None:
    before = {"type": "user", "content": "Hello."}
    messages = await replayed(home, record(f"You are. {MAPPER}", before, message))
    said = [entry["content"] for entry in messages if entry["role"] == "assistant"]
    assert said == ([] if own is None else [own])
    assert not any("Theirs" in entry["content"] for entry in messages)


async def test_nothing_after_the_answer_is_replayed_whatever_its_shape(home: App) -> None:
    answers = [
        {"name": "Map Maker", "response": "Where the river bends."},
        {"name": "Other", "response": "Theirs."},
    ]
    data = record(
        MAPPER,
        {"type": "user", "content": "First?"},
        {"type": "advisor_json", "content": json.dumps({"advisors": answers})},
    )
    messages = await replayed(home, data)
    assert [entry["content"] for entry in messages[1:]] == ["First?"]


@pytest.mark.parametrize(
    ("system", "around"),
    [
        (f"Map Maker: {MAPPER} Answer in one line.", "Map Maker: … Answer in one line."),
        ("You are Map Maker, a poet. Be brief.", "You are Map Maker.\n\n…\n\nBe brief."),
        ("Answer in one line.", "You are Map Maker.\n\n…\n\nAnswer in one line."),
    ],
)
async def test_its_prompt_is_improved_and_the_rewriter_sees_what_stands_around_it(
    home: App, system: str, around: str
) -> None:
    home.provider.script("judge", Script(judges=True, fails=("water",)))
    new = {"reason": "So.", "instructions": f"{MAPPER} Speak of water."}
    home.provider.script("writer", Script(pieces=(json.dumps(new),)))
    taken = await home.post("/api/assertions/import", {"content": json.dumps(record(system))})
    assert taken.status == 200, taken.text
    wish = {"advisor_id": "map-maker", "iterations": 1}
    run = await home.make("/api/optimizations", wish)
    await home.polyvox.worker.run_due(["optimisation"])
    told = (await home.get(f"/api/optimizations/{run['id']}")).json()
    assert [attempt["state"] for attempt in told["attempts"]] == ["scored"], told
    (call,) = [call for call in home.provider.log if call.model == "writer"]
    asked = json.loads(json.loads(call.body)["messages"][-1]["content"])
    assert (asked["instructions"], asked["around"]) == (MAPPER, [around])
    tried = [
        json.loads(call.body)["messages"] for call in home.provider.log if call.model == "calm"
    ]
    assert tried[-1][0]["content"] == around.replace("…", new["instructions"])
