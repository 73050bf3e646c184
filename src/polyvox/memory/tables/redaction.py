"""Redaction: what is forgotten leaves a mark wherever its provenance leads.

A *place* answers for some tables: it finds the rows that hold, or were made from, forgotten
messages and answers, by their ids, and unless it is a dry run puts the mark there. A room with
tables of its own registers one:

    @place("assertion", tables=("assertions",))
    def _assertions(tx: Tx, gone: Gone, dry: bool) -> list[Found]:
        ...

All places run in the one transaction that forgets, and for the preview with `dry`, so they must
find the same in both and be harmless to repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from polyvox.errors import Conflict
from polyvox.events import ConversationChanged
from polyvox.memory.tables import companions
from polyvox.store import events, search, summaries, turns
from polyvox.store.database import Row, Tx
from polyvox.store.table import rows_in
from polyvox.values import REDACTED

EXCERPT = 160


@dataclass(frozen=True, slots=True)
class Gone:
    """The messages and answers that are forgotten, and who was told of them."""

    turns: frozenset[str] = frozenset()
    """Turns whose message goes."""
    answers: frozenset[str] = frozenset()
    """Answers that go as a whole."""
    told: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Answers whose request held it, with the blocks of memory that did."""
    leaving: str | None = None
    """A conversation that is about to be deleted: nothing has to be marked in it."""
    now: int = 0

    @property
    def refs(self) -> frozenset[str]:
        """The references of these messages and answers, as receipts and contexts name them."""
        return frozenset({f"u{one}" for one in self.turns} | {f"a{one}" for one in self.answers})


@dataclass(frozen=True, slots=True)
class Found:
    """A row that holds something forgotten, or was made from it."""

    kind: str
    """The place: message, answer, title, receipt …"""
    id: str
    text: str
    """The beginning of its text, as it stood."""
    conversation_id: str | None = None


class Place(Protocol):
    """Finds the rows of its tables that are concerned; unless `dry`, puts the mark there."""

    def __call__(self, tx: Tx, gone: Gone, dry: bool) -> list[Found]:
        """What was found."""
        ...


PLACES: dict[str, Place] = {}
TABLES: set[str] = {
    "companion_sessions", "companion_traces", "companion_states", "companion_turns",
    "companion_marks", "companion_drops", "jobs", "events", "passages", "spans", "told_sources",
}  # fmt: skip
"""Every table that some place answers for. Those named here hold ids, names and numbers, or texts
that go with the rows beside them."""


def place(name: str, *, tables: Sequence[str]) -> Callable[[Place], Place]:
    """Register a place under a name of its own."""

    def register(one: Place) -> Place:
        PLACES[name] = one
        TABLES.update(tables)
        return one

    return register


def redact(tx: Tx, gone: Gone, *, dry: bool) -> list[Found]:
    """Everything that is concerned, in every place; unless `dry`, marked."""
    return [found for one in PLACES.values() for found in one(tx, gone, dry)]


def excerpt(text: str) -> str:
    """The beginning of a text, for a preview."""
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else f"{line[: EXCERPT - 1].rstrip()}…"


# -- what an answer was told from memory -----------------------------------------------------------


def keep_told(tx: Tx, answer_id: str, sources: Iterable[tuple[str, str]]) -> None:
    """Keep what an answer was told: (block, id of a statement or of a message)."""
    tx.many(
        "INSERT INTO told_sources (user_id, answer_id, block, source) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        [(tx.user, answer_id, block, source) for block, source in sorted(set(sources))],
    )


def told_of(tx: Tx, sources: Iterable[str]) -> dict[str, frozenset[str]]:
    """The answers that were told any of these, with the blocks that told it."""
    sql = "SELECT answer_id, block FROM told_sources WHERE user_id = ? AND source"
    found: dict[str, set[str]] = {}
    for answer_id, block in rows_in(tx, sql, sources):
        found.setdefault(answer_id, set()).add(block)
    return {name: frozenset(blocks) for name, blocks in found.items()}


