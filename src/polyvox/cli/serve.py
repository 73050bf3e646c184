"""`polyvox serve`: the web app and the API, until Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
from typing import Annotated

import typer
import uvloop

from polyvox.app import Polyvox
from polyvox.cli.output import note, write
from polyvox.cli.run import run
from polyvox.cli.words import count
from polyvox.web.server import serve as serve_until_stopped


def serve(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on (server.host: 127.0.0.1).")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on (server.port: 4242); 0: any free one.")
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Serve the web app and the API. Ctrl-C lets running answers end, then leaves."""
    overrides: dict[str, str] = {}
    if host is not None:
        overrides["server.host"] = host
    if port is not None:
        overrides["server.port"] = str(port)

    async def work(app: Polyvox) -> None:
        server = app.settings.server
        await serve_until_stopped(
            app, server.host, server.port, lambda address: _ready(app, address, open_)
        )

    run(work, overrides, loud=True, loop=uvloop.new_event_loop)


def _ready(app: Polyvox, address: str, open_: bool) -> None:
    write(f"Polyvox is at {address}  (Ctrl-C ends it)\n")
    if model_note := app.models.facts(app.models.default).note:
        note(model_note)
    if app.recovered:
        answers = count(app.recovered, "answer")
        note(f"{answers} had been cut off when Polyvox last ended; what had come of them is kept.")
    if open_:
        import webbrowser

        if not webbrowser.open(address):
            note(f"No browser could be opened; go to {address} yourself.")


def worker() -> None:
    """Do background work apart from the server: remember, summarise, evaluate, optimise."""

    async def work(app: Polyvox) -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(name, stop.set)
        app.work()
        write("Working in the background  (Ctrl-C ends it)\n")
        await stop.wait()

    run(work, loud=True)
