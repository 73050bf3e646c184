"""Councils as rows: a named set of advisors with the recipe they are asked by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

from polyvox.errors import Conflict, Invalid, NotFound
from polyvox.ids import Clock, new_id, system_clock
from polyvox.store import advisors as advisor_rows
from polyvox.store.database import Database, Tx
from polyvox.store.slug import candidates, check_slug
from polyvox.store.table import Table
from polyvox.values import ASSISTANT_ID, Council, Scope

COUNCILS = Table("councils", Council)


class CouncilDetails(TypedDict, total=False):
    """The fields of a council to set; those left out stay as they are."""

    slug: str
    name: str
    advisors: Sequence[str]
    recipe: str


def members(tx: Tx, names: Sequence[str]) -> tuple[str, ...]:
    """Ids for the ids or slugs of advisors, each once; Invalid where one is unknown."""
    ids: dict[str, None] = {}
    for name in names:
        if name.removeprefix("@") == ASSISTANT_ID:
            ids[ASSISTANT_ID] = None
            continue
        advisor = advisor_rows.find(tx, name)
        if advisor is None:
            slugs = ", ".join(known.slug for known in advisor_rows.list_all(tx)) or "none yet"
            raise Invalid(
                f"There is no advisor {name!r}.", f"Known advisors: {slugs}.", param="advisors"
            )
        ids[advisor.id] = None
    return tuple(ids)


def find(tx: Tx, key: str) -> Council | None:
    """The council with this id or slug."""
    return COUNCILS.one(tx, "AND id = ?", key) or COUNCILS.one(tx, "AND slug = ?", key.lower())


def get(tx: Tx, key: str) -> Council:
    """The council with this id or slug, or NotFound."""
    council = find(tx, key)
    if council is None:
        slugs = ", ".join(known.slug for known in list_all(tx))
        raise NotFound(
            f"There is no council {key!r}.",
            f"Known councils: {slugs}." if slugs else "There are no councils yet.",
        )
    return council


def list_all(tx: Tx) -> list[Council]:
    """Every council, oldest first."""
    return COUNCILS.all(tx, "ORDER BY id")


def create(tx: Tx, now: int, details: CouncilDetails) -> Council:
    """A new council."""
    council = Council(
        new_id(),
        slug="",
        name=details["name"],
        advisors=members(tx, details.get("advisors", ())),
        recipe=details.get("recipe", "council"),
        created_at=now,
        updated_at=now,
    )
    if (wanted := details.get("slug")) is not None:
        council = replace(council, slug=check_slug(wanted))
        if not COUNCILS.try_insert(tx, council):
            raise _taken(wanted)
        return council
    for slug in candidates(council.name, "council"):
        council = replace(council, slug=slug)
        if COUNCILS.try_insert(tx, council):
            break
    return council


def update(tx: Tx, key: str, now: int, details: CouncilDetails) -> Council:
    """Change what `details` names."""
    old = get(tx, key)
    new = replace(old, updated_at=now)
    if "advisors" in details:
        new = replace(new, advisors=members(tx, details["advisors"]))
    if (slug := details.get("slug", old.slug)) != old.slug:
        if find(tx, check_slug(slug)) is not None:
            raise _taken(slug)
        new = replace(new, slug=slug)
    new = replace(new, name=details.get("name", old.name), recipe=details.get("recipe", old.recipe))
    COUNCILS.update(tx, new, "slug name recipe advisors updated_at")
    return new


def remove(tx: Tx, key: str) -> None:
    """Delete a council. Conversations that began with it keep their advisors."""
    council = get(tx, key)
    tx.run("DELETE FROM councils WHERE user_id = ? AND id = ?", (tx.user, council.id))
    tx.run(
        "UPDATE conversations SET council_id = NULL WHERE user_id = ? AND council_id = ?",
        (tx.user, council.id),
    )


class Councils:
    """The verbs, each in a transaction of its own."""

    def __init__(self, database: Database, clock: Clock = system_clock) -> None:
        self._database = database
        self._clock = clock

    async def create(self, scope: Scope, **details: Unpack[CouncilDetails]) -> Council:
        """A new council; `name` is needed."""
        now = self._clock()
        return await self._database.write(lambda tx: create(tx, now, details), scope)

    async def get(self, scope: Scope, key: str) -> Council:
        """The council with this id or slug, or NotFound."""
        return await self._database.read(lambda tx: get(tx, key), scope)

    async def list(self, scope: Scope) -> list[Council]:
        """Every council, oldest first."""
        return await self._database.read(lambda tx: list_all(tx), scope)

    async def update(self, scope: Scope, key: str, **details: Unpack[CouncilDetails]) -> Council:
        """Change what is named."""
        now = self._clock()
        return await self._database.write(lambda tx: update(tx, key, now, details), scope)

    async def remove(self, scope: Scope, key: str) -> None:
        """Delete a council."""
        await self._database.write(lambda tx: remove(tx, key), scope)


def _taken(slug: str) -> Conflict:
    return Conflict(f"There is already a council {slug!r}.", "Choose another slug.", param="slug")
