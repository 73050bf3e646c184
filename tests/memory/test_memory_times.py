from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvox.memory.times import times_in

NOW = int(datetime(2024, 3, 6, 15, 0, tzinfo=UTC).timestamp()) * 1_000_000
"""A Wednesday."""


def said(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1_000_000, UTC).date().isoformat()


@pytest.mark.parametrize(
    ("text", "first", "before"),
    [
        ("on 2023-05-03", "2023-05-03", "2023-05-04"),
        ("in 2023-05", "2023-05-01", "2023-06-01"),
        ("on May 3, 2023?", "2023-05-03", "2023-05-04"),
        ("the 3rd of May 2023", "2023-05-03", "2023-05-04"),
        ("on 3 May", "2023-05-03", "2023-05-04"),
        ("on 5 March", "2024-03-05", "2024-03-06"),
        ("in February 2023", "2023-02-01", "2023-03-01"),
        ("in Feb. 2024", "2024-02-01", "2024-03-01"),
        ("in May", "2023-05-01", "2023-06-01"),
        ("during 2022", "2022-01-01", "2023-01-01"),
        ("yesterday", "2024-03-05", "2024-03-06"),
        ("today", "2024-03-06", "2024-03-07"),
        ("this week", "2024-03-04", "2024-03-11"),
        ("last week", "2024-02-26", "2024-03-04"),
        ("last month", "2024-02-01", "2024-03-01"),
        ("this year", "2024-01-01", "2025-01-01"),
        ("last year", "2023-01-01", "2024-01-01"),
        ("3 days ago", "2024-03-03", "2024-03-04"),
        ("am 3. Mai 2023", "2023-05-03", "2023-05-04"),
        ("im August", "2023-08-01", "2023-09-01"),
        ("le 14 juillet 2022", "2022-07-14", "2022-07-15"),
        ("en décembre", "2023-12-01", "2024-01-01"),
        ("el 2 de enero de 2023", "2023-01-02", "2023-01-03"),
        ("em fevereiro de 2023", "2023-02-01", "2023-03-01"),
        ("a marzo 2023", "2023-03-01", "2023-04-01"),
        ("op 5 maart", "2024-03-05", "2024-03-06"),
        ("2 weeks ago", "2024-02-18", "2024-02-25"),
    ],
)
def test_times_in_words(text: str, first: str, before: str) -> None:
    found = times_in(f"What happened {text}", NOW)

    assert [(said(span.start), said(span.end)) for span in found.spans] == [(first, before)]
    assert "happened" in found.rest
    assert found.words


@pytest.mark.parametrize(
    "text",
    [
        "What may I do?",
        "on 31 June",
        "on 2023-13-01",
        "I march on",
        "in 5 minutes",
        "",
        "İ yesterday",
    ],
)
def test_what_is_no_time(text: str) -> None:
    found = times_in(text, NOW)

    assert found.spans == ()
    assert found.rest == text


def test_several_times() -> None:
    found = times_in("Between 3 May 2023 and yesterday, or in 2021", NOW)

    assert sorted(said(span.start) for span in found.spans) == [
        "2021-01-01",
        "2023-05-03",
        "2024-03-05",
    ]


@given(st.text(max_size=80), st.integers(min_value=0, max_value=4_000_000_000_000_000))
def test_no_text_is_too_strange(text: str, now: int) -> None:
    for span in times_in(f"{text} last month {text}", now).spans:
        assert span.start < span.end
