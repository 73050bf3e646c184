"""The ways of watching answers: silently, written one after another, or drawn live (`columns`)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from polyvox.cli.output import is_terminal, note, write
from polyvox.cli.people import People
from polyvox.cli.show.board import Board
from polyvox.events import Event
from polyvox.values import Answer


class View:
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


class Plain(View):
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
        places = list(self._board.places.values())
        while self._at < len(places):
            place = places[self._at]
            ended = place.state not in ("pending", "streaming")
            if place.kind == "synthesis" and not self._settled:
                return  # it is written when it is whole: only then its attributions are checked
            if not self._headed and (place.text or ended):
                self._head(places)
            if self._headed and len(place.said) > self._written:
                write(place.said[self._written :])
                self._written = len(place.said)
            if not ended:
                return
            self._foot(places)
            self._at, self._written, self._headed = self._at + 1, 0, False

    def _head(self, places: Sequence[object]) -> None:
        place = list(self._board.places.values())[self._at]
        if self._spoke:
            write("\n")
        self._spoke = True
        if self._named or len(places) > 1 or place.kind == "synthesis":
            again = f" (round {place.round})" if place.kind == "exchange" else ""
            write(f"## {place.person.name}{again}\n\n")
        self._headed = True

    def _foot(self, places: Sequence[object]) -> None:
        place = list(self._board.places.values())[self._at]
        end = "" if place.said.endswith("\n") else "\n"
        if place.failure is not None and len(places) > 1:
            gap = "\n\n" if place.said.strip() else ""
            write(f"{gap}[failed: {place.failure.message} {place.failure.hint}".rstrip() + "]")
            end = "\n"
        elif place.state in ("stopped", "interrupted"):
            write(f"{'' if not place.said else ' '}[{place.state}]")
        write(end)


def view_for(json: bool = False, named: bool = False) -> View:
    """The view that fits the output; `named`: one who answers alone has its name, too."""
    if json:
        return View()
    if not is_terminal():
        return Plain(named)
    from polyvox.cli.show.columns import Drawn  # Rich is worth loading for a terminal only

    return Drawn()
