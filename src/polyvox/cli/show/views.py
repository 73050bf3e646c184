"""The three ways of watching answers: drawn live, written one after another, or silently."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from polyvox.cli.output import console, is_terminal, note, say, write
from polyvox.cli.people import People
from polyvox.cli.show.board import Board
from polyvox.events import Event
from polyvox.values import Answer

if TYPE_CHECKING:
    from rich.live import Live

LONGEST = 200_000
"""Characters; longer answers are not laid out in columns but written as they are."""


class View(Protocol):
    """Somebody who watches the answers of a turn."""

    def begin(self, people: People, turn_id: str, waiting: Callable[[], str]) -> None:
        """Answers of this turn are about to come. `waiting` says what for."""
        ...

    def see(self, event: Event) -> None:
        """Something happened."""
        ...

    def tick(self) -> None:
        """Some time has passed."""
        ...

    def end(self, answers: Sequence[Answer], turn: Sequence[Answer]) -> None:
        """These answers have ended; `turn` is all of the turn's."""
        ...

    def drop(self) -> None:
        """Watching is over, for whatever reason. Safe to repeat."""
        ...


class Silent:
    """For JSON: what comes of it is printed in the end."""

    def begin(self, people: People, turn_id: str, waiting: Callable[[], str]) -> None:
        """Nothing to do."""

    def see(self, event: Event) -> None:
        """Nothing to do."""

    def tick(self) -> None:
        """Nothing to do."""

    def end(self, answers: Sequence[Answer], turn: Sequence[Answer]) -> None:
        """Nothing to do."""

    def drop(self) -> None:
        """Nothing to do."""


class Plain:
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

    def tick(self) -> None:
        """Nothing to do."""

    def end(self, answers: Sequence[Answer], turn: Sequence[Answer]) -> None:
        """Write what is left."""
        self._board.settle(answers, turn)
        self._settled = True
        self._go_on()

    def drop(self) -> None:
        """Nothing to do."""

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


class Drawn:
    """For a terminal: live columns, and in the end all of every answer, to stay."""

    def __init__(self) -> None:
        self._console = console()
        self._live: Live | None = None

    def begin(self, people: People, turn_id: str, waiting: Callable[[], str]) -> None:
        """Put up an empty picture."""
        from rich.live import Live

        from polyvox.cli.show.columns import Picture

        self._board = Board(people, turn_id)
        self._live = Live(
            Picture(self._board, waiting),
            console=self._console,
            auto_refresh=False,
            transient=True,
            vertical_overflow="crop",
        )
        self._live.start(refresh=True)

    def see(self, event: Event) -> None:
        """Remember it for the next picture."""
        self._board.apply(event)

    def tick(self) -> None:
        """Draw it anew."""
        if self._live is not None:
            self._live.refresh()

    def end(self, answers: Sequence[Answer], turn: Sequence[Answer]) -> None:
        """Take the live picture away and leave the whole answers in its place."""
        self.drop()
        self._board.settle(answers, turn)
        print_board(self._board)

    def drop(self) -> None:
        """Give the terminal back."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def print_board(board: Board) -> None:
    """All of every answer, side by side where there is room."""
    from polyvox.cli.show.columns import draw

    if any(len(place.said) > LONGEST for place in board.places.values()):
        for place in board.places.values():
            say(f"{place.person.name}\n\n{place.said}\n")
        return
    screen = console()
    for line in draw(screen, board, screen.width):
        screen.print(line, no_wrap=True, overflow="ignore", crop=False)
    screen.print()


def view_for(json: bool = False, named: bool = False) -> View:
    """The way that fits where the output goes; `named`: one who answers alone has its name, too."""
    return Silent() if json else Drawn() if is_terminal() else Plain(named)
