"""Receipts as rows: references to what was sent, and loading what they refer to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from polyvox.store.database import Tx
from polyvox.store.table import Table, known, rows_in


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    """A receipt as it is stored."""

    answer_id: str
    conversation_id: str
    base_id: str | None
    data: str


_RECEIPTS = Table("receipts", StoredReceipt)


def put(
    tx: Tx,
    answer_id: str,
    conversation_id: str,
    base_id: str | None,
    data: str,
    spans: Mapping[str, str],
) -> None:
    """Store a receipt (again, once it is sealed) and the texts that it is the first to use. Sealing
    does not bring back texts that were forgotten meanwhile."""
    stored = tx.one(
        "SELECT 1 FROM receipts WHERE user_id = ? AND answer_id = ?", (tx.user, answer_id)
    )
    if stored is None:
        tx.many(
            "INSERT INTO spans (user_id, hash, conversation_id, text) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            [(tx.user, name, conversation_id, text) for name, text in spans.items()],
        )
    tx.run(
        "INSERT INTO receipts (user_id, answer_id, conversation_id, base_id, data)"
        " VALUES (?, ?, ?, ?, ?) ON CONFLICT (user_id, answer_id) DO UPDATE SET"
        " base_id = excluded.base_id, data = excluded.data",
        (tx.user, answer_id, conversation_id, base_id, data),
    )


def find(tx: Tx, answer_id: str) -> StoredReceipt | None:
    """One receipt, or None."""
    return _RECEIPTS.one(tx, "AND answer_id = ?", answer_id)


def get(tx: Tx, answer_id: str) -> StoredReceipt:
    """One receipt, or NotFound."""
    hint = "Nothing was compiled for it: it ended before its model could be asked."
    return known(find(tx, answer_id), f"There is no receipt for the answer {answer_id}.", hint)


def chain(tx: Tx, answer_id: str) -> dict[str, str]:
    """A receipt and those it is appended to, by answer id, in one query."""
    rows = tx.all(
        "WITH RECURSIVE link (answer_id, base_id, data) AS ("
        " SELECT answer_id, base_id, data FROM receipts WHERE user_id = ? AND answer_id = ?"
        " UNION ALL SELECT r.answer_id, r.base_id, r.data FROM receipts r"
        " JOIN link ON r.answer_id = link.base_id WHERE r.user_id = ?)"
        " SELECT answer_id, data FROM link",
        (tx.user, answer_id, tx.user),
    )
    return {row[0]: row[1] for row in rows}


def spans(tx: Tx, hashes: Iterable[str]) -> dict[str, str]:
    """Texts by their hash."""
    return dict(rows_in(tx, "SELECT hash, text FROM spans WHERE user_id = ? AND hash", hashes))


def of_conversation(tx: Tx, conversation_id: str) -> list[StoredReceipt]:
    """Every receipt of a conversation."""
    return _RECEIPTS.all(tx, "AND conversation_id = ? ORDER BY answer_id", conversation_id)


def spans_of(tx: Tx, conversation_id: str) -> dict[str, str]:
    """Texts of a conversation's receipts, by their hash."""
    rows = tx.all(
        "SELECT hash, text FROM spans WHERE user_id = ? AND conversation_id = ? ORDER BY hash",
        (tx.user, conversation_id),
    )
    return dict(rows)


def messages(tx: Tx, turn_ids: Iterable[str]) -> dict[str, tuple[str, int | None]]:
    """User messages by their turn: (content, said at). One that was forgotten is not there."""
    sql = "SELECT id, content, said_at FROM turns WHERE user_id = ? AND redacted = 0 AND id"
    return {row[0]: (row[1], row[2]) for row in rows_in(tx, sql, turn_ids)}


def marked(tx: Tx, answer_ids: Iterable[str]) -> frozenset[str]:
    """The answers among these that have lost some of their words."""
    sql = "SELECT id FROM answers WHERE user_id = ? AND redacted = 1 AND id"
    return frozenset(row[0] for row in rows_in(tx, sql, answer_ids))


def answers(tx: Tx, answer_ids: Iterable[str]) -> dict[str, str]:
    """Answers' texts by id."""
    return dict(rows_in(tx, "SELECT id, text FROM answers WHERE user_id = ? AND id", answer_ids))
