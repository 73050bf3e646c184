"""Nobody gets another's words but where they may: long random stories against the real road.

Every answer, thought, error text, synthesis, message and name is a canary of its own; what the
provider logged is searched for all of them, compared with what the specification says must be in
it, and compared byte for byte with the receipt.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.provider import ProviderServer, Script
from tests.session.room import ME, Room, open_room
from tests.session.shadow import CANARY, Sent, Shown, check, check_never, counts, expected, look

from polyvox.errors import Conflict, NotFound
from polyvox.values import SYNTHESIS_ID, Advisor, Answer, Turn

pytestmark = pytest.mark.contract


class CanaryProvider(ProviderServer):
    """Answers every request with words that nobody else ever says, in the ways it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.ways: list[str] = []
        self.numbers = itertools.count(1)

    def choose(self, model: str, data: Any = None) -> Script:
        number = next(self.numbers)
        way = self.ways.pop(0) if self.ways else "well"
        said, thought = f"text0x{number} said", f"thought0x{number} had"
        if model == "synthesis":
            return Script(text=f"- synthesis0x{number} [nobody]")
        match way:
            case "thinking":
                return Script(text=said, thinking=thought)
            case "error":
                return Script(status=500, error=f"error0x{number} happened")
            case "cut":
                return Script(text=f"{said} and more", fault="cut", after=1)
            case "empty":
                return Script(empty=True, thinking=thought)
            case "told off":
                return Script(
                    text=said, fault="error_event", after=1, error=f"error0x{number} happened"
                )
            case "held":
                return Script(text=f"{said} and more", thinking=thought, gates={1: "never"})
            case "silent":
                return Script(hold="never")
            case _:
                return Script(text=said)


WAYS = st.sampled_from(["well"] * 5 + ["thinking"] * 2 + ["error", "cut", "empty", "told off"])
NUMBER = st.integers(0, 50)
STEP = st.one_of(
    st.tuples(st.just("say"), st.lists(WAYS, min_size=4, max_size=4), NUMBER),
    st.tuples(st.just("say"), st.lists(WAYS, min_size=4, max_size=4), NUMBER),
    st.tuples(st.just("stop"), st.sampled_from(["held", "silent"]), NUMBER),
    st.tuples(st.just("retry"), WAYS, NUMBER),
    st.tuples(st.just("regenerate"), WAYS, NUMBER),
    st.tuples(st.just("edit"), WAYS, NUMBER),
    st.tuples(st.just("head"), st.none(), NUMBER),
    st.tuples(st.just("exclude answer"), st.booleans(), NUMBER),
    st.tuples(st.just("exclude message"), st.booleans(), NUMBER),
    st.tuples(st.just("rename"), st.booleans(), NUMBER),
    st.tuples(st.just("join"), st.booleans(), NUMBER),
    st.tuples(st.just("leave"), st.none(), NUMBER),
    st.tuples(st.just("exchange"), st.integers(1, 2), NUMBER),
    st.tuples(st.just("synthesize"), st.none(), NUMBER),
)


