"""The provider server as a process; see `tests.provider.server`."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec
from tests.provider.server import ProviderServer


def configuration(given: str) -> dict[str, Any]:
    """The --model-config, from a file or as it stands."""
    if not given:
        return {}
    text = given if given.lstrip().startswith("{") else Path(given).read_text("utf-8")
    return msgspec.json.decode(text, type=dict[str, Any])


async def serve(options: argparse.Namespace) -> None:
    """Answer until a signal (or the end of standard input, where asked for)."""
    server = ProviderServer(key=options.key, keep_log=not options.no_log)
    server.configure(configuration(options.model_config))
    await server.start(options.port)
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, over.set)
    if options.until_eof:
        loop.add_reader(sys.stdin.fileno(), lambda: None if sys.stdin.read(1) else over.set())
    sys.stdout.write(f"{server.base_url}\n")
    sys.stdout.flush()
    await over.wait()
    await server.close()


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(prog="python -m tests.provider", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--model-config", default="", help="a JSON file, or JSON itself")
    parser.add_argument("--key", default="", help="refuse every other key")
    parser.add_argument("--no-log", action="store_true", help="remember no requests")
    parser.add_argument("--until-eof", action="store_true", help="end when standard input does")
    try:
        import uvloop
    except ImportError:
        asyncio.run(serve(parser.parse_args()))
    else:
        uvloop.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
