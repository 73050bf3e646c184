"""The phase that an assertion is meant for: chosen, told, replayed, and warned of."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.provider import Script
from tests.web.house import House, open_house

pytestmark = pytest.mark.contract

PATH = "/api/assertions"
EARLY = "do not give advice"
ONGOING = "Take a position"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path, models={"default": "lab:ann", "judge": "lab:judge"}) as house:
        phases = [
            {"name": "early", "answers": 3, "text": f"Listen; {EARLY}."},
            {"name": "ongoing", "text": f"{ONGOING}."},
        ]
        reply = await house.patch("/api/recipes/council", {"phases": phases})
        assert reply.status == 200, reply.text
        house.provider.script("ann", Script(text="Ann says {n}."))
        house.provider.script("judge", Script(judges=True))
        yield house


async def answered(house: House) -> tuple[Any, str]:
    advisor = await house.make("/api/advisors", {"name": "Ann", "description": "Ann."})
    talk = await house.conversation(advisor)
    turn = await house.say(talk, "Should I sell the boat?")
    return advisor, turn["answers"][0]["answer_id"]


async def replayed(house: House, *ids: str) -> list[str]:
    """The system texts that the advisor is sent in a run of these assertions."""
    before = len(house.provider.requests("ann"))
    run = (await house.post("/api/evaluations", {"assertion_ids": list(ids)})).json()
    await house.polyvox.worker.run_due(["evaluation"])
    ended = (await house.get(f"/api/evaluations/{run['id']}")).json()
    assert [row["outcome"] for row in ended["results"]] == ["pass"] * len(ids), ended
    sent = [request.json() for request in house.provider.requests("ann")[before:]]
    return [body["messages"][0]["content"] for body in sent]


async def test_by_hand_it_is_the_ongoing_phase(home: House) -> None:
    advisor, _ = await answered(home)
    body = {"advisor_id": advisor["id"], "text": "Gives advice", "user_input": "What now?"}
    made = await home.make(PATH, body)
    assert made["phase"] == "ongoing"
    (system,) = await replayed(home, made["id"])
    assert ONGOING in system
    assert EARLY not in system
    early = await home.make(PATH, {**body, "phase": "early"})
    assert (early["id"] != made["id"], early["phase"]) == (True, "early")
    both = await replayed(home, made["id"], early["id"])
    assert sorted(EARLY in system for system in both) == [False, True]


async def test_from_an_early_answer_it_is_the_one_that_is_chosen(home: House) -> None:
    advisor, answer = await answered(home)
    own = await home.make(PATH, {"answer_id": answer, "text": "Asks something"})
    meant = await home.make(PATH, {"answer_id": answer, "text": "Advises", "phase": "ongoing"})
    assert (own["phase"], meant["phase"]) == ("early", "ongoing")
    early, late = sorted(await replayed(home, own["id"], meant["id"]), key=lambda s: ONGOING in s)
    assert (EARLY in early, ONGOING in early) == (True, False)
    assert (EARLY in late, ONGOING in late) == (False, True)
    everywhere = await home.make(PATH, {"advisor_id": advisor["id"], "text": "Is kind"})
    (system,) = await replayed(home, everywhere["id"])
    assert ONGOING in system
    listed = (await home.get(f"/api/advisors/{advisor['id']}/assertions")).json()["items"]
    assert [row["phase"] for row in listed] == ["early", "ongoing", "ongoing"]


async def test_an_answer_is_judged_by_the_assertions_of_its_phase(home: House) -> None:
    advisor, answer = await answered(home)
    body = {"advisor_id": advisor["id"], "text": "Gives advice"}
    other = await home.make(PATH, body)
    alone = await home.post("/api/evaluations", {"answer_id": answer})
    assert alone.status == 422
    assert alone.error["message"] == (
        "1 assertion is not judged here: meant for another phase than 'early'."
    )
    own = await home.make(PATH, {"answer_id": answer, "text": "Asks something"})
    run = (await home.post("/api/evaluations", {"answer_id": answer})).json()
    await home.polyvox.worker.run_due(["evaluation"])
    ended = (await home.get(f"/api/evaluations/{run['id']}")).json()
    assert [row["assertion_id"] for row in ended["results"]] == [own["id"]]
    assert ended["warnings"][-1].startswith("1 assertion is not judged here")
    named = {"answer_id": answer, "assertion_ids": [other["id"]]}
    assert (await home.post("/api/evaluations", named)).status == 202


async def test_the_phase_can_be_changed_and_goes_with_the_file(home: House) -> None:
    advisor, answer = await answered(home)
    made = await home.make(PATH, {"answer_id": answer, "text": "Advises"})
    changed = (await home.patch(f"{PATH}/{made['id']}", {"phase": "ongoing"})).json()
    assert (changed["phase"], changed["version"]) == ("ongoing", 1)
    file = (await home.get(f"/api/advisors/{advisor['id']}/assertions/export")).text
    other = await home.make("/api/advisors", {"name": "Ben", "description": "Ben."})
    path = f"/api/advisors/{other['id']}/assertions"
    assert (await home.post(f"{path}/import", {"content": file})).status == 200
    assert [row["phase"] for row in (await home.get(path)).json()["items"]] == ["ongoing"]
    own = (await home.patch(f"{PATH}/{made['id']}", {"phase": None})).json()
    assert own["phase"] is None
    unknown = await home.patch(f"{PATH}/{made['id']}", {"phase": "late"})
    assert (unknown.status, unknown.error["param"]) == (422, "phase")


async def test_the_judge_is_asked_whether_it_fits_the_phase(home: House) -> None:
    _, answer = await answered(home)
    warning = {"rule": "contradictory", "message": "The early phase gives no advice."}
    opinion = {"items": [{"id": "1", "findings": [warning], "check": None}]}
    home.provider.script("judge", Script(pieces=(json.dumps(opinion),)))
    body = {"answer_id": answer, "text": "Gives advice"}
    told = (await home.post(f"{PATH}/lint", body)).json()
    assert told["items"][0]["findings"][0]["message"] == warning["message"]

    def phase() -> str:
        sent = home.provider.requests("judge")[-1].json()
        return str(json.loads(sent["messages"][-1]["content"])["phase"])

    assert EARLY in phase()
    await home.post(f"{PATH}/lint", {**body, "phase": "ongoing"})
    assert ONGOING in phase()
