"""What the program weighs: how fast it is there, and how much memory it takes."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from benchmarks.processes import POLYVOX, environment, polyvox
from benchmarks.report import Row, at_most, median

TIMES = 5


def footprint(upstream: int, place: Path) -> list[Row]:
    """A server that was just started, and `polyvox --help`."""
    ready, memory = [], []
    for number in range(TIMES):
        with polyvox(upstream, place / f"start-{number}") as server:
            ready.append(server.ready)
            memory.append(server.memory / 1e6)
    helped = []
    for _ in range(TIMES + 1):
        began = time.perf_counter()
        subprocess.run(
            [str(POLYVOX), "--help"],
            env=environment(HOME=str(place)),
            stdout=subprocess.DEVNULL,
            check=True,
        )
        helped.append(time.perf_counter() - began)
    return [
        at_most("server ready, first start of a home", median(ready), 2, " s"),
        at_most("memory of the server without the embedded model", median(memory), 150, " MB"),
        at_most("polyvox --help", median(helped[1:]), 0.3, " s"),
    ]
