"""Listeners: coming back to a finished turn, and sitting there while nothing happens."""

from __future__ import annotations

import subprocess
import sys

import msgspec

from benchmarks.processes import ROOT, Server, council, environment, get, load, post
from benchmarks.report import Row, at_most, median

IDLE = 1000


def resumed(polyvox: Server) -> list[Row]:
    """A finished turn of 8 answers and 10,000 tokens in all, read again."""
    advisors = council(polyvox, ["lab:tokens=1250;pace=0.003"] * 8)
    made = post(polyvox, "/api/conversations", {"advisors": advisors})["id"]
    post(polyvox, f"/api/conversations/{made}/turns", {"content": "Tell me all of it."})
    order = {"port": polyvox.port, "conversation": made}
    load("resume", **order, after=0, times=1)  # waits for the end
    last = get(polyvox, f"/api/conversations/{made}")["last_number"]
    rows = []
    for name, after in (("from the start", 0), ("from the middle", last // 2)):
        found = load("resume", **order, after=after, times=15)
        detail = f"slowest {max(found['took']):.0f} ms; {last} events were shown live"
        what = f"resuming 10,000 tokens {name}"
        rows.append(at_most(what, median(found["took"]), 100, " ms", detail))
        detail = f"{found['text']:,} bytes of text"
        share = found["bytes"] / found["text"]
        rows.append(at_most(f"  its bytes, times the text, {name}", share, 1.5, "", detail))
    return rows


def idle(polyvox: Server) -> list[Row]:
    """Memory of the server for each listener to a quiet conversation."""
    made = post(polyvox, "/api/conversations", {})["id"]
    before = polyvox.memory
    order = {"kind": "idle", "port": polyvox.port, "conversation": made, "count": IDLE}
    command = [sys.executable, "-m", "benchmarks.load", msgspec.json.encode(order).decode()]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    each = (polyvox.memory - before) / IDLE / 1000
    process.communicate()
    return [at_most("memory for each idle listener", each, 50, " kB", f"{IDLE:,} of them")]