def check_rest(tx: Tx, gone: Gone) -> None:
    """Refuse while an answer is being written that was told what is forgotten, or may have been:
    it would bring it back when it ends."""
    companions.drop_packets(tx)
    busy = tx.all(
        "SELECT id, conversation_id FROM answers"
        " WHERE user_id = ? AND state IN ('pending', 'streaming')",
        (tx.user,),
    )
    talks = {row[0] for row in _rows(tx, "turns", "conversation_id", gone.turns)}
    for answer_id, conversation_id in busy:
        if conversation_id != gone.leaving and (conversation_id in talks or answer_id in gone.told):
            raise Conflict(
                "An answer that may have been told this is being written right now.",
                "Stop it, or wait until it has ended, and forget it then.",
            )


# -- the places of conversations -------------------------------------------------------------------


@place("title", tables=("conversations",))
def _titles(tx: Tx, gone: Gone, dry: bool) -> list[Found]:
    """Titles that were made from a forgotten message; looked at while its words are still there."""
    said = _rows(tx, "turns", "conversation_id, content", gone.turns)
    found = []
    titles: dict[str, str] = dict(_rows(tx, "conversations", "id, title", {row[0] for row in said}))
    for talk, content in said:
        title = titles.get(talk, "")
        if not title or talk == gone.leaving or title != turns.short_title(content):
            continue
        found.append(Found("title", talk, title, talk))
        if not dry:
            tx.run(
                "UPDATE conversations SET title = '' WHERE user_id = ? AND id = ?", (tx.user, talk)
            )
            search.remove(tx, "title", talk)
            events.append(tx, talk, [ConversationChanged("details", talk)], gone.now)
    return found


@place("message", tables=("turns",))
def _messages(tx: Tx, gone: Gone, dry: bool) -> list[Found]:
    found = []
    columns = "id, conversation_id, message_id, content"
    for turn_id, talk, message_id, content in _rows(tx, "turns", columns, gone.turns):
        if talk == gone.leaving or content == REDACTED:
            continue
        found.append(Found("message", message_id, excerpt(content), talk))
        if dry:
            continue
        # Without its hash the same idempotency key meets another body: refused, not said twice.
        tx.run(
            "UPDATE turns SET content = ?, body_hash = '', excluded = 1, redacted = 1"
            " WHERE user_id = ? AND id = ?",
            (REDACTED, tx.user, turn_id),
        )
        search.remove(tx, "message", turn_id)
        _changed(tx, talk, f"u{turn_id}", ConversationChanged("message", message_id), gone.now)
    return found


@place("answer", tables=("answers",))
def _answers(tx: Tx, gone: Gone, dry: bool) -> list[Found]:
    found = []
    columns = "id, conversation_id, text, thinking, failure"
    for answer_id, talk, text, thinking, failure in _rows(tx, "answers", columns, gone.answers):
        if talk == gone.leaving or text == REDACTED:
            continue
        found.append(Found("answer", answer_id, excerpt(text or thinking), talk))
        if dry:
            continue
        tx.run(
            "UPDATE answers SET text = ?, thinking = '', points = NULL, failure = ?,"
            " attempts = '[]', marks = NULL, excluded = 1, redacted = 1"
            " WHERE user_id = ? AND id = ?",
            (REDACTED if text else "", failure and _worded(failure), tx.user, answer_id),
        )
        for number, data in tx.all(
            "SELECT number, data FROM events WHERE user_id = ? AND conversation_id = ?"
            " AND answer_id = ? AND kind = 'answer.failed'",
            (tx.user, talk, answer_id),
        ):
            tx.run(
                "UPDATE events SET data = ? WHERE user_id = ? AND conversation_id = ?"
                " AND number = ?",
                (_worded(data), tx.user, talk, number),
            )
        for _, _, data in _receipts_of(tx, "answer_id", [answer_id]):
            tx.run(
                "UPDATE receipts SET data = ? WHERE user_id = ? AND answer_id = ?",
                (_without_messages(data), tx.user, answer_id),
            )
        search.remove(tx, "answer", answer_id)
        _changed(tx, talk, f"a{answer_id}", ConversationChanged("answer", answer_id), gone.now)
    return found


