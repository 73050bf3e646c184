from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from polyvox.errors import Conflict, Invalid, NotFound
from polyvox.ids import Clock, content_hash
from polyvox.store import advisors as rows
from polyvox.store import versions
from polyvox.store.advisors import Advisors
from polyvox.store.councils import Councils
from polyvox.store.database import Database
from polyvox.values import Params, Scope

ME = Scope("me")


@pytest.fixture
def clock() -> Clock:
    times: Iterator[int] = iter(range(1000, 10_000))
    return lambda: next(times)


@pytest.fixture
def advisors(database: Database, clock: Clock) -> Advisors:
    return Advisors(database, clock)


async def test_an_advisor_comes_back_as_it_was_made(advisors: Advisors) -> None:
    made = await advisors.create(
        ME,
        name="The Skeptic",
        description="Doubts.",
        prompt="Doubt everything.",
        model="lab:big",
        color="#aa0000",
        voice="low",
        active=False,
        params=Params(max_tokens=10, temperature=0.5, reasoning=0),
    )

    assert made.slug == "the-skeptic"
    assert made.created_at == made.updated_at == 1000
    for key in (made.id, "the-skeptic", "@the-skeptic", "The-Skeptic"):
        assert await advisors.get(ME, key) == made


async def test_slugs_are_unique_and_plain(advisors: Advisors) -> None:
    names = ["Élise Œuvre", "Élise Œuvre", "elise oeuvre!", "佐藤", "Assistant", "x" * 120]
    made = [await advisors.create(ME, name=name, description="d") for name in names]

    assert [one.slug for one in made] == [
        "elise-oeuvre",
        "elise-oeuvre-2",
        "elise-oeuvre-3",
        "advisor",
        "assistant-2",
        "x" * 60,
    ]
    assert [one.name for one in made] == names


async def test_a_slug_of_ones_own(advisors: Advisors) -> None:
    await advisors.create(ME, name="A", description="d", slug="mine")

    with pytest.raises(Conflict, match="'mine'"):
        await advisors.create(ME, name="B", description="d", slug="mine")
    with pytest.raises(Invalid, match="cannot be a slug"):
        await advisors.create(ME, name="B", description="d", slug="No Good")
    other = await advisors.create(ME, name="B", description="d")
    with pytest.raises(Conflict, match="'mine'"):
        await advisors.update(ME, other.id, slug="mine")
    assert (await advisors.update(ME, other.id, slug="yours")).slug == "yours"
    assert [one.slug for one in await advisors.list(ME)] == ["mine", "yours"]


async def test_the_same_name_at_the_same_time(advisors: Advisors) -> None:
    made = await asyncio.gather(
        *(advisors.create(ME, name="Twin", description="d") for _ in range(12))
    )

    assert {one.slug for one in made} == {"twin", *(f"twin-{n}" for n in range(2, 13))}


async def test_unknown_advisors_are_told_with_the_known_ones(advisors: Advisors) -> None:
    with pytest.raises(NotFound, match="'nobody'") as caught:
        await advisors.get(ME, "nobody")
    assert "no advisors yet" in caught.value.hint

    await advisors.create(ME, name="Skeptic", description="d")
    with pytest.raises(NotFound) as caught:
        await advisors.get(ME, "nobody")
    assert "skeptic" in caught.value.hint


async def test_another_identity_is_another_version(advisors: Advisors) -> None:
    made = await advisors.create(ME, name="A", description="one")
    same = await advisors.update(ME, made.id, name="Renamed", color="red", description="one")
    prompted = await advisors.update(ME, made.id, prompt="two", reason="sharper")
    behind = await advisors.update(ME, made.id, description="not said while there is a prompt")
    plain = await advisors.update(ME, made.id, prompt=None)

    assert same.version_id == made.version_id
    assert (same.name, same.slug) == ("Renamed", "a")
    assert behind.version_id == prompted.version_id != made.version_id
    assert plain.identity == "not said while there is a prompt"
    history = await advisors.versions(ME, "a")
    assert [(v.number, v.field, v.text, v.reason) for v in history] == [
        (3, "description", "not said while there is a prompt", "edited"),
        (2, "prompt", "two", "sharper"),
        (1, "description", "one", "created"),
    ]
    assert [v.parent_id for v in history] == [history[1].id, history[2].id, None]
    assert [v.hash for v in history] == [content_hash(v.text) for v in history]
    assert history[0].id == plain.version_id


