from __future__ import annotations

from pathlib import Path

from benchmarks.durable import durable


async def test_durable_work_is_measured_without_dbos_too(tmp_path: Path) -> None:
    rows = {row.what: row for row in await durable(tmp_path, 3, 5, dbos=False)}

    assert len(rows) == 8
    steps = rows["durable work: 3 steps of one job"]
    assert "dbos not measured" in steps.figure
    assert steps.met is None
    assert rows["commit p99 beside our jobs, without pause"].met is not None
