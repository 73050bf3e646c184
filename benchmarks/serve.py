"""Polyvox as a process under test: one process, settings from the environment."""

from __future__ import annotations

import sys

import uvloop
from polyvox.app import Polyvox
from polyvox.web.server import serve


async def main() -> None:
    """Serve until ended."""
    async with Polyvox() as polyvox:
        await serve(polyvox, "127.0.0.1", int(sys.argv[1]), lambda url: print(url, flush=True))


if __name__ == "__main__":
    uvloop.run(main())
