from __future__ import annotations

import pytest

from polyvox.errors import Conflict, Invalid, NotFound
from polyvox.store.advisors import Advisors
from polyvox.store.conversations import Conversations
from polyvox.store.councils import Councils
from polyvox.store.database import Database
from polyvox.values import ASSISTANT_ID, Scope

ME = Scope("me")


@pytest.fixture
async def ids(database: Database) -> list[str]:
    advisors = Advisors(database)
    return [(await advisors.create(ME, name=name, description="d")).id for name in "abc"]


async def test_making_and_finding(database: Database, ids: list[str]) -> None:
    councils = Councils(database, lambda: 7)

    made = await councils.create(ME, name="Big Decisions", advisors=["b", ids[0], "@b"])
    empty = await councils.create(ME, name="Big Decisions", recipe="agent")

    assert (made.slug, made.advisors, made.recipe) == ("big-decisions", (ids[1], ids[0]), "council")
    assert (empty.slug, empty.advisors, empty.recipe) == ("big-decisions-2", (), "agent")
    assert await councils.get(ME, made.id) == await councils.get(ME, "Big-Decisions") == made
    assert await councils.list(ME) == [made, empty]


async def test_changing(database: Database, ids: list[str]) -> None:
    councils = Councils(database)
    made = await councils.create(ME, name="A", advisors=["a"])
    await councils.create(ME, name="B")

    changed = await councils.update(
        ME, "a", name="C", slug="c", advisors=["c", ASSISTANT_ID], recipe="agent"
    )

    assert (changed.id, changed.name, changed.slug) == (made.id, "C", "c")
    assert changed.advisors == (ids[2], ASSISTANT_ID)
    assert await councils.get(ME, "c") == changed
    assert (await councils.update(ME, "c", name="D")).advisors == changed.advisors
    with pytest.raises(Conflict, match="'b'"):
        await councils.update(ME, "c", slug="b")
    with pytest.raises(Conflict, match="'b'"):
        await councils.create(ME, name="x", slug="b")


async def test_unknown_advisors_and_councils(database: Database, ids: list[str]) -> None:
    councils = Councils(database)

    with pytest.raises(Invalid, match="'nobody'") as caught:
        await councils.create(ME, name="A", advisors=["a", "nobody"])
    assert "a, b, c" in caught.value.hint
    assert await councils.list(ME) == []
    with pytest.raises(NotFound, match="'nothing'"):
        await councils.get(ME, "nothing")
    with pytest.raises(NotFound):
        await councils.update(ME, "nothing", name="x")
    with pytest.raises(NotFound):
        await councils.remove(ME, "nothing")


async def test_removing_leaves_conversations_their_advisors(
    database: Database, ids: list[str]
) -> None:
    councils, conversations = Councils(database), Conversations(database)
    council = await councils.create(ME, name="A", advisors=ids)
    conversation = await conversations.create(ME, council="a")
    assert (conversation.council_id, conversation.advisors) == (council.id, tuple(ids))

    await councils.remove(ME, "a")

    left = await conversations.get(ME, conversation.id)
    assert (left.council_id, left.advisors) == (None, tuple(ids))
    assert await councils.list(ME) == []
