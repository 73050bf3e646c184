"""A user's changes to recipes, as plain data by the recipe's name. What they mean is not known
here: `polyvox.context.recipe.changed` applies and checks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from polyvox.store.database import Tx

Change = Mapping[str, Any]


def get(tx: Tx, name: str) -> Change | None:
    """The change to one recipe, or None."""
    row = tx.one("SELECT data FROM recipes WHERE user_id = ? AND name = ?", (tx.user, name))
    return None if row is None else msgspec.json.decode(row[0], type=dict[str, Any])


def names(tx: Tx) -> list[str]:
    """Every recipe that the user changed or made."""
    rows = tx.all("SELECT name FROM recipes WHERE user_id = ? ORDER BY name", (tx.user,))
    return [row[0] for row in rows]


def copies(tx: Tx) -> dict[str, str]:
    """The base of each recipe that any user copied, by its name."""
    rows = tx.all("SELECT name, data FROM recipes", ())
    changes = ((name, msgspec.json.decode(data, type=dict[str, Any])) for name, data in rows)
    return {name: change["base"] for name, change in changes if "base" in change}


def put(tx: Tx, name: str, change: Change, now: int) -> None:
    """Store the change to one recipe, replacing any earlier one."""
    tx.run(
        "INSERT INTO recipes (user_id, name, data, updated_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (user_id, name) DO UPDATE SET data = excluded.data,"
        " updated_at = excluded.updated_at",
        (tx.user, name, msgspec.json.encode(change).decode(), now),
    )


def delete(tx: Tx, name: str) -> bool:
    """Drop the change to a recipe; True if there was one."""
    return tx.run("DELETE FROM recipes WHERE user_id = ? AND name = ?", (tx.user, name)) > 0
