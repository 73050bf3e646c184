"""Having a message read before it is answered: by whom, and what holds where nobody does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from polyvox.caps import check_caps
from polyvox.companion import gate, posture
from polyvox.companion.gate import Gated
from polyvox.companion.posture import Stance
from polyvox.errors import CapReached, PolyvoxError
from polyvox.models.base import ChatMessage
from polyvox.resources import Resources
from polyvox.thread import Thread
from polyvox.values import Scope, Turn


async def read_message(
    resources: Resources, scope: Scope, turn: Turn, thread: Thread, model: str
) -> Gated:
    """Have the message read, where there is a model for it; `model` is whom it goes to."""
    name = resources.settings.models.gate or ("" if model.startswith("local:") else model)
    if not name:
        return Gated()
    limits = resources.settings.limits
    try:
        if limits.capped:
            await resources.database.read(
                lambda tx: check_caps(tx, limits, turn.conversation_id, turn.id, resources.clock()),
                scope,
            )
        seconds = resources.settings.memory.gate_seconds
        return await gate.ask(
            resources.models.get(name), messages_of(thread), turn.content, seconds
        )
    except CapReached:
        return Gated(model=name, degrade="cap")
    except PolyvoxError as error:
        return Gated(model=name, degrade=error.code)


def messages_of(thread: Thread) -> list[ChatMessage]:
    """The session so far, as this persona knows it."""
    found = []
    for said in thread.past:
        if said.session_id == thread.current.session_id:
            found.append(ChatMessage("user", said.text))
            found += [ChatMessage("assistant", one.text) for one in said.own]
    return found


def stance_after(before: Stance, gated: Gated, now: int) -> tuple[Stance, str]:
    """How a persona holds itself after a message, and why."""
    if gated.open:
        return posture.settle(before, gated.reading, now)
    if gated.model is None:
        return Stance(at=now), "no gate"
    rested = posture.rested(before, now)
    return replace(rested, at=now), "held: the gate did not read"


def judged(gated: Gated) -> dict[str, Any] | None:
    """The judgements without the words that a model chose freely."""
    if not gated.open:
        return None
    free = ("mood", "energy", "tone")
    told: dict[str, Any] = msgspec.to_builtins(gated.reading)
    return {name: value for name, value in told.items() if name not in free}
