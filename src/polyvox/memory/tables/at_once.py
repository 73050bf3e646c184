"""Many rows at once: by one statement on PostgreSQL, whose text does not depend on how many."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from polyvox.store.database import Tx, Value


def insert(
    tx: Tx,
    table: str,
    columns: Mapping[str, str],
    rows: Sequence[Sequence[Value]],
    also: str = "",
) -> None:
    """Put rows into a table; `columns` with their types, `also`: what to do on a conflict."""
    names = list(columns)
    into = f"INSERT INTO {table} ({', '.join(names)})"
    if tx.dialect == "postgresql":
        types = ", ".join(f"{name} {type_}" for name, type_ in columns.items())
        tx.run(
            f"{into} SELECT {', '.join(names)} FROM json_to_recordset(CAST(? AS JSON))"
            f" AS new ({types}) {also}",
            (json.dumps([dict(zip(names, row, strict=True)) for row in rows]),),
        )
    else:
        tx.many(f"{into} VALUES ({', '.join('?' * len(names))}) {also}", rows)
