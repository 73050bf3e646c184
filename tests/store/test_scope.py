"""Every row belongs to somebody: the tables and the verbs, walked from end to end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from tests.store.rows import SHARED, columns, fill, insert, tables

from polyvox.errors import Invalid, NotFound
from polyvox.memory.recall import recall
from polyvox.memory.tables import claims, companions, episodes
from polyvox.memory.transcript import ingest
from polyvox.memory.values import Claim, Message, Partition
from polyvox.store import (
    advisors,
    conversations,
    councils,
    jobs,
    recipes,
    search,
    turns,
    usage,
    versions,
)
from polyvox.store.advisors import Advisors
from polyvox.store.conversations import Conversations, update
from polyvox.store.councils import Councils
from polyvox.store.database import Database, Row, Tx
from polyvox.values import Scope

A, B = Scope("anna"), Scope("bert")
WORDS_ALONE = {"passages_words", "episodes_words", "claims_words"}
"""PostgreSQL's indexes of words: a GIN index has no leading column. The owner is part of the
words, and every search asks for it."""
MEMORY = Partition("tenant", "user")
"""A partition of this name is in both accounts."""


def leading(tx: Tx, table: str) -> dict[str, str]:
    """The first column of each index of a table, the primary key's included."""
    if tx.dialect == "postgresql":
        rows = tx.all(
            "SELECT i.relname, a.attname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid"
            " JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]"
            " WHERE x.indrelid = CAST(? AS regclass)",
            (table,),
        )
        return {row[0]: row[1] for row in rows}
    names = [row[0] for row in tx.all("SELECT name FROM pragma_index_list(?)", (table,))]
    found = {}
    for name in names:
        row = tx.one("SELECT name FROM pragma_index_info(?) WHERE seqno = 0", (name,))
        assert row is not None
        found[name] = row[0]
    return found


async def test_the_user_leads_every_key_and_every_index(database: Database) -> None:
    def walk(tx: Tx) -> dict[str, dict[str, str]]:
        return {table: leading(tx, table) for table in tables(tx) if table not in SHARED}

    found = await database.read(walk)

    assert len(found) >= 15
    for table, indexes in found.items():
        assert indexes, f"{table} has no primary key"
        wrong = {name for name, first in indexes.items() if first != "user_id"} - WORDS_ALONE
        assert not wrong, f"{table}: {wrong}"


async def test_every_row_says_whose_it_is(database: Database) -> None:
    def walk(tx: Tx) -> dict[str, tuple[str, bool] | None]:
        return {t: columns(tx, t).get("user_id") for t in tables(tx) if t not in SHARED}

    assert set((await database.read(walk)).values()) == {("text", True)}


def snapshot(scope: Scope) -> Callable[[Tx], dict[str, list[Row]]]:
    def look(tx: Tx) -> dict[str, list[Row]]:
        found = {}
        for table in tables(tx):
            if table not in SHARED:
                rows = tx.all(f"SELECT * FROM {table} WHERE user_id = ?", (scope.user,))
                found[table] = sorted(rows, key=repr)
        return found

    return look


def remember(tx: Tx) -> None:
    said = [Message("user", f"words of {tx.user}")]
    for session in ("kept", "forgotten"):
        ingest(tx, MEMORY, session, None, 1, 2, said)
    episodes.remove_session(tx, MEMORY, "forgotten")
    claims.put(tx, MEMORY, [Claim("note", "n", 1, ("word",))])


async def populate(database: Database, scope: Scope) -> dict[str, str]:
    advisor = await Advisors(database).create(scope, name="Skeptic", description="doubts")
    await Advisors(database).update(scope, advisor.id, prompt="doubts more")
    council = await Councils(database).create(scope, name="Board", advisors=["skeptic"])
    conversation = await Conversations(database).create(scope, title="Plans", council="board")
    await database.write(lambda tx: recipes.put(tx, "council", {"stamps": "none"}, 1), scope)

    def rest(tx: Tx) -> None:
        fill(tx, conversation.id, f"words of {scope.user}")
        usage.learn_ratio(tx, "lab:x", 2, 1)
        remember(tx)
        turn = turns.get_turn(tx, f"t{conversation.id}")
        companions.put_state(tx, "p", turn, "{}", "{}", 1)
        jobs.enqueue(tx, "ingest", "s", 1)
        for table in tables(tx):  # whatever else there is, with something in it
            owned = f"SELECT 1 FROM {table} WHERE user_id = ?"
            if table not in SHARED and tx.one(owned, (scope.user,)) is None:
                insert(tx, table, user_id=scope.user)

    await database.write(rest, scope)
    return {
        "advisor": advisor.id,
        "version": advisor.version_id,
        "council": council.id,
        "conversation": conversation.id,
    }


