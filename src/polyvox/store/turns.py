"""Turns and answers as rows: beginning a turn, adding answers to it, finding them again.

Invariant: a turn is stored before anyone is asked. How an answer ends is in `endings`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from polyvox.errors import Conflict, NotFound
from polyvox.events import AnswerStarted, ConversationChanged, Event, TurnStarted
from polyvox.ids import new_id
from polyvox.store import search, summaries
from polyvox.store.database import Tx
from polyvox.store.table import Table, known, rows_in
from polyvox.values import (
    Advisor,
    Answer,
    AnswerKind,
    Branch,
    Segment,
    Turn,
)

TURNS = Table("turns", Turn)
ANSWERS = Table("answers", Answer, flat="usage")
BRANCHES = Table("branches", Branch)


@dataclass(frozen=True, slots=True)
class NewTurn:
    """A validated message on its way into a conversation."""

    content: str
    asked: tuple[Advisor, ...]
    said_at: int
    idempotency_key: str | None = None
    body_hash: str = ""
    edits: str | None = None
    """The turn whose message this one replaces, on a branch of its own."""


class Held(NamedTuple):
    """A conversation that is held for a new turn."""

    conversation_id: str
    head_id: str | None
    title: str


class TurnPlace(NamedTuple):
    """The place of a new turn in its conversation."""

    held: Held
    parent_id: str | None
    branch_id: str
    depth: int
    queued: bool
    """Other turns of the conversation come first."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A stored turn; `existing` when the idempotency key had already made it."""

    turn: Turn
    answers: tuple[Answer, ...]
    opening: list[Event] = field(default_factory=list)
    """Its first events, for the caller to append in the same transaction."""
    existing: bool = False
    begins: bool = False
    """True if its session begins with it."""
    follows: bool = False
    """True if it closed another session."""


def get_turn(tx: Tx, turn_id: str) -> Turn:
    """One turn, or NotFound."""
    hint = "`polyvox conversations show last --json` has the ids."
    return known(TURNS.one(tx, "AND id = ?", turn_id), f"There is no turn {turn_id}.", hint)


def turn_of_message(tx: Tx, message_id: str) -> Turn:
    """The turn that a user message opened, or NotFound."""
    turn = TURNS.one(tx, "AND message_id = ?", message_id)
    return known(turn, f"There is no message {message_id}.")


def tip(tx: Tx, conversation_id: str, branch_id: str) -> Turn | None:
    """The last turn of a branch, if it has any."""
    return TURNS.one(
        tx,
        "AND conversation_id = ? AND branch_id = ? ORDER BY depth DESC LIMIT 1",
        conversation_id,
        branch_id,
    )


def on_path(tx: Tx, conversation_id: str, path: Sequence[Segment], after: int = 0) -> list[Turn]:
    """The turns of a path that are deeper than `after`, oldest first."""
    turns = []
    for segment in reversed(path):
        turns += TURNS.all(
            tx,
            "AND conversation_id = ? AND branch_id = ? AND depth > ? AND depth <= ? ORDER BY depth",
            conversation_id,
            segment.branch_id,
            max(after, segment.after),
            segment.upto,
        )
    return turns


def branches_of(tx: Tx, conversation_id: str) -> list[Branch]:
    """Every branch of a conversation, oldest first."""
    return BRANCHES.all(tx, "AND conversation_id = ? ORDER BY created_at, id", conversation_id)


def of_conversation(tx: Tx, conversation_id: str) -> list[tuple[Turn, str]]:
    """Every turn of every branch with its body's hash, in the order in which they came to be."""
    rows = tx.all(
        f"SELECT {TURNS.columns}, body_hash FROM turns"
        " WHERE user_id = ? AND conversation_id = ? ORDER BY created_at, id",
        (tx.user, conversation_id),
    )
    return [(TURNS.value(row), str(row[-1])) for row in rows]


