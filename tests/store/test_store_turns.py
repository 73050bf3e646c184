"""Turns and answers as rows: where a turn stands, what a key repeats, what a version replaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.store.begin import begin_turn

from polyvox.errors import Conflict, NotFound
from polyvox.events import AnswerStarted, TurnStarted
from polyvox.store import conversations, turns
from polyvox.store.database import Database, Tx
from polyvox.store.turns import Begun, NewTurn
from polyvox.values import Advisor, Answer, Attempt, Failure, Scope, Usage

ME, YOU = Scope("me"), Scope("you")
ANN = Advisor("ann", "ann", "Ann", "", version_id="v1")
BOB = Advisor("bob", "bob", "Bob", "")

Begin = Callable[..., Begun]


def talk(tx: Tx) -> tuple[str, Begin]:
    """A conversation, and how to begin a turn in it that is over at once."""
    made = conversations.create(tx, 0).id

    def begin(text: str = "Well?", *, over: bool = True, limit: int = 8, **more: str) -> Begun:
        new = NewTurn(text, (ANN, BOB), 7, **more)
        begun = begin_turn(tx, made, new, "s", "runner", limit, 9)
        if over:
            tx.run("UPDATE answers SET state = 'completed' WHERE turn_id = ?", (begun.turn.id,))
            tx.run("UPDATE turns SET state = 'completed' WHERE id = ?", (begun.turn.id,))
        return begun

    return made, begin


async def test_a_turn_is_stored_with_its_pending_answers(database: Database) -> None:
    def work(tx: Tx) -> None:
        made, begin = talk(tx)
        begun = begin("  What now?\n", over=False)
        turn = turns.get_turn(tx, begun.turn.id)
        assert turn == begun.turn
        assert (turn.content, turn.said_at, turn.created_at) == ("  What now?\n", 7, 9)
        assert (turn.state, turn.depth, turn.parent_id) == ("running", 1, None)
        assert turn.asked == ("ann", "bob")
        assert tuple(turns.answers_of(tx, turn.id)) == begun.answers
        assert [(a.state, a.position, a.version) for a in begun.answers] == [
            ("pending", 0, 1),
            ("pending", 1, 1),
        ]
        assert begun.answers[0].prompt_version_id == "v1"
        assert begun.opening == [
            TurnStarted(turn.id, turn.message_id),
            *(
                AnswerStarted(turn.id, a.id, a.advisor_id, a.advisor_name, "advisor")
                for a in begun.answers
            ),
        ]
        assert turns.turn_of_message(tx, turn.message_id) == turn
        stored = conversations.get(tx, made)
        assert (stored.head_id, stored.title) == (turn.id, "What now?")

    await database.write(work, ME)


async def test_turns_follow_each_other_and_branch_where_the_place_is_taken(
    database: Database,
) -> None:
    def work(tx: Tx) -> None:
        made, begin = talk(tx)
        one, two, three = begin().turn, begin().turn, begin().turn
        assert [t.depth for t in (one, two, three)] == [1, 2, 3]
        assert one.branch_id == two.branch_id == three.branch_id
        edited = begin(edits=two.id).turn
        assert (edited.depth, edited.parent_id) == (2, one.id)
        assert edited.branch_id != two.branch_id
        after = begin().turn
        assert (after.depth, after.parent_id, after.branch_id) == (3, edited.id, edited.branch_id)
        twice = begin(edits=edited.id).turn
        assert (twice.depth, twice.parent_id) == (2, one.id)
        first = begin(edits=one.id).turn
        assert (first.depth, first.parent_id) == (1, None)
        tx.run("UPDATE conversations SET head_id = ? WHERE id = ?", (two.id, made))
        beside = begin().turn
        assert (beside.depth, beside.parent_id) == (3, two.id)
        assert beside.branch_id != two.branch_id
        tx.run("UPDATE conversations SET head_id = ? WHERE id = ?", (three.id, made))
        on = begin().turn
        assert (on.depth, on.branch_id) == (4, three.branch_id), "nothing stood there yet"

    await database.write(work, ME)


async def test_a_key_repeats_its_turn_and_no_other(database: Database) -> None:
    def work(tx: Tx) -> None:
        _, begin = talk(tx)
        first = begin(idempotency_key="k", body_hash="h")
        again = begin(idempotency_key="k", body_hash="h", over=False)
        assert again.existing
        assert (again.turn.id, again.opening) == (first.turn.id, [])
        assert [a.id for a in again.answers] == [a.id for a in first.answers]
        with pytest.raises(Conflict, match="another message"):
            begin(idempotency_key="k", body_hash="other")
        assert not begin(idempotency_key="l", body_hash="h").existing

    await database.write(work, ME)


async def test_what_is_not_there_or_belongs_to_another(database: Database) -> None:
    def work(tx: Tx) -> None:
        made, begin = talk(tx)
        begun = begin()
        new = NewTurn("x", (ANN,), 0)
        for scope, conversation in ((YOU, made), (ME, "nothing")):
            with pytest.raises(NotFound):
                begin_turn(tx.of(scope), conversation, new, "s", "r", 8, 0)
        with pytest.raises(NotFound):
            turns.get_turn(tx.of(YOU), begun.turn.id)
        with pytest.raises(NotFound):
            turns.get_answer(tx.of(YOU), begun.answers[0].id)
        with pytest.raises(NotFound):
            turns.turn_of_message(tx.of(YOU), begun.turn.message_id)
        assert turns.answers_of(tx.of(YOU), begun.turn.id) == []
        other, _ = talk(tx)
        with pytest.raises(NotFound, match="in this conversation"):
            begin_turn(
                tx.of(ME),
                other,
                NewTurn("x", (ANN,), 0, edits=begun.turn.id),
                "s",
                "r",
                8,
                0,
            )

    await database.write(work, ME)


async def test_so_many_may_wait(database: Database) -> None:
    def work(tx: Tx) -> None:
        _, begin = talk(tx)
        begun = [begin(over=False, limit=2) for _ in range(3)]
        assert [one.turn.state for one in begun] == ["running", "queued", "queued"]
        with pytest.raises(Conflict, match=r"3 messages .* waiting"):
            begin(over=False, limit=2)
        turns.set_running(tx, begun[1].turn.id)
        assert turns.get_turn(tx, begun[1].turn.id).state == "running"
        tx.run("UPDATE turns SET state = 'completed' WHERE id = ?", (begun[0].turn.id,))
        assert begin(over=False, limit=2).turn.state == "queued"
        turns.set_running(tx, begun[0].turn.id)
        assert turns.get_turn(tx, begun[0].turn.id).state == "completed"

    await database.write(work, ME)


async def test_a_new_version_takes_the_place_of_the_old_one(database: Database) -> None:
    def work(tx: Tx) -> None:
        _, begin = talk(tx)
        begun = begin()
        old = turns.get_answer(tx, begun.answers[1].id)
        (new,), started = turns.add(tx, begun.turn, [(BOB, old)], "advisor", 0, "r2", 11)
        assert (new.version, new.replaces_id, new.position) == (2, old.id, 1)
        assert started == [AnswerStarted(begun.turn.id, new.id, "bob", "Bob", "advisor", 0, old.id)]
        assert turns.get_turn(tx, begun.turn.id).state == "running"
        assert not turns.get_answer(tx, old.id).current
        (synthesis,), _ = turns.add(tx, begun.turn, [(ANN, None)], "synthesis", 0, "r2", 11)
        (round_,), _ = turns.add(tx, begun.turn, [(ANN, None)], "exchange", 1, "r2", 11)
        assert [a.id for a in turns.answers_of(tx, begun.turn.id)] == [
            begun.answers[0].id,
            old.id,
            new.id,
            round_.id,
            synthesis.id,
        ]

    await database.write(work, ME)


async def test_every_field_of_an_answer_comes_back(database: Database) -> None:
    """An imported answer that ended long ago."""
    whole = Answer(
        id="a",
        conversation_id="c",
        turn_id="",
        advisor_id="ann",
        advisor_name="Änn 𝄞",
        kind="exchange",
        state="failed",
        text="text\n",
        thinking="thought",
        round=2,
        position=3,
        version=4,
        replaces_id="b",
        current=False,
        excluded=True,
        model="lab:x",
        prompt_version_id="v",
        failure=Failure("timeout", "No…", "Wait."),
        usage=Usage(1, 2, 3, 4, 5, True),
        attempts=(Attempt("lab:x", 1, 2.5, 429, "rate_limit", "Busy"), Attempt("lab:y", 2)),
        created_at=1,
        first_at=2,
        ended_at=3,
        points='{"points":[]}',
    )

    def work(tx: Tx) -> None:
        _, begin = talk(tx)
        turn = begin().turn
        answer = replace(whole, turn_id=turn.id)
        turns.insert_answer(tx, turn, answer, None)
        assert turns.get_answer(tx, "a") == answer
        assert turns.live_answer(tx, "a") == answer

    await database.write(work, ME)


async def test_exclusion_is_a_flag_on_turns_and_answers(database: Database) -> None:
    def work(tx: Tx) -> None:
        _, begin = talk(tx)
        begun = begin()
        answer = begun.answers[0].id
        for flag in (True, False):
            turns.set_excluded(tx.of(ME), "turns", begun.turn.id, flag)
            turns.set_excluded(tx.of(ME), "answers", answer, flag)
            turns.set_excluded(tx.of(YOU), "answers", answer, not flag)
            assert turns.get_turn(tx.of(ME), begun.turn.id).excluded is flag
            assert turns.get_answer(tx.of(ME), answer).excluded is flag
        with pytest.raises(ValueError, match="users"):
            turns.set_excluded(tx.of(ME), "users", "x", True)

    await database.write(work, ME)


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("Short?", "Short?"),
        ("  two\n lines ", "two lines"),
        ("word " * 40, ("word " * 12).strip() + "…"),
        ("x" * 80, "x" * 64 + "…"),
        ("This sentence ends with a comma right about where it must be cut, really", None),
    ],
)
def test_a_title_is_the_beginning_of_the_first_message(content: str, title: str | None) -> None:
    made = turns.short_title(content)
    assert len(made) <= 65
    assert title is None or made == title
    assert not made.removesuffix("…").endswith((",", " ", ";"))
