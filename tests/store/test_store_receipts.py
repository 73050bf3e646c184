"""Receipts as rows: a chain of appends, texts kept once, everything loaded in a few reads."""

from __future__ import annotations

import pytest
from tests.store.begin import begin_turn

from polyvox.errors import NotFound
from polyvox.ids import new_id
from polyvox.store import conversations, receipts
from polyvox.store.database import Database, Tx
from polyvox.store.turns import NewTurn
from polyvox.values import Advisor, Scope

ME, YOU = Scope("me"), Scope("you")
ANN, BOB = Advisor("ann", "ann", "Ann", ""), Advisor("bob", "bob", "Bob", "")


def answers(tx: Tx, count: int) -> tuple[str, list[str]]:
    """A conversation with so many turns; Ann's answers in it."""
    talk = conversations.create(tx, 0).id
    made = []
    for number in range(count):
        new = NewTurn(f"message {number}", (ANN, BOB), number)
        begun = begin_turn(tx, talk, new, new_id(), "r", 999, 0)
        made.append(begun.answers[0].id)
    return talk, made


def put(tx: Tx, talk: str, answer: str, base: str | None, data: str, **spans: str) -> None:
    receipts.put(tx, answer, talk, base, data, spans)


async def test_a_receipt_and_all_it_is_an_append_to(database: Database) -> None:
    def work(tx: Tx) -> None:
        talk, (one, two, three) = answers(tx, 3)
        put(tx, talk, one, None, "first", h1="system", h2="protocol")
        put(tx, talk, two, one, "second", h1="system", h3="later protocol")
        put(tx, talk, three, two, "third")
        assert receipts.get(tx.of(ME), two).data == "second"
        assert receipts.chain(tx.of(ME), three) == {three: "third", two: "second", one: "first"}
        assert receipts.chain(tx.of(ME), one) == {one: "first"}
        assert receipts.spans(tx.of(ME), ["h1", "h3", "h3", "nothing"]) == {
            "h1": "system",
            "h3": "later protocol",
        }
        assert receipts.spans(tx.of(YOU), ["h1"]) == {}
        assert receipts.chain(tx.of(YOU), three) == {}
        with pytest.raises(NotFound, match="no receipt"):
            receipts.get(tx.of(YOU), one)
        put(tx, talk, two, None, "second, sealed")
        assert receipts.get(tx.of(ME), two).data == "second, sealed"
        assert receipts.chain(tx.of(ME), three) == {three: "third", two: "second, sealed"}

    await database.write(work, ME)


async def test_one_that_is_not_there(database: Database) -> None:
    def work(tx: Tx) -> None:
        talk, (one, two, _) = answers(tx, 3)
        put(tx, talk, one, None, "first")
        found = receipts.find(tx.of(ME), one)
        assert found is not None
        assert (found.answer_id, found.data, found.base_id) == (one, "first", None)
        assert receipts.find(tx.of(ME), two) is None
        assert receipts.find(tx.of(YOU), one) is None

    await database.write(work, ME)


async def test_many_are_loaded_at_once(database: Database) -> None:
    """More than one statement could name."""

    def work(tx: Tx) -> None:
        talk, made = answers(tx, 900)
        tx.run("UPDATE answers SET text = id WHERE conversation_id = ?", (talk,))
        assert receipts.answers(tx.of(ME), made) == {one: one for one in made}
        ids = [row[0] for row in tx.all("SELECT id FROM turns ORDER BY depth")]
        messages = receipts.messages(tx.of(ME), ids)
        assert [messages[one] for one in ids] == [(f"message {n}", n) for n in range(900)]
        assert receipts.messages(tx.of(YOU), ids) == {}
        assert receipts.answers(tx.of(YOU), made) == {}
        assert receipts.answers(tx.of(ME), []) == {}

    await database.write(work, ME)