def forks(tx: Tx, conversation_id: str) -> dict[str, tuple[str, ...]]:
    """Turns that share a parent, by that parent ("" for first turns), where there are several."""
    depths = tx.all(
        "SELECT DISTINCT fork_depth + 1 FROM branches WHERE user_id = ? AND conversation_id = ?"
        " AND parent_id IS NOT NULL",
        (tx.user, conversation_id),
    )
    shared: dict[str, list[str]] = {}
    for (depth,) in depths:
        rows = tx.all(
            "SELECT parent_id, id FROM turns WHERE user_id = ? AND conversation_id = ?"
            " AND depth = ? ORDER BY created_at, id",
            (tx.user, conversation_id, depth),
        )
        for parent_id, turn_id in rows:
            shared.setdefault(parent_id or "", []).append(turn_id)
    return {parent: tuple(ids) for parent, ids in shared.items() if len(ids) > 1}


def tips(tx: Tx, turn_ids: Iterable[str]) -> dict[str, str]:
    """For each of these turns the last turn of the branch it stands on."""
    last = {}
    for turn_id in turn_ids:
        turn = get_turn(tx, turn_id)
        last[turn_id] = (tip(tx, turn.conversation_id, turn.branch_id) or turn).id
    return last


def get_answer(tx: Tx, answer_id: str) -> Answer:
    """One answer, or NotFound."""
    hint = "`polyvox conversations show last` has the ids."
    return known(ANSWERS.one(tx, "AND id = ?", answer_id), f"There is no answer {answer_id}.", hint)


def answers_of(tx: Tx, turn_id: str) -> list[Answer]:
    """Every answer of a turn, older versions included, in the order they are shown."""
    return answers_of_all(tx, [turn_id])[turn_id]


def answers_of_all(tx: Tx, turn_ids: Sequence[str]) -> dict[str, list[Answer]]:
    """The same for several turns."""
    answers: dict[str, list[Answer]] = {turn_id: [] for turn_id in turn_ids}
    sql = f"SELECT {ANSWERS.columns} FROM answers WHERE user_id = ? AND turn_id"
    order = " ORDER BY CASE kind WHEN 'synthesis' THEN 1 ELSE 0 END, round, position, version, id"
    for answer in map(ANSWERS.value, rows_in(tx, sql, turn_ids, order)):
        answers[answer.turn_id].append(answer)
    return answers


def with_text_so_far(tx: Tx, answer: Answer) -> Answer:
    """An answer under way with the text stored so far."""
    rows = tx.all(
        "SELECT kind, data FROM events WHERE user_id = ? AND answer_id = ?"
        " AND kind IN ('answer.delta', 'answer.thinking') ORDER BY number",
        (tx.user, answer.id),
    )
    return replace(
        answer,
        text="".join(data for kind, data in rows if kind == "answer.delta"),
        thinking="".join(data for kind, data in rows if kind == "answer.thinking"),
    )


def live_answer(tx: Tx, answer_id: str) -> Answer:
    """One answer with its text so far, or NotFound."""
    answer = get_answer(tx, answer_id)
    return with_text_so_far(tx, answer) if answer.state == "streaming" else answer


def find_repeat(
    tx: Tx, conversation_id: str, key: str, body_hash: str
) -> tuple[Turn, tuple[Answer, ...]] | None:
    """The turn an idempotency key has already made; Conflict when its body was another."""
    row = tx.one(
        f"SELECT {TURNS.columns}, body_hash FROM turns"
        " WHERE user_id = ? AND conversation_id = ? AND idempotency_key = ?",
        (tx.user, conversation_id, key),
    )
    if row is None:
        return None
    if row[-1] != body_hash:
        raise Conflict(
            f"The idempotency key {key!r} was used for another message.",
            "Use a new key for a new message.",
            param="idempotency_key",
        )
    turn = TURNS.value(row)
    firsts = [a for a in answers_of(tx, turn.id) if a.version == 1 and a.kind == "advisor"]
    return turn, tuple(firsts)


