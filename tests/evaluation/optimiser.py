"""A real process that works on an optimisation, made to be killed:
`python -m tests.evaluation.optimiser HOME BASE_URL RUN`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.evaluation.workshop import WORKED

from polyvox.app import Polyvox
from polyvox.evaluation.optimise.run import KIND
from polyvox.settings import Settings
from polyvox.values import Scope


async def main(home: str, base_url: str, run_id: str) -> None:
    settings = Settings.model_validate(
        {
            **WORKED,
            "home": Path(home),
            "providers": {"lab": {"base_url": base_url}},
            "evaluation": {"concurrency": 1},
        }
    )
    async with Polyvox(settings, env={}) as polyvox:
        await polyvox.worker.run_one(Scope(), KIND, run_id)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
