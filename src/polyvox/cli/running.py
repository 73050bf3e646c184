"""A command that needs the app: opened from the settings, closed whatever happens, in one loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

import typer

from polyvox.cli import logs
from polyvox.cli.invocation import current

if TYPE_CHECKING:
    from polyvox.app import Polyvox

Work = Callable[["Polyvox"], Awaitable[int | None]]


def run(
    work: Work,
    overrides: Mapping[str, str] | None = None,
    *,
    loud: bool = False,
    loop: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> None:
    """Run `work` with the app; what it answers is the exit code. `overrides` are settings by their
    dotted names."""
    settings = current.settings(overrides)
    from polyvox.app import Polyvox

    async def whole() -> int | None:
        async with Polyvox(settings) as app:
            return await work(app)

    with logs.kept(settings, loud=loud), asyncio.Runner(loop_factory=loop) as runner:
        if code := runner.run(whole()):
            raise typer.Exit(code)
