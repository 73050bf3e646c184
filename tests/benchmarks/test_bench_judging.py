"""The figures about judges' replies."""

from __future__ import annotations

from benchmarks.judging import judging


def test_nothing_passes_silently_where_a_careless_reader_is_fooled() -> None:
    count, ours, careless = judging()
    assert count.met
    assert ours.met
    assert ours.figure.startswith("0.00 (of ")
    assert float(careless.figure.split()[0]) >= 20
