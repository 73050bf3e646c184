"""With memory on, nobody gets another's words either: random stories of several sessions.

Messages and answers share topics, so that whatever is remembered of them is recalled; each is a
canary of its own. What the provider logged is searched for words of another advisor, of another
memory of the account and of another account, for thoughts, errors, syntheses, and for whatever was
excluded; and it is compared byte for byte with the receipts.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.companion.lounge import reading_text
from tests.companion.situations import ASKED
from tests.provider import Script
from tests.session.remembered import profile, remember, system_of
from tests.session.room import ME, Hand, open_room
from tests.session.shadow import CANARY, Sent, check, expected, look
from tests.session.test_session_isolation import FULL, STEP, CanaryProvider, Story

from polyvox.memory.transcript import ingest
from polyvox.memory.values import Message, Partition
from polyvox.session.lifecycle import sweep
from polyvox.values import SYNTHESIS_ID, Answer, Scope

TOPICS = (
    "zeppelin hangar ballast rigging mooring",
    "walnut orchard ladder harvest blight",
    "harbour lantern trawler anchor pilot",
    "copper kettle furnace anvil bellows",
    "violin varnish tailpiece bridge scroll",
    "glacier crevasse rucksack crampon summit",
)
_TOPIC = re.compile("|".join(TOPICS))
SECRET = re.compile(r"\b(?:partition|account)0x\d+")


class TopicProvider(CanaryProvider):
    """Answers on a topic that the person comes to later: the person's own words come first."""

    def choose(self, model: str, data: Any = None) -> Script:
        if model == "gate":
            return Script(text=reading_text(ASKED))
        script = super().choose(model, data)
        last = [str(one["content"]) for one in data["messages"] if one["role"] == "user"][-1]
        topic = _TOPIC.findall(last)
        if not script.text or not topic:
            return script
        canary, _, rest = script.text.partition(" ")
        other = TOPICS[(TOPICS.index(topic[-1]) + 3) % len(TOPICS)]
        return msgspec.structs.replace(script, text=f"{canary} on the {other} {rest}")


@dataclass
class Remembering(Story):
    """A conversation of several sessions, all of which are remembered when they end."""

    clock: Hand = field(default_factory=Hand)
    recipe: str = "council"
    recalled: Counter[str] = field(default_factory=Counter)
    asked: int = 0
    earlier: dict[str, Answer] = field(default_factory=dict)
    """What was answered in an earlier conversation, by its canaries."""

    def new(self, kind: str) -> str:
        made = super().new(kind)
        if kind != "message":
            return made
        self.asked += 1
        return f"{made} on the {TOPICS[self.asked % len(TOPICS)]}"

    async def begin(self, advisors: int) -> None:
        await super().begin(advisors)
        await self.room.polyvox.change_conversation(ME, self.talk, {"recipe": self.recipe})
        talk = await self.room.conversation(*self.council)
        for _ in TOPICS:
            await self.room.say(talk, self.new("message"))
        answers = (await look(self.room, talk)).answers
        self.earlier = {canary: one for one in answers for canary in _texts(one.text)}
        await self._home()
        self.checked = len(self.provider.log)
        await remember(self.room, "long ago", ["There was nothing else to say."])
        await profile(self.room, instructions=["Always answer briefly"], current_focus="a bakery")
        at = self.clock.now - 10**9
        for name, scope, part in (
            ("partition", ME, Partition("app", "somebody")),
            ("account", Scope("else"), Partition.own(Scope("else"))),
        ):
            said = [Message("user", f"{name}0x{n} on the {t}", at) for n, t in enumerate(TOPICS)]
            said += [Message("assistant", f"{name}0x9 {t}", at, self.council[0].id) for t in TOPICS]
            await self.room.polyvox.database.write(
                lambda tx, p=part, m=said: ingest(tx, p, "theirs", None, at, at, m),  # type: ignore[misc]  # bound now
                scope,
            )

    async def step(self, what: str, how: Any, number: int) -> None:
        await super().step(what, how, number)
        self.clock.on(minutes=2)
        if number % 2:  # everybody goes home, and what was said is remembered
            await self._home()

    async def _home(self) -> None:
        self.clock.on(minutes=30)
        await sweep(self.room.polyvox.database, self.clock, self.room.polyvox.settings)
        await self.room.polyvox.worker.run_due()

    async def verify(self) -> None:
        happened = await look(self.room, self.talk)
        new = [one for one in happened.answers if one.id not in self.known]
        self.known |= {one.id for one in new}
        some = [one for one in self.provider.log[self.checked :] if one.model != "gate"]
        bodies = Counter(request.body for request in some)
        self.checked = len(self.provider.log)
        by_canary = self.earlier | {c: one for one in happened.answers for c in _texts(one.text)}
        out = {one.id for one in happened.turns.values() if one.excluded}
        unsaid = {c for one in happened.turns.values() if one.excluded for c in _said(one.content)}
        for answer in new:
            if not answer.attempts:
                continue
            receipt = await self.room.receipt(answer.id)
            assert receipt.verified
            assert receipt.receipt.exact
            assert receipt.body is not None
            assert bodies[receipt.body] > 0, "the receipt is what the provider received"
            bodies[receipt.body] -= 1
            data = msgspec.json.decode(receipt.body, type=dict[str, Any])
            assert not SECRET.search(receipt.body.decode()), "of another memory"
            if answer.advisor_id == SYNTHESIS_ID:
                continue
            if self.recipe == "council":
                want = expected(happened, answer, self.shown)
                check(Sent.of(data), want, merge=self.wire == "claude")
            # A message that is excluded can still be answered anew: then it is what is looked up.
            asked = set(_said(happened.turns[answer.turn_id].content))
            self._memory(answer, data, by_canary, out, unsaid - asked)
        assert not +bodies, "somebody was asked for no answer"

    def _memory(
        self,
        answer: Answer,
        data: dict[str, Any],
        by_canary: dict[str, Answer],
        out: set[str],
        unsaid: set[str],
    ) -> None:
        for text in system_of(data)[1:]:
            for canary in CANARY.findall(text):
                assert not canary.startswith(("thought", "error", "synthesis")), text
                assert canary not in unsaid, "excluded"
                if canary.startswith("text"):
                    said = by_canary[canary]
                    assert said.advisor_id == answer.advisor_id, "another's words, by memory"
                    assert said.state in ("completed", "stopped")
                    assert not said.excluded
                    assert said.turn_id not in out
                self.recalled[canary[:4]] += 1


