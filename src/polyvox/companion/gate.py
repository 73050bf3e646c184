"""The gate: one call of a small model that reads a message and fills in a form about it.

It never answers the message, and never fails a turn: what cannot be read, or does not come in time,
is the reading without a gate together with the reason, which the trace shows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from polyvox.companion.reading import NO_GATE, Reading, Unreadable, read, schema
from polyvox.companion.texts import text
from polyvox.errors import ModelError, Refused
from polyvox.models.base import ChatMessage, Model, Request, SystemPart
from polyvox.quote import quoted
from polyvox.values import Params, Usage

MAX_TOKENS = 1500
"""The form takes about 300; a model that thinks aloud needs the rest."""
BEFORE = 4
"""So many messages before the current one are shown."""
LONGEST = 4000
"""Characters of each message that are shown."""


@dataclass(frozen=True, slots=True)
class Gated:
    """What was read, by whom, and why it is the plain reading if it is."""

    reading: Reading = NO_GATE
    model: str | None = None
    """None: there is no gate."""
    degrade: str | None = None
    spent: tuple[tuple[str, Usage], ...] = ()

    @property
    def open(self) -> bool:
        """Whether a model has read the message."""
        return self.model is not None and self.degrade is None


async def ask(model: Model, before: Sequence[ChatMessage], current: str, seconds: float) -> Gated:
    """Have a message read, within that time."""
    request = request_of(before, current)
    spent: list[tuple[str, Usage]] = []
    try:
        async with asyncio.timeout(seconds):
            try:
                reply = await _reply(model, request, spent)
            except Refused:  # perhaps that server takes no schema
                reply = await _reply(model, replace(request, schema=None), spent)
        return Gated(read(reply), model.id, None, tuple(spent))
    except TimeoutError:
        why = "timeout"
    except Unreadable:
        why = "unreadable"
    except ModelError as error:
        why = error.category
    return Gated(NO_GATE, model.id, why, tuple(spent))


def request_of(before: Sequence[ChatMessage], current: str) -> Request:
    """What the gate is asked: the messages are material, quoted, in one message."""
    who = {"user": "person", "assistant": "companion"}
    lines = ["The last messages:"] if before else []
    lines += [f"{who[one.role]}: {quoted(one.text[:LONGEST])}" for one in before[-BEFORE:]]
    lines += ["The current message:", f"person: {quoted(current[:LONGEST])}"]
    return Request(
        system=(SystemPart(text("gate")),),
        messages=(ChatMessage("user", "\n".join(lines)),),
        params=Params(max_tokens=MAX_TOKENS, temperature=0.0),
        schema=schema(),
    )


async def _reply(model: Model, request: Request, spent: list[tuple[str, Usage]]) -> str:
    reply = await model.stream(request)
    try:
        return "".join([piece.text async for piece in reply])
    finally:
        await reply.aclose()
        spent.append((reply.model, reply.usage))
