from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Unpack

import pytest
from tests.store.rows import columns, fill, tables

from polyvox.errors import Invalid, NotFound
from polyvox.store import search, usage
from polyvox.store.advisors import Advisors
from polyvox.store.conversations import (
    OWNED,
    ConversationDetails,
    Conversations,
    sole_advisors,
    update,
)
from polyvox.store.councils import Councils
from polyvox.store.database import Database, Tx
from polyvox.values import ASSISTANT_ID, Conversation, Scope

ME, YOU = Scope("me"), Scope("you")
CANARY = "zanzibarcanary"


@pytest.fixture
def conversations(database: Database) -> Conversations:
    times: Iterator[int] = iter(range(1000, 10_000))
    return Conversations(database, lambda: next(times))


async def advisor_ids(database: Database, names: str = "ab") -> tuple[str, ...]:
    advisors = Advisors(database)
    return tuple([(await advisors.create(ME, name=n, description="d")).id for n in names])


async def change(
    database: Database, id_: str, **details: Unpack[ConversationDetails]
) -> Conversation:
    return await database.write(lambda tx: update(tx, id_, details), ME)


def filling(conversation: str) -> Callable[[Tx], None]:
    return lambda tx: fill(tx, conversation, CANARY)


async def test_making_and_finding(conversations: Conversations, database: Database) -> None:
    ids = await advisor_ids(database)

    plain = await conversations.create(ME)
    full = await conversations.create(
        ME, title="Plans", recipe="agent", advisors=["b", ids[0], "b", ASSISTANT_ID]
    )

    assert (plain.title, plain.recipe, plain.advisors, plain.head_id) == ("", "council", None, None)
    assert (plain.last_number, plain.created_at, plain.updated_at) == (0, 1000, 1000)
    assert (full.title, full.recipe) == ("Plans", "agent")
    assert full.advisors == (ids[1], ids[0], ASSISTANT_ID)
    assert await conversations.get(ME, full.id) == full
    with pytest.raises(NotFound, match="no conversation nowhere"):
        await conversations.get(ME, "nowhere")
    with pytest.raises(Invalid, match="'nobody'"):
        await conversations.create(ME, advisors=["nobody"])


async def test_with_a_council(conversations: Conversations, database: Database) -> None:
    ids = await advisor_ids(database)
    council = await Councils(database).create(ME, name="Two", advisors=["a", "b"], recipe="agent")

    made = await conversations.create(ME, council="two")
    other = await conversations.create(ME, council="two", recipe="council", advisors=["b"])

    assert (made.council_id, made.advisors, made.recipe) == (council.id, ids, "agent")
    assert (other.council_id, other.advisors, other.recipe) == (council.id, (ids[1],), "council")
    with pytest.raises(NotFound):
        await conversations.create(ME, council="three")


async def test_pages_newest_first(conversations: Conversations, database: Database) -> None:
    made = [(await conversations.create(ME, title=str(n))).id for n in range(7)]
    await conversations.create(YOU, title="not mine")
    # Two of the same moment, and an old one that was spoken in again.
    await database.write(
        lambda tx: tx.run("UPDATE conversations SET updated_at = 1003 WHERE title = '4'"), ME
    )
    await database.write(
        lambda tx: tx.run("UPDATE conversations SET updated_at = 9000 WHERE title = '0'"), ME
    )

    titles, after = [], None
    for _ in range(4):
        page = await conversations.list(ME, limit=2, after=after)
        titles.append([one.title for one in page.items])
        after = page.next
    assert titles == [["0", "6"], ["5", "4"], ["3", "2"], ["1"]]
    assert after is None
    exact = await conversations.list(ME, limit=7)
    assert ({one.id for one in exact.items}, exact.next) == (set(made), None)
    for bad in ("x", "", "1e5.x", "²", "9" * 30):
        with pytest.raises(Invalid, match="not a place"):
            await conversations.list(ME, after=bad)


async def test_the_latest(conversations: Conversations, database: Database) -> None:
    ids = await advisor_ids(database)
    assert await conversations.latest(ME) is None
    alone = await conversations.create(ME, recipe="agent", advisors=["a"])
    both = await conversations.create(ME, recipe="agent", advisors=["a", "b"])
    newest = await conversations.create(ME)

    assert await conversations.latest(ME) == newest
    assert await conversations.latest(ME, recipe="agent") == both
    assert await conversations.latest(ME, recipe="agent", advisor_id=ids[0]) == alone
    assert await conversations.latest(ME, advisor_id=ids[1]) is None
    assert await conversations.latest(YOU) is None