@dataclass
class Story:
    """One conversation, told step by step."""

    room: Room
    provider: CanaryProvider
    wire: str
    talk: str = ""
    council: list[Advisor] = field(default_factory=list)
    numbers: Any = field(default_factory=lambda: itertools.count(1))
    known: set[str] = field(default_factory=set)
    shown: Shown = field(default_factory=dict)
    checked: int = 0
    happened: Counter[str] = field(default_factory=Counter)

    def new(self, kind: str) -> str:
        return f"{kind}0x{next(self.numbers)}"

    async def begin(self, advisors: int) -> None:
        await self.room.nobody()
        for number in range(advisors):
            await self.join(same=number == 1)
        self.talk = await self.room.conversation(*self.council)

    async def join(self, *, same: bool) -> None:
        """One more; `same`: with the name and the model of another."""
        twin = self.council[0] if same and self.council else None
        self.council.append(
            await self.room.advisor(
                twin.name if twin else self.new("name"),
                wire=self.wire,
                model=str(twin.model) if twin else "",
                description=f"You are {self.new('role')}.",
            )
        )

    async def step(self, what: str, how: Any, number: int) -> None:
        """Do it if it can be done, let everything end, and look at all that was sent."""
        self.happened[what] += 1
        await getattr(self, what.replace(" ", "_"))(how, number)
        await self.room.settled()
        await self.verify()

    # what may happen

    async def say(self, ways: list[str], number: int) -> None:
        self.provider.ways = list(ways)
        asked = None
        if number % 3 == 0 and self.council:
            asked = [self.council[number % len(self.council)].slug]
        text = f"{self.new('message')}?"
        if asked and number % 2:
            text, asked = f"{text} @{asked[0]}", None
        await self.room.send(self.talk, text, advisors=asked)

    async def stop(self, way: str, number: int) -> None:
        if not self.council:
            return
        who = self.council[number % len(self.council)]
        before = len(self.provider.log)
        self.provider.ways = [way]
        begun = await self.room.send(self.talk, self.new("message"), advisors=[who.id])
        await self.provider.until(lambda: len(self.provider.log) > before)
        if way == "held":
            await self.room.spoken(self.talk, begun.answers[0].id)
        await self.room.polyvox.turns.stop_turn(ME, begun.turn.id)

    async def retry(self, way: str, number: int) -> None:
        await self._again(way, number, retry=True)

    async def regenerate(self, way: str, number: int) -> None:
        await self._again(way, number, retry=False)

    async def _again(self, way: str, number: int, *, retry: bool) -> None:
        answers = [a for a in (await look(self.room, self.talk)).answers if a.current]
        if retry:
            answers = [a for a in answers if a.state != "completed"]
        if answers:
            self.provider.ways = [way]
            one = answers[number % len(answers)]
            try:
                await self.room.polyvox.turns.again(ME, one.id, retry=retry)
            except NotFound:
                assert one.advisor_id not in {advisor.id for advisor in self.council}

    async def edit(self, way: str, number: int) -> None:
        if (turn := await self._turn(number)) is not None:
            self.provider.ways = [way]
            await self.room.polyvox.turns.edit_message(
                ME, turn.message_id, f"{self.new('message')} instead"
            )

    async def head(self, _: None, number: int) -> None:
        if (turn := await self._turn(number)) is not None:
            await self.room.polyvox.change_conversation(ME, self.talk, {}, turn.id)

    async def exclude_answer(self, out: bool, number: int) -> None:
        if answers := (await look(self.room, self.talk)).answers:
            one = answers[number % len(answers)]
            await self.room.polyvox.turns.exclude_answer(ME, one.id, out)

    async def exclude_message(self, out: bool, number: int) -> None:
        if (turn := await self._turn(number)) is not None:
            await self.room.polyvox.turns.exclude_message(ME, turn.message_id, out)

    async def rename(self, same: bool, number: int) -> None:
        if self.council:
            at = number % len(self.council)
            name = self.council[0].name if same else self.new("name")
            self.council[at] = await self.room.polyvox.advisors.update(
                ME, self.council[at].id, name=name
            )

    async def join_(self, same: bool) -> None:
        await self.join(same=same)
        await self._seats()

    async def leave(self, _: None, number: int) -> None:
        if len(self.council) > 1:
            gone = self.council.pop(number % len(self.council))
            await self.room.polyvox.advisors.remove(ME, gone.id)
            await self._seats()

    async def _seats(self) -> None:
        ids = [advisor.id for advisor in self.council]
        await self.room.polyvox.change_conversation(ME, self.talk, {"advisors": ids})

    async def exchange(self, rounds: int, number: int) -> None:
        if (turn := await self._turn(number)) is not None:
            self.provider.ways = ["well", "thinking", "well", "error"] if number % 4 == 0 else []
            try:
                await self.room.polyvox.turns.exchange(ME, turn.id, rounds)
            except Conflict as error:
                self.happened[error.message] += 1

    async def synthesize(self, _: None, number: int) -> None:
        if (turn := await self._turn(number)) is not None:
            try:
                await self.room.polyvox.turns.synthesize(ME, turn.id)
            except Conflict as error:
                self.happened[error.message] += 1

    async def _turn(self, number: int) -> Turn | None:
        view = await self.room.polyvox.view(ME, self.talk)
        return view.turns[number % len(view.turns)][0] if view.turns else None

    # what must hold

    async def verify(self) -> None:
        """Every request since the last look belongs to a new answer and is what it must be."""
        happened = await look(self.room, self.talk)
        new = [one for one in happened.answers if one.id not in self.known]
        self.known |= {one.id for one in new}
        bodies = Counter(request.body for request in self.provider.log[self.checked :])
        self.checked = len(self.provider.log)
        for answer in new:
            assert answer.state in ("completed", "failed", "stopped"), answer
            if not answer.attempts:
                continue
            receipt = await self.room.receipt(answer.id)
            assert receipt.verified
            assert receipt.receipt.exact
            assert receipt.body is not None
            assert bodies[receipt.body] > 0, "the receipt is what the provider received"
            bodies[receipt.body] -= 1
            sent = Sent.of(_data(receipt.body))
            if answer.advisor_id == SYNTHESIS_ID:
                self._synthesis(sent, happened.turns[answer.turn_id], happened.answers)
            else:
                want = expected(happened, answer, self.shown)
                check(sent, want, merge=self.wire == "claude")
                check_never(sent, happened, answer, self.shown)
        assert not +bodies, "somebody was asked for no answer"

    def _synthesis(self, sent: Sent, turn: Turn, answers: list[Answer]) -> None:
        spoken = [one for one in answers if one.turn_id == turn.id and counts(one)]
        *earlier, message = sent.messages
        assert all(role == "user" for role, _ in earlier)
        answered = ("text", "thought", "error")
        assert not [
            c for _, text in earlier for c in CANARY.findall(text) if c.startswith(answered)
        ]
        told = [one for one in CANARY.findall(message[1]) if one.startswith("text")]
        assert Counter(told) == Counter(c for one in spoken for c in CANARY.findall(one.text))
        assert turn.content in message[1]
        assert not [c for c in CANARY.findall(message[1]) if c.startswith(("thought", "error"))]

    async def receipts_hold(self) -> None:
        """After all that happened later, every receipt is still what was sent then."""
        logged = Counter(request.body for request in self.provider.log)
        for answer in (await look(self.room, self.talk)).answers:
            if answer.attempts:
                receipt = await self.room.receipt(answer.id)
                assert receipt.verified
                assert logged[receipt.body or b""] > 0


