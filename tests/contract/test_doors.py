"""Contract test files are held to the doors."""

from __future__ import annotations

import pytest
from tests.contract.doors import breaches

pytestmark = pytest.mark.contract


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from polyvox.app import Polyvox\nimport polyvox", []),
        ("from polyvox.settings import Settings", []),
        ("import polyvox.store.turns", ["imports polyvox.store.turns"]),
        ("def f():\n    from polyvox.session.turn import run", ["imports polyvox.session.turn"]),
        ("house.polyvox.database.read(f)", ["uses polyvox.database"]),
        ("room.polyvox.turns.queue.drain()", ["uses polyvox.queue"]),
        ("room.polyvox.turns.send(me, talk, 'Well?')", []),
    ],
)
def test_a_contract_test_that_reaches_inside_is_found(source: str, expected: list[str]) -> None:
    assert breaches(source) == expected
