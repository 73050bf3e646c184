"""The numbered log of a conversation: appending, folding an ended answer, reading since a number.

Invariant: the rows and folded answers with a number up to N hold exactly what any listener who has
seen N was shown. Numbers are assigned inside the transaction that stores the row.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from polyvox.events import (
    AnswerStarted,
    ConversationChanged,
    Delta,
    Event,
    ExchangeNotice,
    Numbered,
    TextDelta,
    ThinkingDelta,
    TurnCompleted,
    TurnStarted,
    payload,
    restored,
)
from polyvox.store.database import Tx
from polyvox.store.table import known

EXACT_ROWS = 64
"""The most folded rows that are replayed one by one; more are condensed to one per answer."""
PAGE = 4096
"""Numbers that one read of the log covers."""


@dataclass(frozen=True, slots=True)
class EventRange:
    """One event of a replay and the range of numbers that it stands for."""

    first: int
    last: int
    event: Event


@dataclass(frozen=True, slots=True)
class LogPage:
    """A part of the log: everything after `after` up to `upto`."""

    stretches: list[EventRange]
    upto: int
    more: bool


def append(tx: Tx, conversation_id: str, events: Sequence[Event], now: int) -> list[Numbered]:
    """Store events with the next numbers of their conversation. A mere change of it does not move
    it in the list, which is ordered by the newest message."""
    if not events:
        return []
    spoken = any(not isinstance(event, ConversationChanged) for event in events)
    row = tx.one(
        "UPDATE conversations SET last_number = last_number + ?,"
        " updated_at = CASE WHEN ? = 1 THEN ? ELSE updated_at END"
        " WHERE user_id = ? AND id = ? RETURNING last_number",
        (len(events), int(spoken), now, tx.user, conversation_id),
    )
    (last,) = known(row, f"There is no conversation {conversation_id}.")
    number = last - len(events)
    numbered = [Numbered(number + i, event) for i, event in enumerate(events, 1)]
    tx.many(
        "INSERT INTO events (user_id, conversation_id, number, kind, turn_id, answer_id, data,"
        " start) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(tx.user, conversation_id, *_row(item)) for item in numbered],
    )
    return numbered


def _row(item: Numbered) -> tuple[int, str, str | None, str | None, str, int]:
    event = item.event
    if isinstance(event, TextDelta | ThinkingDelta):
        return item.number, event.kind, None, event.answer_id, event.text, event.at
    if isinstance(event, ConversationChanged):
        return item.number, event.kind, None, None, payload(event).decode(), 0
    if isinstance(event, TurnStarted | ExchangeNotice | TurnCompleted):
        return item.number, event.kind, event.turn_id, None, payload(event).decode(), 0
    turn_id = event.turn_id if isinstance(event, AnswerStarted) else None
    answer_id = event.answer_id
    return item.number, event.kind, turn_id, answer_id, payload(event).decode(), 0


def notices(tx: Tx, conversation_id: str, after: int = 0) -> list[ExchangeNotice]:
    """What was said of exchanges after a number, oldest first."""
    rows = tx.all(
        "SELECT data FROM events WHERE user_id = ? AND conversation_id = ? AND number > ?"
        " AND kind = ? ORDER BY number",
        (tx.user, conversation_id, after, ExchangeNotice.kind),
    )
    return [msgspec.json.decode(row[0], type=ExchangeNotice) for row in rows]


def holds(tx: Tx, delta: Delta) -> bool:
    """True if this very delta is stored: as a row, or folded because its answer has ended."""
    row = tx.one(
        "SELECT 1 FROM events WHERE user_id = ? AND answer_id = ? AND kind = ? AND start = ?",
        (tx.user, delta.answer_id, delta.kind, delta.at),
    ) or tx.one(
        "SELECT 1 FROM answers WHERE user_id = ? AND id = ?"
        " AND state NOT IN ('pending', 'streaming')",
        (tx.user, delta.answer_id),
    )
    return row is not None


@dataclass(frozen=True, slots=True)
class Folded:
    """An answer's whole text and thinking, with marks of where each delta ended."""

    text: str
    thinking: str
    marks: bytes
    last: int