def _worded(data: str) -> str:
    """A failure without the provider's own words."""
    return msgspec.json.encode({**msgspec.json.decode(data), "message": REDACTED}).decode()


def _without_messages(data: str) -> str:
    """A receipt's data without a provider's own words on failed calls."""
    stored = msgspec.json.decode(data)
    for attempt in (stored.get("sent") or {}).get("attempts", ()):
        if attempt.get("message"):
            attempt["message"] = REDACTED
    return msgspec.json.encode(stored).decode()


def _changed(tx: Tx, talk: str, ref: str, event: ConversationChanged, now: int) -> None:
    summaries.drop_covering(tx, talk, {ref}, now)
    events.append(tx, talk, [event], now)


class _Made(msgspec.Struct):
    template: str = ""
    whole: bool = False


class Shown(msgspec.Struct):
    """The part of a receipt that holds texts made from messages."""

    memory: list[tuple[str, str]] = []
    note: _Made | None = None
    omitted: list[tuple[str, int, int, int, int]] = []


@place("receipt", tables=("receipts",))
def _receipts(tx: Tx, gone: Gone, dry: bool) -> list[Found]:
    """Receipts name texts by hash: one that was made from something forgotten goes as a whole, and
    the receipt then shows the mark and is not exact."""
    depths: dict[str, list[int]] = {}
    for table, ids in (("turns", gone.turns), ("answers", gone.answers)):
        for talk, depth in _rows(tx, table, "conversation_id, depth", ids):
            depths.setdefault(talk, []).append(depth)
    rows = _receipts_of(tx, "answer_id", gone.told)
    rows += _receipts_of(tx, "conversation_id", depths)
    found: dict[str, Found] = {}
    for answer_id, talk, data in rows:
        if talk == gone.leaving or answer_id in found:
            continue
        shown = msgspec.json.decode(data, type=Shown)
        names = {name for block, name in shown.memory if block in gone.told.get(answer_id, ())}
        inside = (
            first <= depth <= last
            for _, _, _, first, last in shown.omitted
            for depth in depths.get(talk, ())
        )
        if shown.note is not None and shown.note.whole and any(inside):
            names.add(shown.note.template)
        if not names:
            continue
        sql = "SELECT text FROM spans WHERE user_id = ? AND hash"
        texts = [row[0] for row in rows_in(tx, sql, names)]
        if texts:
            found[answer_id] = Found("receipt", answer_id, excerpt(texts[0]), talk)
        if not dry:
            tx.many(
                "DELETE FROM spans WHERE user_id = ? AND hash = ?",
                [(tx.user, name) for name in sorted(names)],
            )
    return list(found.values())


@place("summary", tables=("running_summaries",))
def _summaries(tx: Tx, gone: Gone, dry: bool) -> list[Found]:
    """Running summaries that cover something forgotten; they are written anew."""
    found = []
    for one in summaries.list_all(tx):
        if one.conversation_id != gone.leaving and not gone.refs.isdisjoint(one.covers):
            found.append(Found("summary", one.conversation_id, "", one.conversation_id))
            if not dry:
                summaries.drop(tx, one, gone.now)
    return found


def _receipts_of(tx: Tx, column: str, ids: Iterable[str]) -> list[Row]:
    sql = f"SELECT answer_id, conversation_id, data FROM receipts WHERE user_id = ? AND {column}"
    return rows_in(tx, sql, ids)


def _rows(tx: Tx, table: str, columns: str, ids: Iterable[str]) -> list[Row]:
    return rows_in(tx, f"SELECT {columns} FROM {table} WHERE user_id = ? AND id", ids)
