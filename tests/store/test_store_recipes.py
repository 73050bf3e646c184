from __future__ import annotations

from polyvox.store import recipes
from polyvox.store.database import Database, Tx
from polyvox.values import Scope

ME, YOU = Scope("me"), Scope("you")


async def test_changes_by_name(database: Database) -> None:
    change = {"phases": [{"name": "early", "answers": 1}], "texts": {"rules": "Só isto — “aqui”."}}

    def mine(tx: Tx) -> None:
        assert recipes.get(tx, "council") is None
        recipes.put(tx, "council", {"stamps": "none"}, 1)
        recipes.put(tx, "council", change, 2)
        recipes.put(tx, "agent", {}, 2)

    def drop(tx: Tx) -> None:
        assert recipes.get(tx, "council") == change
        assert recipes.delete(tx, "council")
        assert not recipes.delete(tx, "council")
        assert recipes.get(tx, "council") is None
        assert recipes.get(tx, "agent") == {}

    await database.write(mine, ME)
    await database.write(lambda tx: recipes.put(tx, "council", {"stamps": "all"}, 3), YOU)
    await database.write(drop, ME)
    yours = await database.read(lambda tx: recipes.get(tx, "council"), YOU)
    assert yours == {"stamps": "all"}
