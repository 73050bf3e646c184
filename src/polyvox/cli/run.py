"""Run a command that needs the app: opened from the settings, closed whatever happens, in one loop.

Meanwhile the log file in the home gets warnings and worse, so that a live display stays clean, and
a line for each turn's trace, which holds nobody's words; --debug adds a line per model call on
stderr, POLYVOX_DEBUG=trace the texts too.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

import typer

from polyvox.app import Polyvox
from polyvox.cli.command import current
from polyvox.cli.failure import LOG, open_log
from polyvox.settings import Settings, load

Work = Callable[[Polyvox], Awaitable[int | None]]

TRACE = 5
TRACES = "polyvox.chat"
"""The logger of what was decided in a turn."""
LARGEST = 2_000_000
"""Bytes; a larger log is put aside as `.1`."""
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def run(
    work: Work,
    overrides: Mapping[str, str] | None = None,
    *,
    loud: bool = False,
    loop: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> None:
    """Run `work` with the app; it answers the exit code. `overrides` are settings by their dotted
    names."""
    settings = read_settings(overrides)

    async def whole() -> int | None:
        async with Polyvox(settings) as app:
            return await work(app)

    with logs_kept(settings, loud=loud), asyncio.Runner(loop_factory=loop) as runner:
        if code := runner.run(whole()):
            raise typer.Exit(code)


def read_settings(overrides: Mapping[str, str] | None = None) -> Settings:
    """Read the settings of this run."""
    names = dict(overrides or {})
    if current.database:
        names["database"] = current.database
    if current.debug and not os.environ.get("POLYVOX_DEBUG"):
        names["debug"] = "debug"
    settings = load(current.config, overrides=names)
    current.home = settings.home
    return settings


@contextmanager
def logs_kept(settings: Settings, *, loud: bool = False) -> Iterator[None]:
    """Keep logs meanwhile. `loud`: warnings also go to stderr (the server)."""
    level = {"off": logging.WARNING, "debug": logging.DEBUG, "trace": TRACE}[settings.debug]
    logging.addLevelName(TRACE, "TRACE")
    root, ours = logging.getLogger(), logging.getLogger("polyvox")
    handlers: list[tuple[logging.Logger, logging.Handler]] = [(root, _LogFile(settings.home / LOG))]
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


class _LogFile(RotatingFileHandler):
    """A log file that is opened with its first line, and whose absence stops nothing."""

    def __init__(self, place: Path) -> None:
        super().__init__(place, maxBytes=LARGEST, backupCount=1, encoding="utf-8", delay=True)
        self.addFilter(lambda record: record.levelno >= logging.WARNING or record.name == TRACES)
        self.setFormatter(logging.Formatter(FORMAT))

    def _open(self) -> TextIOWrapper:
        return open_log(Path(self.baseFilename))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's own name
        """A log that cannot be written must not disturb what it would tell about."""
