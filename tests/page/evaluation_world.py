"""A Polyvox whose advisors are held to assertions: what the scenes of evaluation show."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

from tests.app import serve
from tests.page.house import configuration
from tests.page.world import NOW, TEXTS, Watch, World, spoken
from tests.provider import ProviderServer, Script

from polyvox.settings import Settings

MODELS = {"empiricist": "gpt-5.5", "strategist": "gpt-5.4-nano", "listener": "gpt-5.4-mini"}
JUDGE, WRITER = "gpt-5.4", "gpt-5.3"
GIVEN = TEXTS["asserted"]


@asynccontextmanager
async def open_evaluation(home: Path) -> AsyncIterator[World]:
    """Assertions drawn from an answer, runs over two prompt versions, and a prompt that was
    improved."""
    home.mkdir(parents=True, exist_ok=True)
    async with ProviderServer() as provider:
        clock = Watch(NOW - timedelta(days=3))
        usual = configuration(
            provider.base_url,
            providers={"openai": {"base_url": provider.base_url, "api_key": "sk-0123456789abcdef"}},
            models={
                "default": "openai:gpt-5.5",
                "judge": f"openai:{JUDGE}",
                "optimizer": f"openai:{WRITER}",
            },
        )
        del usual["providers"]["lab"]
        settings = Settings.model_validate({**usual, "home": home, "timezone": "UTC"})
        async with serve(settings, provider, clock=clock) as app:
            world = World(**vars(app), watch=clock)
            await _talked(world)
            await _asserted(world)
            await _measured(world)
            await _improved(world)
            world.watch.set(NOW)
            yield world


async def _talked(world: World) -> None:
    for slug, model in MODELS.items():
        await world.patch(f"/api/advisors/{slug}", {"model": f"openai:{model}"})
        world.provider.script(model, spoken(TEXTS["hire"]["answers"][slug]))
    world.provider.made(JUDGE, _judges)
    world.provider.made(WRITER, _writes)
    await world.patch("/api/advisors/listener", {"prompt": GIVEN["prompt"]})
    there = await world.talk("asserted", "One hire this year", *MODELS)
    turn = await world.say(there, TEXTS["hire"]["question"])
    world.places["listened"] = turn["answers"][-1]["answer_id"]
    made = count()
    world.provider.made(MODELS["listener"], lambda body: spoken(_listens(body, next(made))))


async def _asserted(world: World) -> None:
    for one in GIVEN["assertions"]:
        reply = await world.post("/api/assertions", {"answer_id": world.places["listened"], **one})
        assert reply.status == 201, reply.text
    by_hand = {"advisor_id": "listener", "text": GIVEN["by_hand"], "user_input": GIVEN["asked"]}
    reply = await world.post("/api/assertions", by_hand)
    assert reply.status == 201, reply.text
    await world.patch(f"/api/assertions/{reply.json()['id']}", {"active": False})
    judged = {"answer_id": world.places["listened"], "mode": "judge"}
    await ended(world, "evaluations", judged)


async def _measured(world: World) -> None:
    """Three runs: under two texts of the prompt; the first is the measure, the last has a verdict
    that a person has overruled."""
    wish = {"advisor_id": "listener", "repeat": 5, "early": False}
    first = await ended(world, "evaluations", wish)
    await world.post(f"/api/evaluations/{first['id']}/bless", {"blessed": True})
    world.watch.set(NOW - timedelta(days=2))
    await world.patch("/api/advisors/listener", {"prompt": GIVEN["reworded"]})
    await ended(world, "evaluations", wish)
    world.watch.set(NOW - timedelta(days=1))
    last = await ended(world, "evaluations", wish)
    world.places["run"] = last["id"]
    verdicts = (await world.get(f"/api/evaluations/{last['id']}")).json()["verdicts"]
    no = next(one for one in verdicts if one["outcome"] == "fail" and one["judge"] != "code")
    await world.post(f"/api/verdicts/{no['id']}/overrule", {"outcome": "pass"})


async def _improved(world: World) -> None:
    world.watch.set(NOW - timedelta(hours=2))
    better = GIVEN["added"]
    world.provider.made(
        MODELS["listener"], lambda body: spoken(_listens(body, int(better in _told(body))))
    )
    wish = {"advisor_id": "listener", "iterations": 4, "budget": 2.0}
    run = await ended(world, "optimizations", wish)
    assert run["verdict"] == "improved", run
    world.places["improved"] = run["id"]


async def ended(world: World, what: str, wish: dict[str, Any]) -> dict[str, Any]:
    """Begin a run and have it done."""
    reply = await world.post(f"/api/{what}", wish)
    assert reply.status == 202, reply.text
    await world.polyvox.worker.run_due()
    run: dict[str, Any] = (await world.get(f"/api/{what}/{reply.json()['id']}")).json()
    assert run["state"] == "finished", run
    return run


def _listens(body: Any, made: int) -> str:
    """Two ways to answer; a question at the end once the prompt asks for one."""
    told = _told(body)
    text: str = GIVEN["answers"][made % 2 if GIVEN["reworded"][-40:] in told else 0]
    return f"{text} {GIVEN['closing']}" if GIVEN["added"] in told else text


def _told(body: Any) -> str:
    return str(body["messages"][0]["content"])


def _judges(body: Any) -> Script:
    """The reasons are written; what holds is decided by the words of the assertion."""
    question = json.loads(body["messages"][-1]["content"])
    if "notes" in question:
        return _meant(question["notes"])
    asked = question["assertions"]
    if "answer" not in question:
        return _linted(asked)
    known = {one["text"]: one for one in GIVEN["verdicts"]}
    said = [{"id": one["id"], **_said(known.get(one["text"]))} for one in asked]
    return Script(text=json.dumps({"verdicts": said}))


def _meant(notes: list[Any]) -> Script:
    """What reasons mean: what was said with them."""
    known = {one["reason"]: one["verdict"] for one in GIVEN["verdicts"]}
    rows = [{"id": row["id"], "meaning": known.get(row["reason"], "pass")} for row in notes]
    return Script(text=json.dumps({"meanings": rows}))


def _linted(asked: list[Any]) -> Script:
    """A second opinion: an “and” makes two, “at most 60 words” is a check."""
    items = []
    for row in asked:
        parts = [part.capitalize() for part in row["text"].split(" and ")]
        two = {"rule": "compound", "message": "One can hold without the other.", "split": parts}
        check = {"kind": "words", "max": 60} if "60 words" in row["text"] else None
        findings = [two] if len(parts) > 1 else []
        items.append({"id": row["id"], "findings": findings, "check": check})
    return Script(text=json.dumps({"items": items}))


def _said(known: dict[str, str] | None) -> dict[str, str]:
    if known is None:
        return {"reason": "The answer does so.", "verdict": "pass"}
    return {"reason": known["reason"], "verdict": known["verdict"]}


def _writes(body: Any) -> Script:
    """A rewriter that asks for what is missing."""
    assert body["messages"]
    proposal = {"reason": GIVEN["why"], "instructions": f"{GIVEN['reworded']} {GIVEN['added']}"}
    return Script(text=json.dumps(proposal))
