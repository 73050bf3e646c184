"""Reading what a person types, with Ctrl-C as they expect it.

While a line is read the event loop stands still, which is fine: nothing runs then. Its own way of
handling Ctrl-C (cancelling a task later) would not end the reading, so Python's is used meanwhile.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

KEPT = 1000
"""Lines of history."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt here and now."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def read_line(prompt: str) -> str | None:
    """The next line; None at the end. Without a terminal the prompt is left out."""
    with interruptible():
        if not sys.stdin.isatty():
            line = sys.stdin.readline()
            return line.rstrip("\r\n") if line else None
        try:
            return input(prompt)
        except EOFError:
            sys.stdout.write("\n")
            return None


def remember(place: Path, words: Callable[[], Sequence[str]]) -> Callable[[], None]:
    """Line editing with a history in a file, and `words` to complete. Answers how to store the
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
        found = [word for word in words() if word.startswith(text)]
        return found[number] if number < len(found) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t")
    readline.parse_and_bind("tab: complete")

    def store() -> None:
        with suppress(OSError):  # a history that cannot be written is no reason to fail
            place.touch(mode=0o600)
            readline.write_history_file(place)

    return store
