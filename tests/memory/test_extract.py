"""What a model noted of messages: the days of loops are those that it or the words name."""

from __future__ import annotations

import pytest
from tests.memory.desk import FRIDAY

from polyvox.memory.extract import Said, by_model
from polyvox.memory.values import Episode


@pytest.mark.parametrize(
    ("says", "more", "due"),
    [
        ("I'll call the bank tomorrow.", {"due": ""}, "2024-05-11"),
        ("I'll call the bank tomorrow.", {"due": "2024-05-20"}, "2024-05-20"),
        ("I'll call the bank at last.", {"due": "by Monday"}, "2024-05-13"),
        ("We talk every Sunday.", {"due": "", "type": "habit"}, None),
        ("We talk every Sunday.", {}, None),
        ("I wrote two pages this morning.", {"type": "thread"}, None),
        ("I'll call the bank at last.", {"due": "soon"}, None),
    ],
)
def test_a_loop_is_due_on_the_day_that_is_named(
    says: str, more: dict[str, str], due: str | None
) -> None:
    said = [Said(Episode("s", 0, "user", None, says, FRIDAY), FRIDAY, cloud=True)]
    row = {"n": 0, "quote": says, "text": "What they said", **more}
    (loop,) = by_model({"facts": [], "loops": [row]}, said).sightings
    assert loop.due == due
