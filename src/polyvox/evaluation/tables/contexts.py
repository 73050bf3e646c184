"""Contexts as rows: JSON named by its hash, written once and shared by the assertions that need it.

What is in one is not known here but for this: its messages say whose words they hold, so that what
is to be forgotten can be taken out. A context that lost something keeps its name and is marked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from polyvox.ids import content_hash
from polyvox.memory.tables.redaction import Found, Gone, excerpt, place
from polyvox.store.database import Tx
from polyvox.store.table import Table, rows_in
from polyvox.values import REDACTED


@dataclass(frozen=True, slots=True)
class StoredContext:
    """A context as it is stored."""

    hash: str
    data: str
    redacted: bool
    """Something was taken out: it can be read, and not replayed."""
    created_at: int


_TABLE = Table("contexts", StoredContext)


def put(tx: Tx, data: str, now: int, *, redacted: bool = False) -> str:
    """Store a context; one that is there stays as it is. Answers its name."""
    context = StoredContext(content_hash(data), data, redacted, now)
    _TABLE.try_insert(tx, context)
    return context.hash


def find(tx: Tx, name: str) -> StoredContext | None:
    """One context, or None."""
    return _TABLE.one(tx, "AND hash = ?", name)


def drop_unused(tx: Tx, name: str) -> None:
    """Delete a context that no assertion needs any more."""
    tx.run(
        "DELETE FROM contexts WHERE user_id = ? AND hash = ? AND NOT EXISTS (SELECT 1"
        " FROM assertions WHERE assertions.user_id = ?"
        " AND (context_hash = ? OR assertions.contexts LIKE ?))",
        (tx.user, name, tx.user, name, f'%"{name}"%'),
    )


@place("context", tables=("contexts",))
def _forgotten(tx: Tx, gone: Gone, dry: bool) -> list[Found]:
    """Forgetting reaches what an advisor was sent: a forgotten message goes whole, and so does what
    memory told of it. A conversation that is only deleted leaves the contexts that assertions took
    from it."""
    found = []
    for name, data in touched(tx, gone):
        content: dict[str, Any] = msgspec.json.decode(data)
        asked = str(content.get("asked", ""))
        for message in content.get("messages", ()):
            if gone.refs.intersection(message.get("refs", ())):
                message["text"] = REDACTED
                if message.get("kind") in ("current", "synthesis"):
                    content["asked"] = REDACTED
        for block in content.get("memory", ()):
            block["text"] = REDACTED
        new = msgspec.json.encode({**content, "redacted": True}).decode()
        if new == data:
            continue
        found.append(Found("context", name, excerpt(asked)))
        if not dry:
            tx.run(
                "UPDATE contexts SET data = ?, redacted = 1 WHERE user_id = ? AND hash = ?",
                (new, tx.user, name),
            )
    return found


def touched(tx: Tx, gone: Gone) -> list[tuple[str, str]]:
    """The contexts (hash, data) that hold a forgotten message, or belong to an answer that was told
    of one."""
    rows = tx.all(
        "SELECT hash, data FROM contexts WHERE user_id = ? AND NOT EXISTS"
        " (SELECT 1 FROM assertions a WHERE a.user_id = contexts.user_id"
        " AND a.context_hash = contexts.hash AND a.source_conversation = ?)",
        (tx.user, gone.leaving),
    )
    told = rows_in(
        tx,
        "SELECT context_hash FROM assertions WHERE user_id = ? AND source_answer",
        gone.told,
    )
    named = {row[0] for row in told}
    return [
        (name, data)
        for name, data in rows
        if name in named or any(f'"{ref}"' in data for ref in gone.refs)
    ]
