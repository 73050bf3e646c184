"""A Polyvox that somebody has used for a while: what the scenes of `tests.page.scenes` show.

It runs in this process, at a clock of its own, so that dates and days are the same every time.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from tests.app import App, serve
from tests.companion.lounge import reading_text
from tests.page.house import COLORS, configuration
from tests.provider import ProviderServer, Script

from polyvox.memory.derive import SUMMARISE, subject_of
from polyvox.memory.values import Partition
from polyvox.settings import Settings
from polyvox.store import jobs
from polyvox.store.database import Tx
from polyvox.values import Scope

NOW = datetime(2026, 11, 15, 12, 15, tzinfo=UTC)
MODELS = {
    "empiricist": "anthropic:claude-sonnet-5-5",
    "strategist": "openai:gpt-5.5",
    "listener": "anthropic:claude-opus-5-5",
    "keeper": "gemini:gemini-3.8-flash",
    "builder": "openai:gpt-5.4-mini",
    "dissenter": "openai:gpt-5.4",
}
"""Each advisor has a model of its own, so that each can be told what to say."""
THREE = ("empiricist", "strategist", "listener")
SYNTHESIS = "anthropic:claude-haiku-5-5"
HARBOR = "anthropic:claude-opus-5-1"
GATE = "openai:gpt-5.4-nano"
NOTES = "openai:gpt-5.4-notes"
HOURS = 40_000
"""Seconds: some answers are held half-way, and the scenes they are in are looked at for long."""
TEXTS = yaml.safe_load(Path(__file__).with_name("texts.yaml").read_text(encoding="utf-8"))


class Watch:
    """A clock that is set, and goes on a little whenever it is looked at."""

    def __init__(self, at: datetime) -> None:
        self.set(at)

    def set(self, at: datetime) -> None:
        self.now = round(at.timestamp() * 1e6)

    def __call__(self) -> int:
        self.now += 430_000
        return self.now


@dataclass(kw_only=True)
class World(App):
    """The app, its clock, and the addresses of what was said in it."""

    watch: Watch
    places: dict[str, str] = field(default_factory=dict)

    async def talk(self, name: str, title: str, *slugs: str) -> str:
        """Begin a conversation with these advisors, and remember where it is."""
        known = {one["slug"]: one for one in (await self.get("/api/advisors")).json()}
        made = await self.conversation(*(known[slug] for slug in slugs), title=title)
        self.places[name] = made
        return made

    def tell(self, answers: dict[str, Script | str]) -> None:
        """What each advisor says next."""
        for slug, given in answers.items():
            script = spoken(given) if isinstance(given, str) else given
            self.provider.queue(MODELS[slug].partition(":")[2], script)

    async def until_written(self, conversation: str, *lengths: int) -> None:
        """Wait until the answers of a conversation have at least these lengths."""
        texts: list[int] = []
        while [min(a, b) for a, b in zip(texts, lengths, strict=False)] != list(lengths):
            texts = [len(text) for text in (await self.texts(conversation)).values()]


def spoken(text: str, **more: Any) -> Script:
    """A whole answer, with the tokens that a text of this length would have."""
    return Script(**{"text": text, "output_tokens": len(text) // 4, **more})


@asynccontextmanager
async def open_world(
    home: Path, *, known: bool = True, crowd: bool = False, alone: bool = False
) -> AsyncIterator[World]:
    """`known`: somebody has been here; else it is the first run, without any key. `crowd`: twenty
    advisors instead of the starter council. `alone`: somebody who talks to a companion."""
    home.mkdir(parents=True, exist_ok=True)
    async with ProviderServer() as provider:
        clock = Watch(NOW.replace(day=1))
        settings = Settings.model_validate(_settings(home, provider.base_url, known))
        async with serve(settings, provider, clock=clock) as app:
            world = World(**vars(app), watch=clock)
            if crowd:
                await _crowd(world)
            elif alone:
                await _alone(world)
            elif known:
                await _known(world)
            yield world


def _settings(home: Path, base_url: str, known: bool) -> dict[str, Any]:
    if not known:
        return {"home": home}
    here = {"base_url": base_url, "api_key": "sk-0123456789abcdef"}
    providers = {"anthropic": {"kind": "anthropic", **here}, "openai": here, "gemini": here}
    patient = dict.fromkeys(("stall", "first_byte", "deadline"), HOURS)
    usual = configuration(base_url, providers=providers, limits=patient)
    models = {
        "default": MODELS["empiricist"],
        "synthesis": SYNTHESIS,
        "gate": GATE,
        "memory": NOTES,
    }
    del usual["providers"]["lab"]
    return {**usual, "home": home, "models": models, "timezone": "UTC"}


async def _known(world: World) -> None:
    for slug, model in MODELS.items():
        await world.patch(f"/api/advisors/{slug}", {"model": model})
    await _reworded(world)
    await _earlier(world)
    world.watch.set(NOW.replace(hour=9, minute=2))
    await _long(world)
    world.watch.set(NOW.replace(hour=9, minute=40))
    await _six(world)
    world.watch.set(NOW.replace(hour=10, minute=21))
    await _failed(world)
    world.watch.set(NOW.replace(hour=11, minute=48))
    await _streaming(world)
    world.watch.set(NOW.replace(hour=12, minute=2))
    await _finished(world)


async def _reworded(world: World) -> None:
    """One advisor has been given another text, so there is a history to look at."""
    path, (old, new) = "/api/advisors/strategist", TEXTS["reworded"]
    before = (await world.get(path)).json()["description"]
    assert old in before, "the starter council says something else now"
    await world.patch(path, {"description": before.replace(old, new)})


async def _earlier(world: World) -> None:
    slugs = list(MODELS)
    for number, (days, title, question) in enumerate(TEXTS["earlier"]):
        world.watch.set(NOW.replace(day=NOW.day - days, hour=18, minute=number))
        here = (slugs[number % 6], slugs[(number + 2) % 6])
        there = await world.talk(f"before {days}", title, *here)
        for turn in range(1 + number % 3):
            tokens = {
                "input_tokens": 1900 + 613 * turn * number,
                "output_tokens": 240 + 57 * number,
            }
            answers = zip(here, TEXTS["earlier_answers"], strict=True)
            world.tell({slug: spoken(text, **tokens) for slug, text in answers})
            await world.say(there, question if turn == 0 else "And if that is not enough?")


async def _long(world: World) -> None:
    there = await world.talk("long", "How a hash table grows", "builder", "empiricist")
    world.tell(TEXTS["table"]["answers"])
    await world.say(there, TEXTS["table"]["question"])


async def _six(world: World) -> None:
    there = await world.talk("six", "The reading group", *MODELS)
    world.tell(TEXTS["reading"]["answers"])
    await world.say(there, TEXTS["reading"]["question"])


async def _failed(world: World) -> None:
    """One answered, one had no chance, one was cut off in the middle."""
    there = await world.talk("failed", "Moving the forum", "keeper", "strategist", "dissenter")
    answers = TEXTS["forum"]["answers"]
    busy = Script(status=429, retry_after="20", error="Too many requests. Try again in 20 s.")
    cut = Script(text=answers["dissenter"], fault="cut", after=len(answers["dissenter"].split(" ")))
    world.tell({"keeper": answers["keeper"], "strategist": busy, "dissenter": cut})
    await world.say(there, TEXTS["forum"]["question"])


async def _streaming(world: World) -> None:
    """Two answers that stop in the middle of a sentence, and one that is still thinking."""
    there = await world.talk("streaming", "The flat, until Friday", *THREE)
    answers = TEXTS["flat"]["answers"]
    for slug, text in answers.items():
        world.tell({slug: Script(text=f"{text} end", gates={len(text.split(" ")): "never"})})
    world.tell({"listener": Script(thinking=TEXTS["flat"]["thinking"], gates={0: "never"})})
    await world.send(there, TEXTS["flat"]["question"])
    await world.until_written(there, *map(len, answers.values()))


async def _finished(world: World) -> None:
    """Two turns; the answers of the second are brought together."""
    there = await world.talk("finished", "One hire this year", *THREE)
    world.tell(TEXTS["choir"]["answers"])
    await world.say(there, TEXTS["choir"]["question"])
    world.watch.set(NOW)
    world.tell(TEXTS["hire"]["answers"])
    turn = await world.say(there, TEXTS["hire"]["question"])
    world.provider.queue(SYNTHESIS.partition(":")[2], spoken(TEXTS["hire"]["synthesis"]))
    made = await world.make(f"/api/turns/{turn['turn_id']}/synthesize", {})
    while (await world.answer(made["answer_id"]))["state"] != "completed":
        pass


async def _alone(world: World) -> None:
    """Two sessions with a companion, one of them ended by the person, and one with a council; the
    work after one of them has failed."""
    made = await world.post("/api/personas/harbor/conversation")
    assert made.status == 200, made.text
    world.places["alone"] = there = made.json()["id"]
    await world.patch("/api/advisors/harbor", {"model": HARBOR})
    for slug in THREE:
        await world.patch(f"/api/advisors/{slug}", {"model": MODELS[slug]})
    notes = Script(text=json.dumps(TEXTS["alone"]["notes"]))
    world.provider.script(NOTES.partition(":")[2], notes)
    evening, morning = TEXTS["alone"]["evening"], TEXTS["alone"]["morning"]
    world.watch.set(NOW.replace(day=NOW.day - 1, hour=20, minute=41))
    await _exchanges(world, there, evening, {})
    (session,) = (await world.get(f"/api/sessions?conversation={there}")).json()
    await world.post(f"/api/sessions/{session['id']}/end")
    world.places["ended"] = session["id"]
    await world.polyvox.worker.run_due()
    world.watch.set(NOW.replace(hour=8, minute=2))
    council = await world.talk("council", "One hire this year", *THREE)
    world.tell(TEXTS["hire"]["answers"])
    await world.say(council, TEXTS["hire"]["question"])
    (failed,) = (await world.get(f"/api/sessions?conversation={council}")).json()
    await world.post(f"/api/sessions/{failed['id']}/end")
    await world.polyvox.worker.run_due()
    await _broken(world, failed["id"])
    world.watch.set(NOW.replace(hour=11, minute=50))
    asked = {"action": "memory_query", "confidence": 0.9, "explicit": True, "direct_request": True}
    await _exchanges(world, there, morning, asked)
    world.watch.set(NOW)


async def _exchanges(world: World, there: str, said: list[list[str]], read: dict[str, Any]) -> None:
    world.provider.script(GATE.partition(":")[2], Script(text=reading_text(read)))
    for question, answer in said:
        world.provider.queue(HARBOR.partition(":")[2], spoken(answer))
        await world.say(there, question)
        world.watch.now += 3 * 60_000_000


async def _broken(world: World, session_id: str) -> None:
    """The summary of a session could not be written."""
    subject = subject_of(Partition.own(Scope()), session_id)

    def write(tx: Tx) -> None:
        jobs.delete_about(tx, subject)
        jobs.enqueue(tx, SUMMARISE, subject, 1)
        job = jobs.claim(tx, [SUMMARISE], "nobody", 2)
        assert job is not None
        why = "openai:gpt-5.4-nano: the account has no credit left."
        jobs.fail(tx, job, "nobody", why, round(NOW.timestamp() * 1e6))

    await world.polyvox.database.write(write, Scope())


async def _crowd(world: World) -> None:
    for one in (await world.get("/api/advisors")).json():
        await world.delete(f"/api/advisors/{one['id']}")
    made = []
    for number, (name, text) in enumerate(TEXTS["town"]["answers"].items()):
        model = f"gpt-5.4-voice-{number}"
        world.provider.script(model, spoken(text))
        color = COLORS[number % len(COLORS)]
        made.append(await world.advisor(f"openai:{model}", name=name, color=color))
    world.watch.set(NOW)
    world.places["twenty"] = there = await world.conversation(*made, title="A better town")
    await world.say(there, TEXTS["town"]["question"])
