"""An answer ends once, with all that belongs to it in one commit; the turn with its last answer."""

from __future__ import annotations

import pytest
from tests.store.begin import begin_turn

from polyvox.events import (
    AnswerCompleted,
    AnswerFailed,
    AnswerInterrupted,
    AnswerStopped,
    Event,
    TextDelta,
    ThinkingDelta,
    TurnCompleted,
)
from polyvox.ids import new_id
from polyvox.store import conversations, endings, events, search, turns, usage
from polyvox.store.database import Database, Tx
from polyvox.store.endings import Ending
from polyvox.store.turns import Begun, NewTurn
from polyvox.values import Advisor, Answer, AnswerState, Attempt, Failure, Scope, Usage

ME = Scope("me")
WHO = tuple(Advisor(name, name, name.title(), "") for name in ("ann", "bob"))


def begin(tx: Tx) -> Begun:
    talk = conversations.create(tx, 0)
    begun = begin_turn(tx, talk.id, NewTurn("Well?", WHO, 0), new_id(), "runner", 8, 0)
    events.append(tx, talk.id, begun.opening, 0)
    return begun


def say(tx: Tx, answer: Answer, *deltas: Event) -> None:
    for item in events.append(tx, answer.conversation_id, deltas, 5):
        turns.set_streaming(tx, answer.id, item.number, 5)


async def test_an_end_stores_the_text_the_usage_and_the_attempts(database: Database) -> None:
    def work(tx: Tx) -> None:
        begun = begin(tx)
        answer = begun.answers[0]
        say(
            tx,
            answer,
            ThinkingDelta(answer.id, "hm", 0),
            TextDelta(answer.id, "Quite ", 0),
            TextDelta(answer.id, "so.", 6),
        )
        spent = Usage(10, 3, 1, 2, 4_000, False)
        tried = (Attempt("lab:x", 1, 5.0, 200),)
        ending = Ending(answer.id, "completed", None, spent, "lab:x", tried, "[]")
        ended, happened = endings.end(tx, ending, 8)
        assert ended == turns.get_answer(tx, answer.id)
        assert ended is not None
        assert (ended.text, ended.thinking, ended.state) == ("Quite so.", "hm", "completed")
        assert (ended.usage, ended.attempts, ended.points) == (spent, tried, "[]")
        assert (ended.first_at, ended.ended_at, ended.model) == (5, 8, "lab:x")
        assert happened == [AnswerCompleted(answer.id, spent, "lab:x")]
        left = tx.all("SELECT kind FROM events WHERE answer_id = ?", (answer.id,))
        assert left == [("answer.started",)], "its deltas are folded into the answer"
        assert usage.spent(tx, turn_id=begun.turn.id) == 4_000
        made.append(answer.id)

    made: list[str] = []
    await database.write(work, ME)
    found = await search.search(database, ME, "quite")
    assert [hit.id for hit in found] == made[-1:]


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("completed", AnswerCompleted),
        ("failed", AnswerFailed),
        ("stopped", AnswerStopped),
        ("interrupted", AnswerInterrupted),
    ],
)
async def test_one_end_and_no_other(
    database: Database, state: AnswerState, kind: type[Event]
) -> None:
    def work(tx: Tx) -> None:
        begun = begin(tx)
        one, two = begun.answers
        failure = Failure("timeout", "No.", "Wait.") if state == "failed" else None
        _, happened = endings.end(tx, Ending(one.id, state, failure), 1)
        assert [type(event) for event in happened] == [kind]
        if isinstance(happened[0], AnswerFailed):
            assert happened[0].failure == failure
        assert endings.end(tx, Ending(one.id, "completed"), 2) == (None, [])
        assert turns.get_answer(tx, one.id).state == state
        assert turns.get_turn(tx, begun.turn.id).state == "running"
        _, happened = endings.end(tx, Ending(two.id, "stopped"), 3)
        assert happened == [AnswerStopped(two.id), TurnCompleted(begun.turn.id)]
        turn = turns.get_turn(tx, begun.turn.id)
        assert (turn.state, turn.completed_at) == ("completed", 3)

    await database.write(work, ME)


async def test_what_is_open_is_found_with_its_runner(database: Database) -> None:
    def work(tx: Tx) -> None:
        begun = begin(tx)
        one, two = begun.answers
        assert endings.open_answers(tx) == [
            (ME, one.conversation_id, one.id, "runner"),
            (ME, two.conversation_id, two.id, "runner"),
        ]
        endings.end(tx, Ending(one.id, "interrupted"), 1)
        assert [found[2] for found in endings.open_answers(tx)] == [two.id]

    await database.write(work, ME)


async def test_an_answer_under_way_shows_its_text_so_far(database: Database) -> None:
    def work(tx: Tx) -> None:
        answer = begin(tx).answers[0]
        assert turns.live_answer(tx, answer.id).text == ""
        say(tx, answer, TextDelta(answer.id, "So ", 0), ThinkingDelta(answer.id, "hm", 0))
        say(tx, answer, TextDelta(answer.id, "far", 3))
        seen = turns.live_answer(tx, answer.id)
        assert (seen.state, seen.text, seen.thinking) == ("streaming", "So far", "hm")
        assert turns.get_answer(tx, answer.id).text == ""

    await database.write(work, ME)
