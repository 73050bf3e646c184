"""A stop is measured by what the provider saw, and only if it saw all of them."""

from __future__ import annotations

import pytest
from benchmarks.lean import Failed
from benchmarks.stopping import MODEL, waits


def seen(closed_at: float | None, model: str = MODEL) -> dict[str, object]:
    return {"model": model, "closed_at": closed_at}


def test_each_stop_is_paired_with_its_own_request() -> None:
    log = [seen(1.25), seen(None, "another"), seen(2.5)]
    assert waits([1.0, 2.0], log) == [250, 500]


@pytest.mark.parametrize("log", [[seen(1.25)], [seen(1.25), seen(None)]])
def test_a_request_that_went_on_is_no_stop(log: list[dict[str, object]]) -> None:
    with pytest.raises(Failed, match="2 stops"):
        waits([1.0, 2.0], log)
