"""`polyvox worker`: background work in a process of its own, until Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyvox.app import Polyvox


def worker() -> None:
    """Do background work apart from the server: remember, summarise, evaluate, optimise."""
    from polyvox.cli.running import run

    async def work(app: Polyvox) -> None:
        import asyncio
        import signal

        from polyvox.cli.output import write

        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(name, stop.set)
        app.work()
        write("Working in the background  (Ctrl-C ends it)\n")
        await stop.wait()

    run(work, loud=True)