def _data(body: bytes) -> dict[str, Any]:
    import msgspec

    return msgspec.json.decode(body, type=dict[str, Any])


async def tell(
    wire: str, advisors: int, steps: list[tuple[str, Any, int]], database: str = ""
) -> Counter[str]:
    with tempfile.TemporaryDirectory() as home:
        async with (
            CanaryProvider() as provider,
            open_room(
                Path(home),
                provider=provider,
                models={"synthesis": "lab:synthesis"},
                database=database,
            ) as room,
        ):
            story = Story(room, provider, wire)
            await story.begin(advisors)
            for what, how, number in steps:
                if what == "join":
                    await story.join_(bool(how))
                else:
                    await story.step(what, how, number)
            await story.receipts_hold()
            return story.happened


@pytest.mark.slow
@pytest.mark.parametrize("wire", ["lab", "claude"])
@settings(
    max_examples=12,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(advisors=st.integers(2, 4), steps=st.lists(STEP, min_size=8, max_size=24))
def test_random_stories_keep_everyone_apart(
    wire: str, advisors: int, steps: list[tuple[str, Any, int]]
) -> None:
    asyncio.run(tell(wire, advisors, steps))


FULL: list[tuple[str, Any, int]] = [
    ("say", ["well", "thinking", "well", "well"], 1),
    ("say", ["error", "well", "cut", "thinking"], 1),
    ("retry", "well", 0),
    ("exchange", 2, 1),
    ("synthesize", None, 1),
    ("say", ["well", "empty", "told off", "well"], 1),
    ("stop", "held", 1),
    ("stop", "silent", 2),
    ("say", ["well"] * 4, 1),
    ("regenerate", "thinking", 2),
    ("rename", False, 0),
    ("rename", True, 1),
    ("join", True, 0),
    ("say", ["well"] * 4, 1),
    ("exclude answer", True, 3),
    ("exclude message", True, 2),
    ("say", ["thinking"] * 4, 2),
    ("edit", "well", 2),
    ("say", ["well"] * 4, 1),
    ("exchange", 1, 4),
    ("say", ["well"] * 4, 3),
    ("head", None, 1),
    ("say", ["well"] * 4, 1),
    ("exclude message", False, 2),
    ("exclude message", True, -1),
    ("say", ["well"] * 4, 1),
    ("exclude message", False, -2),
    ("leave", None, 0),
    ("say", ["well"] * 4, 1),
    ("synthesize", None, 3),
    ("say", ["well"] * 4, 2),
]


@pytest.mark.parametrize("wire", ["lab", "claude"])
async def test_one_long_story_on_each_database(wire: str, database_url: str) -> None:
    happened = await tell(wire, 3, FULL, database_url)
    assert set(happened) == {what for what, _, _ in FULL} - {"join"}, "nothing was refused"
