"""The ways of watching answers: silently, written one after another, or drawn live (`columns`)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from polyvox.cli.output import is_terminal, note, write
from polyvox.cli.people import People
from polyvox.cli.show.board import Board
from polyvox.events import Event
from polyvox.values import Answer


class AnswerView:
    """Watches the answers of a turn. This one shows nothing: for JSON."""

    def begin(self, people: People, turn_id: str, waiting: Callable[[], str]) -> None:
        """Answers of this turn are about to come. `waiting` says what for."""

    def see(self, event: Event) -> None:
        """Take in an event."""

    def tick(self) -> None:
        """Some time has passed."""

    def end(self, answers: Sequence[Answer], turn: Sequence[Answer]) -> None:
        """These answers have ended; `turn` is all of the turn's."""

    def drop(self) -> None:
        """Watching is over, for whatever reason. Safe to repeat."""


class Plain(AnswerView):
    """For a pipe: each answer whole, in their order, the first one as it comes."""

    def __init__(self, named: bool = False) -> None:
        self._named = named
        self._spoke = False

    def begin(self, people: People, turn_id: str, waiting: Callable[[], str]) -> None:
        """Start with the first answer."""
        if sys.stderr.isatty() and (what := waiting()) != "waiting":
            note(what)
        self._board = Board(people, turn_id)
        self._at = self._written = 0
        self._headed = self._settled = False

    def see(self, event: Event) -> None:
        """Write what is next in order."""
        if self._board.apply(event):
            self._go_on()

    def end(self, answers: Sequence[Answer], turn: Sequence[Answer]) -> None:
        """Write what is left."""
        self._board.settle(answers, turn)
        self._settled = True
        self._go_on()

    def _go_on(self) -> None:
        answers = list(self._board.answers.values())
        while self._at < len(answers):
            answer = answers[self._at]
            ended = answer.state not in ("pending", "streaming")
            if answer.kind == "synthesis" and not self._settled:
                return  # it is written when it is whole: only then its attributions are checked
            if not self._headed and (answer.pieces or ended):
                self._head(answers)
            if self._headed and len(answer.text) > self._written:
                write(answer.text[self._written :])
                self._written = len(answer.text)
            if not ended:
                return
            self._foot(answers)
            self._at, self._written, self._headed = self._at + 1, 0, False

    def _head(self, answers: Sequence[object]) -> None:
        answer = list(self._board.answers.values())[self._at]
        if self._spoke:
            write("\n")
        self._spoke = True
        if self._named or len(answers) > 1 or answer.kind == "synthesis":
            again = f" (round {answer.round})" if answer.kind == "exchange" else ""
            write(f"## {answer.speaker.name}{again}\n\n")
        self._headed = True

    def _foot(self, answers: Sequence[object]) -> None:
        answer = list(self._board.answers.values())[self._at]
        end = "" if answer.text.endswith("\n") else "\n"
        if answer.failure is not None and len(answers) > 1:
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
    from polyvox.cli.show.columns import Drawn  # Rich is worth loading for a terminal only

    return Drawn()
