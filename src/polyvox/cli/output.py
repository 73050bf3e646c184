"""Words on the screen. Text from elsewhere is made harmless; a pipe gets no control codes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from polyvox.receive import OBEYED, escaped
from polyvox.receive import printable as printable

if TYPE_CHECKING:
    from rich.console import Console

WIDEST = 40
"""Columns to which a cell is padded in a pipe: one long cell must not push all others away."""


def harmless(text: str) -> str:
    """The text with a space for each character that `printable` takes out: places in it stay what
    they are."""
    return OBEYED.sub(" ", text)


def say(text: str = "") -> None:
    """A line on stdout."""
    sys.stdout.write(printable(text) + "\n")


def say_cut(text: str) -> None:
    """A line in a terminal that is cut where the screen ends."""
    from rich.text import Text

    console().print(Text(_flat(text)), no_wrap=True, overflow="ellipsis")


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
    sys.stdout.write(escaped(json.dumps(data, ensure_ascii=False, indent=indent)) + "\n")


def is_terminal() -> bool:
    """Whether stdout can be drawn on."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def console() -> Console:
    """Stdout as something to draw on."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str) -> None:
    """Rows under headings: in a terminal its last column wraps, in a pipe nothing is cut."""
    if not rows:
        note(empty)
        return
    if is_terminal():
        _drawn(headings, rows)
        return
    cells = [[_flat(cell) for cell in row] for row in (headings, *rows)]
    from rich.cells import cell_len

    widths = [min(WIDEST, max(cell_len(row[at]) for row in cells)) for at in range(len(headings))]
    for row in cells:
        padded = [c + " " * (width - cell_len(c)) for c, width in zip(row, widths, strict=True)]
        say("  ".join(padded).rstrip())


def _drawn(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    last = len(headings) - 1
    for at, heading in enumerate(headings):
        drawn.add_column(heading, no_wrap=at < last, overflow="fold" if at == last else "ellipsis")
    for row in rows:
        drawn.add_row(*(Text(_flat(cell)) for cell in row))
    console().print(drawn)


def _flat(cell: str) -> str:
    return " ".join(printable(cell).split())
