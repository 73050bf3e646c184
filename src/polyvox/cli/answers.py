"""The answers that are being watched: events in, a picture's worth of facts out; and the ways of
watching them, silently, written one after another, or drawn live (`columns`).

All words on a board are printable: no layout has to see to that. Answers keep the order in which
they began; an exchange's rounds and a synthesis come behind the answers that they respond to.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from polyvox.cli import words
from polyvox.cli.lookup import People
from polyvox.cli.output import is_terminal, note, say_styled, write
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
from polyvox.shapes import shape
from polyvox.values import Answer


@dataclass(frozen=True, slots=True)
class WatchedAnswer(Answer):
    """One answer under way, or ended, in the colour of who gives it."""

    color: str = ""

    @property
    def ended(self) -> bool:
        """True once nothing more will come."""
        return self.state not in ("pending", "streaming")

    @property
    def title(self) -> str:
        """Who answers; in an exchange, in which round."""
        again = f" (round {self.round})" if self.kind == "exchange" else ""
        return f"{self.advisor_name}{again}"

    def after(self, event: Event) -> WatchedAnswer:
        """The answer as an event changes it."""
        match event:
            case TextDelta():
                return replace(self, state="streaming", text=self.text + printable(event.text))
            case ThinkingDelta():
                thinking = self.thinking + printable(event.text)
                return replace(self, state="streaming", thinking=thinking)
            case AnswerCompleted():
                model = printable(event.model)
                return replace(self, state="completed", usage=event.usage, model=model)
            case AnswerFailed():
                return replace(self, state="failed", failure=event.failure)
            case AnswerStopped():
                return replace(self, state="stopped", usage=event.usage)
            case AnswerInterrupted():
                return replace(self, state="interrupted")
        return self


class Board:
    """The answers of one turn that are watched now."""

    def __init__(self, people: People, turn_id: str = "") -> None:
        self.people = people
        self.turn_id = turn_id
        self.answers: dict[str, WatchedAnswer] = {}

    def apply(self, event: Event) -> None:
        """Take an event in; those of other turns are none of its business."""
        if isinstance(event, AnswerStarted):
            if event.turn_id == self.turn_id:
                who = (event.turn_id, event.advisor_id, event.name, event.answer_kind)
                begun = Answer(event.answer_id, "", *who, state="pending", round=event.round)
                self.answers[begun.id] = self._watched(begun)
        elif answer := self.answers.get(getattr(event, "answer_id", "")):
            self.answers[answer.id] = answer.after(event)

    def settle(self, answers: Sequence[Answer], turn: Sequence[Answer]) -> None:
        """Put the answers as they are stored in place of what was seen on the way.
        `turn` is all answers of the turn."""
        self.answers = {
            answer.id: self._watched(replace(answer, text=readable(answer, turn)))
            for answer in answers
        }

    def _watched(self, answer: Answer) -> WatchedAnswer:
        who = self.people.get(answer.advisor_id, answer.advisor_name)
        words = {name: printable(getattr(answer, name)) for name in ("text", "thinking", "model")}
        return shape(WatchedAnswer, answer, advisor_name=who.name, color=who.color, **words)

    def groups(self) -> list[list[WatchedAnswer]]:
        """Answers that stand side by side: each round apart, the synthesis alone."""
        groups: dict[tuple[str, int], list[WatchedAnswer]] = {}
        for answer in self.answers.values():
            groups.setdefault((answer.kind, answer.round), []).append(answer)
        return list(groups.values())


class AnswerView:
    """Watches the answers of a turn. This one shows nothing: for JSON."""

    @contextmanager
    def watching(self, board: Board, waiting: Callable[[], str]) -> Iterator[None]:
        """Answers come on this board meanwhile. `waiting` says what those wait for who have not
        begun."""
        self._board, self._waiting = board, waiting
        yield

    def tick(self) -> None:
        """Some time has passed, and the board may have changed."""

    def end(self) -> None:
        """The board holds the answers as they are stored."""


class Plain(AnswerView):
    """For a pipe: each answer whole, in their order, the first one as it comes."""

    def __init__(self, named: bool = False) -> None:
        self._named = named
        self._spoke = False

    @contextmanager
    def watching(self, board: Board, waiting: Callable[[], str]) -> Iterator[None]:
        """Start with the first answer."""
        if sys.stderr.isatty() and (what := waiting()) != "waiting":
            note(what)
        self._at = self._written = 0
        self._headed = False
        with super().watching(board, waiting):
            yield

    def tick(self, settled: bool = False) -> None:
        """Write what is next in order."""
        answers = list(self._board.answers.values())
        for answer in answers[self._at :]:
            if answer.kind == "synthesis" and not settled:
                return  # it is written when it is whole: only then its attributions are checked
            if not self._headed and (answer.text or answer.ended):
                self._head(answer, len(answers) > 1)
            write(answer.text[self._written :])
            self._written = len(answer.text)
            if not answer.ended:
                return
            self._foot(answer, len(answers) > 1)
            self._at, self._written, self._headed = self._at + 1, 0, False

    def end(self) -> None:
        """Write what is left."""
        self.tick(settled=True)

    def _head(self, answer: WatchedAnswer, several: bool) -> None:
        if self._spoke:
            write("\n")
        self._spoke = self._headed = True
        if self._named or several or answer.kind == "synthesis":
            write(f"## {answer.title}\n\n")

    def _foot(self, answer: WatchedAnswer, several: bool) -> None:
        end = "" if answer.text.endswith("\n") else "\n"
        if answer.failure is not None and several:
            gap = "\n\n" if answer.text.strip() else ""
            write(f"{gap}[failed: {answer.failure.message} {answer.failure.hint}".rstrip() + "]")
            end = "\n"
        elif answer.state in ("stopped", "interrupted"):
            write(f"{'' if not answer.text else ' '}[{answer.state}]")
        write(end)


def view_for(json: bool = False, named: bool = False) -> AnswerView:
    """The view that fits the output; `named`: one who answers alone has its name, too."""
    if json:
        return AnswerView()
    if not is_terminal():
        return Plain(named)
    from polyvox.cli.columns import Drawn  # Rich is worth loading for a terminal only

    return Drawn()


def print_closing(conversation_id: str, answers: Sequence[Answer]) -> None:
    """Print the last line under answers: tokens, cost, the conversation where its id is new.

    A pipe gets the answers and nothing else.
    """
    if not is_terminal():
        return
    named = f"conversation {conversation_id}" if conversation_id else ""
    parts = [part for part in (total(answers), named) if part]
    between = " · " if sum(map(len, parts)) + 3 <= shutil.get_terminal_size().columns else "\n"
    say_styled((between.join(parts), "dim"), soft_wrap=True)


def total(answers: Sequence[Answer]) -> str:
    """Tokens and cost of all of them; what has no known price is counted apart."""
    spent = [answer.usage for answer in answers if answer.usage is not None]
    if not spent:
        return ""
    tokens = sum(usage.input_tokens + usage.output_tokens for usage in spent)
    priced = [usage.cost for usage in spent if usage.cost is not None]
    cost = words.money(sum(priced) if priced else None)
    unknown = len(spent) - len(priced)
    if priced and unknown:
        cost += f" and {words.count(unknown, 'answer')} of unknown price"
    return f"{words.count(len(answers), 'answer')} · {words.count(tokens, 'token')} · {cost}"
