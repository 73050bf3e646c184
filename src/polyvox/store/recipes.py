"""A user's changes to recipes, as plain data by the recipe's name. What they mean is not known
here: `polyvox.context.recipe.changed` applies and checks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from polyvox.ids import Clock, system_clock
from polyvox.store.database import Database, Tx
from polyvox.values import Scope

Change = Mapping[str, Any]


def get(tx: Tx, name: str) -> Change | None:
    """The change to one recipe, or None."""
    row = tx.one("SELECT data FROM recipes WHERE user_id = ? AND name = ?", (tx.user, name))
    return None if row is None else msgspec.json.decode(row[0], type=dict[str, Any])


def list_all(tx: Tx) -> dict[str, Change]:
    """Every change, by the recipe's name."""
    rows = tx.all("SELECT name, data FROM recipes WHERE user_id = ? ORDER BY name", (tx.user,))
    return {row[0]: msgspec.json.decode(row[1], type=dict[str, Any]) for row in rows}


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


class Recipes:
    """The verbs, each in a transaction of its own."""

    def __init__(self, database: Database, clock: Clock = system_clock) -> None:
        self._database = database
        self._clock = clock

    async def get(self, scope: Scope, name: str) -> Change | None:
        """The change to one recipe, or None."""
        return await self._database.read(lambda tx: get(tx, name), scope)

    async def list(self, scope: Scope) -> dict[str, Change]:
        """Every change, by the recipe's name."""
        return await self._database.read(lambda tx: list_all(tx), scope)

    async def put(self, scope: Scope, name: str, change: Change) -> None:
        """Store the change to one recipe, replacing any earlier one."""
        now = self._clock()
        await self._database.write(lambda tx: put(tx, name, change, now), scope)

    async def delete(self, scope: Scope, name: str) -> bool:
        """Drop the change to a recipe; True if there was one."""
        return await self._database.write(lambda tx: delete(tx, name), scope)