def fold(tx: Tx, answer_id: str) -> Folded:
    """Take an answer's delta rows out of the log; return their texts and marks."""
    rows = tx.all(
        "SELECT number, kind, data FROM events WHERE user_id = ? AND answer_id = ?"
        " AND kind IN ('answer.delta', 'answer.thinking') ORDER BY number",
        (tx.user, answer_id),
    )
    parts: dict[str, list[str]] = {TextDelta.kind: [], ThinkingDelta.kind: []}
    marks: dict[str, list[tuple[int, int]]] = {TextDelta.kind: [], ThinkingDelta.kind: []}
    ends = dict.fromkeys(parts, 0)
    for number, kind, data in rows:
        parts[kind].append(data)
        ends[kind] += len(data)
        marks[kind].append((number, ends[kind]))
    if rows:
        tx.run(
            "DELETE FROM events WHERE user_id = ? AND answer_id = ?"
            " AND kind IN ('answer.delta', 'answer.thinking')",
            (tx.user, answer_id),
        )
    return Folded(
        "".join(parts[TextDelta.kind]),
        "".join(parts[ThinkingDelta.kind]),
        msgspec.msgpack.encode((marks[TextDelta.kind], marks[ThinkingDelta.kind])),
        rows[-1][0] if rows else 0,
    )


def since(tx: Tx, conversation_id: str, after: int) -> LogPage:
    """The events after a number, one page of them, in order."""
    row = tx.one(
        "SELECT last_number FROM conversations WHERE user_id = ? AND id = ?",
        (tx.user, conversation_id),
    )
    (newest,) = known(row, f"There is no conversation {conversation_id}.")
    upto = min(newest, after + PAGE)
    ranges = [
        EventRange(number, number, restored(kind, data, answer_id, start))
        for number, kind, answer_id, data, start in tx.all(
            "SELECT number, kind, answer_id, data, start FROM events"
            " WHERE user_id = ? AND conversation_id = ? AND number > ? AND number <= ?",
            (tx.user, conversation_id, after, upto),
        )
    ]
    folded = tx.all(
        "SELECT id, text, thinking, marks FROM answers WHERE user_id = ? AND conversation_id = ?"
        " AND last_number > ? AND first_number <= ? AND marks IS NOT NULL",
        (tx.user, conversation_id, after, upto),
    )
    ranges += _unfolded(folded, after, upto)
    ranges.sort(key=lambda item: item.last)
    return LogPage(ranges, upto, upto < newest)


def _unfolded(
    rows: Sequence[tuple[str, str, str, bytes]], after: int, upto: int
) -> list[EventRange]:
    """The deltas of folded answers with numbers in (after, upto]."""
    channels: list[tuple[str, type[Delta], str, list[tuple[int, int]], int]] = []
    for answer_id, text, thinking, marks in rows:
        spoken, thought = msgspec.msgpack.decode(bytes(marks))
        for kind, whole, pairs in ((TextDelta, text, spoken), (ThinkingDelta, thinking, thought)):
            numbers = [number for number, _ in pairs]
            first, last = bisect.bisect_right(numbers, after), bisect.bisect_right(numbers, upto)
            if first < last:
                begin = pairs[first - 1][1] if first else 0
                channels.append((answer_id, kind, whole, pairs[first:last], begin))
    exact = sum(len(pairs) for *_, pairs, _ in channels) <= EXACT_ROWS
    ranges = []
    for answer_id, kind, whole, pairs, begin in channels:
        if exact:
            for number, end in pairs:
                ranges.append(EventRange(number, number, kind(answer_id, whole[begin:end], begin)))
                begin = end
        else:
            delta = kind(answer_id, whole[begin : pairs[-1][1]], begin)
            ranges.append(EventRange(pairs[0][0], pairs[-1][0], delta))
    return ranges
