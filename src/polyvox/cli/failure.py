"""Failures of a command: one line on stderr that says what to do, and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from io import TextIOWrapper
from pathlib import Path

from polyvox.cli.command import current
from polyvox.errors import BadInput, ConfigError, Conflict, NotFound, PolyvoxError, TooLarge
from polyvox.receive import printable

BAD_INPUT = 2
FAILED = 1
STOPPED = 130
"""What shells use for a program that Ctrl-C ended."""
LOG = "polyvox.log"
"""The file in the home for what is meant for the makers of the program."""


def tell(message: str, hint: str = "") -> None:
    """Print one line on stderr."""
    words = f"polyvox: {message} {hint}".split()
    sys.stderr.write(printable(" ".join(words)) + "\n")
    sys.stderr.flush()


def report(error: PolyvoxError) -> int:
    """Print an error of ours; answers the exit code: 2 where the person gave something that cannot
    be used, 1 where something went wrong."""
    tell(error.message, error.hint)
    wrong = (BadInput, ConfigError, Conflict, NotFound, TooLarge)
    return BAD_INPUT if isinstance(error, wrong) else FAILED


def report_bug(error: BaseException) -> int:
    """Name an error that nobody foresaw, and the file that holds its traceback."""
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    story = "".join(traceback.format_exception(error))
    if os.environ.get("POLYVOX_DEBUG") == "trace":
        sys.stderr.write(story)
    place = _write_down(story)
    tell(
        f"something is wrong inside Polyvox ({what}).",
        f"Please report it; the whole story is in {place}."
        if place
        else "Please report it; POLYVOX_DEBUG=trace shows the whole story.",
    )
    return FAILED


def _write_down(story: str) -> Path | None:
    """Add a traceback to the log; answers the file, if it could be written."""
    if current.home is None:
        return None
    try:
        with open_log(current.home / LOG) as file:
            file.write(story)
    except OSError:
        return None
    return current.home / LOG


def open_log(place: Path) -> TextIOWrapper:
    """Open the log to add to it; errors may quote what people said, so it is its owner's alone."""
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.fchmod(file, 0o600)
    return os.fdopen(file, "a", encoding="utf-8")
