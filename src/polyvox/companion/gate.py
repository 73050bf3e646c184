"""The gate: one call of a small model that reads a message and fills in a form about it.

It never answers the message, and never fails a turn: a field that cannot be read has its default
and is named in the trace; a reply that cannot be read, or comes too late, is no reading at all.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from polyvox.companion.texts import text
from polyvox.context.words import quoted
from polyvox.errors import CapReached, ModelError, PolyvoxError, Refused
from polyvox.models.base import ChatMessage, Model, Request, SystemPart
from polyvox.replies import objects
from polyvox.resources import Resources
from polyvox.store.usage import check_caps
from polyvox.thread import Thread
from polyvox.values import Params, Scope, Turn, Usage

# -- the form: a closed set of judgements, each with the default that is safe ----------------------

Intent = Literal["companion", "momentum", "output_task", "learning"]
Posture = Literal[
    "COMPANION", "MOMENTUM", "REFLECTION", "RELATIONSHIP", "IDEATION", "RECOVERY", "PRACTICAL"
]
Level = Literal["LOW", "MED", "HIGH"]
Risk = Literal["LOW", "MED", "HIGH", "CRISIS"]
RecallKind = Literal["topic", "about_me", "last_time", "open_loops", "instructions", "none"]
Part = Annotated[float, Meta(ge=0, le=1)]
Word = Annotated[str, Meta(max_length=60)]
"""Words that the gate chooses freely: they decide nothing alone, so a longer one is cut."""
Words = tuple[Word, ...]
MOST_WORDS = 8

FormT = TypeVar("FormT", bound=Struct)


class Unreadable(PolyvoxError):
    """The gate's reply is not a reading."""


class RecallSpec(Struct, frozen=True):
    """A question to memory, pronouns resolved, in the language of the talk."""

    kind: RecallKind = "none"
    entities: Words = ()
    topics: Words = ()
    time: Word = ""
    intent: Word = ""


class Reading(Struct, frozen=True):
    """A message as the gate reads it. The defaults stand where nobody reads: nothing is guessed."""

    risk: Risk = "LOW"
    action: Literal["memory_query", "none"] = "none"
    confidence: Part = 0.0
    """Of the action."""
    explicit: bool = False
    """True if memory was asked for in so many words."""
    direct_request: bool = False
    urgent: bool = False
    intent: Intent = "companion"
    posture: Posture = "COMPANION"
    pressure: Level = "MED"
    posture_confidence: Part = 0.0
    topic_shift: bool = False
    explicit_shift: bool = False
    """True if the person says that they want to talk differently now."""
    mood: Word = ""
    energy: Word = ""
    tone: Word = ""
    avoidance: bool = False
    asks_about_style: bool = False
    correction: bool = False
    dismissal: bool = False
    conflict: bool = False
    story_worth_exploring: bool = False
    recall: RecallSpec = RecallSpec()


NO_GATE = Reading()


def read(reply: str) -> tuple[Reading, tuple[str, ...]]:
    """The reading in a model's reply (JSON, perhaps fenced or with words around it), and the fields
    that have their defaults because they were missing or unknown."""
    forms = [_filled(Reading, value) for value in objects(reply)]
    reading, unread = min(forms, key=lambda form: len(form[1]), default=(NO_GATE, None))
    if unread is None or len(unread) == len(_decisive(Reading)):
        raise Unreadable("The gate's reply holds no reading.")
    return reading, tuple(unread)


def _filled(kind: type[FormT], form: Mapping[str, Any]) -> tuple[FormT, list[str]]:
    """Fill in a form field by field, and list the decisive fields that could not be."""
    values = {str(name).strip().casefold(): value for name, value in form.items()}
    given: dict[str, Any] = {}
    unread = []
    for name, hint in _hints(kind).items():
        value = values.get(name)
        if hint is RecallSpec and isinstance(value, Mapping):
            given[name], inner = _filled(RecallSpec, value)
            unread += [f"{name}.{field}" for field in inner]
            continue
        try:
            given[name] = msgspec.convert(_tidy(value, hint), hint, strict=False)
        except msgspec.ValidationError:
            if name in _decisive(kind):
                unread.append(name)
    return kind(**given), unread


def _tidy(value: Any, hint: Any) -> Any:  # noqa: ANN401 - whatever a model wrote
    """A value as its field wants it: any case, a number between quotation marks, words cut."""
    if hint == Words:
        value = [value] if isinstance(value, str) else value
        items = value if isinstance(value, list) else []
        return [_tidy(word, Word) for word in items if isinstance(word, str) and word.strip()][
            :MOST_WORDS
        ]
    if not isinstance(value, str):
        return value
    value = value.strip()
    if get_origin(hint) is Literal:
        options = {option.casefold(): option for option in get_args(hint)}
        return options.get(value.casefold(), value)
    return value[:60].rstrip() if hint == Word else value


