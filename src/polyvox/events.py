"""Events of a conversation: a closed union of structs, one per kind.

The kind is the tag: it stands beside the JSON (a column of the log, the `event:` line of a stream),
never in it. An event has no number until the writer stores it; a stored one is a `Numbered`.
Deltas carry `at`, the offset (in characters) in the answer's text where they begin, so that a
listener who receives a piece twice can tell.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, get_args

import msgspec
from msgspec import Struct

from polyvox.values import AnswerKind, Failure, Usage


class TurnStarted(Struct, frozen=True):
    """A message is stored and its advisors are about to be asked."""

    kind: ClassVar = "turn.started"
    turn_id: str
    message_id: str


class AnswerStarted(Struct, frozen=True, rename={"answer_kind": "kind"}):
    """An answer has its place; nothing of it is known yet."""

    kind: ClassVar = "answer.started"
    turn_id: str
    answer_id: str
    advisor_id: str
    name: str
    answer_kind: AnswerKind
    round: int = 0
    replaces: str | None = None


class TextDelta(Struct, frozen=True):
    """More of an answer's text."""

    kind: ClassVar = "answer.delta"
    answer_id: str
    text: str
    at: int


class ThinkingDelta(Struct, frozen=True):
    """More of an answer's thinking."""

    kind: ClassVar = "answer.thinking"
    answer_id: str
    text: str
    at: int


class AnswerCompleted(Struct, frozen=True):
    """The answer is whole."""

    kind: ClassVar = "answer.completed"
    answer_id: str
    usage: Usage
    model: str


class AnswerFailed(Struct, frozen=True):
    """The answer failed; what came before is kept."""

    kind: ClassVar = "answer.failed"
    answer_id: str
    category: str
    message: str
    hint: str

    @property
    def failure(self) -> Failure:
        """Category, message and hint in one value."""
        return Failure(self.category, self.message, self.hint)


class AnswerStopped(Struct, frozen=True):
    """The user stopped the answer; the partial text is kept."""

    kind: ClassVar = "answer.stopped"
    answer_id: str
    usage: Usage | None = None


class AnswerInterrupted(Struct, frozen=True):
    """The program ended while the answer was being written; the partial text is kept."""

    kind: ClassVar = "answer.interrupted"
    answer_id: str


class ExchangeNotice(Struct, frozen=True):
    """Something to know of an exchange: it was cut short, or nobody has taken a position yet."""

    kind: ClassVar = "exchange.notice"
    turn_id: str
    reason: Literal["cut", "early"]
    message: str
    hint: str = ""


class TurnCompleted(Struct, frozen=True):
    """Every answer of the turn has ended, however."""

    kind: ClassVar = "turn.completed"
    turn_id: str


Changed = Literal["details", "head", "answer", "message"]


class ConversationChanged(Struct, frozen=True):
    """A change to the conversation: its details (title, advisors, recipe, council), its head, or
    the exclusion of an answer or a message. A listener who shows it reads it again."""

    kind: ClassVar = "conversation.changed"
    what: Changed
    id: str
    """Of the conversation, of the turn that is the head now, of the answer or the message."""


Delta = TextDelta | ThinkingDelta
AnswerEnded = AnswerCompleted | AnswerFailed | AnswerStopped | AnswerInterrupted
Event = (
    TurnStarted
    | AnswerStarted
    | Delta
    | AnswerEnded
    | ExchangeNotice
    | TurnCompleted
    | ConversationChanged
)
KINDS: dict[str, type[Event]] = {cls.kind: cls for cls in get_args(Event)}


class Numbered(Struct, frozen=True):
    """A stored event with the number the writer gave it, unique in its conversation."""

    number: int
    event: Event


NANO = 1_000_000_000


def usage_data(usage: Usage | None) -> dict[str, Any] | None:
    """Usage as every door shows it: tokens, and the cost in USD or null where it is unknown."""
    if usage is None:
        return None
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "cached_tokens": usage.cached_tokens,
        "cost": None if usage.cost is None else usage.cost / NANO,
        "estimated": usage.estimated,
    }


def _usage(data: dict[str, Any] | None) -> Usage | None:
    if data is None:
        return None
    cost = data["cost"]
    return Usage(**{**data, "cost": None if cost is None else round(cost * NANO)})


_encode = msgspec.json.Encoder().encode
_DECODERS = {kind: msgspec.json.Decoder(cls) for kind, cls in KINDS.items()}


def payload(event: Event) -> bytes:
    """The event as JSON, without its kind and number: stored, and sent to listeners."""
    if isinstance(event, AnswerCompleted | AnswerStopped):
        return _encode({**msgspec.structs.asdict(event), "usage": usage_data(event.usage)})
    return _encode(event)


def restored(kind: str, data: str, answer_id: str | None, start: int) -> Event:
    """The event that a stored row holds; the inverse of `payload` (deltas store bare text)."""
    if kind == TextDelta.kind:
        return TextDelta(str(answer_id), data, start)
    if kind == ThinkingDelta.kind:
        return ThinkingDelta(str(answer_id), data, start)
    if kind in (AnswerCompleted.kind, AnswerStopped.kind):
        values: dict[str, Any] = msgspec.json.decode(data)
        usage = _usage(values["usage"])
        if kind == AnswerStopped.kind:
            return AnswerStopped(values["answer_id"], usage)
        return AnswerCompleted(values["answer_id"], usage or Usage(0, 0), values["model"])
    return _DECODERS[kind].decode(data)
