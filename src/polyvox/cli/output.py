"""Words on the screen. Text from elsewhere is made harmless; a pipe gets no control codes."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from polyvox.receive import OBEYED, escaped
from polyvox.receive import printable as printable

if TYPE_CHECKING:
    from rich.console import Console

WIDEST = 40
"""Columns to which a cell is padded in a pipe: one long cell must not push all others away."""
ROOM = 30
"""Columns that a text which wraps needs to be read."""
NARROWEST = 20
"""Columns that a text gets, however long its name is."""
_NUMBER = re.compile(r"≈?[\d,./]+")


def harmless(text: str) -> str:
    """The text with a space for each character that `printable` takes out: places in it stay what
    they are."""
    return OBEYED.sub(" ", text)


def say(text: str = "") -> None:
    """A line on stdout."""
    sys.stdout.write(printable(text) + "\n")


def say_beside(lead: str, text: str) -> None:
    """A text beside its name; where a terminal ends, its words go on below themselves."""
    if not is_terminal():
        say(f"{lead}{text}")
        return
    from rich.text import Text

    screen = console()
    wrapped = Text(printable(text)).wrap(screen, max(NARROWEST, screen.width - len(lead)))
    for at, line in enumerate(wrapped):
        say(f"{' ' * len(lead) if at else lead}{line.plain}".rstrip())


def write(text: str) -> None:
    """A piece of text on stdout, now."""
    sys.stdout.write(printable(text))
    sys.stdout.flush()


def note(text: str) -> None:
    """A line beside the results: stderr."""
    sys.stderr.write(printable(text) + "\n")
    sys.stderr.flush()


def note_kindly(text: str) -> None:
    """A longer remark beside the results: in a terminal its words are not broken, and a gap
    follows."""
    if sys.stderr.isatty():
        import shutil
        import textwrap

        text = textwrap.fill(text, shutil.get_terminal_size().columns - 1) + "\n"
    note(text)


def say_json(data: Any) -> None:  # noqa: ANN401 - anything that is JSON
    """Data on stdout: one line in a pipe, indented for people."""
    indent = 2 if sys.stdout.isatty() else None
    text = json.dumps(msgspec.to_builtins(data), ensure_ascii=False, indent=indent)
    sys.stdout.write(escaped(text) + "\n")


def is_terminal() -> bool:
    """Whether stdout can be drawn on."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def console() -> Console:
    """Stdout as something to draw on."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str) -> None:
    """Rows under headings; in a terminal that has no room for them, each row is a block. The last
    column is the text that wraps. Nothing is cut."""
    if not rows:
        note(empty)
        return
    from rich.cells import cell_len

    cells = [[_flat(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(headings, *cells, strict=True)]
    if is_terminal():
        *short, last = widths
        fits = sum(short) + 2 * len(short) + min(last, ROOM) <= console().width
        (_drawn if fits else _stacked)(headings, cells)
        return
    for row in ([*headings], *cells):
        padded = [
            cell + " " * (min(WIDEST, width) - cell_len(cell))
            for cell, width in zip(row, widths, strict=True)
        ]
        say("  ".join(padded).rstrip())


def _drawn(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    last = len(headings) - 1
    for at, heading in enumerate(headings):
        drawn.add_column(heading, no_wrap=at < last, overflow="fold")
    for row in rows:
        drawn.add_row(*map(Text, row))
    console().print(drawn)


def _stacked(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Each row a block: its short cells, as many on a line as there is room for, and its text; all
    but the first line are indented. A bare number is told what it counts."""
    from rich.cells import cell_len
    from rich.padding import Padding
    from rich.text import Text

    screen = console()
    for *short, text in rows:
        lines: list[str] = []
        for heading, cell in zip(headings, short, strict=False):
            told = f"{heading}: {cell}" if _NUMBER.fullmatch(cell) else cell
            room = screen.width - (2 if len(lines) > 1 else 0)
            if lines and cell_len(f"{lines[-1]}  {told}") <= room:
                lines[-1] += f"  {told}" if told else ""
            elif told:
                lines.append(told)
        for at, line in enumerate([*lines, text] if text else lines):
            style = "dim" if at < len(lines) else ""
            screen.print(Padding(Text(line, style, overflow="fold"), (0, 0, 0, min(at, 1) * 2)))


def _flat(cell: str) -> str:
    return " ".join(printable(cell).split())
