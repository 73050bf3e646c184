"""The gate: one call of a small model that reads a message and fills in a form about it.

It never answers the message, and never fails a turn: what cannot be read, or does not come in time,
is the reading without a gate together with the reason, which the trace shows.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from polyvox.companion.texts import text
from polyvox.context.words import quoted
from polyvox.errors import CapReached, ModelError, PolyvoxError, Refused
from polyvox.models.base import ChatMessage, Model, Request, SystemPart
from polyvox.replies import objects
from polyvox.resources import Resources
from polyvox.settings.complaint import misfit
from polyvox.store.usage import check_caps
from polyvox.thread import Thread
from polyvox.values import Params, Scope, Turn, Usage

# -- what the gate made of a message: a closed set of judgements, checked as they come in ----------
# A reply that cannot be read is a degrade that is shown, never a silent default; only the free
# words, which decide nothing, may be missing or too long.

Intent = Literal["companion", "momentum", "output_task", "learning"]
Posture = Literal[
    "COMPANION", "MOMENTUM", "REFLECTION", "RELATIONSHIP", "IDEATION", "RECOVERY", "PRACTICAL"
]
Level = Literal["LOW", "MED", "HIGH"]
Risk = Literal["LOW", "MED", "HIGH", "CRISIS"]
Part = Annotated[float, Meta(ge=0, le=1)]
LONGEST_WORD = 60
"""Characters of a word that the gate chooses freely."""
Word = Annotated[str, Meta(max_length=LONGEST_WORD)]
FREE, NUMBERS = ("mood", "energy", "tone"), ("confidence", "posture_confidence")


class Unreadable(PolyvoxError):
    """The gate's reply is not a reading."""


RecallKind = Literal["topic", "about_me", "last_time", "open_loops", "instructions", "none"]


class RecallSpec(msgspec.Struct, frozen=True):
    """What of the memory a message asks for, with pronouns resolved."""

    kind: RecallKind = "none"
    entities: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    time: str = ""
    intent: str = ""


class Reading(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """A message as the gate reads it."""

    action: Literal["memory_query", "none"]
    confidence: Part
    """How sure it is of the action."""
    explicit: bool
    """Whether memory was asked for in so many words."""
    direct_request: bool
    urgent: bool
    intent: Intent
    posture: Posture
    pressure: Level
    posture_confidence: Part
    topic_shift: bool
    explicit_shift: bool
    """Whether the person says that they want to talk differently now."""
    mood: Word
    energy: Word
    tone: Word
    risk: Risk
    avoidance: bool
    asks_about_style: bool
    correction: bool
    dismissal: bool
    conflict: bool
    story_worth_exploring: bool
    recall: RecallSpec = RecallSpec()


NO_GATE = Reading(
    action="none",
    confidence=0.0,
    explicit=False,
    direct_request=False,
    urgent=False,
    intent="companion",
    posture="COMPANION",
    pressure="MED",
    posture_confidence=0.0,
    topic_shift=False,
    explicit_shift=False,
    mood="",
    energy="",
    tone="",
    risk="LOW",
    avoidance=False,
    asks_about_style=False,
    correction=False,
    dismissal=False,
    conflict=False,
    story_worth_exploring=False,
)
"""Where there is no gate: nothing is guessed from words."""


def read(reply: str) -> Reading:
    """The reading in a model's reply: JSON, perhaps fenced or with words around it."""
    wrong = "it holds no reading"
    for value in objects(reply):
        try:
            return msgspec.convert(_mended(value), Reading)
        except msgspec.ValidationError as error:
            wrong = misfit(error)
    raise Unreadable(f"The gate's reply cannot be read: {wrong}.")


def _mended(value: Mapping[str, Any]) -> dict[str, Any]:
    """The same, where a form is filled in carelessly: free words are cut or left out, and a number
    may stand between quotation marks. No decision is touched."""
    mended = dict(value)
    for name in FREE:
        word = mended.get(name)
        mended[name] = word.strip()[:LONGEST_WORD] if isinstance(word, str) else ""
    for name in NUMBERS:
        if isinstance(number := mended.get(name), str):
            with contextlib.suppress(ValueError):  # then it stays a text, which is no number
                mended[name] = float(number)
    return mended


@functools.cache
def schema() -> str:
    """The JSON schema that the gate's reply is to follow."""
    components = msgspec.json.schema_components([Reading], ref_template="#/$defs/{name}")
    told = components[1].pop("Reading") | {"additionalProperties": False, "$defs": components[1]}
    return msgspec.json.encode(told).decode()


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


# -- having a message read before it is answered: by whom, and what holds where nobody does --------


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
        return await ask(resources.models.get(name), messages_of(thread), turn.content, seconds)
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


def judged(gated: Gated) -> dict[str, Any] | None:
    """The judgements without the words that a model chose freely."""
    if not gated.open:
        return None
    free = ("mood", "energy", "tone", "recall")
    told: dict[str, Any] = msgspec.to_builtins(gated.reading)
    return {name: value for name, value in told.items() if name not in free}
