"""The answers that are being watched: events in, a picture's worth of facts out.

It draws nothing, and all words on it are printable: no layout has to see to that. Answers keep the
order in which they began; an exchange's rounds and a synthesis come behind the answers that they
respond to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from polyvox.cli.people import People, Person
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
class Place:
    """One answer under way, or ended."""

    id: str
    person: Person
    kind: str
    round: int
    state: AnswerState = "pending"
    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    usage: Usage | None = None
    model: str = ""
    failure: Failure | None = None
    excluded: bool = False

    @property
    def said(self) -> str:
        """The text so far."""
        if len(self.text) > 1:
            self.text = ["".join(self.text)]
        return self.text[0] if self.text else ""

    @property
    def thought(self) -> str:
        """The thinking so far."""
        if len(self.thinking) > 1:
            self.thinking = ["".join(self.thinking)]
        return self.thinking[0] if self.thinking else ""


class Board:
    """The answers of one turn that are watched now."""

    def __init__(self, people: People, turn_id: str = "") -> None:
        self.people = people
        self.turn_id = turn_id
        self.places: dict[str, Place] = {}

    def apply(self, event: Event) -> bool:
        """Take an event in; answers whether anything to be seen has changed."""
        if isinstance(event, AnswerStarted):
            if event.turn_id != self.turn_id:
                return False
            who = self.people.get(event.advisor_id, event.name)
            self.places[event.answer_id] = Place(
                event.answer_id, who, event.answer_kind, event.round
            )
            return True
        place = self.places.get(getattr(event, "answer_id", ""))
        if place is None:
            return False
        _change(place, event)
        return True

    def settle(self, answers: Sequence[Answer], turn: Sequence[Answer]) -> None:
        """Put the answers as they are stored in place of what was seen on the way.
        `turn` is all answers of the turn."""
        self.places = {answer.id: self._of(answer, turn) for answer in answers}

    def _of(self, answer: Answer, turn: Sequence[Answer]) -> Place:
        return Place(
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

    def groups(self) -> list[list[Place]]:
        """Answers that stand side by side: each round apart, the synthesis alone."""
        groups: dict[tuple[str, int], list[Place]] = {}
        for place in self.places.values():
            groups.setdefault((place.kind, place.round), []).append(place)
        return list(groups.values())


def _change(place: Place, event: Event) -> None:
    match event:
        case TextDelta():
            place.state = "streaming"
            place.text.append(printable(event.text))
        case ThinkingDelta():
            place.state = "streaming"
            place.thinking.append(printable(event.text))
        case AnswerCompleted():
            place.state, place.usage = "completed", event.usage
            place.model = printable(event.model)
        case AnswerFailed():
            place.state, place.failure = "failed", event.failure
        case AnswerStopped():
            place.state, place.usage = "stopped", event.usage
        case AnswerInterrupted():
            place.state = "interrupted"
        case _:
            pass