@functools.cache
def _hints(kind: type[Struct]) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


@functools.cache
def _decisive(kind: type[Struct]) -> frozenset[str]:
    """The fields that decide something; the others may be missing without a remark."""
    return frozenset(name for name, hint in _hints(kind).items() if hint not in (Word, Words))


@functools.cache
def schema() -> str:
    """The JSON schema of the gate's reply: every field is asked for."""
    _, parts = msgspec.json.schema_components([Reading], ref_template="#/$defs/{name}")
    for part in parts.values():
        for field in part["properties"].values():
            field.pop("default", None)
        part |= {"additionalProperties": False, "required": list(part["properties"])}
    parts["Reading"]["properties"]["recall"] = parts["RecallSpec"]
    return msgspec.json.encode(parts["Reading"]).decode()


MAX_TOKENS = 1500
"""The form takes about 300; a model that thinks aloud needs the rest."""
BEFORE = 4
"""Messages before the current one that are shown."""
LONGEST = 4000
"""Characters of each message that are shown."""
REST = 60_000_000
"""Microseconds that a gate is left alone after it timed out."""


@dataclass(frozen=True, slots=True)
class Gated:
    """The reading of a message, its reader, and why it is the plain reading if it is."""

    reading: Reading = NO_GATE
    model: str | None = None
    """None: there is no gate."""
    degrade: str | None = None
    spent: tuple[tuple[str, Usage], ...] = ()
    unread: tuple[str, ...] = ()
    """Fields of the reading that have their defaults because they could not be read."""

    @property
    def open(self) -> bool:
        """True if a model has read the message."""
        return self.model is not None and self.degrade is None

    @property
    def complaint(self) -> str | None:
        """The degrade of the trace, if there is one."""
        why = self.degrade or (f"incomplete ({', '.join(self.unread)})" if self.unread else "")
        return f"gate: {why}" if why else None


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
        reading, unread = read(reply)
        return Gated(reading, model.id, None, tuple(spent), unread)
    except TimeoutError:
        why = "timeout"
    except Unreadable:
        why = "unreadable"
    except ModelError as error:
        why = error.category
    return Gated(NO_GATE, model.id, why, tuple(spent))


def request_of(before: Sequence[ChatMessage], current: str) -> Request:
    """The request to the gate: the messages are material, quoted, in one message."""
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


# -- having a message read before it is answered ---------------------------------------------------


async def read_message(
    resources: Resources,
    resting: MutableMapping[str, int],
    scope: Scope,
    turn: Turn,
    thread: Thread,
    model: str,
) -> Gated:
    """Have the message read, where there is a model for it; `model` is the one that answers.
    `resting`: until when gates that timed out are left alone."""
    name = resources.settings.models.gate or ("" if model.startswith("local:") else model)
    if not name:
        return Gated()
    limits, now = resources.settings.limits, resources.clock()
    if now < resting.get(name, now) <= now + REST:
        return Gated(model=name, degrade="resting")
    try:
        if limits.capped:
            await resources.database.read(
                lambda tx: check_caps(tx, limits, turn.conversation_id, turn.id, now), scope
            )
        seconds = resources.settings.memory.gate_seconds
        gated = await ask(resources.models.get(name), messages_of(thread), turn.content, seconds)
    except CapReached:
        return Gated(model=name, degrade="cap")
    except PolyvoxError as error:
        return Gated(model=name, degrade=error.code)
    if gated.degrade == "timeout":
        resting[name] = resources.clock() + REST
    return gated


def messages_of(thread: Thread) -> list[ChatMessage]:
    """The session so far, as this persona knows it."""
    messages = []
    for earlier in thread.past:
        if earlier.session_id == thread.current.session_id:
            messages.append(ChatMessage("user", earlier.text))
            messages += [ChatMessage("assistant", answer.text) for answer in earlier.own]
    return messages


def judged(gated: Gated) -> dict[str, Any] | None:
    """The judgements without the words that a model chose freely."""
    if not gated.open:
        return None
    data: dict[str, Any] = msgspec.to_builtins(gated.reading)
    decisive = {name: value for name, value in data.items() if name in _decisive(Reading)}
    return decisive | {"recall": gated.reading.recall.kind}
