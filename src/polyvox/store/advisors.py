"""Advisors as rows, and every text their identity ever had.

Invariants: an identity changes only by a new, immutable version, in the same commit; a removed
advisor keeps its row, its versions and its answers; a slug names one advisor that is not removed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypedDict, Unpack

import msgspec

from polyvox.errors import Invalid, NotFound
from polyvox.ids import new_id
from polyvox.store import versions
from polyvox.store.database import Row, Tx
from polyvox.store.slug import check_slug, insert_named, taken
from polyvox.store.table import Table, Verbs, reading, writing
from polyvox.thread import Peer, distinct
from polyvox.values import Advisor, Params, PromptVersion

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


def peers(tx: Tx) -> dict[str, Peer]:
    """Every advisor by its id, the removed ones too, as the others' requests name it."""
    rows: list[Row] = tx.all(
        "SELECT id, slug, name, removed_at FROM advisors WHERE user_id = ?", (tx.user,)
    )
    labels = distinct({row[0]: row[2] for row in rows if row[3] is None})
    return {row[0]: Peer(row[1], row[2], labels.get(row[0]) or row[2]) for row in rows}


def list_all(tx: Tx, *, active: bool = False) -> list[Advisor]:
    """Every advisor in its order (`active`: only those)."""
    only = " AND active = 1" if active else ""
    return ADVISORS.all(tx, f"AND removed_at IS NULL{only} ORDER BY position, id")


def history(tx: Tx, key: str) -> list[PromptVersion]:
    """Every text that an advisor's identity has had, newest first."""
    return versions.list_all(tx, get(tx, key).id)


def create(
    tx: Tx, now: int, *, reason: str = "created", **details: Unpack[AdvisorDetails]
) -> Advisor:
    """A new advisor at the end of the list, with the first version of its identity; `name` and
    `description` are needed."""
    last = tx.one("SELECT MAX(position) FROM advisors WHERE user_id = ?", (tx.user,))
    position = 0 if last is None or last[0] is None else last[0] + 1
    values: dict[str, Any] = {"slug": "", **details, "created_at": now, "updated_at": now}
    advisor = Advisor(new_id(), **values, position=position, version_id=new_id())
    _check_prompt(advisor)
    advisor = insert_named(tx, ADVISORS, advisor, details.get("slug"))
    versions.add(tx, advisor, None, reason, now)
    return advisor


def update(
    tx: Tx, now: int, key: str, *, reason: str = "edited", **details: Unpack[AdvisorDetails]
) -> Advisor:
    """Change what is named. Another identity text makes a new version."""
    return _change(tx, now, key, reason, lambda old: replace(old, **details))


def _check_prompt(advisor: Advisor) -> None:
    """Refuse a prompt of blanks alone: it would leave an advisor without an identity."""
    if advisor.prompt and not advisor.prompt.strip():
        raise Invalid(
            "The prompt is blank.",
            "Write one, or remove it to use the description.",
            param="prompt",
        )


def remove(tx: Tx, now: int, key: str) -> None:
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


def rollback(tx: Tx, now: int, key: str, which: int | str) -> Advisor:
    """Give an advisor an earlier identity (by number or id) again, as a new version."""
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

    return _change(tx, now, advisor.id, f"rolled back to {old.number}", restored)


def instruct(tx: Tx, now: int, key: str, instruction: str) -> Advisor:
    """Add an instruction to the end of an advisor's prompt, as a new version."""
    words = instruction.strip()
    if not words:
        raise Invalid("The instruction is empty.", "Say what to do differently.")

    def instructed(current: Advisor) -> Advisor:
        before = current.identity.rstrip()
        return replace(current, prompt=f"{before}\n\n{words}" if before else words)

    return _change(tx, now, key, "instructed", instructed)


def reorder(tx: Tx, now: int, names: Sequence[str]) -> list[Advisor]:
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


def _change(
    tx: Tx, now: int, key: str, reason: str, change: Callable[[Advisor], Advisor]
) -> Advisor:
    advisor_id = get(tx, key).id
    # Touching the row first locks it: two changes at once make two versions, one after the other.
    tx.run(
        "UPDATE advisors SET updated_at = ? WHERE user_id = ? AND id = ?",
        (now, tx.user, advisor_id),
    )
    old = get(tx, advisor_id)
    new = replace(change(old), updated_at=now)
    _check_prompt(new)
    if new.slug != old.slug and find(tx, check_slug(new.slug)) is not None:
        raise taken(new)
    if new.identity != old.identity:
        new = replace(new, version_id=new_id())
        versions.add(tx, new, versions.get(tx, old.version_id), reason, now)
    names = "slug name description prompt model color voice active params version_id"
    ADVISORS.update(tx, new, names)
    return new


class Advisors(Verbs):
    """The verbs, each in a transaction of its own."""

    create = writing(create)
    get = reading(get)
    list = reading(list_all)
    update = writing(update)
    remove = writing(remove)
    versions = reading(history)
    rollback = writing(rollback)
    instruct = writing(instruct)
    reorder = writing(reorder)
