"""A companion's state, its sessions' packets and its traces, on both databases."""

from __future__ import annotations

from polyvox.store import companions
from polyvox.store.companions import Kept
from polyvox.store.database import Database, Tx
from polyvox.values import Scope

A, B = Scope("anna"), Scope("bert")


async def test_a_turn_written_again_starts_from_where_it_started(database: Database) -> None:
    def write(tx: Tx) -> None:
        companions.put_state(tx, A, "harbor", "t1", "before", "after", 1)

    await database.write(write)

    def look(tx: Tx) -> list[str | None]:
        return [
            companions.state(tx, A, "harbor", "t1"),
            companions.state(tx, A, "harbor", "t2"),
            companions.state(tx, A, "flint", "t2"),
            companions.state(tx, B, "harbor", "t2"),
        ]

    assert await database.read(look) == ["before", "after", None, None]
    await database.write(lambda tx: companions.put_state(tx, A, "harbor", "t2", "after", "x", 2))
    assert (await database.read(look))[:2] == ["x", "after"]


async def test_dropped_packets_are_fetched_anew_and_the_rest_stays(database: Database) -> None:
    def write(tx: Tx) -> None:
        for scope in (A, B):
            companions.put_session(tx, scope, "s", "c", Kept("words"), 1)
        companions.put_session(tx, A, "s", "c", Kept("words", "t1", "t2"), 2)
        companions.drop_packets(tx, A)

    await database.write(write)
    assert await database.read(lambda tx: companions.session(tx, A, "s")) == Kept("", "t1", "t2")
    assert await database.read(lambda tx: companions.session(tx, B, "s")) == Kept("words")
    assert await database.read(lambda tx: companions.session(tx, A, "none")) is None


async def test_each_answer_of_a_turn_has_a_trace(database: Database) -> None:
    def write(tx: Tx) -> None:
        companions.put_traces(tx, A, "t", "c", [("x", "old")], 1)
        companions.put_traces(tx, A, "t", "c", [("x", "new"), ("y", "other")], 2)
        companions.put_traces(tx, B, "t", "c", [("z", "theirs")], 2)

    await database.write(write)
    assert await database.read(lambda tx: companions.traces(tx, A, "t")) == {
        "x": "new",
        "y": "other",
    }
