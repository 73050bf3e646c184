"""Words on the screen. Text from elsewhere is made harmless; a pipe gets no control codes.

Rich is loaded for a terminal only (`screen`): it costs more than all else that a command prints.
"""

from __future__ import annotations

import json as codec
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from rich.cells import cell_len

from polyvox.cli.failure import FAILED
from polyvox.errors import Invalid
from polyvox.interop.report import Report
from polyvox.receive import OBEYED, escaped
from polyvox.receive import printable as printable

WIDEST = 40
"""Columns to which a cell is padded in a pipe: one long cell must not push all others away."""
ROOM = 30
"""Columns that a text which wraps needs to be read."""
NARROWEST = 20
"""Columns that a text gets, however long its name is."""
T = TypeVar("T")

NUMBER = re.compile(r"≈?[\d,./]+")


def harmless(text: str) -> str:
    """The text with a space for each character that `printable` takes out: places in it stay what
    they are."""
    return OBEYED.sub(" ", text)


def say(text: str = "") -> None:
    """Print a line on stdout."""
    sys.stdout.write(printable(text) + "\n")


def say_beside(lead: str, text: str) -> None:
    """Print a text beside its name; where a terminal ends, its words go on below themselves."""
    if not is_terminal():
        say(f"{lead}{text}")
        return
    from polyvox.cli import screen

    room = max(NARROWEST, screen.width() - len(lead))
    for at, line in enumerate(screen.wrap(printable(text), room)):
        say(f"{' ' * len(lead) if at else lead}{line}".rstrip())


def say_styled(*parts: tuple[str, str], soft_wrap: bool = False) -> None:
    """Print a line of (text, style); a pipe gets the texts. `soft_wrap` leaves the wrapping to the
    terminal, so that a long id can be copied."""
    if not is_terminal():
        say("".join(text for text, _ in parts))
        return
    from polyvox.cli import screen

    screen.print_parts(parts, soft_wrap=soft_wrap)


def write(text: str) -> None:
    """Print a piece of text on stdout, now."""
    sys.stdout.write(printable(text))
    sys.stdout.flush()


def note(text: str) -> None:
    """Print a line beside the results: on stderr."""
    sys.stderr.write(printable(text) + "\n")
    sys.stderr.flush()


def note_kindly(text: str) -> None:
    """Print a longer remark beside the results: in a terminal its words are not broken, and a gap
    follows."""
    if sys.stderr.isatty():
        text = textwrap.fill(text, shutil.get_terminal_size().columns - 1) + "\n"
    note(text)


def say_json(data: Any) -> None:  # noqa: ANN401 - anything that is JSON
    """Print data on stdout: one line in a pipe, indented for people."""
    indent = 2 if sys.stdout.isatty() else None
    plain = msgspec.to_builtins(data, enc_hook=lambda model: model.model_dump(by_alias=True))
    text = codec.dumps(plain, ensure_ascii=False, indent=indent)
    sys.stdout.write(escaped(text) + "\n")


def is_terminal() -> bool:
    """True if stdout can be drawn on."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str) -> None:
    """Print rows under headings; in a terminal that has no room for them, each row is a block. The
    last column is the text that wraps. Nothing is cut."""
    if not rows:
        note(empty)
        return
    cells = [[" ".join(printable(cell).split()) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(headings, *cells, strict=True)]
    if is_terminal():
        from polyvox.cli import screen

        *short, last = widths
        fits = sum(short) + 2 * len(short) + min(last, ROOM) <= screen.width()
        (screen.print_table if fits else screen.print_blocks)(headings, cells)
        return
    for row in ([*headings], *cells):
        padded = [
            cell + " " * (min(WIDEST, width) - cell_len(cell))
            for cell, width in zip(row, widths, strict=True)
        ]
        say("  ".join(padded).rstrip())


def print_list(
    items: Sequence[T],
    headings: Sequence[str],
    row: Callable[[T], Sequence[str]],
    *,
    empty: str,
    json: bool,
    out: Callable[[T], Any] | None = None,
) -> None:
    """Print things: `row` makes the cells under the headings, `out` the data of --json (the things
    themselves, where there is none)."""
    if json:
        say_json(items if out is None else list(map(out, items)))
    else:
        table(headings, list(map(row, items)), empty=empty)


def taken(report: Report, *, dry: bool) -> int:
    """Tell what was taken from a file; answers the exit code."""
    for line in report.lines(dry=dry):
        say(line)
    return FAILED if report.useless else 0


def put(text: str, place: Path | None, *, force: bool = False) -> None:
    """Text into a new file that is its owner's alone, or on stdout as it is."""
    if place is None:
        sys.stdout.write(text)
        return
    special = place.exists() and not place.is_file()  # a pipe, say: nothing in it is lost
    how = os.O_TRUNC if force or special else os.O_EXCL
    try:
        number = os.open(place, os.O_WRONLY | os.O_CREAT | how, 0o600)
        with os.fdopen(number, "w", encoding="utf-8") as file:
            if not special:
                os.fchmod(number, 0o600)  # also where it was there before
            file.write(text)
    except FileExistsError:
        raise Invalid(f"{place} is there already.", "--force writes over it.") from None
    except OSError as error:
        raise Invalid(f"{place} cannot be written: {error.strerror}.", "Choose another.") from None
    note(f"wrote {place}")
