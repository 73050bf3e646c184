"""Options and output that every `import` and `export` has in common."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from polyvox.cli.failure import FAILED
from polyvox.cli.output import note, say
from polyvox.errors import Invalid
from polyvox.interop.report import Report

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only show what would be taken; change nothing.")
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Instead of stdout.")
]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that is there.")]


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
