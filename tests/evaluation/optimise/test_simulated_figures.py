"""The measured bars, small and with room to spare; `python -m benchmarks --only optimise` prints
them in full."""

from __future__ import annotations

from tests.evaluation.optimise.simulate import changed, unchanged

from benchmarks import optimise as bench


async def test_noise_is_rarely_called_an_improvement() -> None:
    found = await bench.runs(150, unchanged(0.5))
    assert found.improved <= 0.10  # the bar is 0.05 of 1,000
    assert found.regressed <= 0.10


async def test_nor_is_noise_that_all_assertions_share() -> None:
    found = await bench.runs(150, unchanged(0.5), together=1.0, contexts=1)
    assert found.improved <= 0.10


async def test_a_true_change_is_mostly_seen() -> None:
    found = await bench.runs(150, changed(0.5, 0.8))
    assert found.improved >= 0.60  # the bar is 0.70


async def test_a_true_change_is_mostly_seen_on_one_answer_too() -> None:
    """All assertions in one context, and rising and falling as one: the hardest case."""
    found = await bench.runs(60, changed(0.5, 0.8), together=1.0, contexts=1)
    assert found.improved >= 0.65  # the bar is 0.70; about 0.80 of many runs


async def test_best_of_ten_by_single_runs_would_be_fooled() -> None:
    """The reason for all of this: without repeats and confirmation noise wins."""
    assert await bench.naive(150) >= 0.70


async def test_the_whole_table_has_its_bars() -> None:
    rows = await bench.optimise(6)
    barred = [row.what for row in rows if row.bar]
    assert len(barred) >= 4
    assert all(row.figure for row in rows)