def lock(tx: Tx, conversation_id: str) -> Held:
    """Hold a conversation, or NotFound: until the transaction ends, nobody else begins a turn."""
    lock = " FOR UPDATE" if tx.dialect == "postgresql" else ""
    row = tx.one(
        f"SELECT head_id, title FROM conversations WHERE user_id = ? AND id = ?{lock}",
        (tx.user, conversation_id),
    )
    return Held(conversation_id, *known(row, f"There is no conversation {conversation_id}."))


def place(tx: Tx, held: Held, edits: str | None, limit: int, now: int) -> TurnPlace:
    """Find the place of a new message behind the head, or beside the turn that it edits; Conflict
    where more than `limit` messages wait already."""
    conversation_id = held.conversation_id
    waiting = tx.one(
        "SELECT COUNT(*) FROM turns WHERE user_id = ? AND conversation_id = ?"
        " AND state <> 'completed'",
        (tx.user, conversation_id),
    )
    busy = int(waiting[0]) if waiting else 0
    if busy > limit:
        raise Conflict(
            f"{busy} messages of this conversation are still being answered or waiting.",
            "Wait for answers to end, or stop them.",
        )
    parent_id, branch_id, depth = _place(tx, conversation_id, held.head_id, edits, now)
    return TurnPlace(held, parent_id, branch_id, depth, queued=busy > 0)


def begin(
    tx: Tx, place: TurnPlace, new: NewTurn, session_id: str, runner_id: str, now: int
) -> Begun:
    """Store a message and its pending answers at their place; move the head."""
    held = place.held
    conversation_id = held.conversation_id
    turn = Turn(
        id=new_id(),
        conversation_id=conversation_id,
        message_id=new_id(),
        session_id=session_id,
        parent_id=place.parent_id,
        branch_id=place.branch_id,
        depth=place.depth,
        content=new.content,
        said_at=new.said_at,
        asked=tuple(advisor.id for advisor in new.asked),
        state="queued" if place.queued else "running",
        excluded=False,
        created_at=now,
        idempotency_key=new.idempotency_key,
    )
    TURNS.insert(tx, turn, body_hash=new.body_hash, runner_id=runner_id)
    tx.run(
        "UPDATE conversations SET head_id = ?, title = ?, updated_at = ?"
        " WHERE user_id = ? AND id = ?",
        (turn.id, held.title or short_title(new.content), now, tx.user, conversation_id),
    )
    search.index(tx, conversation_id, "message", turn.id, new.content)
    answers, started = add(
        tx, turn, [(advisor, None) for advisor in new.asked], "advisor", 0, runner_id, now
    )
    branched: list[Event] = [] if new.edits is None else [ConversationChanged("head", turn.id)]
    opening = [*branched, TurnStarted(turn.id, turn.message_id), *started]
    return Begun(turn, answers, opening)


def short_title(content: str) -> str:
    """The title of a conversation until somebody names it: the start of its first message."""
    line = " ".join(content.split())
    return line if len(line) <= 64 else line[:64].rsplit(" ", 1)[0].rstrip(",;:.-– ") + "…"


def _place(
    tx: Tx, conversation_id: str, head_id: str | None, edits: str | None, now: int
) -> tuple[str | None, str, int]:
    """The place of a new turn: (parent, branch, depth)."""
    if edits is not None:
        edited = get_turn(tx, edits)
        if edited.conversation_id != conversation_id:
            raise NotFound(f"There is no turn {edits} in this conversation.")
        branch = _branch(tx, conversation_id, edited.branch_id, edited.depth - 1, now)
        return edited.parent_id, branch, edited.depth
    if head_id is not None:
        head = get_turn(tx, head_id)
        taken = tx.one(
            "SELECT 1 FROM turns WHERE user_id = ? AND conversation_id = ? AND branch_id = ?"
            " AND depth = ?",
            (tx.user, conversation_id, head.branch_id, head.depth + 1),
        )
        branch_id = head.branch_id
        if taken is not None:  # the head was moved back: what followed it stays, on its branch
            branch_id = _branch(tx, conversation_id, head.branch_id, head.depth, now)
        return head.id, branch_id, head.depth + 1
    return None, _branch(tx, conversation_id, None, 0, now), 1


