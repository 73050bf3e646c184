"""What can happen in a conversation: a closed union, one class per kind.

An event has no number until the writer stores it; a stored one is a `Numbered`.
Deltas carry `at`, the offset (in characters) in the answer's text where they begin, so that a
listener who receives a piece twice can tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from polyvox.values import Failure, Usage


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A message is stored and its advisors are about to be asked."""

    turn_id: str
    message_id: str
    kind = "turn.started"


@dataclass(frozen=True, slots=True)
class AnswerStarted:
    """An answer has its place; nothing of it is known yet."""

    turn_id: str
    answer_id: str
    advisor_id: str
    name: str
    answer_kind: str
    round: int = 0
    replaces: str | None = None
    kind = "answer.started"


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of an answer's text."""

    answer_id: str
    text: str
    at: int
    kind = "answer.delta"


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """More of an answer's thinking."""

    answer_id: str
    text: str
    at: int
    kind = "answer.thinking"


@dataclass(frozen=True, slots=True)
class AnswerCompleted:
    """The answer is whole."""

    answer_id: str
    usage: Usage
    model: str
    kind = "answer.completed"


@dataclass(frozen=True, slots=True)
class AnswerFailed:
    """The answer failed; what came before is kept."""

    answer_id: str
    failure: Failure
    kind = "answer.failed"


@dataclass(frozen=True, slots=True)
class AnswerStopped:
    """The user stopped the answer; the partial text is kept."""

    answer_id: str
    usage: Usage | None = None
    kind = "answer.stopped"


@dataclass(frozen=True, slots=True)
class AnswerInterrupted:
    """The program ended while the answer was being written; the partial text is kept."""

    answer_id: str
    kind = "answer.interrupted"


@dataclass(frozen=True, slots=True)
class TurnCompleted:
    """Every answer of the turn has ended, however."""

    turn_id: str
    kind = "turn.completed"


Changed = Literal["details", "head", "answer", "message"]


@dataclass(frozen=True, slots=True)
class ConversationChanged:
    """Something of the conversation is otherwise than it was: its details (title, advisors, recipe,
    council), its head, or whether an answer or a message is excluded. Whoever shows it reads it
    again."""

    what: Changed
    id: str
    """Of the conversation, of the turn that is the head now, of the answer or the message."""
    kind = "conversation.changed"


Delta = TextDelta | ThinkingDelta
AnswerEnded = AnswerCompleted | AnswerFailed | AnswerStopped | AnswerInterrupted
Event = TurnStarted | AnswerStarted | Delta | AnswerEnded | TurnCompleted | ConversationChanged


@dataclass(frozen=True, slots=True)
class Numbered:
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


def payload(event: Event) -> bytes:
    """The event as JSON, without its kind and number: what is stored and what listeners get."""
    match event:
        case TextDelta() | ThinkingDelta():
            data: dict[str, Any] = {
                "answer_id": event.answer_id,
                "text": event.text,
                "at": event.at,
            }
        case TurnStarted():
            data = {"turn_id": event.turn_id, "message_id": event.message_id}
        case AnswerStarted():
            data = {
                "turn_id": event.turn_id,
                "answer_id": event.answer_id,
                "advisor_id": event.advisor_id,
                "name": event.name,
                "kind": event.answer_kind,
                "round": event.round,
                "replaces": event.replaces,
            }
        case AnswerCompleted():
            data = {
                "answer_id": event.answer_id,
                "usage": usage_data(event.usage),
                "model": event.model,
            }
        case AnswerFailed(answer_id, failure):
            data = {
                "answer_id": answer_id,
                "category": failure.category,
                "message": failure.message,
                "hint": failure.hint,
            }
        case AnswerStopped():
            data = {"answer_id": event.answer_id, "usage": usage_data(event.usage)}
        case AnswerInterrupted():
            data = {"answer_id": event.answer_id}
        case TurnCompleted():
            data = {"turn_id": event.turn_id}
        case ConversationChanged():
            data = {"what": event.what, "id": event.id}
    return msgspec.json.encode(data)


def restored(kind: str, data: str, answer_id: str | None, start: int) -> Event:
    """The event that a stored row holds; the inverse of `payload` (deltas store bare text)."""
    if kind == TextDelta.kind:
        return TextDelta(str(answer_id), data, start)
    if kind == ThinkingDelta.kind:
        return ThinkingDelta(str(answer_id), data, start)
    values: dict[str, Any] = msgspec.json.decode(data)
    if kind == TurnStarted.kind:
        return TurnStarted(values["turn_id"], values["message_id"])
    if kind == AnswerStarted.kind:
        return AnswerStarted(
            values["turn_id"],
            values["answer_id"],
            values["advisor_id"],
            values["name"],
            values["kind"],
            values["round"],
            values["replaces"],
        )
    if kind == AnswerCompleted.kind:
        usage = _usage(values["usage"]) or Usage(0, 0)
        return AnswerCompleted(values["answer_id"], usage, values["model"])
    if kind == AnswerFailed.kind:
        failure = Failure(values["category"], values["message"], values["hint"])
        return AnswerFailed(values["answer_id"], failure)
    if kind == AnswerStopped.kind:
        return AnswerStopped(values["answer_id"], _usage(values["usage"]))
    if kind == AnswerInterrupted.kind:
        return AnswerInterrupted(values["answer_id"])
    if kind == ConversationChanged.kind:
        return ConversationChanged(values["what"], values["id"])
    return TurnCompleted(values["turn_id"])
