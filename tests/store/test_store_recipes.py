from __future__ import annotations

from polyvox.store.database import Database
from polyvox.store.recipes import Recipes
from polyvox.values import Scope

ME, YOU = Scope("me"), Scope("you")


async def test_changes_by_name(database: Database) -> None:
    recipes = Recipes(database)
    change = {"phases": [{"name": "early", "answers": 1}], "texts": {"rules": "Só isto — “aqui”."}}

    assert await recipes.get(ME, "council") is None
    await recipes.put(ME, "council", {"stamps": "none"})
    await recipes.put(ME, "council", change)
    await recipes.put(ME, "agent", {})
    await recipes.put(YOU, "council", {"stamps": "all"})

    assert await recipes.get(ME, "council") == change
    assert await recipes.list(ME) == {"agent": {}, "council": change}
    assert await recipes.delete(ME, "council") is True
    assert await recipes.delete(ME, "council") is False
    assert await recipes.list(ME) == {"agent": {}}
    assert await recipes.list(YOU) == {"council": {"stamps": "all"}}
