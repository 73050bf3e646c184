"""How a command fails: one line on stderr that says what to do, and an exit code. No tracebacks."""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyvox.errors import PolyvoxError

BAD_INPUT = 2
FAILED = 1
STOPPED = 130
"""What shells use for a program that Ctrl-C ended."""


def tell(message: str, hint: str = "") -> None:
    """One line on stderr."""
    from polyvox.cli.output import printable

    words = f"polyvox: {message} {hint}".split()
    sys.stderr.write(printable(" ".join(words)) + "\n")
    sys.stderr.flush()


def code_of(error: PolyvoxError) -> int:
    """2 where the person gave something that cannot be used, 1 where something went wrong."""
    from polyvox.errors import BadInput, ConfigError, Conflict, NotFound, TooLarge

    wrong = (BadInput, ConfigError, Conflict, NotFound, TooLarge)
    return BAD_INPUT if isinstance(error, wrong) else FAILED


def report(error: PolyvoxError) -> int:
    """Tell about an error of ours; answers the exit code."""
    tell(error.message, error.hint)
    return code_of(error)


def report_bug(error: BaseException) -> int:
    """Tell about an error that nobody foresaw: where the whole story is, not the story itself."""
    from polyvox.cli.logs import write_down

    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if os.environ.get("POLYVOX_DEBUG") == "trace":
        sys.stderr.write("".join(traceback.format_exception(error)))
    place = write_down(error)
    tell(
        f"something is wrong inside Polyvox ({what}).",
        f"Please report it; the whole story is in {place}."
        if place
        else "Please report it; POLYVOX_DEBUG=trace shows the whole story.",
    )
    return FAILED
