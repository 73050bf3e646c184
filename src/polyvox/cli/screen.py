"""Drawing on a terminal with Rich."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from polyvox.cli.output import NUMBER, printable


def console() -> Console:
    """Stdout as something to draw on."""
    return Console(highlight=False, markup=False, emoji=False)


def width() -> int:
    """Columns of the terminal."""
    return console().width


def wrap(text: str, room: int) -> list[str]:
    """Wrap a text to a number of columns."""
    return [line.plain for line in Text(text).wrap(console(), room)]


def print_parts(parts: Sequence[tuple[str, str]], *, soft_wrap: bool) -> None:
    """Print (text, style) in a row."""
    line = Text.assemble(*((printable(text), style) for text, style in parts))
    console().print(line, soft_wrap=soft_wrap)


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under headings; the last column wraps."""
    drawn = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    last = len(headings) - 1
    for at, heading in enumerate(headings):
        drawn.add_column(heading, no_wrap=at < last, overflow="fold")
    for row in rows:
        drawn.add_row(*map(Text, row))
    console().print(drawn)


def print_blocks(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print each row as a block: its short cells, as many on a line as there is room for, and its
    text; all but the first line are indented. A bare number is told what it counts."""
    screen = console()
    for *short, text in rows:
        lines: list[str] = []
        for heading, cell in zip(headings, short, strict=False):
            named = f"{heading}: {cell}" if NUMBER.fullmatch(cell) else cell
            room = screen.width - (2 if len(lines) > 1 else 0)
            if lines and cell_len(f"{lines[-1]}  {named}") <= room:
                lines[-1] += f"  {named}" if named else ""
            elif named:
                lines.append(named)
        for at, line in enumerate([*lines, text] if text else lines):
            style = "dim" if at < len(lines) else ""
            screen.print(Padding(Text(line, style, overflow="fold"), (0, 0, 0, min(at, 1) * 2)))