async def test_two_users_with_the_same_names_do_not_meet(database: Database) -> None:
    """Everything that B does with A's ids finds nothing and changes nothing of A's."""
    theirs = await populate(database, A)
    before = await database.read(snapshot(A))
    assert [table for table, rows in before.items() if not rows] == []
    mine = await populate(database, B)
    a, c, v = Advisors(database), Councils(database), Conversations(database)

    refused: list[Callable[[], Awaitable[object]]] = [
        lambda: a.get(B, theirs["advisor"]),
        lambda: a.update(B, theirs["advisor"], name="x", prompt="x"),
        lambda: a.remove(B, theirs["advisor"]),
        lambda: a.versions(B, theirs["advisor"]),
        lambda: a.rollback(B, theirs["advisor"], 1),
        lambda: a.rollback(B, mine["advisor"], theirs["version"]),
        lambda: a.instruct(B, theirs["advisor"], "x"),
        lambda: a.reorder(B, [theirs["advisor"]]),
        lambda: c.get(B, theirs["council"]),
        lambda: c.update(B, theirs["council"], name="x"),
        lambda: c.remove(B, theirs["council"]),
        lambda: c.create(B, name="x", advisors=[theirs["advisor"]]),
        lambda: c.update(B, mine["council"], advisors=[theirs["advisor"]]),
        lambda: v.get(B, theirs["conversation"]),
        lambda: database.write(lambda tx: update(tx, theirs["conversation"], {"title": "x"}), B),
        lambda: v.delete(B, theirs["conversation"]),
        lambda: v.create(B, advisors=[theirs["advisor"]]),
        lambda: v.create(B, council=theirs["council"]),
        lambda: database.read(lambda tx: versions.get(tx, theirs["version"]), B),
    ]
    for verb in refused:
        with pytest.raises((NotFound, Invalid)):
            await verb()

    def look(tx: Tx) -> None:
        assert [one.id for one in advisors.list_all(tx)] == [mine["advisor"]]
        assert [one.id for one in councils.list_all(tx)] == [mine["council"]]
        page = conversations.list_page(tx, limit=10)
        assert [one.id for one in page.items] == [mine["conversation"]]
        assert versions.list_all(tx, theirs["advisor"]) == []
        assert usage.spent(tx, conversation_id=theirs["conversation"]) == 0
        assert usage.spent(tx, turn_id=f"t{theirs['conversation']}") == 0
        assert usage.totals(tx)[0].cost == 3
        assert recipes.get(tx, "council") is not None

    await database.read(look, B)
    assert {hit.conversation_id for hit in await search.search(database, B, "words")} == {
        mine["conversation"]
    }

    def erase(tx: Tx) -> None:
        found = recall(tx, MEMORY, f"words of {A.user}", reference_time=3)
        assert [one.text for one in found] == [f"words of {B.user}"]
        episodes.remove_session(tx, MEMORY, "kept")
        claims.remove(tx, MEMORY, "note", ["n"])
        search.remove(tx, "message", f"t{theirs['conversation']}")
        search.remove_conversation(tx, theirs["conversation"])
        usage.learn_ratio(tx, "lab:x", 9, 1)
        recipes.delete(tx, "council")

    await database.write(erase, B)
    await a.remove(B, "skeptic")
    await c.remove(B, "board")
    await v.delete(B, mine["conversation"])

    assert await database.read(snapshot(A)) == before
    left = await database.read(snapshot(B))
    told = await database.read(
        lambda tx: {t for t in tables(tx) if "conversation_id" in columns(tx, t)}
    )
    kept = {table for table, rows in left.items() if rows}
    assert kept & told == {"usage"}, "of a conversation only what it has cost is kept"
    assert kept >= {"advisors", "forgotten_sessions", "prompt_versions", "ratios"}
