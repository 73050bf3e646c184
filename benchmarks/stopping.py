"""Stopping: how soon the provider, who charges for every token, is let go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.lean import Failed
from benchmarks.processes import council, get, load, polyvox, provider
from benchmarks.report import Row, at_most, median

TIMES = 50
MODEL = "tokens=5000;pace=0.005"


def stopped(home: Path) -> list[Row]:
    """From the request that stops an answer to its connection closed, as the provider sees it.
    The servers are others than those of the rows beside it: this provider keeps a log."""
    with provider(log=True) as upstream, polyvox(upstream.port, home) as app:
        advisors = council(app, [f"lab:{MODEL}"])
        sent = load("stops", port=app.port, advisors=advisors, count=TIMES)["sent"]
        took = waits(sent, get(upstream, "/log"))
    detail = f"p50 {median(took):.1f} ms, {TIMES} answers"
    return [at_most("stop: slowest to close the upstream", max(took), 100, " ms", detail)]


def waits(sent: Sequence[float], log: Sequence[Mapping[str, Any]]) -> list[float]:
    """Milliseconds from each stop to the close of its request; both in the order they came. The
    processes of one machine share the monotonic clock."""
    closed = [request["closed_at"] for request in log if request["model"] == MODEL]
    if len(closed) != len(sent) or None in closed:
        raise Failed(f"{len(sent)} stops, but these requests: {closed}")
    return [(end - begin) * 1000 for begin, end in zip(sent, closed, strict=True)]