async def test_changes_at_the_same_time_make_a_chain(advisors: Advisors) -> None:
    made = await advisors.create(ME, name="A", description="d")

    await asyncio.gather(*(advisors.instruct(ME, made.id, f"rule {n}") for n in range(10)))

    history = await advisors.versions(ME, made.id)
    assert [v.number for v in history] == list(range(11, 0, -1))
    assert [v.parent_id for v in history] == [*(v.id for v in history[1:]), None]
    text = (await advisors.get(ME, made.id)).identity
    assert all(f"rule {n}" in text for n in range(10))


async def test_rolling_back(advisors: Advisors) -> None:
    made = await advisors.create(ME, name="A", description="one")
    await advisors.update(ME, made.id, prompt="two")
    await advisors.update(ME, made.id, prompt="three")
    history = await advisors.versions(ME, made.id)

    back = await advisors.rollback(ME, made.id, 1)
    assert (back.identity, back.prompt, back.description) == ("one", None, "one")
    again = await advisors.rollback(ME, made.id, history[1].id)
    assert (again.identity, again.prompt, again.description) == ("two", "two", "one")
    still = await advisors.rollback(ME, made.id, "2")

    assert still.version_id == again.version_id
    assert [(v.number, v.text, v.reason) for v in await advisors.versions(ME, made.id)][:2] == [
        (5, "two", "rolled back to 2"),
        (4, "one", "rolled back to 1"),
    ]
    with pytest.raises(NotFound, match="no version 9"):
        await advisors.rollback(ME, made.id, 9)


async def test_instructing(advisors: Advisors) -> None:
    made = await advisors.create(ME, name="A", description="Doubts.")

    changed = await advisors.instruct(ME, made.id, "  Be brief. ")

    assert (changed.prompt, changed.description) == ("Doubts.\n\nBe brief.", "Doubts.")
    with pytest.raises(Invalid, match="empty"):
        await advisors.instruct(ME, made.id, " \n")


async def test_order(advisors: Advisors) -> None:
    for name in "abcd":
        await advisors.create(ME, name=name, description="d")

    await advisors.reorder(ME, ["c", "a"])

    assert [one.slug for one in await advisors.list(ME)] == ["c", "a", "b", "d"]
    await advisors.create(ME, name="e", description="d")
    assert [one.slug for one in await advisors.list(ME)] == ["c", "a", "b", "d", "e"]
    with pytest.raises(Invalid, match="twice"):
        await advisors.reorder(ME, ["a", "a"])
    with pytest.raises(NotFound):
        await advisors.reorder(ME, ["zzz"])


async def test_only_the_active_ones(advisors: Advisors) -> None:
    for name in "ab":
        await advisors.create(ME, name=name, description="d")
    await advisors.update(ME, "a", active=False)

    assert [one.slug for one in await advisors.list(ME, active=True)] == ["b"]
    assert [one.active for one in await advisors.list(ME)] == [False, True]


async def test_a_removed_advisor_keeps_its_history_and_frees_its_slug(
    advisors: Advisors, database: Database
) -> None:
    made = await advisors.create(ME, name="A", description="d")
    other = await advisors.create(ME, name="B", description="d")
    councils = Councils(database)
    council = await councils.create(ME, name="Both", advisors=["a", "b"])

    await advisors.remove(ME, "a")

    with pytest.raises(NotFound):
        await advisors.get(ME, made.id)
    with pytest.raises(NotFound):
        await advisors.remove(ME, made.id)
    with pytest.raises(NotFound):
        await advisors.update(ME, made.id, name="x")
    assert [one.slug for one in await advisors.list(ME)] == ["b"]
    assert (await councils.get(ME, council.id)).advisors == (other.id,)
    kept = await database.read(lambda tx: versions.get(tx, made.version_id), ME)
    assert kept.text == "d"
    assert (await advisors.create(ME, name="A", description="d")).slug == "a"


async def test_inside_a_transaction_of_somebody_else(
    advisors: Advisors, database: Database
) -> None:
    made = await advisors.create(ME, name="A", description="d")

    found = await database.write(
        lambda tx: (rows.get(tx, "a"), rows.find(tx, "zzz"), rows.list_all(tx)), ME
    )

    assert found == (made, None, [made])
