"""The end of an answer, as rows: once, in the commit that holds its whole text and all that belongs
to it. The turn is completed in the commit that ends its last open answer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from polyvox.events import (
    AnswerCompleted,
    AnswerEnded,
    AnswerFailed,
    AnswerInterrupted,
    AnswerStopped,
    Event,
    TurnCompleted,
)
from polyvox.ids import Clock
from polyvox.store import events, search, usage
from polyvox.store.database import Database, Tx
from polyvox.store.runners import Runner
from polyvox.store.turns import ANSWERS, get_answer
from polyvox.values import Answer, AnswerState, Attempt, Failure, Scope, Usage


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of an answer, with all that is stored in the same commit."""

    answer_id: str
    state: AnswerState
    failure: Failure | None = None
    usage: Usage | None = None
    model: str = ""
    attempts: tuple[Attempt, ...] = field(default=())
    points: str | None = None
    """A synthesis once it is read: its points and who they are attributed to, as JSON."""


def end(tx: Tx, ending: Ending, now: int) -> tuple[Answer | None, list[Event]]:
    """End an answer that is still open: fold its deltas, store everything, and complete the turn
    with its last one. Answers the events for the caller to append; (None, []) if it had ended."""
    answer = get_answer(tx, ending.answer_id)
    if answer.state not in ("pending", "streaming"):
        return None, []
    folded = events.fold(tx, answer.id)
    spent = ending.usage
    ended = replace(
        answer,
        state=ending.state,
        text=folded.text,
        thinking=folded.thinking,
        failure=ending.failure,
        usage=spent,
        model=ending.model or answer.model,
        attempts=ending.attempts,
        points=ending.points,
        ended_at=now,
    )
    ANSWERS.update(
        tx,
        ended,
        "state text thinking failure usage model attempts points ended_at",
        marks=folded.marks,
        last_number=folded.last,
    )
    if folded.text:
        search.index(tx, answer.conversation_id, "answer", answer.id, folded.text)
    if spent is not None:
        usage.record(
            tx,
            usage=spent,
            model=ending.model,
            advisor_id=answer.advisor_id,
            conversation_id=answer.conversation_id,
            answer_id=answer.id,
            purpose=answer.kind,
            at=now,
        )
    return ended, [_ended_event(ended), *_completed(tx, answer.turn_id, now)]


def _ended_event(answer: Answer) -> AnswerEnded:
    match answer.state:
        case "completed":
            return AnswerCompleted(answer.id, answer.usage or Usage(0, 0), answer.model)
        case "failed":
            failure = answer.failure or Failure("unavailable", "Unknown.")
            return AnswerFailed(answer.id, failure.category, failure.message, failure.hint)
        case "stopped":
            return AnswerStopped(answer.id, answer.usage)
        case _:
            return AnswerInterrupted(answer.id)


def _completed(tx: Tx, turn_id: str, now: int) -> list[Event]:
    still = tx.one(
        "SELECT 1 FROM answers WHERE user_id = ? AND turn_id = ?"
        " AND state IN ('pending', 'streaming') LIMIT 1",
        (tx.user, turn_id),
    )
    if still is not None:
        return []
    tx.run(
        "UPDATE turns SET state = 'completed', completed_at = ? WHERE user_id = ? AND id = ?",
        (now, tx.user, turn_id),
    )
    return [TurnCompleted(turn_id)]


def open_answers(tx: Tx) -> list[tuple[Scope, str, str, str | None]]:
    """Every answer of any user that has not ended: (scope, conversation, answer, runner)."""
    return [
        (Scope(row[0]), row[1], row[2], row[3])
        for row in tx.all(
            "SELECT user_id, conversation_id, id, runner_id FROM answers"
            " WHERE state IN ('pending', 'streaming') ORDER BY id"
        )
    ]


# -- after a crash ---------------------------------------------------------------------------------


async def recover(database: Database, runner: Runner, clock: Clock) -> int:
    """Close what nobody is writing any more; answers how many answers that were."""
    left = await database.read(open_answers)
    gone = await runner.dead({who for *_, who in left if who is not None})
    orphans = [entry for entry in left if entry[3] is None or entry[3] in gone]

    def close(tx: Tx) -> int:
        closed = 0
        for scope, conversation_id, answer_id, _ in orphans:
            own, now = tx.of(scope), clock()
            ended, happened = end(own, Ending(answer_id, "interrupted"), now)
            events.append(own, conversation_id, happened, now)
            closed += ended is not None
        return closed

    return await database.write(close) if orphans else 0
