"""Durable work: our jobs beside dbos, each on SQLite: speed, start, and what commits feel of it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from benchmarks.processes import ROOT, environment
from benchmarks.report import Row, at_most, median, percentile, plain
from polyvox.ids import system_clock
from polyvox.store import jobs, usage
from polyvox.store.database import Database, Tx
from polyvox.store.jobs import Job
from polyvox.store.open import open_database
from polyvox.store.runners import Runner, register
from polyvox.values import Scope, Usage
from polyvox.work.worker import Handler, Worker

ME = Scope()
HOME = ROOT / ".cache" / "bench-dbos"
DBOS = "dbos==3.3.0"
CHILD = ROOT / "benchmarks" / "durable_dbos.py"
COUNT = 200
PACE, COMMITS = 0.01, 600
"""Seconds between two commits whose time is taken, and how many there are."""
OURS = """
import time
began = time.perf_counter()
import polyvox.work.worker
print(time.perf_counter() - began)
"""


async def durable(
    place: Path, count: int = COUNT, commits: int = COMMITS, *, dbos: bool = True
) -> list[Row]:
    """Everything, one after the other: alone, then beside commits that somebody waits for."""
    python = _python() if dbos else None
    database = await open_database(f"sqlite:///{place / 'ours.db'}", place)
    began = time.perf_counter()
    runner = await register(database, system_clock)
    worker = Worker(
        database,
        runner,
        system_clock,
        {
            "steps": _storing(database, count),
            "job": _storing(database, 1),
        },
    )
    start = time.perf_counter() - began
    imported = float(_output([sys.executable, "-c", OURS]))
    ours = {"import": imported, "start": start, **await _ours(database, worker, count)}
    theirs = None
    if python is not None:
        _child(python, place, 1)  # makes its tables; ours are there too when the time is taken
        theirs = json.loads(_child(python, place, count))
    rows = [
        *_side_by_side(ours, theirs, count),
        _dependencies(python),
        *await _beside(database, runner, place, python, commits),
    ]
    await runner.close()
    await database.close()
    return rows


async def _ours(database: Database, worker: Worker, count: int) -> dict[str, float]:
    await database.write(lambda tx: jobs.enqueue(tx, "steps", "all", 0), ME)
    began = time.perf_counter()
    await worker.run_due()
    steps = time.perf_counter() - began
    began = time.perf_counter()
    for number in range(count):
        await database.write(_wanting(f"first {number}"), ME)
    await worker.run_due()
    return {"steps": steps, "jobs": time.perf_counter() - began}


def _storing(database: Database, pieces: int) -> Handler:
    """A job that stores so many small things, one after another."""

    async def handler(_: Job) -> None:
        for _piece in range(pieces):
            await database.write(_store, ME)

    return handler


def _store(tx: Tx) -> None:
    usage.record(tx, usage=Usage(1, 1), model="x:y", advisor_id="bench", at=0, purpose="bench")


def _wanting(subject: str) -> Callable[[Tx], bool]:
    return lambda tx: jobs.enqueue(tx, "job", subject, 0)


def _side_by_side(ours: dict[str, float], theirs: dict[str, float] | None, count: int) -> list[Row]:
    what = {
        "import": "durable work: import",
        "start": "durable work: start, with the tables there",
        "steps": f"durable work: {count} steps of one job",
        "jobs": f"durable work: {count} jobs of one step, wanted and done",
    }
    rows = []
    for name, words in what.items():
        if theirs is None:
            beside = "dbos not measured: it could not be installed"
        else:
            beside = f"dbos {theirs[name]:.3f} s, {theirs[name] / ours[name]:.1f} times as long"
        rows.append(plain(words, ours[name] * 1000, " ms", beside))
    return rows


def _dependencies(python: Path | None) -> Row:
    what = "durable work: packages and megabytes beyond ours"
    if python is None:
        return Row(what, "0; dbos not measured: it could not be installed")
    (folder,) = (HOME / "lib").glob("python*/site-packages")
    tools = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "__pycache__")
    own = [one for one in folder.iterdir() if not one.name.startswith(tools)]
    size = sum(f.stat().st_size for one in own for f in [one, *one.rglob("*")] if f.is_file())
    packages = sum(one.name.endswith(".dist-info") for one in own)
    return Row(what, f"0 and 0 (dbos: {packages} and {size / 1e6:.0f})")


async def _beside(
    database: Database, runner: Runner, place: Path, python: Path | None, commits: int
) -> list[Row]:
    what = "commit p99 beside"
    rows = [plain("commit p99 without durable work", *_told(await _commits(database, commits)))]
    pace = 100.0
    if python is not None:
        theirs, pace = await _beside_dbos(database, place, python, commits)
        rows.append(plain(f"{what} dbos with a file of its own", *_told(theirs, pace)))
    for words, wanted in ((f"at {pace:.0f} steps a second", pace), ("without pause", None)):
        async with _busy(database, runner, wanted) as done:
            began = time.perf_counter()
            took = await _commits(database, commits)
            reached = done[0] / (time.perf_counter() - began)
        value, unit, detail = _told(took, reached)
        rows.append(at_most(f"{what} our jobs, {words}", value, 25, unit, detail))
    return rows


async def _beside_dbos(
    database: Database, place: Path, python: Path, commits: int
) -> tuple[list[float], float]:
    """How long commits take while dbos works without pause, and its steps a second."""
    child = await asyncio.create_subprocess_exec(
        str(python), str(CHILD), str(place), "10", "--load",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=environment(),
    )  # fmt: skip
    if child.stdin is None or child.stdout is None:
        raise AssertionError("both are pipes")
    await child.stdout.readline()
    began = time.perf_counter()
    took = await _commits(database, commits)
    child.stdin.close()
    steps = int(await child.stdout.readline())
    ended = time.perf_counter()
    await child.wait()
    return took, steps / (ended - began)


def _told(took: list[float], pace: float | None = None) -> tuple[float, str, str]:
    more = "" if pace is None else f", {pace:,.0f} steps a second"
    return percentile(took, 0.99), " ms", f"p50 {median(took):.2f} ms{more}"


async def _commits(database: Database, number: int) -> list[float]:
    """How long small commits take, at the pace of a few conversations."""

    took = []
    for _ in range(number):
        began = time.perf_counter()
        await database.write(_store, ME)
        took.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(PACE)
    return took


@asynccontextmanager
async def _busy(database: Database, runner: Runner, pace: float | None) -> AsyncIterator[list[int]]:
    """Our worker on the same file, at so many steps a second; says how many it took."""
    worker = Worker(database, runner, system_clock, {"job": _storing(database, 1)})
    done, began = [0], time.perf_counter()

    async def work() -> None:
        while True:
            for _ in range(10):
                done[0] += 1
                await database.write(_wanting(f"beside {pace} {done[0]}"), ME)
            await worker.run_due()
            if pace is not None:
                await asyncio.sleep(max(0, began + done[0] / pace - time.perf_counter()))

    task = asyncio.create_task(work())
    try:
        yield done
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def _python() -> Path | None:
    """A Python that has dbos, in an environment of its own."""
    python = HOME / "bin" / "python"
    if python.exists():
        return python
    print(f"Installing {DBOS} in {HOME.relative_to(ROOT)} …", file=sys.stderr)
    done = subprocess.run([sys.executable, "-m", "venv", str(HOME)], check=False)
    if done.returncode == 0:
        pip = [str(python), "-m", "pip", "install", "--quiet", DBOS]
        done = subprocess.run(pip, check=False)
    if done.returncode == 0:
        return python
    print("dbos could not be installed; its figures stay empty.", file=sys.stderr)
    python.unlink(missing_ok=True)
    return None


def _child(python: Path, place: Path, count: int) -> str:
    return _output([str(python), str(CHILD), str(place), str(count)])


def _output(command: list[str]) -> str:
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment()
    ).stdout.strip()
