"""What a session is told at once, apart from what is told only where it comes up: the strip says
which is which, and the provider's log shows it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.companion.lounge import Lounge, Told, open_lounge, reading_text
from tests.companion.situations import FULL, LONG, NOON
from tests.provider import Script

from polyvox.memory import profile
from polyvox.memory.remembering import Start
from polyvox.memory.tables import statements
from polyvox.memory.tables.statements import Kind, Plan, Statement
from polyvox.memory.transcript import ingest
from polyvox.memory.values import Message, Partition
from polyvox.session.preview import strip
from polyvox.values import Scope

ME = Scope()
OWN = Partition.own(ME)
ROOF = "I have to fix the roof of the shed this week."
LISTS = "Please never use bullet points"
NAME = "Call me Ines"
HAND = {
    "current_focus": "the bakery",
    "work_context": "runs a mill",
    "north_star": {"general": "a house by the sea", "work": "to write one book"},
    "preferences": {"tone": "dry and short"},
    "patterns": ["puts off calls"],
    "key_relationships": [{"name": "Marta", "text": "her sister"}],
}
ALWAYS = ["the bakery", "runs a mill", "a house by the sea", "dry and short"]
LATER = ["to write one book", "puts off calls", "her sister"]


small = pytest.mark.parametrize("lounge", ["compact"], indirect=True)


@pytest.fixture(name="lounge", params=["full"])
async def lived_in(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Lounge]:
    """A day after a session, with a profile that was written by hand since."""
    known = {"lab:talker": {"prompts": request.param}}
    models = {"memory": "", "default": "lab:talker", "known": known}
    async with open_lounge(tmp_path, models=models) as lounge:
        polyvox = lounge.house.polyvox
        polyvox.services.choose()
        lounge.house.provider.script("gate", Script(text=reading_text({})))
        lounge.house.provider.script("talker", Script(text="I see."))
        lounge.set(NOON - timedelta(days=1))
        now = lounge.clock[0]
        words = ["It rained on the hills.", f"{LISTS}. {NAME}.", ROOF]
        messages = [Message("user", text, now + at) for at, text in enumerate(words)]
        await polyvox.database.write(
            lambda tx: ingest(tx, OWN, "before", None, now, now + 9, messages), ME
        )
        noted = [
            statement("instruction", 1, LISTS, now),
            statement("profile", 1, "bullet points", now, "preferences.avoid", quote=LISTS),
            statement("profile", 1, "Ines", now, "name", quote=NAME),
            statement("loop", 2, "Fix the roof of the shed", now, quote=ROOF, plan=Plan()),
        ]
        await polyvox.database.write(lambda tx: statements.add(tx, OWN, noted), ME)
        await polyvox.database.write(lambda tx: profile.patch(tx, OWN, HAND, now), ME)
        lounge.set(NOON)
        yield lounge


def statement(
    kind: Kind, index: int, text: str, now: int, attribute: str = "", **more: Any
) -> Statement:
    given = {"session_id": "before", "message_index": index, "role": "user", "quote": text}
    return Statement(text, kind, "", attribute, text, now + index, **{**given, **more})


async def look(lounge: Lounge, query: str) -> Any:
    return (await lounge.house.get(f"/api/memory/start?{query}")).json()


def texts(start: Any, when: str, kind: str = "") -> str:
    """What is told then, of one kind or of all."""
    found = [o for o in start["items"] if o["when"] == when and kind in ("", o["kind"])]
    return "\n".join(one["text"] for one in found)


def named(start: Any, words: str) -> str:
    (item,) = {one["id"] for one in start["items"] if words in one["text"]}
    return str(item)


def heard(lounge: Lounge) -> str:
    messages = lounge.house.provider.requests("talker")[-1].json()["messages"]
    return "\n".join(one["content"] for one in messages if one["role"] == "system")


async def asked(lounge: Lounge, text: str, veto: list[str] | None = None) -> tuple[str, str]:
    """A council's first message: the conversation, and what the advisor was told."""
    talk = await lounge.house.conversation(await lounge.house.advisor("lab:talker"))
    body = {"content": text, "veto": veto or []}
    reply = await lounge.house.post(f"/api/conversations/{talk}/turns", body)
    await lounge.house.ended(talk, reply.json()["turn_id"])
    return talk, heard(lounge)


async def test_a_council_is_told_at_once_what_the_strip_says(lounge: Lounge) -> None:
    start = await look(lounge, "recipe=council")
    whens = [one["when"] for one in start["items"]]
    assert whens == sorted(whens, key=["start", "later"].index), "what is told now comes first"
    now, later = texts(start, "start"), texts(start, "later")
    assert [one for one in (*ALWAYS, LISTS, NAME) if one not in now] == []
    assert texts(start, "start", "loop") == ""
    assert "roof" in texts(start, "later", "loop")
    assert [one for one in LATER if one in now or one not in later] == []

    talk, told = await asked(lounge, "What shall I cook?")
    word_by_word = [texts(start, "start", kind) for kind in ("handover", "instruction")]
    each = [*"\n".join(word_by_word).split("\n"), *ALWAYS]
    assert [one for one in each if one not in told] == []
    assert [one for one in LATER if one in told] == []
    running = await look(lounge, f"conversation={talk}")
    assert (running["session"], running["items"]) == ("running", start["items"])
    _, told = await asked(lounge, "What would Marta cook?")
    assert "her sister" in told, "it came up"


