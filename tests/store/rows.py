"""Rows for tests, made from what the database itself says about its tables."""

from __future__ import annotations

from polyvox.store import search, usage
from polyvox.store.database import Tx, Value
from polyvox.store.scrub import INDEXES
from polyvox.values import Usage

EMPTY: dict[str, Value] = {"text": "", "array": "{}", "bit varying": ""}
"""What is empty, by the type of a column; else it is 0."""
SHARED = {"users", "runners", "schema_version"}
"""Tables whose rows belong to no user."""


def columns(tx: Tx, table: str) -> dict[str, tuple[str, bool]]:
    """Type and whether it must be given, by column."""
    if tx.dialect == "sqlite":
        rows = tx.all('SELECT name, type, "notnull" FROM pragma_table_info(?)', (table,))
        return {name: (kind.lower(), bool(needed)) for name, kind, needed in rows}
    rows = tx.all(
        "SELECT column_name, data_type, is_nullable FROM information_schema.columns"
        " WHERE table_schema = current_schema() AND table_name = ?",
        (table,),
    )
    return {name: (kind.lower(), needed == "NO") for name, kind, needed in rows}


def tables(tx: Tx) -> list[str]:
    """Every table, without those that SQLite's full-text index keeps for itself."""
    if tx.dialect == "sqlite":
        sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'"
    else:
        sql = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    return sorted(row[0] for row in tx.all(sql) if not row[0].startswith(INDEXES))


def insert(tx: Tx, table: str, **values: Value) -> None:
    """A row with these values, and with something empty wherever something must be."""
    row: dict[str, Value] = {}
    for name, (kind, needed) in columns(tx, table).items():
        if name in values:
            row[name] = values.pop(name)
        elif needed:
            row[name] = EMPTY.get(kind, 0)
    assert not values, f"{table} has no {', '.join(values)}"
    marks = ", ".join("?" * len(row))
    tx.run(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


def insert_turn(tx: Tx, conversation: str, turn: str, text: str, at: int = 0) -> None:
    """A user's message, findable."""
    insert(
        tx,
        "turns",
        user_id=tx.user,
        id=turn,
        conversation_id=conversation,
        message_id=f"m-{turn}",
        branch_id=f"b-{turn}",
        depth=1,
        content=text,
        asked="[]",
        state="completed",
        created_at=at,
    )
    search.index(tx, conversation, "message", turn, text)


def insert_answer(
    tx: Tx, conversation: str, turn: str, answer: str, text: str, at: int = 0
) -> None:
    """An answer, findable."""
    insert(
        tx,
        "answers",
        user_id=tx.user,
        id=answer,
        conversation_id=conversation,
        turn_id=turn,
        advisor_id="a1",
        advisor_name="Ann",
        kind="advisor",
        current=1,
        state="completed",
        text=text,
        thinking=text,
        attempts="[]",
        created_at=at,
    )
    search.index(tx, conversation, "answer", answer, text)


def fill(tx: Tx, conversation: str, text: str) -> None:
    """At least one row in every table that a conversation can have rows in."""
    user, c = tx.user, conversation
    insert_turn(tx, c, f"t{c}", text)
    insert_answer(tx, c, f"t{c}", f"x{c}", text)
    usage.record(
        tx,
        usage=Usage(1, 2, cost=3),
        model="lab:x",
        advisor_id="a1",
        conversation_id=c,
        answer_id=f"x{c}",
        at=0,
    )
    done = {"turns", "answers", "usage", "passages", "conversations"}
    for table in tables(tx):
        known = columns(tx, table)
        if "conversation_id" in known and table not in done:
            wanted: dict[str, Value] = {"id": f"{table}-{c}", "answer_id": f"x{c}"}
            wanted |= {"turn_id": f"t{c}", "text": text, "data": text}
            given = {name: value for name, value in wanted.items() if name in known}
            insert(tx, table, user_id=user, conversation_id=c, **given)
