"""Measure, print a table, and with --write keep it in docs/benchmarks.md."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import uvloop

from benchmarks import (
    commits,
    context,
    durable,
    embedded,
    footprint,
    judging,
    listening,
    long_page,
    optimise,
    page,
    processes,
    recall,
    remembering,
    stopping,
)
from benchmarks.relay import LITELLM_MODELS, Bench
from benchmarks.report import Row, busy, table

Work = Callable[[], list[Row]]
REMEMBERED = 10_000
"""Episodes that a turn's memory holds."""


def plan(options: argparse.Namespace, place: Path) -> Iterator[tuple[str, Work]]:
    """Every measure by its name, in the order of the table."""
    with processes.provider() as direct, processes.polyvox(direct.port, place / "app") as app:
        compared = {"throughput", "first"} & set(options.only or ("throughput",))
        beside = processes.litellm(direct.port, place / "lite", LITELLM_MODELS)
        with beside if compared and not options.no_litellm else nullcontext() as lite:
            bench = Bench(direct, app, lite, options.runs, options.each)
            yield "throughput", bench.throughput
            yield "held", bench.held_back
            yield "first", bench.first_token
        yield "slowest", bench.slowest
        yield "resume", lambda: listening.resumed(app)
        yield "idle", lambda: listening.idle(app)
        yield "commits", lambda: _run(commits.commits(place / "commits", direct.port))
        yield "growth", lambda: _run(commits.growth(place / "growth", direct.port, options.turns))
        yield "footprint", lambda: footprint.footprint(direct.port, place)
    yield "stop", lambda: stopping.stopped(place / "stop")
    yield "context", lambda: _contexts(place)
    yield "page", lambda: _run(long_page.long_page(place / "page"))
    yield "recall", lambda: _recall(place, options)
    yield "judging", judging.judging
    yield "optimise", lambda: _run(optimise.optimise())
    yield "resumed", lambda: _run(optimise.resumed(place))
    yield "memory", lambda: _remembering(place)
    yield "durable", lambda: _run(durable.durable(place / "durable"))
    if options.embedded:
        yield "embedded", lambda: embedded.embedded(place / "embedded")


def _recall(place: Path, options: argparse.Namespace) -> list[Row]:
    locomo = options.locomo or os.environ.get("POLYVOX_LOCOMO")
    rows = _run(recall.found(place / "recall", Path(locomo) if locomo else None))
    beam = options.beam or os.environ.get("POLYVOX_BEAM")
    rows += _run(recall.chats(place / "chats", Path(beam) if beam else None))
    rows += _run(recall.updated(place / "updates"))
    count = options.episodes
    rows += _run(recall.speed(place / "speed", "", "SQLite", count))
    with context.postgres(place / "recall-postgres") as url:
        return rows + _run(recall.speed(place / "speed-postgres", url, "PostgreSQL", count))


def _remembering(place: Path) -> list[Row]:
    rows = _run(remembering.remembering(place / "memory", "", "SQLite", REMEMBERED))
    with context.postgres(place / "memory-postgres") as url:
        more = remembering.remembering(place / "memory-app", url, "PostgreSQL", REMEMBERED)
        return rows + _run(more)


def _contexts(place: Path) -> list[Row]:
    rows = _run(context.context(place / "context", "", "SQLite"))
    with context.postgres(place / "postgres") as url:
        return rows + _run(context.context(place / "context-postgres", url, "PostgreSQL"))


def _run(work: Coroutine[Any, Any, list[Row]]) -> list[Row]:
    return uvloop.run(work)


def main() -> int:
    """Run what was asked for; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="alternating runs (5)")
    parser.add_argument("--each", type=int, default=26, help="16 × this many answers a run (26)")
    parser.add_argument("--turns", type=int, default=500, help="length for `growth` (500)")
    parser.add_argument("--episodes", type=int, default=100_000, help="for `recall` (100,000)")
    parser.add_argument("--locomo", help="a file of LoCoMo conversations, for `recall`")
    parser.add_argument("--beam", help="a file of BEAM chats, for `recall`")
    parser.add_argument("--only", nargs="*", help="only these measures")
    parser.add_argument("--no-litellm", action="store_true", help="leave LiteLLM out")
    parser.add_argument("--embedded", action="store_true", help="also the embedded model (slow)")
    parser.add_argument("--write", action="store_true", help="keep it in docs/benchmarks.md")
    options = parser.parse_args()
    rows: list[Row] = []
    before = busy()
    print(before, file=sys.stderr)
    with processes.scratch() as place:
        for name, work in plan(options, place):
            if options.only and name not in options.only:
                continue
            began = time.perf_counter()
            found = work()
            rows += found
            print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
            print(table(found), file=sys.stderr, flush=True)
    print(table(rows))
    if options.write:
        page.write(rows, sys.argv[1:], before)
    return int(any(row.met is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
