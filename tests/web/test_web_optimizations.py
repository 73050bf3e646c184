"""Optimisations over HTTP: estimate, begin, follow, decide."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.evaluation.workshop import PROMPT, answers, judges, last_of
from tests.provider import Script
from tests.web.house import House, open_house

pytestmark = pytest.mark.contract

MODELS: dict[str, Any] = {
    "models": {"default": "lab:ann", "judge": "lab:judge", "optimizer": "lab:writer"}
}
KIND = "optimisation"


def writes(body: Any) -> Script:
    asked = last_of(body)
    made = {"reason": "So.", "instructions": f"{asked['instructions']} Speak of the moon."}
    return Script(text=msgspec.json.encode(made).decode())


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path, **MODELS) as found:
        for name, maker in (("ann", answers), ("judge", judges), ("writer", writes)):
            found.provider.made(name, maker)
        yield found


async def advised(house: House) -> tuple[Any, str]:
    """An advisor with one assertion drawn from an answer; its id."""
    advisor = await house.make(
        "/api/advisors", {"name": "Ann", "description": "Ann.", "prompt": PROMPT}
    )
    conversation = await house.conversation(advisor)
    turn = await house.say(conversation, "What about it?")
    made = await house.make(
        "/api/assertions",
        {"answer_id": turn["answers"][0]["answer_id"], "texts": ["It speaks of the moon."]},
    )
    return advisor, made["items"][0]["id"] if "items" in made else made["assertions"][0]["id"]


async def ended(house: House, run: Any) -> Any:
    await house.polyvox.worker.run_due([KIND])
    return (await house.get(f"/api/optimizations/{run['id']}")).json()


async def test_from_the_estimate_to_the_accepted_prompt_and_back(home: House) -> None:
    advisor, assertion = await advised(home)
    body = {"advisor_id": advisor["slug"], "assertion_ids": [assertion], "iterations": 4}
    planned = await home.post("/api/optimizations/estimate", body)
    assert planned.status == 200, planned.text
    told = planned.json()
    assert (told["assertions"], told["guards"], told["iterations"]) == (1, 0, 4)
    assert (told["judge"], told["optimizer"], told["prompt"]) == (
        "lab:judge",
        "lab:writer",
        PROMPT,
    )
    estimate = told["estimate"]
    assert estimate["calls"] == (
        estimate["advisor_calls"] + estimate["judge_calls"] + estimate["rewriter_calls"]
    )
    assert estimate["most_calls"] >= estimate["calls"] > 20
    assert estimate["cost"] is None
    assert any("price" in one for one in told["warnings"])
    assert (await home.get("/api/optimizations")).json()["items"] == []

    begun = await home.post("/api/optimizations", body)
    assert begun.status == 202
    assert (begun.json()["state"], begun.json()["acceptable"]) == ("waiting", False)
    twice = await home.post("/api/optimizations", body)
    assert twice.status == 409

    found = await ended(home, begun.json())
    assert (found["state"], found["verdict"], found["acceptable"]) == (
        "finished",
        "improved",
        True,
    )
    assert (found["iteration"], found["best"], found["best_rate"]) == (1, 1, 1.0)
    assert (found["improved"], found["assertions"], found["success"]) == (1, 1, True)
    assert found["original_prompt"] == PROMPT
    assert found["final_prompt"] == f"{PROMPT} Speak of the moon."
    assert found["diff"] == [
        {"kind": "removed", "text": PROMPT},
        {"kind": "added", "text": f"{PROMPT} Speak of the moon."},
    ]
    (row,) = found["results"]
    assert (row["text"], row["confirmed"]) == ("It speaks of the moon.", True)
    assert (row["before"]["passes"], row["after"]["passes"]) == (0, 5)
    assert row["after"]["low"] == pytest.approx(0.5655, abs=1e-3)
    assert row["answer_before"] == "There is nothing to be said."
    assert row["answer_after"] == "There is moon to be said."
    (attempt,) = found["attempts"]
    assert (attempt["number"], attempt["parent"], attempt["state"]) == (1, 0, "scored")
    assert attempt["cost"] is None
    (score,) = attempt["scores"]
    assert (score["assertion_id"], score["passes"], score["fails"]) == (assertion, 2, 0)
    assert score["context_hash"] == row["context_hash"]
    assert found["numbers"]["p_better"] < 0.05

    taken = await home.post(f"/api/optimizations/{found['id']}/accept")
    assert taken.json()["decision"] == "accepted"
    now = (await home.get(f"/api/advisors/{advisor['id']}")).json()
    assert now["prompt"] == found["final_prompt"]
    versions = (await home.get(f"/api/advisors/{advisor['id']}/versions")).json()
    assert versions[0]["id"] == taken.json()["final_version"]
    again = await home.post(f"/api/optimizations/{found['id']}/accept")
    assert again.status == 409
    back = await home.post(f"/api/optimizations/{found['id']}/rollback")
    assert back.json()["decision"] == "rolled back"
    assert (await home.get(f"/api/advisors/{advisor['id']}")).json()["prompt"] == PROMPT


async def test_reject_cancel_and_resume(home: House) -> None:
    advisor, _ = await advised(home)
    begun = (await home.post("/api/optimizations", {"advisor_id": advisor["id"]})).json()
    at = f"/api/optimizations/{begun['id']}"
    assert (await home.post(f"{at}/reject")).status == 409
    cancelled = await home.post(f"{at}/cancel")
    assert cancelled.json()["state"] == "cancelled"
    assert (await home.post(f"{at}/cancel")).status == 409
    assert (await home.post(f"{at}/resume")).status == 409
    assert (await home.post(f"{at}/reject")).json()["decision"] == "rejected"

    home.provider.made("writer", lambda _: Script(status=503, error="away"))
    other = (await home.post("/api/optimizations", {"advisor_id": advisor["id"]})).json()
    failed = await ended(home, other)
    assert failed["state"] == "failed"
    assert "The rewriter could not be asked" in failed["message"]
    home.provider.made("writer", writes)
    resumed = await home.post(f"/api/optimizations/{other['id']}/resume")
    assert resumed.json()["state"] == "waiting"
    assert (await ended(home, other))["verdict"] == "improved"

    page = (await home.get(f"/api/optimizations?advisor={advisor['slug']}&limit=1")).json()
    assert [one["id"] for one in page["items"]] == [other["id"]]
    rest = (await home.get(f"/api/optimizations?before={page['next']}")).json()
    assert [one["id"] for one in rest["items"]] == [begun["id"]]


async def test_what_cannot_be_is_told_in_the_one_shape(home: House) -> None:
    advisor, assertion = await advised(home)
    bare = await home.advisor()
    for body, status, said in (
        ({"advisor_id": "nobody"}, 404, "no advisor"),
        ({"advisor_id": bare["id"]}, 422, "no active assertion"),
        ({"advisor_id": bare["id"], "assertion_ids": [assertion]}, 422, "is about Ann"),
        ({"advisor_id": advisor["id"], "assertion_ids": ["gone"]}, 404, "no assertion"),
        ({"advisor_id": advisor["id"], "target": "phase:ongoing"}, 422, "not ongoing"),
        ({"advisor_id": advisor["id"], "budget": 1}, 422, "no budget can be kept"),
        ({"advisor_id": advisor["id"], "holdout": 0.5}, 422, "too few"),
        ({"advisor_id": advisor["id"], "engine": "magic"}, 422, "engine"),
        ({"advisor_id": advisor["id"], "iterations": 0}, 422, "iterations"),
    ):
        for path in ("/api/optimizations/estimate", "/api/optimizations"):
            answer = await home.post(path, body)
            assert answer.status == status, answer.text
            assert said in answer.text
            assert set(answer.json()) == {"error"}
    for verb in ("", "/cancel", "/reject"):
        path = f"/api/optimizations/nothing{verb}"
        answer = await (home.post(path) if verb else home.get(path))
        assert answer.status == 404


async def test_the_rewriter_sees_the_protocol_and_rules_around_the_prompt(home: House) -> None:
    advisor, assertion = await advised(home)
    replayed = home.provider.requests("ann")[-1].json()["messages"][0]["content"]
    body = {"advisor_id": advisor["slug"], "assertion_ids": [assertion], "iterations": 1}
    await ended(home, (await home.post("/api/optimizations", body)).json())
    asked = last_of(home.provider.requests("writer")[-1].json())
    assert len(asked["around"]) >= 2
    assert asked["around"][0] == "You are Ann.\n\n…"
    assert all(text.replace("…", PROMPT) in replayed for text in asked["around"])
    assert not any(PROMPT in text for text in asked["around"])
    assert any("turn 1 of 3" in text for text in asked["around"])
    home.provider.log.clear()
    home.provider.made("writer", lambda body: Script(text="{}") if body else Script())
    begun = await home.post("/api/optimizations", {**body, "target": "phase:early"})
    await ended(home, begun.json())
    asked = last_of(home.provider.requests("writer")[0].json())
    assert any(PROMPT in text for text in asked["around"])
    assert asked["instructions"] not in asked["around"]


async def test_before_it_starts_it_tells_what_can_be_seen_and_takes_more_contexts(
    home: House,
) -> None:
    advisor, assertion = await advised(home)
    texts = ["It speaks of the sea.", "It speaks of fire."]
    answer = (await home.get(f"/api/assertions/{assertion}")).json()["source"]["answer_id"]
    await home.make("/api/assertions", {"answer_id": answer, "texts": texts})
    body = {"advisor_id": advisor["slug"]}
    path = f"/api/advisors/{advisor['slug']}/assertions/contexts"

    async def seen() -> Any:
        return (await home.post("/api/optimizations/estimate", body)).json()["visible"]

    first = await seen()
    assert (first["assertions"], first["contexts"]) == (3, 1)
    assert first["message"] == (
        f"3 assertions in 1 context can show only a change of more than {first['hidden']} points;"
        f" add {first['add']} contexts to see {first['then']}."
    )
    assert 0 < first["then"] <= first["hidden"] < 30, "35 answers of each prompt are compared"
    nothing = await home.post(path, {"count": 1})
    assert (nothing.status, "other conversation" in nothing.error["message"]) == (422, True)
    for number in range(first["add"] + 1):
        talk = await home.conversation(advisor)
        await home.say(talk, f"And what about number {number}?")
    assert (await home.post(path, {"count": first["add"]})).json() == {"added": first["add"]}
    enough = await seen()
    assert (enough["add"], enough["contexts"], enough["then"]) == (
        0,
        first["add"] + 1,
        first["then"],
    )
    assert enough["message"].endswith(f"can show a change of {first['then']} points or more.")
    home.provider.log.clear()
    run = (await home.post("/api/evaluations", {"assertion_ids": [assertion]})).json()
    await home.polyvox.worker.run_due(["evaluation"])
    assert len(home.provider.requests("ann")) == enough["contexts"]
    (result,) = (await home.get(f"/api/evaluations/{run['id']}")).json()["results"]
    assert len(result["subjects"]) == enough["contexts"]
    assert (await home.delete(f"/api/assertions/{assertion}")).status == 204
    assert (await seen())["contexts"] == enough["contexts"]