async def test_a_vetoed_line_keeps_its_place(lounge: Lounge) -> None:
    start = await look(lounge, "recipe=council")
    veto = [named(start, "the bakery"), named(start, "her sister"), named(start, "by the sea")]
    talk, told = await asked(lounge, "What would Marta cook?", veto)
    assert [one for one in ("the bakery", "her sister", "by the sea") if one in told] == []
    assert "to write one book" in told, "the next aim takes its place"
    running = await look(lounge, f"conversation={talk}")
    out = {one["text"]: one["when"] for one in running["items"] if one["vetoed"]}
    assert out == {
        "In focus: the bakery": "start",
        "Long term: a house by the sea": "start",
        "Marta: her sister": "later",
    }
    assert "to write one book" in texts(running, "start")


async def test_a_companion_is_told_the_profile_only_where_it_comes_up(lounge: Lounge) -> None:
    start = await look(lounge, "recipe=companion")
    assert texts(start, "start", "profile") == ""
    assert [one for one in (*ALWAYS, *LATER) if one not in texts(start, "later", "profile")] == []
    assert texts(start, "start", "handover")
    assert LISTS in texts(start, "start", "instruction")
    persona = await lounge.house.advisor("lab:talker")
    reply = await lounge.say(persona, "What shall I cook?")
    told = "\n".join(reply.system)
    assert texts(start, "start", "handover") in told
    assert LISTS in told
    assert [one for one in (*ALWAYS, *LATER) if one in told] == []


@pytest.mark.parametrize("recipe", ["council", "companion"])
async def test_without_looking_things_up_less_can_come_up(lounge: Lounge, recipe: str) -> None:
    off = {"memory.recall": "off"}
    assert (await lounge.house.patch("/api/settings", off)).status == 200
    start = await look(lounge, f"recipe={recipe}")
    assert start["recall"] == "off"
    both = texts(start, "later", "profile")
    assert "her sister" in both
    assert "to write one book" not in both, "nobody is told of it"
    assert ("puts off calls" in both) == (recipe == "companion")


@small
async def test_small_models_are_told_little(lounge: Lounge) -> None:
    long = [f"Always answer in rhyme {number}, and in the voice of a gull." for number in range(6)]
    polyvox = lounge.house.polyvox
    await polyvox.database.write(
        lambda tx: profile.patch(tx, OWN, {"instructions": long}, lounge.clock[0]), ME
    )
    start = await look(lounge, "recipe=council")
    assert texts(start, "start", "profile") == ""
    wishes = [one for one in start["items"] if one["kind"] == "instruction"]
    assert {one["when"] for one in wishes} == {"start", "later"}, "too much for it"
    _, told = await asked(lounge, "What shall I cook?")
    assert [one for one in wishes if (one["text"] in told) != (one["when"] == "start")] == []
    assert [one for one in (*ALWAYS, *LATER) if one in told] == []


async def test_what_was_said_elsewhere_is_called_so(lounge: Lounge) -> None:
    talk, _ = await asked(lounge, "I will paint the fence tomorrow.")
    (session,) = (await lounge.house.get(f"/api/sessions?conversation={talk}")).json()
    await lounge.house.post(f"/api/sessions/{session['id']}/end")
    await lounge.house.polyvox.worker.run_due()
    sources = [one["source"] for one in (await look(lounge, "recipe=council"))["items"]]
    here = {one["session_id"]: one["elsewhere"] for one in sources}
    assert here == {"before": True, session["id"]: False, None: False}


@dataclass
class Asked(Told):
    """A memory that notes whether what it tells may leave this machine."""

    away: list[bool] = field(default_factory=list)

    async def start(self, *args: Any, cloud: bool, **more: Any) -> Start:
        self.away.append(cloud)
        return await super().start(*args, cloud=cloud, **more)


@pytest.mark.parametrize(("gate", "away"), [("lab:gate", False), ("far:gate", True)])
async def test_a_gate_elsewhere_reads_what_was_answered(
    tmp_path: Path, gate: str, away: bool
) -> None:
    """So what is never to leave this machine is told to no companion that has one, though its own
    model is here. An estimate asks no gate, and tells what would be told."""
    far = {"far": {"base_url": "http://models.example/v1", "api_key": "k"}}
    async with open_lounge(tmp_path, models={"gate": gate}, providers=far) as lounge:
        memory = Asked(FULL)
        lounge.remember(memory)
        persona = await lounge.house.advisor("lab:talker")
        alone = await lounge.house.conversation(persona, recipe="companion")
        council = await lounge.house.conversation(persona)
        for talk in (alone, council):
            path = f"/api/conversations/{talk}"
            assert (await lounge.house.post(f"{path}/estimate", {"content": LONG})).status == 200
            recipe = "companion" if talk == alone else "council"
            polyvox = lounge.house.polyvox
            await strip(polyvox.resources, polyvox.services.current, ME, recipe, talk)
        assert memory.away == [away, away, False, False], "a council has no gate"
