"""Evaluations and verdicts over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.provider import Script
from tests.web.house import House, open_house

pytestmark = pytest.mark.contract

JUDGE: dict[str, Any] = {"models": {"default": "lab:calm", "judge": "lab:judge"}}


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path, **JUDGE) as found:
        judging(found)
        yield found


def judging(house: House, *fails: str) -> None:
    house.provider.script("judge", Script(judges=True, fails=fails))


async def suite(house: House, *texts: str) -> tuple[Any, str, list[str]]:
    """An advisor, an answer of its, and the ids of assertions drawn from it."""
    advisor = await house.advisor(script=Script(text="It costs {n}."))
    conversation = await house.conversation(advisor)
    turn = await house.say(conversation, "How much?")
    answer = turn["answers"][0]["answer_id"]
    made = await house.post("/api/assertions", {"answer_id": answer, "texts": list(texts)})
    assert made.status == 201, made.text
    listed = (await house.get(f"/api/advisors/{advisor['id']}/assertions")).json()
    by_text = {one["text"]: one["id"] for one in listed["items"]}
    return advisor, answer, [by_text[text] for text in texts]


async def finished(house: House, made: Any) -> Any:
    """A run when it has ended."""
    async with asyncio.timeout(60):
        while True:
            told = (await house.get(f"/api/evaluations/{made['id']}")).json()
            if told["state"] not in ("waiting", "running"):
                return told
            await house.polyvox.worker.run_due(["evaluation"])


async def evaluate(house: House, **body: Any) -> Any:
    return await finished(house, await house.make("/api/evaluations", body))


async def test_a_run_from_the_wish_to_its_results(home: House) -> None:
    advisor, _, (price, kind) = await suite(home, "It names a price.", "It is kind.")
    judging(home, "kind")
    made = await home.make(
        "/api/evaluations", {"advisor_id": advisor["slug"], "repeat": 3, "early": False}
    )
    assert (made["state"], made["total"], made["done"]) == ("waiting", 6, 0)
    assert made["summary"]["rate"] is None
    told = await finished(home, made)
    assert (told["state"], told["done"], told["calls"]) == ("finished", 6, 6)
    assert told["advisor_name"] == advisor["name"]
    assert (told["judge"], len(told["judge_hash"])) == ("lab:judge", 32)
    summary = told["summary"]
    assert (summary["passed"], summary["failed"], summary["rate"]) == (1, 1, 0.5)
    assert told["cost"] is None
    results = {one["assertion_id"]: one for one in told["results"]}
    assert (results[price]["outcome"], results[price]["text"]) == ("pass", "It names a price.")
    assert (results[kind]["fails"], results[kind]["rate"]) == (3, 0.0)
    assert results[kind]["high"] == pytest.approx(0.5615, abs=1e-3)
    assert len(results[kind]["subjects"]) == 1
    first = told["verdicts"][0]
    assert first["reason"]
    assert first["sample_text"].startswith("It costs")
    bare = (await home.get(f"/api/evaluations/{made['id']}?verdicts=false")).json()
    assert bare["verdicts"] is None
    assert bare["results"]


async def test_a_stored_answer_is_judged_and_its_card_is_marked(home: House) -> None:
    _, answer, (kind,) = await suite(home, "It is kind.")
    none = (await home.get(f"/api/answers/{answer}/verdicts")).json()
    assert none == {"answer_id": answer, "state": "none", "outcome": None, "verdicts": []}
    made = await home.make("/api/evaluations", {"answer_id": answer})
    assert made["mode"] == "judge"
    assert (await home.get(f"/api/answers/{answer}/verdicts")).json()["state"] == "pending"
    await finished(home, made)
    seen = (await home.get(f"/api/answers/{answer}/verdicts")).json()
    assert (seen["state"], seen["outcome"]) == ("ready", "pass")
    assert seen["verdicts"][0]["assertion_id"] == kind
    assert (await home.get("/api/answers/nothing/verdicts")).status == 404


async def test_overrules_are_labels(home: House) -> None:
    advisor, answer, (kind,) = await suite(home, "It is kind.")
    judging(home, "kind")
    told = await evaluate(home, answer_id=answer)
    verdict = told["verdicts"][0]["id"]
    path = f"/api/verdicts/{verdict}/overrule"
    changed = (await home.post(path, {"outcome": "pass"})).json()
    assert (changed["outcome"], changed["overruled"]) == ("fail", "pass")
    again = (await home.get(f"/api/evaluations/{told['id']}")).json()
    assert again["summary"]["passed"] == 1
    agreed = (await home.get(f"/api/agreement?advisor={advisor['slug']}")).json()
    assert agreed["overall"]["n"] == agreed["overall"]["judge_fail"] == 1
    assert agreed["overall"]["tpr"] == 0.0
    assert agreed["judges"][0]["judge"] == "lab:judge"
    assert agreed["assertions"][0] == {
        "assertion_id": kind,
        "text": "It is kind.",
        "agreement": agreed["overall"],
    }
    taken_back = (await home.post(path, {"outcome": None})).json()
    assert taken_back["overruled"] is None
    assert (await home.get("/api/agreement")).json()["overall"]["n"] == 0
    assert (await home.post(path, {"outcome": "error"})).status == 422
    assert (await home.post("/api/verdicts/nothing/overrule", {"outcome": "pass"})).status == 404
    past = (await home.get(f"/api/assertions/{kind}/verdicts")).json()
    assert [one["id"] for one in past["items"]] == [verdict]
    assert (await home.get("/api/assertions/nothing/verdicts")).status == 404


async def test_a_blessed_run_and_what_broke_since(home: House) -> None:
    advisor, _, (price, kind) = await suite(home, "It names a price.", "It is kind.")
    first = await evaluate(home, advisor_id=advisor["id"])
    compare = f"/api/evaluations/{first['id']}/compare"
    assert (await home.get(compare)).status == 404
    blessed = (await home.post(f"/api/evaluations/{first['id']}/bless")).json()
    assert blessed["blessed"]
    judging(home, "kind")
    second = await evaluate(home, advisor_id=advisor["id"])
    told = (await home.get(f"/api/evaluations/{second['id']}/compare")).json()
    assert (told["base"], told["broken"], told["fixed"]) == (first["id"], 1, 0)
    assert [(one["assertion_id"], one["change"]) for one in told["changes"]] == [
        (kind, "broken"),
        (price, "same"),
    ]
    assert told["changes"][0]["text"] == "It is kind."
    named = await home.get(f"/api/evaluations/{first['id']}/compare?with={second['id']}")
    assert named.json()["fixed"] == 1
    itself = await home.get(f"/api/evaluations/{first['id']}/compare?with={first['id']}")
    assert itself.status == 422
    listed = (await home.get(f"/api/evaluations?advisor={advisor['slug']}&limit=1")).json()
    assert [one["id"] for one in listed["items"]] == [second["id"]]
    more = (await home.get(f"/api/evaluations?limit=1&before={listed['next']}")).json()
    assert [(one["id"], one["blessed"]) for one in more["items"]] == [(first["id"], True)]
    rates = (await home.get(f"/api/advisors/{advisor['slug']}/passrates")).json()["points"]
    assert [(one["passes"], one["n"], one["version_number"]) for one in rates] == [
        (2, 2, 1),
        (1, 2, 1),
    ]


async def test_calling_off_and_trying_again(home: House) -> None:
    advisor, _, _ = await suite(home, "It is kind.")
    made = await home.make("/api/evaluations", {"advisor_id": advisor["id"]})
    path = f"/api/evaluations/{made['id']}"
    off = (await home.post(f"{path}/cancel")).json()
    assert off["state"] == "cancelled"
    assert (await home.post(f"{path}/cancel")).status == 409
    assert (await home.post(f"{path}/bless")).status == 409
    again = (await home.post(f"{path}/retry")).json()
    assert again["state"] == "waiting"
    assert (await finished(home, made))["state"] == "finished"
    assert (await home.post(f"{path}/retry")).status == 409
    for verb in ("cancel", "retry"):
        assert (await home.post(f"/api/evaluations/nothing/{verb}")).status == 404


async def test_the_server_itself_works_on_it(home: House) -> None:
    """Nobody has to ask for it: a wish rings the worker, and a cancel closes the call."""
    advisor, _, _ = await suite(home, "It is kind.")
    home.polyvox.work()
    made = await home.make("/api/evaluations", {"advisor_id": advisor["id"]})

    async def ended() -> Any:
        async with asyncio.timeout(60):
            while True:
                told = (await home.get(f"/api/evaluations/{made['id']}?verdicts=false")).json()
                if told["ended_at"] is not None:
                    return told

    assert (await ended())["state"] == "finished"
    home.provider.script(advisor["model"].partition(":")[2], Script(text="a b c", gates={1: "no"}))
    before = len(home.provider.log)
    made = await home.make("/api/evaluations", {"advisor_id": advisor["id"]})
    await home.provider.arrived(before + 1)
    call = home.provider.log[-1]
    assert (await home.post(f"/api/evaluations/{made['id']}/cancel")).json()["state"] == "cancelled"
    await asyncio.wait_for(call.left.wait(), 20)


async def test_bad_wishes_say_what_to_do(home: House) -> None:
    advisor = await home.advisor()
    empty = await home.post("/api/evaluations", {"advisor_id": advisor["id"]})
    assert empty.status == 422
    assert "no active assertions" in empty.error["message"]
    assert empty.error["hint"]
    wrong: list[tuple[Any, int]] = [
        ({"advisor_id": "nobody"}, 404),
        ({"answer_id": "nothing"}, 404),
        ({"assertion_ids": ["nothing"]}, 404),
        ({"assertion_ids": []}, 422),
        ({"repeat": 0}, 422),
        ({"repeat": 51}, 422),
        ({"mode": "guess"}, 422),
        ({"answer_id": "x", "mode": "replay"}, 422),
        ({"model": "nowhere"}, 422),
        ({"surprise": 1}, 422),
        ([], 422),
    ]
    for body, status in wrong:
        reply = await home.post("/api/evaluations", body)
        assert reply.status == status, (body, reply.text)
        assert reply.error["message"]
    assert (await home.get("/api/evaluations/nothing")).status == 404
    assert (await home.get("/api/evaluations?advisor=nobody")).status == 404
    assert (await home.get("/api/evaluations?before=x")).status == 422
    assert (await home.get("/api/agreement?advisor=nobody")).status == 404
    assert (await home.get("/api/advisors/nobody/passrates")).status == 404


async def test_badges_are_a_setting_of_the_page(home: House) -> None:
    advisor, _, _ = await suite(home, "It is kind.")
    changed = await home.patch("/api/settings", {"evaluation.badges": True})
    assert changed.status == 200, changed.text
    conversation = await home.conversation(advisor)
    turn = await home.say(conversation, "And now?")
    answer = turn["answers"][0]["answer_id"]
    await home.polyvox.worker.run_due(["evaluation"])
    seen = (await home.get(f"/api/answers/{answer}/verdicts")).json()
    assert (seen["state"], seen["outcome"]) == ("ready", "pass")
    assert (await home.get("/api/evaluations")).json()["items"] == []
