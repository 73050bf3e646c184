"""Forgetting in columns of plain text: the mark takes the place of forgotten words."""

from __future__ import annotations

from polyvox.memory.tables.redaction import Found, Needles, excerpt, place
from polyvox.store.database import Tx


def forget_text(kind: str, *columns: tuple[str, str, str]) -> None:
    """Register a place of forgetting: each column as (table, key of a row, column). What a key
    holds up to its first space is the id that is told."""

    @place(kind, tables=[table for table, _, _ in columns])
    def redacted(tx: Tx, needles: Needles, dry: bool) -> list[Found]:
        places: list[Found] = []
        for table, key, column in columns:
            rows = tx.all(
                f"SELECT {key}, {column} FROM {table} WHERE user_id = ? AND created_at >= ?"
                f" AND {column} IS NOT NULL",
                (tx.user, needles.since),
            )
            for row_id, text in rows:
                if (clean := needles.redacted(text)) is None:
                    continue
                places.append(Found(kind, row_id.partition(" ")[0], excerpt(text)))
                if not dry:
                    tx.run(
                        f"UPDATE {table} SET {column} = ? WHERE user_id = ? AND {key} = ?",
                        (clean, tx.user, row_id),
                    )
        return places
