"""The embedded model: the first words of three advisors, and the memory of everything together."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.processes import get, load, polyvox
from benchmarks.report import Row, at_most, median


def embedded(place: Path) -> list[Row]:
    """As a person finds it who has just installed it: no key, the starter council."""
    with polyvox(0, place, model="") as server:
        time.sleep(8)  # it loads the model by itself when it starts
        advisors = [one["id"] for one in get(server, "/api/advisors")][:3]
        found = [
            load("turns", port=server.port, advisors=advisors, count=1)["waits"] for _ in range(3)
        ]
        memory = server.memory / 1e6
    slowest = [max(waits) / 1000 for waits in found]
    return [
        at_most("embedded model: first words of three advisors", median(slowest), 3, " s"),
        at_most("embedded model: memory of the whole app", memory, 700, " MB"),
    ]