def _texts(text: str) -> list[str]:
    return [one for one in CANARY.findall(text) if one.startswith("text")]


def _said(text: str) -> list[str]:
    return [one for one in CANARY.findall(text) if one.startswith("message")]


async def tell(
    wire: str, recipe: str, advisors: int, steps: list[tuple[str, Any, int]], database: str = ""
) -> Remembering:
    clock = Hand()
    with tempfile.TemporaryDirectory() as home:
        async with (
            TopicProvider() as provider,
            open_room(
                Path(home),
                provider=provider,
                clock=clock,
                models={"default": "local:none", "synthesis": "lab:synthesis", "gate": "lab:gate"},
                recipes={"agent": {"memory": "auto"}},
                memory={"judge": advisors % 2 == 0},
                database=database,
            ) as room,
        ):
            story = Remembering(room, provider, wire, clock=clock, recipe=recipe)
            await story.begin(advisors)
            for what, how, number in steps:
                if what == "join":
                    await story.join_(bool(how))
                else:
                    await story.step(what, how, number)
            await story.receipts_hold()
            return story


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["council", "companion"])
@settings(
    max_examples=8,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(
    wire=st.sampled_from(["lab", "claude"]),
    advisors=st.integers(2, 4),
    steps=st.lists(STEP, min_size=8, max_size=20),
)
def test_random_stories_with_memory_keep_everyone_apart(
    recipe: str, wire: str, advisors: int, steps: list[tuple[str, Any, int]]
) -> None:
    asyncio.run(tell(wire, recipe, advisors, steps))


@pytest.mark.parametrize(
    "recipe",
    [
        "council",
        pytest.param("companion", marks=pytest.mark.slow),
        pytest.param("agent", marks=pytest.mark.slow),
    ],
)
async def test_one_long_story_in_which_much_is_recalled(recipe: str, database_url: str) -> None:
    wire = "claude" if recipe == "agent" else "lab"
    story = await tell(wire, recipe, 3, FULL, database_url)
    assert story.recalled["mess"] > 5, "the person's words"
    if recipe == "companion":  # a council's short look holds the person's words, which come first
        assert story.recalled["text"] > 5, "one's own answers"