def _branch(tx: Tx, conversation_id: str, parent: str | None, depth: int, now: int) -> str:
    branch = Branch(new_id(), parent, depth, now)
    BRANCHES.insert(tx, branch, conversation_id=conversation_id)
    return branch.id


def add(
    tx: Tx,
    turn: Turn,
    who: Sequence[tuple[Advisor, Answer | None]],
    kind: AnswerKind,
    round_: int,
    runner_id: str,
    now: int,
) -> tuple[tuple[Answer, ...], list[Event]]:
    """Pending answers for a turn, each perhaps in place of an older one; with their events, which
    the caller stores in the same transaction."""
    answers = []
    for position, (advisor, old) in enumerate(who):
        answers.append(
            Answer(
                id=new_id(),
                conversation_id=turn.conversation_id,
                turn_id=turn.id,
                advisor_id=advisor.id,
                advisor_name=advisor.name,
                kind=kind,
                state="pending",
                round=round_,
                position=position if old is None else old.position,
                version=1 if old is None else old.version + 1,
                replaces_id=None if old is None else old.id,
                prompt_version_id=advisor.version_id or None,
                created_at=now,
            )
        )
        if old is not None:
            tx.run(
                "UPDATE answers SET current = 0 WHERE user_id = ? AND turn_id = ?"
                " AND advisor_id = ? AND kind = ? AND round = ?",
                (tx.user, turn.id, advisor.id, kind, round_),
            )
            summaries.drop_covering(tx, turn.conversation_id, {f"a{old.id}"}, now)
    for answer in answers:
        insert_answer(tx, turn, answer, runner_id)
    tx.run(
        "UPDATE turns SET state = CASE WHEN state = 'completed' THEN 'running' ELSE state END,"
        " runner_id = ? WHERE user_id = ? AND id = ?",
        (runner_id, tx.user, turn.id),
    )
    started: list[Event] = [
        AnswerStarted(turn.id, a.id, a.advisor_id, a.advisor_name, kind, round_, a.replaces_id)
        for a in answers
    ]
    return tuple(answers), started


def insert_answer(tx: Tx, turn: Turn, answer: Answer, runner_id: str | None) -> None:
    """One row of answers (an imported one may already have ended)."""
    ANSWERS.insert(
        tx,
        answer,
        branch_id=turn.branch_id,
        depth=turn.depth,
        runner_id=runner_id,
        first_number=0,
        last_number=0,
    )


def move_head(tx: Tx, conversation_id: str, turn_id: str) -> None:
    """Let the next message answer to this turn; it must be one of the conversation's."""
    if get_turn(tx, turn_id).conversation_id != conversation_id:
        raise NotFound(f"There is no turn {turn_id} in this conversation.")
    tx.run(
        "UPDATE conversations SET head_id = ? WHERE user_id = ? AND id = ?",
        (turn_id, tx.user, conversation_id),
    )


def set_running(tx: Tx, turn_id: str) -> None:
    """Mark a queued turn as running."""
    tx.run(
        "UPDATE turns SET state = 'running' WHERE user_id = ? AND id = ? AND state = 'queued'",
        (tx.user, turn_id),
    )


def set_streaming(tx: Tx, answer_id: str, number: int, now: int) -> None:
    """Note an answer's first words, stored under this number."""
    tx.run(
        "UPDATE answers SET state = 'streaming', first_at = ?, first_number = ?"
        " WHERE user_id = ? AND id = ? AND state = 'pending'",
        (now, number, tx.user, answer_id),
    )


def set_excluded(tx: Tx, table: str, row_id: str, excluded: bool) -> None:
    """Keep a message's turn or an answer out of later requests, or let it in again."""
    if table not in ("turns", "answers"):
        raise ValueError(table)
    tx.run(
        f"UPDATE {table} SET excluded = ? WHERE user_id = ? AND id = ?",
        (int(excluded), tx.user, row_id),
    )
