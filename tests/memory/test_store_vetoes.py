"""What a session shall not be told, and what it was: rows on both databases."""

from __future__ import annotations

import pytest

from polyvox.memory.tables import companions
from polyvox.memory.tables.companions import Kept
from polyvox.store import conversations
from polyvox.store.database import Database, Tx
from polyvox.values import Recall, Scope

ME, OTHER = Scope(), Scope("other")


async def kept(database: Database, scope: Scope = ME) -> Kept | None:
    return await database.read(lambda tx: companions.session(tx, "s"), scope)


async def test_a_veto_is_kept_with_its_session_and_empties_what_was_told(
    database: Database,
) -> None:
    def veto(tx: Tx, *ids: str) -> None:
        companions.veto(tx, "s", "c", ids, 1)

    await database.write(lambda tx: veto(tx, "loop:b", "handover", "loop:b"), ME)
    assert await kept(database) == Kept("", ("handover", "loop:b"))
    assert await kept(database, OTHER) is None
    told = Kept("{}", ("handover", "loop:b"))
    await database.write(lambda tx: companions.put_session(tx, "s", "c", told, 2), ME)
    assert await kept(database) == told
    await database.write(lambda tx: veto(tx, "handover", "loop:b"), ME)
    assert await kept(database) == told, "the same again changes nothing"
    await database.write(lambda tx: veto(tx, "bridge"), ME)
    assert await kept(database) == Kept("", ("bridge",))


async def test_what_was_put_together_before_the_veto_changed_is_not_kept(
    database: Database,
) -> None:
    early = Kept('{"with": "it"}')
    await database.write(lambda tx: companions.put_session(tx, "s", "c", early, 1), ME)
    await database.write(lambda tx: companions.veto(tx, "s", "c", ["handover"], 2), ME)
    await database.write(lambda tx: companions.put_session(tx, "s", "c", early, 3), ME)
    assert await kept(database) == Kept("", ("handover",))


@pytest.mark.parametrize("chosen", ["auto", "off", "inherit"])
async def test_a_conversation_keeps_whether_it_looks_things_up(
    database: Database, chosen: Recall
) -> None:
    made = await database.write(lambda tx: conversations.create(tx, 1), ME)
    assert made.recall == "inherit"
    await database.write(lambda tx: conversations.update(tx, made.id, {"recall": chosen}), ME)
    await database.write(lambda tx: conversations.update(tx, made.id, {"title": "Tea"}), ME)
    found = await database.read(lambda tx: conversations.get(tx, made.id), ME)
    assert (found.recall, found.title) == (chosen, "Tea")
    new = await database.write(lambda tx: conversations.create(tx, 2, recall=chosen), ME)
    assert (await database.read(lambda tx: conversations.get(tx, new.id), ME)).recall == chosen
