"""Where a command writes what is for its makers: a file in the home, and stderr when asked to.

The file gets warnings and worse, so that a live display stays clean, and a line for each turn's
trace, which holds nobody's words; --debug adds a line per model call on stderr, POLYVOX_DEBUG=trace
the texts too.
"""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyvox.settings import Settings

TRACE = 5
TRACES = "polyvox.chat"
"""Who tells what was decided in a turn."""
LARGEST = 2_000_000
"""Bytes; a larger log is put aside as `.old` before the next run."""
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


@contextmanager
def kept(settings: Settings, *, loud: bool = False) -> Iterator[None]:
    """Keep logs meanwhile. `loud`: warnings also go to stderr (the server)."""
    level = {"off": logging.WARNING, "debug": logging.DEBUG, "trace": TRACE}[settings.debug]
    logging.addLevelName(TRACE, "TRACE")
    root, ours = logging.getLogger(), logging.getLogger("polyvox")
    handlers: list[tuple[logging.Logger, logging.Handler]] = [(root, _file(settings.home))]
    if settings.debug != "off" or loud:
        shown = logging.StreamHandler()
        shown.setFormatter(logging.Formatter("%(name)s %(message)s"))
        shown.setLevel(level)
        handlers.append((ours, shown))
    ours.setLevel(level)
    logging.getLogger(TRACES).setLevel(min(level, logging.INFO))
    for logger, handler in handlers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger, handler in handlers:
            logger.removeHandler(handler)
            handler.close()


def write_down(error: BaseException) -> Path | None:
    """Add an error with its traceback to the log; answers where that is, if it could be written."""
    from polyvox.cli.invocation import current

    if current.home is None:
        return None
    place = _place(current.home)
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _opened(place) as file:
            file.write("".join(traceback.format_exception(error)))
    except OSError:
        return None
    return place


class _Quiet(logging.FileHandler):
    """A log file that is opened with its first line, and whose absence stops nothing."""

    def _open(self) -> TextIOWrapper:
        return _opened(Path(self.baseFilename))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            Path(self.baseFilename).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            super().emit(record)
        except OSError:
            return

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's own name
        """A log that cannot be written must not disturb what it would tell about."""


def _file(home: Path) -> logging.Handler:
    place = _place(home)
    try:
        if place.stat().st_size > LARGEST:
            place.replace(place.with_suffix(".log.old"))
    except OSError:
        pass  # there is none yet, or it cannot be moved: then it goes on as it is
    handler = _Quiet(place, encoding="utf-8", delay=True)
    handler.addFilter(lambda one: one.levelno >= logging.WARNING or one.name == TRACES)
    handler.setFormatter(logging.Formatter(FORMAT))
    return handler


def _opened(place: Path) -> TextIOWrapper:
    """The log, to add to; errors may quote what people said, so it is its owner's alone."""
    file = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.fchmod(file, 0o600)
    return os.fdopen(file, "a", encoding="utf-8")


def _place(home: Path) -> Path:
    return home / "polyvox.log"
