"""Advisors as rows, and every text their identity ever had.

Invariants: an identity changes only by a new, immutable version, in the same commit; a removed
advisor keeps its row, its versions and its answers; a slug names one advisor that is not removed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

import msgspec

from polyvox.errors import Conflict, Invalid, NotFound
from polyvox.ids import Clock, new_id, system_clock
from polyvox.store import versions
from polyvox.store.database import Database, Tx
from polyvox.store.slug import candidates, check_slug
from polyvox.store.table import Table
from polyvox.values import Advisor, Params, PromptVersion, Scope

ADVISORS = Table("advisors", Advisor)


class AdvisorDetails(TypedDict, total=False):
    """The fields of an advisor to set; those left out stay as they are."""

    slug: str
    name: str
    description: str
    prompt: str | None
    model: str | None
    color: str
    voice: str | None
    active: bool
    params: Params


def find(tx: Tx, key: str) -> Advisor | None:
    """The advisor with this id or slug (an @ before it is fine), unless it was removed."""
    key = key.removeprefix("@")
    return ADVISORS.one(tx, "AND id = ? AND removed_at IS NULL", key) or ADVISORS.one(
        tx, "AND slug = ? AND removed_at IS NULL", key.lower()
    )


def get(tx: Tx, key: str) -> Advisor:
    """The advisor with this id or slug, or NotFound."""
    advisor = find(tx, key)
    if advisor is None:
        slugs = ", ".join(known.slug for known in list_all(tx))
        raise NotFound(
            f"There is no advisor {key!r}.",
            f"Known advisors: {slugs}." if slugs else "There are no advisors yet.",
        )
    return advisor


def even_removed(tx: Tx, advisor_id: str) -> Advisor | None:
    """The advisor with this id, also one that was removed."""
    return ADVISORS.one(tx, "AND id = ?", advisor_id)


def everyone(tx: Tx) -> list[Advisor]:
    """Every advisor in its order, the removed ones too."""
    return ADVISORS.all(tx, "ORDER BY position, id")


def slugs(tx: Tx) -> dict[str, str]:
    """Every advisor's slug by its id, the removed ones' too."""
    return dict(tx.all("SELECT id, slug FROM advisors WHERE user_id = ?", (tx.user,)))


def list_all(tx: Tx, *, active: bool = False) -> list[Advisor]:
    """Every advisor in its order (`active`: only those)."""
    only = " AND active = 1" if active else ""
    return ADVISORS.all(tx, f"AND removed_at IS NULL{only} ORDER BY position, id")


def create(tx: Tx, now: int, reason: str, details: AdvisorDetails) -> Advisor:
    """A new advisor at the end of the list, with the first version of its identity."""
    advisor = Advisor(
        new_id(),
        slug="",
        name=details["name"],
        description=details["description"],
        prompt=details.get("prompt"),
        model=details.get("model"),
        color=details.get("color", ""),
        voice=details.get("voice"),
        active=details.get("active", True),
        params=details.get("params", Params()),
        version_id=new_id(),
        created_at=now,
        updated_at=now,
    )
    last = tx.one("SELECT MAX(position) FROM advisors WHERE user_id = ?", (tx.user,))
    if last is not None and last[0] is not None:
        advisor = replace(advisor, position=last[0] + 1)
    if (wanted := details.get("slug")) is not None:
        advisor = replace(advisor, slug=check_slug(wanted))
        if not ADVISORS.try_insert(tx, advisor):
            raise _taken(wanted)
    else:
        for slug in candidates(advisor.name, "advisor"):
            advisor = replace(advisor, slug=slug)
            if ADVISORS.try_insert(tx, advisor):
                break
    versions.add(tx, advisor, None, reason, now)
    return advisor


def update(tx: Tx, key: str, now: int, reason: str, details: AdvisorDetails) -> Advisor:
    """Change what `details` names. Another identity text makes a new version."""
    return _change(tx, key, now, reason, lambda old: replace(old, **details))


def remove(tx: Tx, key: str, now: int) -> None:
    """Take an advisor off the list and out of every council. Its answers and versions stay."""
    advisor = get(tx, key)
    tx.run(
        "UPDATE advisors SET removed_at = ?, updated_at = ? WHERE user_id = ? AND id = ?",
        (now, now, tx.user, advisor.id),
    )
    for council_id, members in tx.all(
        "SELECT id, advisors FROM councils WHERE user_id = ?", (tx.user,)
    ):
        left = [member for member in msgspec.json.decode(members) if member != advisor.id]
        tx.run(
            "UPDATE councils SET advisors = ? WHERE user_id = ? AND id = ? AND advisors <> ?",
            (text := msgspec.json.encode(left).decode(), tx.user, council_id, text),
        )


def rollback(tx: Tx, key: str, which: int | str, now: int) -> Advisor:
    """Give an advisor an earlier identity again, as a new version."""
    advisor = get(tx, key)
    wanted = str(which)
    for old in versions.list_all(tx, advisor.id):
        if wanted in (old.id, str(old.number)):
            break
    else:
        raise NotFound(
            f"{advisor.name} has no version {which}.", "Its history lists the versions it has."
        )

    def restored(current: Advisor) -> Advisor:
        if old.field == "prompt":
            return replace(current, prompt=old.text)
        return replace(current, prompt=None, description=old.text)

    return _change(tx, advisor.id, now, f"rolled back to {old.number}", restored)


def instruct(tx: Tx, key: str, instruction: str, now: int) -> Advisor:
    """Add an instruction to the end of an advisor's prompt, as a new version."""
    words = instruction.strip()
    if not words:
        raise Invalid("The instruction is empty.", "Say what to do differently.")

    def instructed(current: Advisor) -> Advisor:
        before = current.identity.rstrip()
        return replace(current, prompt=f"{before}\n\n{words}" if before else words)

    return _change(tx, key, now, "instructed", instructed)


