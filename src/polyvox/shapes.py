"""JSON shapes of the road's nouns where the doors' contract differs from the value.

Everywhere else the value itself is the body, over HTTP and on the command line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, TypeVar

import msgspec

from polyvox.events import NANO, usage_data
from polyvox.values import (
    Answer,
    AnswerKind,
    AnswerState,
    Attempt,
    Conversation,
    Failure,
    Recall,
    Turn,
    TurnState,
)

S = TypeVar("S")


@cache
def _shared(cls: type[Any], given: tuple[str, ...]) -> tuple[str, ...]:
    names = getattr(cls, "model_fields", None) or [field.name for field in fields(cls)]
    return tuple(name for name in names if name not in given)


def shape(cls: type[S], value: object, **given: Any) -> S:  # noqa: ANN401 - any fields
    """A dataclass or a model filled with the fields of the same name of a value, and with those
    given."""
    for name in _shared(cls, tuple(given)):  # type: ignore[arg-type]  # a class is hashable
        given[name] = getattr(value, name)
    return cls(**given)


def usd(nano: int | None) -> float | None:
    """Nano-dollars as USD."""
    return None if nano is None else nano / NANO


@dataclass(frozen=True, slots=True)
class ConversationOut:
    """A conversation without its messages."""

    id: str
    title: str
    recipe: str
    advisors: tuple[str, ...] | None
    council: str | None
    head: str | None
    last_number: int
    created_at: int
    updated_at: int
    recall: Recall
    phases: int | None
    """Answers in which advisors only ask, at most; 0: none, null: as the recipe says."""

    @classmethod
    def of(cls, conversation: Conversation) -> ConversationOut:
        """From the value."""
        return shape(cls, conversation, council=conversation.council_id, head=conversation.head_id)


@dataclass(frozen=True, slots=True)
class UsageOut:
    """Tokens and cost; the cost is null where the price is unknown."""

    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cached_tokens: int
    cost: float | None
    estimated: bool


@dataclass(frozen=True, slots=True)
class AnswerOut:
    """One advisor's reply in a turn."""

    answer_id: str
    turn_id: str
    conversation_id: str
    advisor_id: str
    name: str
    kind: AnswerKind
    state: AnswerState
    text: str
    thinking: str
    round: int
    version: int
    replaces: str | None
    current: bool
    excluded: bool
    redacted: bool
    """True if the answer was forgotten or repeated something forgotten: its text has marks."""
    model: str
    prompt_version_id: str | None
    error: Failure | None
    usage: UsageOut | None
    attempts: tuple[Attempt, ...]
    points: Mapping[str, Any] | None
    created_at: int
    ended_at: int | None

    @classmethod
    def of(cls, answer: Answer) -> AnswerOut:
        """From the value."""
        usage = usage_data(answer.usage)
        return shape(
            cls,
            answer,
            answer_id=answer.id,
            name=answer.advisor_name,
            replaces=answer.replaces_id,
            error=answer.failure,
            usage=None if usage is None else UsageOut(**usage),
            points=None if answer.points is None else msgspec.json.decode(answer.points),
        )


@dataclass(frozen=True, slots=True)
class MessageOut:
    """A user message with the turn it opened and the answers to it."""

    id: str
    role: Literal["user"]
    turn_id: str
    parent: str | None
    depth: int
    """Turns that lead to it, itself counted: the `before` that pages back from here."""
    session_id: str | None
    content: str
    state: TurnState
    excluded: bool
    redacted: bool
    """True if it was forgotten: the content is a mark, and it is in no later request."""
    asked: tuple[str, ...]
    said_at: int | None
    created_at: int
    notice: str
    """What there is to know of its exchange, such as that it was cut short."""
    help: str
    """Help for a person in danger, where the message was read so; else empty."""
    answers: list[AnswerOut]

    @classmethod
    def of(
        cls, turn: Turn, answers: Iterable[Answer], notice: str = "", help_text: str = ""
    ) -> MessageOut:
        """From the values."""
        return shape(
            cls,
            turn,
            id=turn.message_id,
            role="user",
            turn_id=turn.id,
            parent=turn.parent_id,
            notice=notice,
            help=help_text,
            answers=[AnswerOut.of(answer) for answer in answers],
        )


@dataclass(frozen=True, slots=True)
class UsageRow:
    """A sum; `cost` is of what has a known price, `unpriced` counts the rest."""

    key: str | None
    answers: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    unpriced: int
    estimated: int

    @classmethod
    def of(cls, total: Any) -> UsageRow:  # noqa: ANN401 - a sum of the store, which is above
        """From the store's sum."""
        unknown = total.answers and total.unpriced == total.answers
        return shape(cls, total, cost=None if unknown else usd(total.cost))
