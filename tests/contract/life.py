"""A small life with Polyvox, through its HTTP door: what `golden` and `stored` were made of.

Two advisors on both wires talk over four turns, with everything that a person can do to a turn; the
session ends and is remembered; a day later a council and a companion are told of it; answers are
asserted, judged, overruled; a prompt is improved. The clock stands still but for steps of a minute,
so that every request is the same on every day.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.app import App, serve, settings_for
from tests.provider import Logged, ProviderServer, Script

NOON = 1_761_825_600_000_000  # 2025-10-30 12:00 UTC
MINUTE = 60_000_000
DAY = 24 * 60 * MINUTE
MODELS = {
    "default": "lab:talker",
    "gate": "lab:gate",
    "memory": "lab:notes",
    "judge": "lab:judge",
    "optimizer": "lab:writer",
    "synthesis": "lab:synthesis",
}
READING: dict[str, Any] = {
    "action": "memory_query", "confidence": 0.9, "explicit": True, "direct_request": True,
    "urgent": False, "intent": "companion", "posture": "COMPANION", "pressure": "MED",
    "posture_confidence": 0.0, "topic_shift": False, "explicit_shift": False, "mood": "",
    "energy": "", "tone": "", "risk": "LOW", "avoidance": False, "asks_about_style": False,
    "correction": False, "dismissal": False, "conflict": False, "story_worth_exploring": False,
    "entities": ["Marta"], "topics": ["workshop"],
}  # fmt: skip
NOTES: dict[str, Any] = {
    "facts": [
        {"n": 0, "quote": "my sister Marta wants to sell the workshop", "subject": "Marta",
         "attribute": "wants", "text": "Marta, the sister, wants to sell the workshop."}
    ],
    "loops": [
        {"n": 1, "quote": "I will call the notary on Monday", "type": "commitment",
         "text": "Call the notary about the workshop", "horizon": "this_week", "domain": "work"}
    ],
    "profile": [
        {"n": 0, "quote": "my sister Marta", "field": "key_relationships", "item": "Marta",
         "text": "Sister; they own a workshop together."}
    ],
    "instructions": [{"n": 2, "quote": "Please never use bullet points", "text": "No bullets."}],
    "summary": "They spoke of the workshop that Marta wants to sell.",
    "themes": ["the workshop"], "scores": {"mood": 5}, "confidence": 0.9,
    "steering_note": "Ask about the notary.",
}  # fmt: skip
SAID = (
    "Well, my sister Marta wants to sell the workshop. What am I not seeing?",
    "There are two employees, and no debts. I will call the notary on Monday.",
    "Please never use bullet points. What would our father have said?",
    "And if I bought her half?",
)


@dataclass
class Life:
    """The app, its clock, and the ids of what happened, by name."""

    app: App
    clock: list[int]
    ids: dict[str, str] = field(default_factory=dict)
    asked: dict[str, Logged] = field(default_factory=dict)
    """Requests that a model got, by name."""

    async def later(self, micros: int = MINUTE) -> None:
        """Let some time pass, and have done what is due."""
        self.clock[0] += micros
        await self.app.polyvox.worker.run_due()

    def keep(self, name: str, model: str) -> None:
        """Remember the last request for a model."""
        self.asked[name] = self.app.provider.requests(model)[-1]

    async def turn(self, conversation: str, text: str) -> Any:
        """Say something; everything ends."""
        turn = await self.app.say(conversation, text)
        self.clock[0] += MINUTE
        return turn

    async def ended(self, answer_id: str) -> Any:
        """An answer once it has ended."""
        while (answer := await self.app.answer(answer_id))["state"] in ("pending", "streaming"):
            pass
        self.clock[0] += MINUTE
        return answer

    async def talk(self) -> None:
        """Four turns of a council and everything that can be done to them."""
        app, provider = self.app, self.app.provider
        provider.script("ann", Script(text="Ann asks what the workshop is worth."))
        provider.script("ben", Script(text="Ben would wait for the notary.", thinking="Hm."))
        provider.script("synthesis", Script(text="Both ask for a figure."))
        ann = await app.make("/api/advisors", {
            "name": "Ann", "description": "Ann looks at figures.", "model": "lab:ann",
            "prompt": "You are Ann. You look at figures first.", "color": "#7a3b12",
        })  # fmt: skip
        ben = await app.make("/api/advisors", {
            "name": "Ben", "description": "Ben is patient.", "model": "claude:ben",
        })  # fmt: skip
        council = await app.council(ann, ben, name="The two")
        talk = await app.conversation(ann, ben, title="The workshop")
        self.ids |= {"ann": ann["id"], "ben": ben["id"], "council": council["id"], "talk": talk}
        for number, text in enumerate(SAID, 1):
            provider.queue("ann", Script(text=f"Ann asks for figure {number}."))
            turn = await self.turn(talk, text)
            self.ids[f"turn_{number}"] = turn["turn_id"]
            for answer, name in zip(turn["answers"], ("ann", "ben"), strict=True):
                self.ids[f"{name}_{number}"] = answer["answer_id"]
            if number in (1, 2, 4):
                self.keep(f"council_turn_{number}_openai", "ann")
                self.keep(f"council_turn_{number}_anthropic", "ben")
        made = await app.make(f"/api/turns/{self.ids['turn_2']}/synthesize", {})
        await self.ended(made["answer_id"])
        self.ids["synthesis"] = made["answer_id"]
        self.keep("synthesis", "synthesis")
        before = len(provider.requests("ann"))
        begun = await app.make(f"/api/turns/{self.ids['turn_4']}/exchange", {"rounds": 1})
        await app.ended(talk, begun["turn_id"])
        for answer in begun["answers"]:
            await self.ended(answer["answer_id"])
        assert len(provider.requests("ann")) > before
        self.keep("exchange_openai", "ann")
        self.keep("exchange_anthropic", "ben")
        self.ids["exchange"] = begun["turn_id"]

    async def change(self) -> None:
        """A retry, a new version, an exclusion and a branch."""
        app, provider = self.app, self.app.provider
        ids = self.ids
        await self.ended(
            (await app.make(f"/api/answers/{ids['ann_4']}/regenerate", {}))["answer_id"]
        )
        await app.post(f"/api/answers/{ids['ben_3']}/exclude")
        provider.queue("ann", Script(status=500, error="Out of order."))
        turn = await self.turn(ids["talk"], "What is the first step?")
        ids["failed"] = turn["answers"][0]["answer_id"]
        view = (await app.get(f"/api/conversations/{ids['talk']}")).json()
        message = view["messages"][2]["id"]
        edited = await app.patch(f"/api/messages/{message}", {"content": "What would he say?"})
        assert edited.status == 200, edited.text
        await app.ended(ids["talk"], edited.json()["turn"]["turn_id"])
        ids["branch"] = edited.json()["turn"]["turn_id"]
        self.keep("branch_openai", "ann")
        self.clock[0] += MINUTE

    async def remember(self) -> None:
        """The session ends; a day later, two conversations are told of it."""
        app, provider = self.app, self.app.provider
        provider.script("notes", Script(pieces=(json.dumps(NOTES),)))
        provider.script("gate", Script(text=json.dumps(READING)))
        provider.script("talker", Script(text="You told me of the workshop."))
        (session,) = (await app.get(f"/api/sessions?conversation={self.ids['talk']}")).json()
        self.ids["session"] = session["id"]
        await app.post(f"/api/sessions/{session['id']}/end")
        await self.later()
        await self.later(DAY)
        (fact, *_) = (await app.get("/api/memory/facts")).json()
        self.ids["fact"] = fact["id"]
        await app.patch(f"/api/memory/facts/{fact['id']}", {"pinned": True})
        for number, text in enumerate(("Good morning.", "What did Marta want with the workshop?")):
            told = await app.post("/api/chat", {"personaId": "harbor", "text": text})
            assert told.status == 200, told.text
            self.keep(f"companion_turn_{number + 1}", "talker")
            self.ids[f"told_{number + 1}"] = told.json()["requestId"]
            self.clock[0] += MINUTE
        trace = (await app.get(f"/api/turns/{self.ids['told_2']}/trace")).json()
        self.ids |= {"companion": trace["conversation_id"], "echo": trace["answer_id"]}
        ann = {"id": self.ids["ann"]}
        there = await app.conversation(ann, title="The day after")
        turn = await self.turn(there, "What about Marta and the workshop?")
        self.keep("council_remembering", "ann")
        self.ids |= {"after": there, "after_turn": turn["turn_id"]}

    async def measure(self) -> None:
        """Assertions, a judgement that is overruled, a run, a better prompt."""
        app, provider = self.app, self.app.provider
        provider.made("ann", _answers)
        provider.made("judge", _judges)
        provider.made("writer", _writes)
        texts = ["It speaks of the moon.", "It speaks of money."]
        made = await app.make("/api/assertions", {"answer_id": self.ids["ann_1"], "texts": texts})
        listed = (await app.get(f"/api/advisors/{self.ids['ann']}/assertions")).json()["items"]
        assert made
        self.ids["assertion"] = listed[0]["id"]
        judged = await self.run("evaluations", {"answer_id": self.ids["ann_1"], "mode": "judge"})
        verdict = judged["verdicts"][0]["id"]
        await app.post(f"/api/verdicts/{verdict}/overrule", {"outcome": "pass"})
        wish = {"advisor_id": self.ids["ann"], "repeat": 2, "early": False}
        run = await self.run("evaluations", wish)
        await app.post(f"/api/evaluations/{run['id']}/bless", {"blessed": True})
        wish = {"advisor_id": self.ids["ann"], "iterations": 2}
        better = await self.run("optimizations", wish)
        await app.post(f"/api/optimizations/{better['id']}/accept", {})
        self.ids |= {"judged": judged["id"], "run": run["id"], "better": better["id"]}

    async def whole(self) -> None:
        """All of it."""
        await self.talk()
        await self.change()
        await self.remember()
        await self.measure()
        await self.settle()

    async def run(self, what: str, wish: dict[str, Any]) -> Any:
        """A whole evaluation or optimisation."""
        made = await self.app.make(f"/api/{what}", wish)
        await self.later()
        run = (await self.app.get(f"/api/{what}/{made['id']}")).json()
        assert run["state"] == "finished", run
        return run

    async def settle(self) -> None:
        """Change a recipe, and have all work done."""
        change = {"stamps": "history", "count_turns": True}
        reply = await self.app.patch("/api/recipes/council", change)
        assert reply.status == 200, reply.text
        await self.later()


def _answers(body: Any) -> Script:
    moon = "Speak of the moon" in json.dumps(body["messages"])
    return Script(text="The moon is out." if moon else "There is money in it.")


def _judges(body: Any) -> Script:
    asked = json.loads(body["messages"][-1]["content"])
    rows = []
    for assertion in asked["assertions"]:
        holds = assertion["text"].rstrip(".").split()[-1] in asked["answer"]
        rows.append({
            "id": assertion["id"], "reason": f"So the assertion {'holds' if holds else 'fails'}.",
            "verdict": "pass" if holds else "fail",
        })  # fmt: skip
    return Script(text=json.dumps({"verdicts": rows}))


def _writes(body: Any) -> Script:
    asked = next(
        json.loads(message["content"])
        for message in body["messages"]
        if message["content"].startswith('{"advisor"')
    )
    made = {"reason": "So.", "instructions": f"{asked['instructions']} Speak of the moon."}
    return Script(pieces=(json.dumps(made),))


ROUTES = (
    "/api/advisors", "/api/advisors/{ann}", "/api/advisors/{ann}/versions", "/api/councils",
    "/api/councils/{council}", "/api/assertions/kinds", "/api/assertions/{assertion}",
    "/api/assertions/{assertion}/history", "/api/advisors/{ann}/assertions",
    "/api/answers/{ann_1}/assertions", "/api/conversations/{talk}/asserted", "/api/usage",
    "/api/search?q=workshop", "/api/turns/{told_1}/trace", "/api/turns/{told_2}/trace",
    "/api/turns/{after_turn}/trace", "/api/conversations", "/api/conversations/{talk}",
    "/api/conversations/{companion}", "/api/conversations/{after}",
    "/api/conversations/{talk}/export?format=markdown",
    "/api/conversations/{talk}/export?format=jsonl",
    "/api/conversations/{talk}/events?after=0&live=false",
    "/api/conversations/{companion}/events?after=0&live=false",
    "/api/evaluations", "/api/evaluations/{judged}", "/api/evaluations/{run}",
    "/api/answers/{ann_1}/verdicts", "/api/assertions/{assertion}/verdicts", "/api/agreement",
    "/api/advisors/{ann}/passrates", "/api/optimizations", "/api/optimizations/{better}",
    "/api/memory/search?q=workshop", "/api/memory/facts", "/api/memory/facts/{fact}",
    "/api/memory/facts/{fact}/forget", "/api/memory/loops", "/api/memory/profile",
    "/api/memory/summaries", "/api/memory/overview", "/api/memory/items",
    "/api/memory/places?at={session}%230", "/api/memory/days", "/api/memory/export",
    "/memory/loops?tenantId=polyvox&userId=local", "/user/model?tenantId=polyvox&userId=local",
    "/analysis/daily?tenantId=polyvox&userId=local",
    "/session/brief?tenantId=polyvox&userId=local",
    "/session/startbrief?tenantId=polyvox&userId=local",
    "/api/personas", "/api/recipes", "/api/recipes/council", "/api/sessions",
    "/api/sessions/{session}", "/api/sessions/{session}/turns", "/api/jobs",
    "/api/answers/{ann_1}", "/api/answers/{ann_4}", "/api/answers/{failed}",
    "/api/answers/{ann_1}/receipt", "/api/answers/{ann_4}/receipt", "/api/answers/{echo}/receipt",
    "/api/answers/{synthesis}/receipt", "/v1/models",
)  # fmt: skip
"""Everything that can be read of that life."""


async def read(app: App, ids: Mapping[str, str]) -> dict[str, Any]:
    """What every one of these routes answers."""
    answers: dict[str, Any] = {}
    for route in ROUTES:
        reply = await app.get(route.format(**ids))
        plain = reply.text.replace(app.provider.base_url, "PROVIDER")
        kind = reply.headers["Content-Type"].partition(";")[0]
        body = json.loads(plain) if kind == "application/json" else plain.split("\n")
        answers[route] = {"status": reply.status, "type": kind, "body": body}
    return answers


@asynccontextmanager
async def open_life(home: Path, at: int = NOON) -> AsyncIterator[Life]:
    """The app of that life, at a time."""
    clock = [at]
    async with ProviderServer() as provider:
        settings = settings_for(home, provider, models=MODELS, timezone="UTC")
        async with serve(settings, provider, clock=lambda: clock[0]) as app:
            yield Life(app, clock)
