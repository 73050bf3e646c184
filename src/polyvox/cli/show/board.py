"""The answers that are being watched: events in, a picture's worth of facts out.

It draws nothing, and all words on it are printable: no layout has to see to that. Answers keep the
order in which they began; an exchange's rounds and a synthesis come behind the answers that they
respond to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from polyvox.cli.people import People, Speaker
from polyvox.events import (
    AnswerCompleted,
    AnswerFailed,
    AnswerInterrupted,
    AnswerStarted,
    AnswerStopped,
    Event,
    TextDelta,
    ThinkingDelta,
)
from polyvox.interop.transcript import readable
from polyvox.receive import printable
from polyvox.values import Answer, AnswerState, Failure, Usage


@dataclass(slots=True, eq=False)
class WatchedAnswer:
    """One answer under way, or ended."""

    id: str
    speaker: Speaker
    kind: str
    round: int
    state: AnswerState = "pending"
    pieces: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    usage: Usage | None = None
    model: str = ""
    failure: Failure | None = None
    excluded: bool = False

    @property
    def text(self) -> str:
        """The text so far."""
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    @property
    def thinking(self) -> str:
        """The thinking so far."""
        if len(self.thoughts) > 1:
            self.thoughts = ["".join(self.thoughts)]
        return self.thoughts[0] if self.thoughts else ""


class Board:
    """The answers of one turn that are watched now."""

    def __init__(self, people: People, turn_id: str = "") -> None:
        self.people = people
        self.turn_id = turn_id
        self.answers: dict[str, WatchedAnswer] = {}

    def apply(self, event: Event) -> bool:
        """Take an event in; answers whether anything to be seen has changed."""
        if isinstance(event, AnswerStarted):
            if event.turn_id != self.turn_id:
                return False
            who = self.people.get(event.advisor_id, event.name)
            self.answers[event.answer_id] = WatchedAnswer(
                event.answer_id, who, event.answer_kind, event.round
            )
            return True
        answer = self.answers.get(getattr(event, "answer_id", ""))
        if answer is None:
            return False
        _change(answer, event)
        return True

    def settle(self, answers: Sequence[Answer], turn: Sequence[Answer]) -> None:
        """Put the answers as they are stored in place of what was seen on the way.
        `turn` is all answers of the turn."""
        self.answers = {answer.id: self._of(answer, turn) for answer in answers}

    def _of(self, answer: Answer, turn: Sequence[Answer]) -> WatchedAnswer:
        return WatchedAnswer(
            answer.id,
            self.people.get(answer.advisor_id, answer.advisor_name),
            answer.kind,
            answer.round,
            answer.state,
            [printable(readable(answer, turn))],
            [printable(answer.thinking)],
            answer.usage,
            printable(answer.model),
            answer.failure,
            answer.excluded,
        )

    def groups(self) -> list[list[WatchedAnswer]]:
        """Answers that stand side by side: each round apart, the synthesis alone."""
        groups: dict[tuple[str, int], list[WatchedAnswer]] = {}
        for answer in self.answers.values():
            groups.setdefault((answer.kind, answer.round), []).append(answer)
        return list(groups.values())


def _change(answer: WatchedAnswer, event: Event) -> None:
    match event:
        case TextDelta():
            answer.state = "streaming"
            answer.pieces.append(printable(event.text))
        case ThinkingDelta():
            answer.state = "streaming"
            answer.thoughts.append(printable(event.text))
        case AnswerCompleted():
            answer.state, answer.usage = "completed", event.usage
            answer.model = printable(event.model)
        case AnswerFailed():
            answer.state, answer.failure = "failed", event.failure
        case AnswerStopped():
            answer.state, answer.usage = "stopped", event.usage
        case AnswerInterrupted():
            answer.state = "interrupted"
        case _:
            pass
