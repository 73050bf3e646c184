"""Reading what a person types or sends, with Ctrl-C as they expect it.

While a line is read the event loop stands still, which is fine: nothing runs then. Its own way of
handling Ctrl-C (cancelling a task later) would not end the reading, so Python's is used meanwhile.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import typer

from polyvox.cli.output import printable
from polyvox.errors import Invalid

KEPT = 1000
"""Lines of history."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt here and now."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def read_line(prompt: str) -> str | None:
    """Read the next line; None at the end. Without a terminal the prompt is left out."""
    with interruptible():
        if not sys.stdin.isatty():
            line = sys.stdin.readline()
            return line.rstrip("\r\n") if line else None
        try:
            return input(prompt)
        except EOFError:
            sys.stdout.write("\n")
            return None


def sure(question: str, yes: bool) -> None:
    """Ask before something that cannot be undone; without a terminal --yes is needed."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise Invalid("This cannot be undone, and nobody can be asked here.", "Add --yes.")
    with interruptible():  # from the question on: a Ctrl-C before the reading is one too
        sys.stderr.write(f"{printable(question)} [y/N] ")
        sys.stderr.flush()
        answer = read_line("")
    if (answer or "").strip().lower() not in ("y", "yes"):
        raise typer.Abort


def read_message(given: str | None, longest: int) -> str:
    """Read the message: the one given, or stdin where it is `-` or a pipe."""
    if given is not None and given != "-":
        return given
    if given is None and sys.stdin.isatty():
        raise Invalid("There is no message.", 'Write polyvox ask "…", or send it through a pipe.')
    try:
        return sys.stdin.buffer.read(longest * 4 + 1).decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise Invalid("The message on stdin is not UTF-8 text.", "Send text.") from None


def remember(place: Path, words: Callable[[], Sequence[str]]) -> Callable[[], None]:
    """Edit lines with a history in a file, and complete `words`. Answers a function that stores the
    history; does nothing without a terminal or where Python has no readline."""
    if not sys.stdin.isatty():
        return lambda: None
    try:
        import readline
    except ImportError:
        return lambda: None
    with suppress(OSError):  # there is none yet
        readline.read_history_file(place)
    readline.set_history_length(KEPT)

    def complete(text: str, number: int) -> str | None:
        matches = [word for word in words() if word.startswith(text)]
        return matches[number] if number < len(matches) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t")
    readline.parse_and_bind("tab: complete")

    def store() -> None:
        with suppress(OSError):  # a history that cannot be written is no reason to fail
            place.touch(mode=0o600)
            readline.write_history_file(place)

    return store
