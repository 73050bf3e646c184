"""A missed bar is said, in the table and on the page."""

from __future__ import annotations

from benchmarks.page import text
from benchmarks.report import at_least, at_most, median, percentile, plain, table


def test_a_large_figure_meets_a_bar_below_it() -> None:
    assert at_least("speed", 0.5, 0.5).met is True
    assert at_least("speed", 0.49, 0.5).met is False


def test_a_small_figure_meets_a_bar_above_it() -> None:
    assert at_most("wait", 10, 10, " ms").met is True
    assert at_most("wait", 10.1, 10, " ms").met is False


def test_the_table_marks_what_is_missed() -> None:
    rows = [at_most("wait", 12, 10, " ms"), at_least("speed", 1, 0.5), plain("other", 3)]
    marks = [line.split()[-1] for line in table(rows).splitlines()[2:]]
    assert marks == ["NO", "yes", "3.00"]


def test_the_page_has_every_row_and_the_command() -> None:
    page = text([at_most("wait", 12, 10, " ms", "p99 13")], ["--runs", "3", "--write"], "quiet")
    assert "- quiet\n" in page
    assert "| wait | 12.0 ms (p99 13) | ≤ 10 ms | NO |" in page
    assert 'make bench ARGS="--runs 3 --write"' in page


def test_percentiles_are_values_that_occurred() -> None:
    values = [float(number) for number in range(1, 101)]
    assert percentile(values, 0.99) == 100
    assert percentile([5.0], 0.99) == 5
    assert median(values) == 50.5