async def test_changing(conversations: Conversations, database: Database) -> None:
    ids = await advisor_ids(database)
    made = await conversations.create(ME, title="Old", advisors=["a"])
    await database.write(
        lambda tx: tx.run("UPDATE conversations SET head_id = 'h', last_number = 5"), ME
    )

    changed = await change(database, made.id, title="New", recipe="agent", advisors=["b"])

    assert (changed.title, changed.recipe, changed.advisors) == ("New", "agent", (ids[1],))
    assert (changed.head_id, changed.last_number, changed.updated_at) == ("h", 5, made.updated_at)
    assert await conversations.get(ME, made.id) == changed
    assert await search.search(database, ME, "old") == []
    assert [hit.id for hit in await search.search(database, ME, "new")] == [made.id]
    assert (await change(database, made.id, advisors=None)).advisors is None
    assert (await change(database, made.id, title="")).title == ""
    assert await search.search(database, ME, "new") == []
    with pytest.raises(NotFound):
        await change(database, "nowhere", title="x")


async def test_a_removed_advisor_may_stay(conversations: Conversations, database: Database) -> None:
    ids = await advisor_ids(database)
    made = await conversations.create(ME, advisors=["a"])
    await Advisors(database).remove(ME, "a")

    changed = await change(database, made.id, advisors=[ids[0], "b"])

    assert changed.advisors == ids
    with pytest.raises(Invalid):
        await conversations.create(ME, advisors=[ids[0]])


async def test_deleting_leaves_no_row_of_it_anywhere(
    conversations: Conversations, database: Database
) -> None:
    gone = await conversations.create(ME, title=CANARY)
    kept = await conversations.create(ME, title=CANARY)
    theirs = await conversations.create(YOU, title=CANARY)
    for scope, one in ((ME, gone), (ME, kept), (YOU, theirs)):
        await database.write(filling(one.id), scope)

    def rows_of(tx: Tx) -> dict[str, list[int]]:
        found = {}
        for table in tables(tx):
            if "conversation_id" in columns(tx, table):
                sql = f"SELECT COUNT(*) FROM {table} WHERE conversation_id = ?"
                found[table] = [(tx.one(sql, (c.id,)) or (0,))[0] for c in (gone, kept, theirs)]
        return found

    before = await database.read(rows_of, ME)
    assert set(before) >= {*OWNED, "passages", "usage"}
    assert all(min(counts) > 0 for counts in before.values())

    await conversations.delete(ME, gone.id)

    after = await database.read(rows_of, ME)
    assert after == {table: [0, *counts[1:]] for table, counts in before.items()}
    with pytest.raises(NotFound):
        await conversations.get(ME, gone.id)
    hits = await search.search(database, ME, CANARY)
    assert {hit.conversation_id for hit in hits} == {kept.id}
    # What it cost is still spent.
    assert await database.read(lambda tx: usage.spent(tx), ME) == 6
    assert [
        t.key for t in await database.read(lambda tx: usage.totals(tx, "conversation"), ME)
    ] == [kept.id, None]


async def test_only_ones_own_can_be_deleted(
    conversations: Conversations, database: Database
) -> None:
    made = await conversations.create(ME, title="mine")

    with pytest.raises(NotFound):
        await conversations.delete(YOU, made.id)
    await conversations.delete(ME, made.id)
    with pytest.raises(NotFound):
        await conversations.delete(ME, made.id)


async def test_deleted_words_are_gone_from_the_files(
    sqlite_database: Database, tmp_path: Path
) -> None:
    conversations = Conversations(sqlite_database)
    kept = await conversations.create(ME, title="keptcanary")
    await sqlite_database.write(
        lambda tx: search.index(tx, kept.id, "message", "k", "keptcanary words"), ME
    )
    for _ in range(20):
        gone = await conversations.create(ME, title=CANARY)
        await sqlite_database.write(filling(gone.id), ME)

    def raw() -> bytes:
        return b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())

    assert CANARY.encode() in raw()
    while (page := await conversations.list(ME)).items[0].id != kept.id:
        await conversations.delete(ME, page.items[0].id)

    assert CANARY.encode() not in raw()
    assert CANARY[:8].encode() not in raw()
    assert b"keptcanary" in raw()
    assert len(await search.search(sqlite_database, ME, "keptcanary")) == 1


async def test_those_one_talks_to_alone(conversations: Conversations, database: Database) -> None:
    first, second = await advisor_ids(database)
    await conversations.create(ME, recipe="companion", advisors=[first])
    await conversations.create(ME, recipe="companion", advisors=[second])
    await conversations.create(ME, recipe="companion", advisors=[first, second])
    await conversations.create(ME, recipe="companion")
    await conversations.create(ME, recipe="council", advisors=[first])
    last_first = [second, first]
    assert await database.read(lambda tx: sole_advisors(tx, "companion"), ME) == last_first
    await conversations.create(ME, recipe="companion", advisors=[first])
    assert await database.read(lambda tx: sole_advisors(tx, "companion"), ME) == [first, second]
    assert await database.read(lambda tx: sole_advisors(tx, "companion"), YOU) == []
