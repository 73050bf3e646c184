"""Councils as rows: a named set of advisors with the recipe they are asked by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypedDict, Unpack

from polyvox.errors import Invalid, NotFound
from polyvox.ids import new_id
from polyvox.store import advisors as advisor_rows
from polyvox.store.database import Tx
from polyvox.store.slug import check_slug, insert_named, taken
from polyvox.store.table import Table, Verbs, reading, writing
from polyvox.values import ASSISTANT_ID, Council

COUNCILS = Table("councils", Council)


class CouncilDetails(TypedDict, total=False):
    """The fields of a council to set; those left out stay as they are."""

    slug: str
    name: str
    advisors: Sequence[str]
    recipe: str
    phases: int | None


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


def create(tx: Tx, now: int, **details: Unpack[CouncilDetails]) -> Council:
    """A new council; `name` is needed."""
    seats = members(tx, details.get("advisors", ()))
    values: dict[str, Any] = {"slug": "", **details, "advisors": seats}
    council = Council(new_id(), **values, created_at=now, updated_at=now)
    return insert_named(tx, COUNCILS, council, details.get("slug"))


def update(tx: Tx, now: int, key: str, **details: Unpack[CouncilDetails]) -> Council:
    """Change what is named."""
    old = get(tx, key)
    values: dict[str, Any] = {**details, "updated_at": now}
    if "advisors" in details:
        values["advisors"] = members(tx, details["advisors"])
    new = replace(old, **values)
    if new.slug != old.slug and find(tx, check_slug(new.slug)) is not None:
        raise taken(new)
    COUNCILS.update(tx, new, "slug name recipe advisors phases updated_at")
    return new


def remove(tx: Tx, _now: int, key: str) -> None:
    """Delete a council. Conversations that began with it keep their advisors."""
    council = get(tx, key)
    tx.run("DELETE FROM councils WHERE user_id = ? AND id = ?", (tx.user, council.id))
    tx.run(
        "UPDATE conversations SET council_id = NULL WHERE user_id = ? AND council_id = ?",
        (tx.user, council.id),
    )


class Councils(Verbs):
    """The verbs, each in a transaction of its own."""

    create = writing(create)
    get = reading(get)
    list = reading(list_all)
    update = writing(update)
    remove = writing(remove)
