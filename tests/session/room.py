"""The whole road in one process: a real app, a real database, a real provider over HTTP.

async with open_room(tmp_path) as room:
    ann = await room.advisor("Ann", Script(text="Yes."))     # with a model of her own
    talk = await room.conversation(ann)
    turn, (answer,) = await room.say(talk, "Is it so?")      # everything has ended
    room.provider.log[-1].json()                             # what was sent
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import app
from tests.app import KEY
from tests.provider import ProviderServer, Script

from polyvox.app import Polyvox
from polyvox.events import Event, Numbered, TextDelta
from polyvox.ids import Clock, system_clock
from polyvox.session.inspect import Inspected
from polyvox.settings import Settings
from polyvox.store import turns
from polyvox.store.database import Tx
from polyvox.store.turns import Begun
from polyvox.stream.hub import Batch, Listener
from polyvox.values import Advisor, Answer, Scope, Turn

ME = Scope()


def settings_for(home: Path, provider: ProviderServer, **more: Any) -> Settings:
    """As ever, with the provider once more as a priced one, `openai`."""
    at = {"base_url": provider.base_url, "api_key": KEY}
    providers = {"openai": at, **more.pop("providers", {})}
    return app.settings_for(home, provider, providers=providers, **more)


@dataclass
class Room:
    """The app with its provider, and the words that the tests use."""

    polyvox: Polyvox
    provider: ProviderServer
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    async def advisor(
        self, name: str = "", script: Script | None = None, *, wire: str = "lab", **more: Any
    ) -> Advisor:
        """An advisor with a model of its own (`model`: with that one), answered so."""
        number = next(self._numbers)
        model = more.pop("model", "") or f"{wire}:m{number}"
        if script is not None:
            self.provider.script(model.partition(":")[2], script)
        more.setdefault("description", f"You see side {number} of everything.")
        return await self.polyvox.advisors.create(
            ME, name=name or f"Advisor {number}", model=model, **more
        )

    async def conversation(self, *advisors: Advisor, **more: Any) -> str:
        """The id of a new conversation with these advisors (with every active one)."""
        if advisors:
            more["advisors"] = [advisor.id for advisor in advisors]
        return (await self.polyvox.conversations.create(ME, **more)).id

    async def nobody(self) -> None:
        """Make every advisor inactive."""
        for advisor in await self.polyvox.advisors.list(ME):
            await self.polyvox.advisors.update(ME, advisor.id, active=False)

    # turns

    async def send(self, conversation: str, text: str, **more: Any) -> Begun:
        """Begin a turn."""
        return await self.polyvox.turns.send(ME, conversation, text, **more)

    async def say(
        self, conversation: str, text: str, **more: Any
    ) -> tuple[Turn, tuple[Answer, ...]]:
        """A whole turn."""
        begun = await self.send(conversation, text, **more)
        await self.settled()
        return await self.turn(begun.turn.id)

    async def settled(self) -> None:
        """Wait until nothing runs or waits any more."""
        async with asyncio.timeout(60):
            while self.polyvox.turns.queue._tasks():
                await self.polyvox.turns.queue.drain(30)

    async def quiet(self) -> None:
        """Give what must not happen the time to happen: many round trips to the database."""
        for _ in range(60):
            await self.polyvox.database.read(lambda tx: tx.one("SELECT 1"), ME)

    async def turn(self, turn_id: str) -> tuple[Turn, tuple[Answer, ...]]:
        """A turn as it is stored, with all its answers."""

        def read(tx: Tx) -> tuple[Turn, tuple[Answer, ...]]:
            return turns.get_turn(tx, turn_id), tuple(turns.answers_of(tx, turn_id))

        return await self.polyvox.database.read(read, ME)

    async def answer(self, answer_id: str) -> Answer:
        """An answer as it is now."""
        return await self.polyvox.answer(answer_id)

    async def again(self, answer_id: str, *, retry: bool = True) -> Answer:
        """Retry (or regenerate) and wait for it."""
        new = await self.polyvox.turns.again(ME, answer_id, retry=retry)
        await self.settled()
        return await self.answer(new.id)

    async def receipt(self, answer_id: str) -> Inspected:
        """What was sent for an answer, rebuilt."""
        return await self.polyvox.receipt(ME, answer_id)

    # what happens

    async def seen(
        self, conversation: str, enough: Callable[[list[Event]], bool], after: int = 0
    ) -> list[Numbered]:
        """Listen until it is enough."""
        got: list[Numbered] = []
        async with (
            asyncio.timeout(60),
            aclosing(self.polyvox.events(conversation, after=after)) as events,
        ):
            async for item in events:
                got.append(item)
                if enough([one.event for one in got]):
                    return got
        raise AssertionError("the events ended")

    async def spoken(self, conversation: str, *answer_ids: str) -> list[Numbered]:
        """Wait until each of these answers has shown some text."""

        def enough(events: list[Event]) -> bool:
            said = {event.answer_id for event in events if isinstance(event, TextDelta)}
            return said >= set(answer_ids)

        return await self.seen(conversation, enough)

    async def log(self, conversation: str) -> list[Numbered]:
        """Everything that is stored of a conversation's events, up to now."""
        last = (await self.polyvox.conversations.get(ME, conversation)).last_number
        got: list[Numbered] = []
        async with aclosing(self.polyvox.events(conversation)) as events:
            while not got or got[-1].number < last:
                got.append(await anext(events))
        return got


@asynccontextmanager
async def open_room(
    home: Path,
    *,
    provider: ProviderServer | None = None,
    clock: Clock = system_clock,
    **settings: Any,
) -> AsyncIterator[Room]:
    """A room of one's own; `settings` are laid over the usual ones."""
    if provider is None:
        async with (
            ProviderServer() as own,
            open_room(home, provider=own, clock=clock, **settings) as room,
        ):
            yield room
        return
    given = settings_for(home, provider, **settings)
    async with app.open_library(given, clock=clock) as polyvox:
        yield Room(polyvox, provider)


HELD = Script(pieces=("one", " two", " three"), gates={1: "hold"})
"""Says one word and then waits at the gate `hold`."""


def texts(answers: Sequence[Answer]) -> list[str]:
    """The texts of the current answers."""
    return [answer.text for answer in answers if answer.current]


def states(answers: Sequence[Answer]) -> list[str]:
    """How the current answers are."""
    return [answer.state for answer in answers if answer.current]


def sent(room: Room, number: int = -1) -> list[tuple[str, str]]:
    """The messages of a logged request, without stamps."""
    messages = room.provider.log[number].json()["messages"]
    plain = [(one["role"], one["content"]) for one in messages if one["role"] != "system"]
    return [(role, text[19:] if text[:2] == "[2" else text) for role, text in plain]


class Hook(Listener):
    """Listens, and does something at the very moment that something is published."""

    __slots__ = ("_act",)

    def __init__(self, room: Room, talk: str, act: Callable[[list[Event]], object]) -> None:
        super().__init__(room.polyvox.hub, talk)
        room.polyvox.hub._listeners.setdefault(talk, set()).add(self)
        self._act = act

    def offer(self, batch: Batch) -> None:
        """Do it."""
        self._act([item.event for item in batch.events])


class Hand:
    """A clock that is moved by hand. It stands at 2025-10-30 12:00 UTC."""

    def __init__(self) -> None:
        self.now = 1_761_825_600_000_000

    def __call__(self) -> int:
        return self.now

    def on(self, *, minutes: float = 0, days: float = 0) -> None:
        """Move it forward."""
        self.now += round((minutes + days * 1440) * 60_000_000)
