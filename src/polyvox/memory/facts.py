"""Facts: statements with evidence, findable like episodes, each with the time for which it held.

A fact is added, never rewritten; correcting one adds a statement in its place. The index knows of
each when it was superseded, and is brought up to date with whatever is touched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from polyvox.errors import NotFound
from polyvox.ids import content_hash
from polyvox.memory.loops import by_hand
from polyvox.memory.tables import claims
from polyvox.memory.tables import statements as rows
from polyvox.memory.tables.statements import Link, Statement, plain
from polyvox.memory.values import Claim, Item, Partition
from polyvox.memory.view import Held, order, view
from polyvox.memory.words import words_of
from polyvox.store.database import Tx

KIND: Literal["fact"] = "fact"
PAGE = 32


def add(
    tx: Tx,
    partition: Partition,
    statements: Sequence[Statement],
    links: Iterable[Link] = (),
    now: int = 0,
) -> list[Statement]:
    """Store statements of any kind that are not there yet, with their links, and let the index
    know of the facts; return what was new."""
    given = list(links)
    new = rows.add(tx, partition, statements, given, now)
    named = {name for link in given for name in (link.target_id, link.by_id) if name}
    reindex(tx, partition, {one.id for one in new} | named)
    return new


def held(
    tx: Tx, partition: Partition, some: Collection[Statement], as_of: int | None = None
) -> dict[str, Held]:
    """These statements and what bears on them, by id, each with when it held."""
    every = rows.about(tx, partition, some)
    return view(every, rows.links_about(tx, partition, {one.id for one in every}), as_of)


def reindex(tx: Tx, partition: Partition, ids: Collection[str]) -> None:
    """Let the index know which of these facts, and of those they bear on, hold."""
    touched = [one for one in rows.by_ids(tx, partition, ids) if one.kind == KIND]
    facts = [one for one in held(tx, partition, touched).values() if one.statement.kind == KIND]
    hidden = [one.statement.id for one in facts if one.statement.excluded]
    claims.remove(tx, partition, KIND, hidden)
    shown = (one for one in facts if not one.statement.excluded)
    claims.put(tx, partition, [_claim(one) for one in shown])


def _claim(one: Held) -> Claim:
    fact = one.statement
    terms = words_of(fact.text)
    more = words_of(f"{fact.subject} {fact.attribute.replace('_', ' ')}")
    return Claim(
        KIND,
        fact.id,
        fact.said_at,
        (*terms, *(word for word in dict.fromkeys(more) if word not in terms)),
        fact.advisor_id,
        fact.cloud,
        one.valid_to,
        fact.pinned,
    )


def tell(tx: Tx, partition: Partition, ids: Sequence[str], as_of: int | None) -> Mapping[str, Item]:
    """Facts as items of recall."""
    every = held(tx, partition, rows.by_ids(tx, partition, ids), as_of)
    wanted = set(ids)
    return {
        name: item_of(one)
        for name, one in every.items()
        if name in wanted and not one.statement.excluded
    }


def item_of(one: Held, relevance: float = 0.0) -> Item:
    """A fact as something recalled."""
    fact = one.statement
    return Item(
        fact.id, fact.text, relevance, KIND, one.evidence, fact.said_at, one.valid_to, one.status
    )


def known(
    tx: Tx, partition: Partition, *, as_of: int | None = None, include_history: bool = False
) -> list[Held]:
    """The facts that hold: pinned ones first, then the newest. Excluded ones are shown too."""
    every = view(rows.every(tx, partition, [KIND]), rows.links(tx, partition, [KIND]), as_of)
    found = [
        one for one in every.values() if one.current or (include_history and not one.said_again)
    ]
    return sorted(
        found,
        key=lambda one: (not one.statement.pinned, -one.statement.said_at, one.statement.id),
    )


def newest(tx: Tx, partition: Partition, as_of: int) -> Iterator[Held]:
    """The facts that held then and are not excluded, as `known` tells them, read as asked for."""
    for pinned in (True, False):
        after: tuple[int, str] | None = (as_of + 1, "")
        while after is not None:
            some = rows.page(tx, partition, KIND, PAGE, pinned=pinned, excluded=False, after=after)
            every = held(tx, partition, some, as_of)
            yield from (every[one.id] for one in some if every[one.id].current)
            after = (some[-1].said_at, some[-1].id) if len(some) == PAGE else None


def check(tx: Tx, partition: Partition, fact_id: str) -> None:
    """Refuse an id that is no fact's."""
    if rows.get(tx, partition, fact_id).kind != KIND:
        raise NotFound(f"There is no fact {fact_id}.", "List the facts to see what there is.")


def find(tx: Tx, partition: Partition, fact_id: str) -> tuple[Held, list[Held]]:
    """One fact, and everything else that was ever said of the same matter, oldest first."""
    every = held(tx, partition, [rows.get(tx, partition, fact_id)])
    others = (one for name, one in every.items() if name != fact_id and not one.said_again)
    history = sorted(others, key=lambda one: order(one.statement))
    return every[fact_id], history


def correct(tx: Tx, partition: Partition, fact_id: str, text: str, now: int) -> Held:
    """Put a statement by hand in place of a fact. It holds until something newer is said."""
    old = rows.get(tx, partition, fact_id)
    at = max(now, old.said_at + 1)
    new = replace(
        old,
        id=content_hash(f"correction {old.id} {plain(text)} {at}"),
        text=text,
        said_at=at,
        about_from=None,
        about_to=None,
        about_precision=None,
        source="manual",
        confidence=1.0,
        session_id=None,
        message_index=None,
        role=None,
        quote=None,
    )
    add(tx, partition, [new], [by_hand("supersedes", old.id, at, new.id)], now)
    return find(tx, partition, new.id)[0]


def write(tx: Tx, partition: Partition, text: str, now: int) -> Held:
    """Keep what a person tells memory outright."""
    fact = Statement(
        content_hash(f"written {plain(text)} {now}"), KIND, "user", "", text, now, source="manual"
    )
    add(tx, partition, [fact], (), now)
    return find(tx, partition, fact.id)[0]


def reopen(tx: Tx, partition: Partition, fact_id: str, now: int) -> Held:
    """Undo that a fact was superseded or ended; that stays so until something newer is said."""
    one, _ = find(tx, partition, fact_id)
    at = max(now, (one.valid_to or 0) + 1)
    add(tx, partition, (), [by_hand("reopens", fact_id, at)], now)
    return find(tx, partition, fact_id)[0]


def mark(
    tx: Tx,
    partition: Partition,
    fact_id: str,
    *,
    pinned: bool | None = None,
    excluded: bool | None = None,
) -> Held:
    """Pin a fact or not; exclude it from recall or take it back."""
    old = rows.get(tx, partition, fact_id)
    flags = {"pinned": pinned, "excluded": excluded}
    wanted = {name: flag for name, flag in flags.items() if flag is not None}
    if wanted:
        rows.mark(tx, partition, [old.id], **wanted)
        reindex(tx, partition, [old.id])
    return find(tx, partition, fact_id)[0]


def remove(
    tx: Tx,
    partition: Partition,
    gone: Collection[Statement],
    links: Collection[Link] = (),
    *,
    now: int,
    forever: bool = False,
) -> None:
    """Delete statements and links, from the index too; what they superseded may hold again."""
    ids = {one.id for one in gone}
    near = {one.id for one in rows.about(tx, partition, gone)} - ids
    near |= {link.target_id for link in links} - ids
    claims.remove(tx, partition, KIND, sorted(ids))
    rows.remove(tx, partition, gone, links, now=now, forever=forever)
    reindex(tx, partition, near)