def reorder(tx: Tx, names: Sequence[str], now: int) -> list[Advisor]:
    """Put the named advisors first, in this order; the others follow in the order they had."""
    first = [get(tx, name).id for name in names]
    if len(set(first)) < len(first):
        raise Invalid("An advisor is named twice.", "Name each one once.")
    rest = [advisor.id for advisor in list_all(tx) if advisor.id not in first]
    for position, advisor_id in enumerate([*first, *rest]):
        tx.run(
            "UPDATE advisors SET position = ?, updated_at = ? WHERE user_id = ? AND id = ?"
            " AND position <> ?",
            (position, now, tx.user, advisor_id, position),
        )
    return list_all(tx)


class Advisors:
    """The verbs, each in a transaction of its own."""

    def __init__(self, database: Database, clock: Clock = system_clock) -> None:
        self._database = database
        self._clock = clock

    async def create(
        self, scope: Scope, *, reason: str = "created", **details: Unpack[AdvisorDetails]
    ) -> Advisor:
        """A new advisor; `name` and `description` are needed."""
        now = self._clock()
        return await self._database.write(lambda tx: create(tx, now, reason, details), scope)

    async def get(self, scope: Scope, key: str) -> Advisor:
        """The advisor with this id or slug, or NotFound."""
        return await self._database.read(lambda tx: get(tx, key), scope)

    async def list(self, scope: Scope, *, active: bool = False) -> list[Advisor]:
        """Every advisor in its order (`active`: only those)."""
        return await self._database.read(lambda tx: list_all(tx, active=active), scope)

    async def update(
        self, scope: Scope, key: str, *, reason: str = "edited", **details: Unpack[AdvisorDetails]
    ) -> Advisor:
        """Change what is named. Another identity text makes a new version."""
        now = self._clock()
        return await self._database.write(lambda tx: update(tx, key, now, reason, details), scope)

    async def remove(self, scope: Scope, key: str) -> None:
        """Take an advisor off the list. Its answers stay."""
        now = self._clock()
        await self._database.write(lambda tx: remove(tx, key, now), scope)

    async def versions(self, scope: Scope, key: str) -> Sequence[PromptVersion]:
        """Every text an advisor's identity has had, newest first."""

        def listed(tx: Tx) -> Sequence[PromptVersion]:
            return versions.list_all(tx, get(tx, key).id)

        return await self._database.read(listed, scope)

    async def rollback(self, scope: Scope, key: str, which: int | str) -> Advisor:
        """Give an advisor an earlier identity (by number or id) again, as a new version."""
        now = self._clock()
        return await self._database.write(lambda tx: rollback(tx, key, which, now), scope)

    async def instruct(self, scope: Scope, key: str, instruction: str) -> Advisor:
        """Add an instruction to the end of an advisor's prompt, as a new version."""
        now = self._clock()
        return await self._database.write(lambda tx: instruct(tx, key, instruction, now), scope)

    async def reorder(self, scope: Scope, names: Sequence[str]) -> Sequence[Advisor]:
        """Put the named advisors first, in this order."""
        now = self._clock()
        return await self._database.write(lambda tx: reorder(tx, names, now), scope)


def _change(
    tx: Tx, key: str, now: int, reason: str, change: Callable[[Advisor], Advisor]
) -> Advisor:
    advisor_id = get(tx, key).id
    # Touching the row first locks it: two changes at once make two versions, one after the other.
    tx.run(
        "UPDATE advisors SET updated_at = ? WHERE user_id = ? AND id = ?",
        (now, tx.user, advisor_id),
    )
    old = get(tx, advisor_id)
    new = replace(change(old), updated_at=now)
    if new.slug != old.slug:
        other = find(tx, check_slug(new.slug))
        if other is not None:
            raise _taken(new.slug)
    if new.identity != old.identity:
        new = replace(new, version_id=new_id())
        versions.add(tx, new, versions.get(tx, old.version_id), reason, now)
    names = "slug name description prompt model color voice active params version_id"
    ADVISORS.update(tx, new, names)
    return new


def _taken(slug: str) -> Conflict:
    return Conflict(f"There is already an advisor {slug!r}.", "Choose another slug.", param="slug")
