"""The server as a process of its own, for tests that end it: python -m tests.web.serving

Settings come from the environment as they do for everybody; the address is the first line printed.
"""

from __future__ import annotations

import asyncio
import sys

from polyvox.app import Polyvox
from polyvox.settings import load
from polyvox.web.server import serve


def ready(address: str) -> None:
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()


async def main() -> None:
    async with Polyvox(load()) as polyvox:
        await serve(polyvox, "127.0.0.1", 0, ready)


if __name__ == "__main__":
    asyncio.run(main())
