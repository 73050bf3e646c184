"""What can happen in a turn: a closed union, one class per kind.

An event has no number until the writer stores it; a stored one is a `Numbered`.
Deltas carry `at`, the offset (in characters) in the answer's text where they begin, so that a
listener who receives a piece twice can tell.
"""

from __future__ import annotations

from dataclasses import dataclass

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


Delta = TextDelta | ThinkingDelta
AnswerEnded = AnswerCompleted | AnswerFailed | AnswerStopped | AnswerInterrupted
Event = TurnStarted | AnswerStarted | Delta | AnswerEnded | TurnCompleted


@dataclass(frozen=True, slots=True)
class Numbered:
    """A stored event with the number the writer gave it, unique in its conversation."""

    number: int
    event: Event
